// When reduce tasks may start: once enough maps have ended, or earlier where the maps will probably
// have ended by the time copying has (kernel/early_reduces).
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "malleable/scheduler/cluster_scheduler.hpp"

namespace malleable {
namespace {

constexpr double kLikely = 0.8;
constexpr std::size_t kFew = 8;  // so many maps that run are looked at whenever one starts or ends
// Else again after this part of what could be copied, of a map's mean time or of its age.
constexpr double kOfCopying = 0.125, kOfMap = 0.0625;

}  // namespace

void ClusterScheduler::start_slowly(Index job) {
  const PhaseState& reduces = state_.phases[2 * job + 1];
  if (options_.split_copy || reduces.ready || reduces.total == 0) return;
  const PhaseState& maps = state_.phases[2 * job];
  const double enough = std::ceil(options_.slow_start * static_cast<double>(maps.total) - 1e-9);
  if (static_cast<double>(maps.finished) >= enough || (foresees_ && maps_end_soon(job))) {
    make_ready(job, kReduce);
  }
}

// So many maps of the job have begun, or (below 0) those that began about then have ended.
void ClusterScheduler::map_began(Index job, std::int64_t count, double when) {
  if (!foresees_ || state_.phases[2 * job + 1].total == 0) return;
  std::vector<double>& began = jobs_[job].began;
  if (count > 0) began.insert(began.end(), static_cast<std::size_t>(count), when);
  for (; count < 0 && !began.empty(); ++count) {
    const auto later = std::lower_bound(began.begin(), began.end(), when);
    const bool before =
        later == began.end() || (later != began.begin() && when - *(later - 1) < *later - when);
    began.erase(before ? later - 1 : later);
  }
}

// Whether all maps will probably have ended by the time that a reduce task has copied what is
// there.
bool ClusterScheduler::maps_end_soon(Index job) {
  const PhaseState& maps = state_.phases[2 * job];
  Job& own = jobs_[job];
  const double there = copying_.low() * static_cast<double>(maps.finished) /
                       static_cast<double>(std::max<std::int64_t>(maps.total, 1));
  if (!(there > 0.0) || own.began.empty()) return false;
  if (state_.now < own.look && own.began.size() > kFew) return false;
  const LogTimes times = times_now(job, kMap);
  ages_.clear();
  for (const double began : own.began) ages_.push_back(state_.now - began);
  const auto waiting = static_cast<double>(maps.waiting);
  if (chance_of_ends(ages_, waiting, times, there, kLikely) >= kLikely) return true;
  const double mean = times.seconds();
  // Before that many have started, a look would be in vain.
  if (waiting * mean >= there * static_cast<double>(own.began.size())) return false;
  // The chance changes as slowly as the youngest map is old.
  const double scale = std::max(mean, ages_.back());
  own.look = state_.now + std::max(there * kOfCopying, scale * kOfMap);
  if (own.looked_for) return false;
  own.looked_for = true;
  looks_.emplace_back(own.look, job);
  std::push_heap(looks_.begin(), looks_.end(), std::greater<>());
  return false;
}

// Looks that are due.
void ClusterScheduler::look_at_maps() {
  while (!looks_.empty() && looks_.front().first <= state_.now) {
    const Index job = looks_.front().second;
    std::pop_heap(looks_.begin(), looks_.end(), std::greater<>());
    looks_.pop_back();
    jobs_[job].looked_for = false;
    start_slowly(job);
  }
}

void ClusterScheduler::copied(Index job, double seconds) {
  if (!foresees_ || std::exchange(jobs_[job].told_copying, true)) return;
  copying_.learn(seconds);
}

}  // namespace malleable
