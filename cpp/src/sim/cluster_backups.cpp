// Backup tasks: second attempts of tasks that will probably run for long (kernel/backup_gain).
//
// They begin in slots that no ready task wants, the largest gain first, at most one for each task,
// in phases without waiting tasks and with an ended task. The first attempt to end counts; the time
// of its task runs from the start of the first attempt. The other attempt ends in vain at once. If
// a ready task wants a slot, the backup task that began last ends in vain, too. If tasks cannot be
// taken back, every attempt runs to its end, and the least gain is learnt from backup tasks. If one
// of two attempts fails or leaves with its node, the other one goes on alone.
//
// With backup tasks each group is one attempt. Two attempts at one task are each other's *twin*;
// `beside` marks the one whose slot the scheduler does not count as running (it is *lent*). An
// attempt without a twin is *lone*. Phase p of a job is the number 2 * job + p. A search for gains
// costs O(groups), at most one an epoch. Below linear speed-up `clocks_` (sim/phase_clocks) count
// attempts beside, because the speed of a phase's tasks depends on
// how many run. It happens at events, and by a timer after a sixteenth of
// a task's mean time, or of its age: O(log(age / mean)) searches a task.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "malleable/sim/cluster.hpp"

namespace malleable {
namespace {

constexpr double kOfTask = 0.0625;  // a sixteenth

}  // namespace

// Ends as many backup tasks, the latest first, as ready tasks lack slots.
void ClusterSimulation::end_backups(int pool) {
  auto& backups = backups_[pool];
  if (backups.empty() || !options_.take_back) return;
  const std::int64_t free = state().free[pool];
  const std::int64_t most = free + static_cast<std::int64_t>(backups.size());
  for (std::int64_t k = scheduler_.wanted(pool, most) - free; k > 0; --k) {
    drop_attempt(backups.back());
  }
}

// Searches for tasks worth a second attempt, if a slot is free that no ready task wants.
void ClusterSimulation::begin_backups() {
  const double now = state().now, next = last_search_ + options_.epoch;
  next_search_ = kInfinity;
  if (now < next) {
    next_search_ = next;
    return;
  }
  for (int pool = 0; pool < 2; ++pool) {
    if (state().free[pool] > 0 && scheduler_.wanted(pool, 1) == 0) find_backups(pool);
  }
}

// Starts the backup tasks with the largest gains; sets the time of the next search.
void ClusterSimulation::find_backups(int pool) {
  const double now = state().now;
  last_search_ = now;
  lone_.clear();
  for (Index group = 0; group < groups_.size(); ++group) {
    const TaskGroup& g = groups_[group];
    const auto p = static_cast<Phase>(g.phase % 2);
    // parked: a reduce task that waits for maps
    if (g.count == 0 || g.parked || g.beside || g.twin != kNone) continue;
    if (scheduler_.pool_of(p) != pool) continue;
    lone_.push_back({g.phase, group, began(group), {}});
  }
  std::sort(lone_.begin(), lone_.end(),
            [](const Lone& a, const Lone& b) { return a.phase < b.phase; });
  double soonest = kInfinity;
  std::optional<LogTimes> times;
  Index phase = kNone;
  for (Lone& lone : lone_) {
    const auto p = static_cast<Phase>(lone.phase % 2);
    if (lone.phase != phase) times = scheduler_.times_for_backups(lone.phase / 2, p);
    phase = lone.phase;
    if (!times) continue;
    lone.worth = scheduler_.backup_gain(p, now - lone.began, *times);
    // The gain of an old attempt changes the more slowly the older it is.
    soonest = std::min(soonest, std::max(times->seconds(), now - lone.began));
  }
  const double least = options_.take_back ? LeastGain::kLeast : least_gain_.shown();
  std::erase_if(lone_, [&](const Lone& lone) { return !(lone.worth.gain > least); });
  std::sort(lone_.begin(), lone_.end(), [&](const Lone& a, const Lone& b) {
    const auto place = [&](const Lone& lone) {
      return std::tuple(-lone.worth.gain, lone.phase, groups_.task(groups_[lone.group].first).task);
    };
    return place(a) < place(b);
  });
  for (const Lone& lone : lone_) {
    if (state().free[pool] == 0) break;
    begin_backup(lone, scheduler_.lend(pool));
  }
  if (state().free[pool] == 0) return;
  const double later = now + std::max(options_.epoch, kOfTask * soonest);
  next_search_ = std::min(next_search_, std::max(later, std::nextafter(now, kInfinity)));
}

// The start of an attempt, moved forward by its waiting for maps.
double ClusterSimulation::began(Index group) const {
  const TaskGroup& g = groups_[group];
  const double maps = map_completion[g.phase / 2];
  return g.phase % 2 == kReduce && maps > g.start ? maps : g.start;
}

// Returns the lent slot of an attempt.
void ClusterSimulation::end_beside(Index group) {
  TaskGroup& g = groups_[group];
  const int pool = scheduler_.pool_of(static_cast<Phase>(g.phase % 2));
  std::erase(backups_[pool], group);
  --lent_[pool];
  if (clocks_.used()) clocks_.beside(g.phase, -1, state().now);
}

// Ends an attempt; the other one, if there is one, goes on alone. An event that still refers to its
// group finds it empty.
void ClusterSimulation::drop_attempt(Index group) {
  TaskGroup& g = groups_[group];
  const double now = state().now;
  // The time of an attempt whose task had ended was counted as it ran.
  if (g.twin == kNone) {
    --in_vain_;
  } else {
    totals_.wasted += now - g.start;
  }
  // The remaining attempt, also a backup task, now holds its task's slot.
  end_beside(g.beside ? group : g.twin);
  if (g.twin != kNone) {
    TaskGroup& other = groups_[g.twin];
    other.twin = kNone;
    other.beside = false;
  }
  g.twin = kNone;
  g.beside = false;
  const auto [next, node, task] = groups_.take(group);
  record(kInVain, g.phase, task, node, g.attempt);
  free_slot(node, scheduler_.pool_of(static_cast<Phase>(g.phase % 2)));
  if (g.reads) drop_group(group);  // while it reads, no event will find and free it
}

// For an attempt that ends: true if its task had ended already. Otherwise the other attempt ends in
// vain, or goes on beside.
bool ClusterSimulation::ends_beside(Index group) {
  TaskGroup& g = groups_[group];
  const bool alone = g.twin == kNone;
  if (alone && !g.beside) return false;
  if (alone || g.fails) {
    totals_.failed += g.fails;
    drop_attempt(group);
    return true;
  }
  TaskGroup& other = groups_[g.twin];
  const int pool = scheduler_.pool_of(static_cast<Phase>(g.phase % 2));
  if (g.beside) {
    ++totals_.backups_won;
    least_gain_.won();
    g.seconds = state().now - began(g.twin);
    g.began = state().now - g.seconds;
    std::replace(backups_[pool].begin(), backups_[pool].end(), group, g.twin);
    g.beside = false;
    other.beside = true;
  }
  if (options_.take_back) {
    drop_attempt(g.twin);
    return false;
  }
  std::erase(backups_[pool], g.twin);
  totals_.wasted += state().now - other.start;
  ++in_vain_;
  other.twin = g.twin = kNone;
  return false;
}

void ClusterSimulation::begin_backup(const Lone& lone, Index node) {
  const double now = state().now;
  const Index first = lone.group, phase = lone.phase, job = phase / 2;
  const auto p = static_cast<Phase>(phase % 2);
  const Index task = groups_.task(groups_[first].first).task;
  const auto [seconds, copying, fails] = times_.backup(job, p, task, node, ++attempts_);
  const Index group = make_group(started_task({job, p, task, node}, seconds, copying, fails));
  groups_.add(group, node, task);
  groups_[group].twin = first;
  groups_[group].beside = true;
  groups_[first].twin = group;
  groups_[group].attempt = attempts_;
  record(kBackup, phase, task, node, attempts_);
  const int pool = scheduler_.pool_of(p);
  backups_[pool].push_back(group);
  ++lent_[pool];
  ++totals_.backups;
  ++totals_.events;
  least_gain_.begun(lone.worth.chance);
  if (clocks_.used()) clocks_.beside(phase, 1, now);
}

// Drops the backup tasks of a phase whose tasks will wait for maps again.
void ClusterSimulation::drop_backups_of(Index phase) {
  for (Index group = 0; group < groups_.size(); ++group) {
    const TaskGroup& g = groups_[group];
    if (g.count > 0 && g.phase == phase && g.beside) drop_attempt(group);
  }
}

}  // namespace malleable
