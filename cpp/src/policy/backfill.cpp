#include "malleable/policy/backfill.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

namespace malleable {
namespace {

// Waits of so many times the work that was here, on all slots. Where the queue is long for long,
// less helps those that wait longest and makes bounded slowdowns worse than the shortest first.
constexpr double kPatience = 20.0;
constexpr double kBound = 10.0;           // s: shorter jobs count as if they ran so long
constexpr std::size_t kMostPlayed = 256;  // jobs that wait; of more, AUTO plays the first ones
constexpr double kOldest = 7 * 86400.0;   // s: older jobs have no more of their age
constexpr double kHalf = 7 * 86400.0;     // s after which usage counts half

// By an end, then by who came first.
template <typename Bundle>
bool ends_before(const Bundle& a, const Bundle& b) {
  return a.end != b.end ? a.end < b.end : a.rank < b.rank;
}

}  // namespace

void Backfill::begin(const ClusterState& state) {
  for (Pool& pool : pools_) pool = Pool{};
  jobs_.assign(state.jobs.size(), Job{});
  first_ = kInfinity;
  for (const double arrival : state.jobs.arrival) first_ = std::min(first_, arrival);
  usage_.assign(state.user_running.size(), 0.0);
  aged_ = state.now;
}

void Backfill::added(const ClusterState& state, std::span<const Index> jobs) {
  jobs_.resize(state.jobs.size());
  usage_.resize(state.user_running.size(), 0.0);
  for (const Index job : jobs) {
    jobs_[job] = Job{};
    first_ = std::min(first_, state.jobs.arrival[job]);
  }
}

double Backfill::seconds_of(const ClusterState& state, Index job, Phase p) const {
  const double requested = state.jobs.requested_of(p, job);
  if (requested > 0.0) return requested;
  const double said = state.believed[2 * job + p];
  return said > 0.0 ? said : state.phase(job, p).estimate;
}

double Backfill::key_of(const ClusterState& state, const Waiting& job) const {
  const double seconds = std::max(job.seconds, 1e-9);
  const auto slots = static_cast<double>(job.width);
  const double wait = state.now - job.since;
  switch (options_.order) {
    case QueueOrder::kArrival:
      return 0.0;
    case QueueOrder::kShortest:
      return job.seconds;
    case QueueOrder::kSmallest:
      return job.seconds * static_cast<double>(job.tasks);
    case QueueOrder::kWfp3:
      return -std::pow(wait / seconds, 3.0) * slots;
    case QueueOrder::kUnicef:
      return -wait / (std::log2(std::max(slots, 2.0)) * seconds);
    case QueueOrder::kF1:
      return std::log10(seconds) * slots +
             870.0 * std::log10(state.jobs.arrival[job.job] - first_ + 1.0);
    case QueueOrder::kFactors: {
      // Parts of one, alike: age, size, and 2^-(usage over an equal share).
      const auto all = static_cast<double>(std::max<std::int64_t>(state.slots[0], 1));
      const double whole = std::accumulate(usage_.begin(), usage_.end(), 0.0);
      const double own = usage_[state.jobs.user_of(job.job)];
      const double share = whole > 0.0 ? own / whole * static_cast<double>(usage_.size()) : 0.0;
      return -(std::min(wait / kOldest, 1.0) + slots / all + std::exp2(-share));
    }
  }
  return 0.0;
}

std::size_t Backfill::place_of(const Pool& pool, double key, Index rank) const {
  const auto place = std::lower_bound(
      pool.queue.begin(), pool.queue.end(), rank, [&](const Waiting& other, Index own) {
        return other.key != key ? other.key < key : other.rank < own;
      });
  return static_cast<std::size_t>(place - pool.queue.begin());
}

void Backfill::leave_queue(int pool, Index job, Index rank) {
  if (!std::exchange(jobs_[job].waits[pool], false)) return;
  auto& queue = pools_[pool].queue;
  queue.erase(queue.begin() +
              static_cast<std::ptrdiff_t>(place_of(pools_[pool], jobs_[job].key[pool], rank)));
}

// Slot-seconds that jobs ask for which wait or run on a pool.
double Backfill::work_here(const ClusterState& state, int pool) const {
  double work = 0.0;
  for (const Waiting& job : pools_[pool].queue) {
    work += job.seconds * static_cast<double>(job.tasks);
  }
  for (const Bundle& bundle : pools_[pool].running) {
    work += std::max(0.0, bundle.end - state.now) * static_cast<double>(bundle.slots);
  }
  return work;
}

void Backfill::join_queue(const ClusterState& state, Index job, int pool, Phase p,
                          std::int64_t tasks) {
  Job& own = jobs_[job];
  const std::int64_t width = std::min(state.jobs.width_of(p, job), tasks);
  Waiting entry{0.0, state.rank[job], job, p, width, tasks, seconds_of(state, job, p)};
  if (own.since < 0.0) {
    own.since = state.now;
    const double more = entry.seconds * static_cast<double>(tasks);
    own.work = options_.reserve == Reserve::kBest ? work_here(state, pool) + more : 0.0;
  }
  entry.since = own.since;
  entry.weight = state.jobs.weight_of(job);
  const auto slots = static_cast<double>(std::max<std::int64_t>(state.slots[pool], 1));
  entry.overdue = own.since + kPatience * own.work / slots;
  entry.key = own.key[pool] = key_of(state, entry);
  own.waits[pool] = true;
  auto& queue = pools_[pool].queue;
  const std::size_t place = place_of(pools_[pool], entry.key, entry.rank);
  queue.insert(queue.begin() + static_cast<std::ptrdiff_t>(place), entry);
}

// What runs of a job, as it was counted: those that were to end first have ended.
void Backfill::settle_bundles(const ClusterState& state, Index job, int pool) {
  auto& running = pools_[pool].running;
  std::int64_t now = 0;
  Phase last = kMap;
  for (const Phase p : {kMap, kReduce}) {
    if (!state.cluster.generic && p != pool) continue;
    now += state.phase(job, p).running;
    if (state.phase(job, p).running > 0) last = p;
  }
  std::int64_t& known = jobs_[job].running[pool];
  std::int64_t ended = known - now;
  if (ended > 0) {
    for (Bundle& bundle : running) {
      if (bundle.job != job || ended == 0) continue;
      const std::int64_t some = std::min(ended, bundle.slots);
      bundle.slots -= some;
      ended -= some;
    }
    std::erase_if(running, [](const Bundle& bundle) { return bundle.slots == 0; });
  } else if (ended < 0) {
    const Bundle more{state.now + seconds_of(state, job, last), state.rank[job], job, -ended};
    running.insert(std::upper_bound(running.begin(), running.end(), more, ends_before<Bundle>),
                   more);
  }
  known = now;
}

void Backfill::counts_changed(const ClusterState& state, Index job, int pool) {
  settle_bundles(state, job, pool);
  leave_queue(pool, job, state.rank[job]);
  for (const Phase p : {kMap, kReduce}) {
    if ((!state.cluster.generic && p != pool) || !state.eligible(job, p)) continue;
    join_queue(state, job, pool, p, std::min(state.phase(job, p).waiting, state.room(job, pool)));
    return;
  }
}

void Backfill::estimate_said(const ClusterState& state, Index job, Phase p, double) {
  counts_changed(state, job, state.cluster.generic ? 0 : p);
}

void Backfill::age_usage(const ClusterState& state) {
  const double step = state.now - std::exchange(aged_, state.now);
  const double part = std::exp2(-step / kHalf);
  for (std::size_t user = 0; user < usage_.size(); ++user) {
    usage_[user] = usage_[user] * part + step * static_cast<double>(state.user_running[user]);
  }
}

// Where keys depend on time.
void Backfill::reorder(const ClusterState& state, Pool& pool) {
  const int number = &pool == &pools_[1] ? 1 : 0;
  for (Waiting& job : pool.queue) job.key = jobs_[job.job].key[number] = key_of(state, job);
  std::sort(pool.queue.begin(), pool.queue.end(), [](const Waiting& a, const Waiting& b) {
    return a.key != b.key ? a.key < b.key : a.rank < b.rank;
  });
}

// Who starts now, in this order. `left_`: tasks of each place in the queue.
void Backfill::pass(const Pool& pool, const Play& play, std::span<const Bundle> running,
                    std::int64_t free, double now, std::vector<Taken>& taken) {
  taken.clear();
  double shadow = -1.0;
  std::int64_t spare = 0;
  for (const Index place : play.order) {
    if (free == 0) return;
    const Waiting& job = pool.queue[place];
    const std::int64_t width = std::min(job.width, left_[place]);
    if (width == 0) continue;
    std::int64_t tasks = std::min(free, left_[place]) / width * width;
    if (shadow >= 0.0 && tasks > 0 && now + job.seconds > shadow) {
      tasks = std::min(tasks, spare / width * width);
      spare -= tasks;
    }
    if (tasks > 0) {
      free -= tasks;
      taken.push_back({place, tasks});
    }
    if (tasks == left_[place] || shadow >= 0.0) continue;
    if (options_.reserve == Reserve::kNobody) return;
    if (!play.holds && job.overdue > now) continue;
    const std::int64_t next = std::min(job.width, left_[place] - tasks);
    std::tie(shadow, spare) = reserve(pool, running, taken, {now, free, next});
  }
}

// When so many slots are free, those that run and those that were taken ending as expected, and how
// many more are free then.
std::pair<double, std::int64_t> Backfill::reserve(const Pool& pool, std::span<const Bundle> running,
                                                  std::span<const Taken> taken, const Need& need) {
  ahead_.clear();
  for (const Taken& own : taken) {
    const Waiting& job = pool.queue[own.place];
    ahead_.push_back({need.now + job.seconds, job.rank, job.job, own.tasks});
  }
  std::size_t late = 0;  // those that outlived their time, which end at once
  for (; late < running.size() && running[late].end < need.now; ++late) {
    ahead_.push_back(running[late]);
    ahead_.back().end = need.now;
  }
  std::sort(ahead_.begin(), ahead_.end(), ends_before<Bundle>);
  std::int64_t then = need.free;
  std::size_t k = 0;
  for (std::size_t r = late; k < ahead_.size() || r < running.size();) {
    const bool own =
        r == running.size() || (k < ahead_.size() && ends_before(ahead_[k], running[r]));
    const Bundle& first = own ? ahead_[k++] : running[r++];
    then += first.slots;
    if (then >= need.slots) return {first.end, then - need.slots};
  }
  return {kInfinity, 0};  // where nodes are missing it never fits
}

// A place for each job, one after the other; who has one now starts.
void Backfill::conserve(const Pool& pool, std::int64_t free, double now) {
  taken_.clear();
  profile_.clear();
  profile_.emplace_back(now, free);
  for (const Bundle& bundle : pool.running) {
    const double end = std::max(bundle.end, now);
    const std::int64_t then = profile_.back().second + bundle.slots;
    if (end > profile_.back().first) {
      profile_.emplace_back(end, then);
    } else {
      profile_.back().second = then;
    }
  }
  for (Index place = 0; place < pool.queue.size(); ++place) {
    const Waiting& job = pool.queue[place];
    const std::size_t first = earliest(job);
    if (first == profile_.size()) continue;  // where nodes are missing it never fits
    const double end = profile_[first].first + job.seconds;
    std::int64_t tasks = job.width;
    if (first == 0) {
      std::int64_t most = std::min(free, job.tasks);
      for (const auto& [time, slots] : profile_) {
        if (time < end) most = std::min(most, slots);
      }
      tasks = std::max(job.width, most / job.width * job.width);
      if (tasks <= free) {  // what outlives its time may not have ended
        taken_.push_back({place, tasks});
        free -= tasks;
      }
    }
    const auto last = std::lower_bound(profile_.begin(), profile_.end(), end,
                                       [](const auto& step, double t) { return step.first < t; });
    if (last == profile_.end() || last->first > end) {
      profile_.insert(last, {end, std::prev(last)->second});
    }
    for (std::size_t k = first; profile_[k].first < end; ++k) profile_[k].second -= tasks;
  }
}

// The first step from which on there is room for a job for all its seconds.
std::size_t Backfill::earliest(const Waiting& job) const {
  std::size_t first = 0;
  for (std::size_t k = 0; k < profile_.size(); ++k) {
    if (k > first && profile_[k].first >= profile_[first].first + job.seconds) break;
    if (profile_[k].second < job.width) first = k + 1;
  }
  return first;
}

// Those that have waited for long go first, by arrival. Returns when the next one will have.
double Backfill::put_first(const Pool& pool, Play& play, double now) const {
  const auto rest = std::stable_partition(play.order.begin(), play.order.end(), [&](Index place) {
    return pool.queue[place].overdue <= now;
  });
  std::sort(play.order.begin(), rest,
            [&](Index a, Index b) { return pool.queue[a].rank < pool.queue[b].rank; });
  double next = kInfinity;
  for (auto place = rest; place != play.order.end(); ++place) {
    next = std::min(next, pool.queue[*place].overdue);
  }
  return next;
}

// What all ends come to if nobody comes and jobs take what they ask for; infinity once it is more
// than `least`. `step_` starts first.
double Backfill::play_out(const Pool& pool, Play& play, std::int64_t free, double now,
                          double least) {
  double cost = 0.0, next_overdue = now;
  ends_.assign(pool.running.begin(), pool.running.end());
  while (true) {
    for (const auto& [place, tasks] : step_) {
      const Waiting& job = pool.queue[place];
      left_[place] -= tasks;
      free -= tasks;
      const Bundle more{now + job.seconds, job.rank, job.job, tasks};
      ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), more, ends_before<Bundle>), more);
      const double part = static_cast<double>(tasks) / static_cast<double>(job.tasks);
      const double size = options_.stretch ? std::max(job.seconds, kBound) : 1.0;
      cost += part * job.weight * (now + job.seconds - job.since) / size;
    }
    std::erase_if(play.order, [&](Index place) { return left_[place] == 0; });
    if (play.order.empty()) return cost;
    if (cost > least || ends_.empty()) return kInfinity;
    std::size_t ended = 0;
    now = std::max(now, ends_.front().end);
    for (; ended < ends_.size() && ends_[ended].end <= now; ++ended) free += ends_[ended].slots;
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(ended));
    if (now >= next_overdue) next_overdue = put_first(pool, play, now);
    pass(pool, play, ends_, free, now, step_);
  }
}

// The starts of the order with the best end: taken_.
void Backfill::choose(const Pool& pool, std::int64_t free, double now) {
  const auto less = [&](auto key) {
    return [&pool, key](Index a, Index b) {
      const double own = key(pool.queue[a]), other = key(pool.queue[b]);
      return own != other ? own < other : pool.queue[a].rank < pool.queue[b].rank;
    };
  };
  plays_.resize(4);
  for (Play& play : plays_) {
    play.order.resize(pool.queue.size());
    std::iota(play.order.begin(), play.order.end(), Index{0});
  }
  std::ranges::sort(plays_[0].order, less([](const Waiting&) { return 0.0; }));
  std::ranges::sort(plays_[2].order, less([](const Waiting& job) {
                      return job.seconds * std::sqrt(static_cast<double>(job.width));
                    }));
  plays_[3].holds = false;
  count_left(pool);
  for (Play& play : plays_) {
    put_first(pool, play, now);
    pass(pool, play, pool.running, free, now, play.first);
    std::ranges::sort(play.first, {}, &Taken::place);
  }
  taken_ = plays_[0].first;
  if (std::ranges::all_of(plays_, [&](const Play& play) { return play.first == taken_; })) return;
  double least = kInfinity;
  for (Play& play : plays_) {
    count_left(pool);
    step_ = play.first;
    const double cost = play_out(pool, play, free, now, least);
    if (cost < least) taken_ = play.first;
    least = std::min(least, cost);
  }
}

void Backfill::count_left(const Pool& pool) {
  left_.resize(pool.queue.size());
  for (std::size_t k = 0; k < left_.size(); ++k) left_[k] = pool.queue[k].tasks;
}

void Backfill::starts(const ClusterState& state, int number, std::vector<Start>& found) {
  Pool& pool = pools_[number];
  const std::int64_t free = state.free[number];
  if (options_.order == QueueOrder::kFactors) age_usage(state);
  if (pool.queue.empty() || free <= 0) return;
  if (options_.order >= QueueOrder::kWfp3) reorder(state, pool);
  if (options_.reserve == Reserve::kEach) {
    conserve(pool, free, state.now);
  } else if (options_.reserve == Reserve::kBest && pool.queue.size() <= kMostPlayed) {
    choose(pool, free, state.now);
  } else {
    count_left(pool);
    plays_.resize(1);
    plays_[0].holds = true;
    plays_[0].order.resize(pool.queue.size());
    std::iota(plays_[0].order.begin(), plays_[0].order.end(), Index{0});
    if (options_.reserve == Reserve::kBest) put_first(pool, plays_[0], state.now);
    pass(pool, plays_[0], pool.running, free, state.now, taken_);
  }
  for (const auto& [place, tasks] : taken_) {
    found.push_back({pool.queue[place].job, pool.queue[place].phase, tasks});
  }
}

void Backfill::keep(const ClusterState& state, State& s) {
  s(pools_, jobs_, first_, usage_, aged_);
  if (!s.reading()) return;
  for (int pool = 0; pool < 2; ++pool) {
    pools_[pool].queue.clear();
    for (const Index job : state.present) {
      if (!std::exchange(jobs_[job].waits[pool], false)) continue;
      counts_changed(state, job, pool);
    }
  }
}

}  // namespace malleable
