// Ends of tasks if running tasks of a phase slow each other down. Each phase has its own time,
// which runs at the speed `pace` that one of its tasks has; there, ends do not change. Phase p of a
// job (0: maps, 1: reduces) has the number 2 * job + p. With an exponent e, k tasks work as k^e. A
// group is tasks of one phase that start and end together; backup tasks (`beside`) slow a phase
// down, too.
#include "malleable/sim/phase_clocks.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/jobs.hpp"

namespace malleable {

PhaseClocks::PhaseClocks(const ClusterView& cluster, const ClusterJobsView& jobs,
                         const ClusterOptions& options)
    : jobs_(jobs) {
  validate_rates(options.speedup.rates, 0);
  if (options.speedup.p >= 1.0 && options.speedup.rates.empty() && jobs.rates.empty()) return;
  clocks_.resize(2 * jobs.size());
  ends_.reset(std::vector<Index>(2 * jobs.size(), 0));
  std::int64_t slots[2] = {0, 0};
  for (const std::int64_t count : cluster.map_slots) slots[0] += count;
  for (const std::int64_t count : cluster.reduce_slots) slots[1] += count;
  const auto most = static_cast<std::size_t>(std::max(slots[0], slots[1]));
  pace_.assign(most + 1, 0.0);
  for (std::size_t k = 1; k <= most; ++k) {
    const auto running = static_cast<double>(k);
    pace_[k] = options.speedup.rates.empty()
                   ? std::pow(running, options.speedup.p - 1.0)
                   : options.speedup.rates[std::min(k, options.speedup.rates.size()) - 1] / running;
  }
}

// Moves a phase's own time to now, before its number of running tasks changes.
void PhaseClocks::touch(Index phase, double now) {
  Clock& clock = clocks_[phase];
  clock.at += (now - clock.time) * clock.speed;
  clock.time = now;
  if (clock.touched) return;
  clock.touched = true;
  touched_.push_back(phase);
}

double PhaseClocks::schedule(Index group, Index phase, double seconds, double now) {
  Clock& clock = clocks_[phase];
  touch(phase, now);
  const double end = clock.at + seconds;
  clock.ends.emplace_back(end, group);
  std::push_heap(clock.ends.begin(), clock.ends.end(), std::greater<>());
  return end;
}

// Computes the speeds, and next ends, of all phases that have changed.
void PhaseClocks::settle(const ClusterState& state) {
  for (const Index phase : touched_) {
    Clock& clock = clocks_[phase];
    clock.touched = false;
    clock.speed = pace(phase, state.phases[phase].running + clock.beside);
    if (clock.ends.empty() || clock.speed == 0.0) {
      ends_.erase(phase);
      continue;
    }
    const double left = std::max(0.0, clock.ends.front().first - clock.at);
    ends_.set(phase, state.now + left / clock.speed, order_++);
  }
  touched_.clear();
}

Index PhaseClocks::pop(Clock& clock) {
  const Index group = clock.ends.front().second;
  std::pop_heap(clock.ends.begin(), clock.ends.end(), std::greater<>());
  clock.ends.pop_back();
  return group;
}

// The speed of a phase's own time.
double PhaseClocks::pace(Index phase, std::int64_t tasks) const {
  const auto running = static_cast<std::size_t>(tasks);
  if (running > 0 && !jobs_.rates.empty()) {
    const auto first = static_cast<std::size_t>(jobs_.rate_offset[phase / 2]);
    const auto last = static_cast<std::size_t>(jobs_.rate_offset[phase / 2 + 1]);
    if (first < last) {
      return jobs_.rates[std::min(first + running, last) - 1] / static_cast<double>(running);
    }
  }
  return pace_[running];
}

}  // namespace malleable
