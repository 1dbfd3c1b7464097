#include "malleable/policy/backfill.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace malleable {
namespace {

// Terms: a cell is nodes of the same partitions, or one node if memory or GPUs are given; a bundle
// is tasks that start together; a place is a job's number in the queue.

// A job goes first after it has waited this many times the time of all work that was present, on
// all slots. Smaller numbers make the longest wait shorter and, under overload, the mean response
// longer; slowdowns are small only if large jobs wait.
constexpr double kPatience = 4.0;  // and if penalties are slowdowns:
constexpr double kStretchPatience = 20.0;
// waiting jobs; with more, AUTO follows its queue (shortest first)
constexpr std::size_t kMostPlayed = 256;
constexpr double kOldest = 7 * 86400.0;  // s: ages count up to this
constexpr double kHalf = 7 * 86400.0;    // s: half-life of usage

}  // namespace

void Backfill::begin(const ClusterState& state) {
  for (Pool& pool : pools_) pool = Pool{};
  jobs_.assign(state.jobs.size(), Job{});
  first_ = kInfinity;
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    jobs_[job].needs = state.jobs.needs_of(job);
    first_ = std::min(first_, state.jobs.arrival[job]);
  }
  usage_.assign(state.user_running.size(), Usage{});
  aged_ = state.now;
  asked_ = used_ = 0.0;
  cells_.make(state.cluster);
}

// Fills room_ with the free slots of each cell.
void Backfill::count_free(const ClusterState& state, int pool) {
  room_.free = state.free[pool];
  room_.cell.assign(cells_.size(), NodeRoom{});
  if (!cells_.apart()) {
    room_.cell[0].slots = room_.free;
    return;
  }
  free_on_ = state.free_on[pool];
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    NodeRoom& room = room_.cell[c];
    room = state.cluster.room_on(cells_.nodes(c)[0]);
    for (const TaskBundle& bundle : pools_[pool].running) {
      if (bundle.cell == c) room.give(bundle.needs, -bundle.slots);
    }
    room.slots = 0;
    for (const Index node : cells_.nodes(c)) room.slots += free_on_[node];
  }
}

void Backfill::added(const ClusterState& state, std::span<const Index> jobs) {
  jobs_.resize(state.jobs.size());
  usage_.resize(state.user_running.size());
  for (const Index job : jobs) {
    jobs_[job] = Job{};
    jobs_[job].needs = state.jobs.needs_of(job);
    first_ = std::min(first_, state.jobs.arrival[job]);
  }
}

// The time for which a task's slots are reserved: requested, stated or estimated.
double Backfill::seconds_of(const ClusterState& state, Index job, Phase p) const {
  const double requested = state.jobs.requested_of(p, job);
  if (requested > 0.0) return requested;
  const double said = state.believed[2 * job + p];
  return said > 0.0 ? said : state.phase(job, p).estimate;
}

// A job's key in the queue, the least first. WFP3, UNICEF and F1 are known rules of HPC schedulers
// (Tang et al. 2009, Carastan-Santos and de Camargo 2017).
double Backfill::key_of(const ClusterState& state, const QueuedJob& job) const {
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
      // Three numbers up to 1 with equal weights: age, size, and 2^-(usage over an equal share).
      const auto all = static_cast<double>(std::max<std::int64_t>(state.slots[0], 1));
      double whole = 0.0;
      for (const Usage& user : usage_) whole += user.used;
      const double own = usage_[state.jobs.user_of(job.job)].used;
      const double share = whole > 0.0 ? own / whole * static_cast<double>(usage_.size()) : 0.0;
      return -(std::min(wait / kOldest, 1.0) + slots / all + std::exp2(-share));
    }
  }
  return 0.0;
}

void Backfill::leave_queue(int pool, Index job, Index rank) {
  if (!std::exchange(jobs_[job].waits[pool], false)) return;
  std::vector<QueuedJob>& queue = pools_[pool].queue;
  queue.erase(std::lower_bound(queue.begin(), queue.end(), QueuedJob{jobs_[job].key[pool], rank}));
}

// Requested slot-seconds of jobs that wait or run on a pool.
double Backfill::work_here(const ClusterState& state, int pool) const {
  double work = 0.0;
  for (const QueuedJob& job : pools_[pool].queue) {
    work += job.seconds * static_cast<double>(job.tasks);
  }
  for (const TaskBundle& bundle : pools_[pool].running) {
    work += std::max(0.0, bundle.end - state.now) * static_cast<double>(bundle.slots);
  }
  return work;
}

void Backfill::join_queue(const ClusterState& state, Index job, int pool, Phase p,
                          std::int64_t tasks) {
  Job& own = jobs_[job];
  const std::int64_t width = std::min(state.jobs.width_of(p, job), tasks);
  QueuedJob entry{0.0, state.rank[job], job, p, width, tasks, seconds_of(state, job, p)};
  if (own.since < 0.0) {
    ++pools_[pool].followed.changes;
    own.since = state.now;
    const double more = entry.seconds * static_cast<double>(tasks);
    const double part = asked_ > 0.0 ? std::clamp(used_ / asked_, 0.01, 1.0) : 1.0;
    if (options_.reserve == Reserve::kBest) own.work = part * (work_here(state, pool) + more);
  }
  entry.since = own.since;
  entry.needs = own.needs;
  entry.weight = state.jobs.weight_of(job);
  const auto slots = static_cast<double>(std::max<std::int64_t>(state.slots[pool], 1));
  const double patience = options_.stretch ? kStretchPatience : kPatience;
  entry.overdue = own.holds ? -kInfinity : own.since + patience * own.work / slots;
  entry.key = own.key[pool] = key_of(state, entry);
  own.waits[pool] = true;
  std::vector<QueuedJob>& queue = pools_[pool].queue;
  queue.insert(std::lower_bound(queue.begin(), queue.end(), entry), entry);
}

// Removes `tasks` that ended, on nodes of a cell if it is known: those with the earliest expected
// ends.
void Backfill::drop(const ClusterState& state, Index job, Phase p, std::int64_t tasks, Index cell) {
  const int pool = state.cluster.generic ? 0 : p;
  std::int64_t& known = jobs_[job].running[pool];
  tasks = std::min(tasks, known);
  age_usage(state.now);
  usage_[state.jobs.user_of(job)].slots -= tasks;
  known -= tasks;
  const double seconds = seconds_of(state, job, p);
  auto& running = pools_[pool].running;
  for (TaskBundle& bundle : running) {
    if (bundle.job != job || tasks == 0 || (cell != kNone && bundle.cell != cell)) continue;
    const std::int64_t some = std::min(tasks, bundle.slots);
    asked_ += seconds * static_cast<double>(some);
    used_ += (state.now - bundle.end + seconds) * static_cast<double>(some);
    bundle.slots -= some;
    tasks -= some;
  }
  known += tasks;  // no task of that cell is known
  usage_[state.jobs.user_of(job)].slots += tasks;
  std::erase_if(running, [](const TaskBundle& bundle) { return bundle.slots == 0; });
  if (known == 0) ++pools_[pool].followed.changes;
}

void Backfill::task_finished(const ClusterState& state, Index job, Phase p, Index node, double) {
  drop(state, job, p, 1, cells_.of(node));
}

// Updates a job's running bundles to its count of running tasks.
void Backfill::settle_bundles(const ClusterState& state, Index job, int pool) {
  std::int64_t now = 0;
  Phase last = kMap;
  for (const Phase p : {kMap, kReduce}) {
    if (!state.cluster.generic && p != pool) continue;
    now += state.phase(job, p).running;
    if (state.phase(job, p).running > 0) last = p;
  }
  std::int64_t& known = jobs_[job].running[pool];
  if (now < known) drop(state, job, last, known - now, kNone);
  if (now > known) jobs_[job].holds = false;
  age_usage(state.now);
  usage_[state.jobs.user_of(job)].slots += std::max<std::int64_t>(0, now - known);
  auto& running = pools_[pool].running;
  const double end = state.now + seconds_of(state, job, last);
  while (known < now) {
    TaskBundle more{end, state.rank[job], job, now - known, 0, jobs_[job].needs};
    const auto found_start =
        std::ranges::find(announced_, job, &std::pair<Index, Cells::Taken>::first);
    if (found_start != announced_.end()) {
      more.cell = found_start->second.cell;
      more.slots = std::min(more.slots, found_start->second.tasks);
      announced_.erase(found_start);
    }
    known += more.slots;
    running.insert(std::upper_bound(running.begin(), running.end(), more), more);
  }
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

void Backfill::stated_time_changed(const ClusterState& state, Index job, Phase p, double) {
  counts_changed(state, job, state.cluster.generic ? 0 : p);
}

// Adds to each user's usage the slots held since the last change.
void Backfill::age_usage(double now) {
  if (options_.order != QueueOrder::kFactors || now == aged_) return;
  const double part = std::exp2(-(now - std::exchange(aged_, now)) / kHalf);
  const double held = kHalf / std::numbers::ln2 * (1.0 - part);
  for (Usage& user : usage_) {
    user.used = user.used * part + held * static_cast<double>(user.slots);
  }
}

// Sorts the queue again if keys depend on time.
void Backfill::reorder(const ClusterState& state, Pool& pool) {
  const int number = &pool == &pools_[1] ? 1 : 0;
  for (QueuedJob& job : pool.queue) job.key = jobs_[job.job].key[number] = key_of(state, job);
  std::sort(pool.queue.begin(), pool.queue.end());
}

// Jobs with reservations keep them until they start.
void Backfill::keep_reservations(Pool& pool, std::span<const Index> holders) {
  for (const Index place : holders) {
    QueuedJob& job = pool.queue[place];
    jobs_[job.job].holds = true;
    job.overdue = -kInfinity;
  }
}

// Lists starts with their nodes; any node if all are equal.
void Backfill::list_starts(int number, std::vector<Start>& found) {
  announced_.clear();
  for (Cells::Taken own : taken_) {
    const QueuedJob& job = pools_[number].queue[own.place];
    if (!cells_.apart()) {
      found.push_back({job.job, job.phase, own.tasks, kNone});
      continue;
    }
    for (const Index node : cells_.nodes(own.cell)) {
      const std::int64_t some = std::min(own.tasks, free_on_[node]);
      if (some == 0) continue;
      free_on_[node] -= some;
      own.tasks -= some;
      found.push_back({job.job, job.phase, some, node});
      announced_.push_back({job.job, {own.place, own.cell, some}});
    }
  }
}

void Backfill::starts(const ClusterState& state, int number, std::vector<Start>& found) {
  Pool& pool = pools_[number];
  age_usage(state.now);
  if (pool.queue.empty() || state.free[number] <= 0) return;
  if (options_.order >= QueueOrder::kWfp3) reorder(state, pool);
  count_free(state, number);
  const QueueMoment at{cells_, pool.queue, pool.running, room_, state.now};
  const bool best = options_.reserve == Reserve::kBest;
  if (options_.reserve == Reserve::kEach) {
    profile_.pass(at, taken_);
  } else if (best && pool.queue.size() <= kMostPlayed) {
    const auto holders = choice_.choose(at, options_.stretch, pool.followed, taken_);
    // For slowdowns short jobs go first at any time.
    if (!options_.stretch) keep_reservations(pool, holders);
  } else {
    order_.resize(pool.queue.size());
    std::iota(order_.begin(), order_.end(), Index{0});
    left_.resize(pool.queue.size());
    for (std::size_t k = 0; k < left_.size(); ++k) left_[k] = pool.queue[k].tasks;
    if (best) put_first(pool.queue, order_, state.now);
    const bool reserves = options_.reserve != Reserve::kNone;
    reservations_.pass(at, order_, reserves, /*holds=*/true, left_, taken_);
  }
  list_starts(number, found);
}

void Backfill::keep(const ClusterState& state, State& s) {
  s(pools_, jobs_, first_, usage_, aged_, asked_, used_);
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
