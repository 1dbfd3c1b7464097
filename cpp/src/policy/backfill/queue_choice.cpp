// A play is a simulated schedule of the present jobs in one order of the queue.
#include "malleable/policy/backfill/queue_choice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Another order than that of arrival must cost less by this part: plays do not know the jobs that
// come later, and these are often worse for it.
constexpr double kClearly = 0.1;
constexpr double kBound = 10.0;  // s: shorter jobs count as running so long
// It chooses again after one change per so many waiting jobs.
constexpr std::size_t kSteady = 32;

}  // namespace

double put_first(std::span<const QueuedJob> queue, std::span<Index> order, double now) {
  const auto rest = std::stable_partition(order.begin(), order.end(),
                                          [&](Index place) { return queue[place].overdue <= now; });
  std::sort(order.begin(), rest, [&](Index a, Index b) { return queue[a].rank < queue[b].rank; });
  double next = kInfinity;
  for (auto place = rest; place != order.end(); ++place) {
    next = std::min(next, queue[*place].overdue);
  }
  return next;
}

void QueueChoice::count_left(std::span<const QueuedJob> queue) {
  left_.resize(queue.size());
  for (std::size_t k = 0; k < left_.size(); ++k) left_[k] = queue[k].tasks;
}

// The sum of all ends if no jobs come and jobs take their requested times; infinity once it must
// exceed `least`, because waiting jobs start now at the earliest. `step_` starts first.
double QueueChoice::play_out(const QueueMoment& at, bool stretch, Play& play, double least) {
  double now = at.now, cost = 0.0, next_overdue = now;
  double rate = 0.0, since = 0.0;  // lower bound for waiting jobs: `rate` x now + `since`
  const auto count = [&](const QueuedJob& job, std::int64_t tasks) {
    const double size = stretch ? std::max(job.seconds, kBound) : 1.0;
    const double part = static_cast<double>(tasks) / static_cast<double>(job.tasks);
    const double own = part * job.weight / size;
    rate += own;
    since += own * (job.seconds - job.since);
    return own;
  };
  for (const QueuedJob& job : at.queue) count(job, job.tasks);
  ends_.assign(at.running.begin(), at.running.end());
  std::size_t ended = 0;
  room_ = at.room;
  while (true) {
    for (const auto& [place, cell, tasks] : step_) {
      const QueuedJob& job = at.queue[place];
      left_[place] -= tasks;
      room_.free -= tasks;
      room_.cell[cell].give(job.needs, -tasks);
      const TaskBundle more{now + job.seconds, job.rank, job.job, tasks, cell, job.needs};
      const auto from = ends_.begin() + static_cast<std::ptrdiff_t>(ended);
      ends_.insert(std::upper_bound(from, ends_.end(), more), more);
      cost -= count(job, -tasks) * (now + job.seconds - job.since);
    }
    std::erase_if(play.order, [&](Index place) { return left_[place] == 0; });
    if (play.order.empty()) return cost;
    if (cost + rate * now + since > least * (1.0 + kAmple) || ended == ends_.size()) {
      return kInfinity;
    }
    now = std::max(now, ends_[ended].end);
    for (; ended < ends_.size() && ends_[ended].end <= now; ++ended) {
      const TaskBundle& own = ends_[ended];
      room_.free += own.slots;
      room_.cell[own.cell].give(own.needs, own.slots);
    }
    if (now >= next_overdue) next_overdue = put_first(at.queue, play.order, now);
    const QueueMoment then{at.cells, at.queue, std::span(ends_).subspan(ended), room_, now};
    reservations_.pass(then, play.order, /*reserves=*/true, play.holds, left_, step_);
  }
}

// The queue is shortest first, and plays 1 and 3 keep its order; play 3 reserves slots only for
// jobs that have waited for long.
void QueueChoice::make_orders(const QueueMoment& at) {
  const auto sort = [&](Play& play, auto key) {
    std::ranges::sort(play.order, [&](Index a, Index b) {
      const double own = key(at.queue[a]), other = key(at.queue[b]);
      return own != other ? own < other : at.queue[a].rank < at.queue[b].rank;
    });
  };
  plays_.resize(4);
  for (Play& play : plays_) {
    play.holds = &play != &plays_[3];
    play.order.resize(at.queue.size());
    std::iota(play.order.begin(), play.order.end(), Index{0});
  }
  sort(plays_[0], [](const QueuedJob&) { return 0.0; });
  sort(plays_[2], [](const QueuedJob& job) {
    return job.seconds * std::sqrt(static_cast<double>(job.width));
  });
}

std::span<const Index> QueueChoice::choose(const QueueMoment& at, bool stretch, Followed& followed,
                                           std::vector<Cells::Taken>& taken) {
  make_orders(at);
  count_left(at.queue);
  if (followed.changes * kSteady >= at.queue.size()) followed.order = kNone;
  for (std::size_t k = 0; k < plays_.size(); ++k) {
    Play& play = plays_[k];
    if (followed.order != kNone && followed.order != k) continue;
    put_first(at.queue, play.order, at.now);
    reservations_.pass(at, play.order, /*reserves=*/true, play.holds, left_, play.first);
    play.holders = reservations_.holders();
    std::ranges::sort(play.first);
    taken = play.first;
  }
  if (followed.order != kNone) return plays_[followed.order].holders;
  followed.changes = 0;
  if (std::ranges::all_of(plays_, [&](const Play& play) { return play.first == taken; })) return {};
  double least = kInfinity;
  // The order of arrival is first; another one must be clearly better (kClearly).
  for (std::size_t k = 0; k < plays_.size(); ++k) {
    count_left(at.queue);
    step_ = plays_[k].first;
    const double cost = play_out(at, stretch, plays_[k], least);
    if (k > 0 && cost >= least) continue;
    followed.order = static_cast<Index>(k);
    least = k == 0 ? (1.0 - kClearly) * cost : cost;
  }
  taken = plays_[followed.order].first;
  return plays_[followed.order].holders;
}

}  // namespace malleable
