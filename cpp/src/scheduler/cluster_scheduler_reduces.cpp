// When reduce tasks may start: once enough maps have ended, or earlier if the maps will probably
// end before the copying does (kernel/early_reduces).
//
// If tasks can be ended (`take_back`), reduce tasks also start early in slots that no ready task
// wants, as soon as one map has ended and the chance is at least a tenth that all maps end while a
// reduce task copies everything, if copying takes as long as the longest so far. Before anything is
// known of copying, they start as soon as no map waits. If a map, or a reduce task whose maps have
// ended, finds no slot, a reduce task that waits for maps gives its slot back and waits for another
// one; it has only copied. It belongs to the job whose maps have the least chance, below a half, to
// end while a reduce task copies the present outputs. The waiting reduce tasks of this job are then
// not ready any more.
//
// A job's maps are checked when one begins or ends, or by a timer, less often the more of them run
// and the older they are: O(running maps) a check. A search for a slot costs at most O(jobs whose
// reduce tasks wait for maps), and O(1) while none of them may be ended. Phase p of a job (0: maps,
// 1: reduces) is row 2 * job + p.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "malleable/scheduler/cluster_scheduler.hpp"

namespace malleable {
namespace {

// The least chance that all maps end in time for an early start; it is lower if tasks that start in
// vain can be ended, and lower again for a job whose reduce tasks are ready already.
constexpr double kLikelyInTime = 0.8, kLikelyEnough = 0.65, kEven = 0.5;
// The same for a slot that no other task wants. Nothing is lost there at any chance, but the
// smaller it is, the more tasks start in vain and are ended again.
constexpr double kLikelyInIdleSlot = 0.1;
// Up to this many running maps are checked whenever one starts or ends.
constexpr std::size_t kFewMaps = 8;
// Otherwise they are checked again after this part of the copying time, of a map's mean time or of
// its age.
constexpr double kOfCopying = 0.125, kOfMap = 0.0625;

}  // namespace

// Makes a job's reduce tasks ready if enough of its maps have ended, or will probably end in time.
void ClusterScheduler::start_slowly(Index job) {
  const PhaseState& reduces = state_.phases[2 * job + 1];
  const PhaseState& maps = state_.phases[2 * job];
  if (options_.split_copy || reduces.total == 0) return;
  Job& own = jobs_[job];
  if (maps.unfinished() == 0) {
    own.early = 0;
    own.ready_early = false;
  }
  if (reduces.ready && !(own.ready_early && takes_back_)) return;
  const double enough = std::ceil(options_.start_at() * static_cast<double>(maps.total) - 1e-9);
  if (static_cast<double>(maps.finished) >= enough) {
    make_ready(job, kReduce);
  } else if (predicts_maps_ && !(takes_back_ && starts_together(job))) {
    check_maps(job);
  }
}

// `count` maps of the job have begun, or (below 0) maps that began about `when` have ended.
void ClusterScheduler::map_began(Index job, std::int64_t count, double when) {
  if (!predicts_maps_ || state_.phases[2 * job + 1].total == 0) return;
  std::vector<double>& began = jobs_[job].began;
  if (count > 0) began.insert(began.end(), static_cast<std::size_t>(count), when);
  for (; count < 0 && !began.empty(); ++count) {
    const auto later = std::lower_bound(began.begin(), began.end(), when);
    const bool before =
        later == began.end() || (later != began.begin() && when - *(later - 1) < *later - when);
    began.erase(before ? later - 1 : later);
  }
  if (began.size() > kFewMaps) return;
  jobs_[job].next_check = 0.0;
  if (jobs_[job].early > 0) take_back_after_ = 0.0;
}

// Computes the chances that all maps end while a reduce task copies the present outputs, or all
// outputs, and applies them to the job's reduce tasks.
void ClusterScheduler::check_maps(Index job) {
  Job& own = jobs_[job];
  if (takes_back_ ? !copying_.unknown() && !(copying_.most() > 0.0) : !(copying_.low() > 0.0))
    return;
  if (state_.now >= own.next_check) {
    own.chance_soon = own.chance_all = 0.0;
    if (!own.began.empty() && state_.phases[2 * job].finished > 0) compute_chances(job);
    apply_chances(job);
  }
  time_next_check(job);
}

// Computes the two chances, and when they are worth computing again.
void ClusterScheduler::compute_chances(Index job) {
  Job& own = jobs_[job];
  const PhaseState& maps = state_.phases[2 * job];
  own.next_check = 0.0;
  if (copying_.unknown()) {
    own.chance_all = maps.waiting == 0 ? 1.0 : 0.0;
    return;
  }
  const double all = copying_.most();
  const double there =
      copying_.low() * static_cast<double>(maps.finished) / static_cast<double>(maps.total);
  const LogTimes times = times_now(job, kMap);
  ages_.clear();
  for (const double began : own.began) ages_.push_back(state_.now - began);
  const auto waiting = static_cast<double>(maps.waiting);
  // If reduce tasks can be ended, the job with the least chance is needed.
  const double likely = takes_back_ ? kLikelyEnough : kLikelyInTime;
  const double enough = own.early > 0 ? 0.0 : own.ready_early ? kEven : likely;
  own.chance_soon = chance_of_ends(ages_, waiting, times, there, enough);
  if (takes_back_) own.chance_all = chance_of_ends(ages_, waiting, times, all, kLikelyInIdleSlot);
  const double mean = times.seconds(), longest = takes_back_ ? all : there;
  // Before that many maps have started, a check cannot succeed.
  if (waiting * mean >= longest * static_cast<double>(own.began.size())) return;
  // The chance changes as slowly as the youngest map is old.
  const double scale = std::max(mean, ages_.back());
  own.next_check = state_.now + std::max(there * kOfCopying, scale * kOfMap);
}

// Makes reduce tasks ready, or not ready again, by the chances.
void ClusterScheduler::apply_chances(Index job) {
  Job& own = jobs_[job];
  const PhaseState& reduces = state_.phases[2 * job + 1];
  if (own.chance_soon >= (takes_back_ ? kLikelyEnough : kLikelyInTime) && !reduces.ready) {
    make_ready(job, kReduce);
    own.ready_early = true;
  } else if (own.chance_soon < kEven && own.ready_early && takes_back_) {
    make_unready(job);
  }
  if (own.is_candidate || !may_start_early(job)) return;
  own.is_candidate = true;
  candidates_.push_back(job);
}

// Sets a timer for the next check, unless one is set.
void ClusterScheduler::time_next_check(Index job) {
  Job& own = jobs_[job];
  if (own.check_timed || own.next_check <= state_.now || state_.phases[2 * job + 1].ready) return;
  own.check_timed = true;
  checks_.emplace_back(own.next_check, job);
  std::push_heap(checks_.begin(), checks_.end(), std::greater<>());
}

// Makes the checks that are due.
void ClusterScheduler::make_due_checks() {
  while (!checks_.empty() && checks_.front().first <= state_.now) {
    const Index job = checks_.front().second;
    std::pop_heap(checks_.begin(), checks_.end(), std::greater<>());
    checks_.pop_back();
    jobs_[job].check_timed = false;
    start_slowly(job);
  }
}

// Makes waiting reduce tasks not ready again.
void ClusterScheduler::make_unready(Index job) {
  PhaseState& reduces = state_.phases[2 * job + 1];
  const std::int64_t waiting = reduces.waiting;
  count(job, kReduce, -waiting, 0);
  reduces.ready = false;
  reduces.waiting = waiting;
  jobs_[job].ready_early = false;
  mark(job, kReduce);
  refresh(job, pool_of(kReduce));
}

// Counts reduce tasks that started before all maps have ended.
void ClusterScheduler::started_early(Index job, std::int64_t tasks) {
  const PhaseState& reduces = state_.phases[2 * job + 1];
  Job& own = jobs_[job];
  if (!takes_back_ || state_.phases[2 * job].unfinished() == 0) return;
  if (reduces.ready && !own.ready_early) return;  // the engine made them ready
  own.early += tasks;
  take_back_after_ = 0.0;
  if (!std::exchange(own.is_early, true)) early_.push_back(job);
}

// Whether reduce tasks of the job may start in slots that no ready task wants.
bool ClusterScheduler::may_start_early(Index job) const {
  const PhaseState& reduces = state_.phases[2 * job + 1];
  return jobs_[job].chance_all >= kLikelyInIdleSlot && !reduces.ready && reduces.waiting > 0;
}

// How many of these may start, because the job's own maps come first.
std::int64_t ClusterScheduler::most_early(Index job) const {
  const std::int64_t maps = state_.cluster.generic ? state_.phases[2 * job].waiting : 0;
  const std::int64_t room = state_.room(job, pool_of(kReduce)) - maps;
  return std::min(state_.phases[2 * job + 1].waiting, room);
}

// Starts reduce tasks early, first of the job with the best chance.
void ClusterScheduler::start_early(int pool, std::vector<TaskStart>& starts) {
  if (!takes_back_ || pool != pool_of(kReduce)) return;
  while (state_.free[pool] > 0 && !candidates_.empty() && wanted(pool, 1) == 0) {
    Index best = kNone;
    std::erase_if(candidates_, [&](Index job) {
      const bool may = jobs_[job].is_candidate = this->may_start_early(job);
      const bool better = best == kNone || jobs_[job].chance_all > jobs_[best].chance_all;
      if (may && better && most_early(job) > 0) best = job;
      return !may;
    });
    if (best == kNone) return;
    const std::int64_t most = std::min(most_early(best), state_.free[pool]);
    for (std::int64_t k = 0; k < most; ++k) start(best, kReduce, 1, free_node(pool), starts);
  }
}

// Whether more maps, and reduce tasks whose maps have ended, need slots than are free.
bool ClusterScheduler::tasks_lack_slots(int pool, std::int64_t freed) {
  std::int64_t left = state_.free[pool] + freed;
  if (ready_[pool] <= left) return false;
  settle_places(pool);
  waiting_[pool].visit_in_order([&](const auto& entry) {
    const Index job = entry.item;
    const PhaseState& maps = state_.phases[2 * job];
    const PhaseState& reduces = state_.phases[2 * job + 1];
    std::int64_t tasks = pool_of(kMap) == pool && maps.ready ? maps.waiting : 0;
    if (pool_of(kReduce) == pool && reduces.ready && maps.unfinished() == 0) {
      tasks += reduces.waiting;
    }
    left -= std::min(tasks, state_.room(job, pool));
    return left >= 0;
  });
  return left < 0;
}

// The job that gives back the slot of a reduce task, `freed` of which have been given back already;
// kNone if no task lacks a slot, or none may be ended.
Index ClusterScheduler::to_take_back(int pool, std::int64_t freed) {
  if (early_.empty() || pool != pool_of(kReduce) || state_.now < take_back_after_) return kNone;
  if (!tasks_lack_slots(pool, freed)) return kNone;
  Index worst = kNone;
  double soonest = kInfinity;
  std::erase_if(early_, [&](Index job) {
    Job& own = jobs_[job];
    own.is_early = own.early > 0;
    if (!own.is_early) return true;
    if (state_.now >= own.next_check) check_maps(job);
    soonest = std::min(soonest, own.next_check);
    const bool worse =
        worst == kNone || own.chance_soon < jobs_[worst].chance_soon ||
        (own.chance_soon == jobs_[worst].chance_soon && state_.rank[job] > state_.rank[worst]);
    if (own.chance_soon < kEven && worse) worst = job;
    return false;
  });
  if (worst == kNone) take_back_after_ = soonest;
  return worst;
}

// The first reduce task of a job has copied for so many seconds.
void ClusterScheduler::copied(Index job, double seconds) {
  if (!predicts_maps_ || std::exchange(jobs_[job].showed_copying, true)) return;
  copying_.learn(seconds);
}

}  // namespace malleable
