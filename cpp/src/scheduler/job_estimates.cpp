// Counts and times of the tasks of present jobs, for kernel/task_estimates. Rows are phases (2 *
// job: maps, 2 * job + 1: reduces). `began` is the sum of the start times of running tasks, `apart`
// the sum of squares of their distances from the mean; a silent phase has shown no time yet.
#include "malleable/scheduler/job_estimates.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {
namespace {

// A running phase reports again to its program when it has this many times more ended tasks.
constexpr double kMoreTasks = 1.5;

}  // namespace

// The prior of a phase: what is believed of its tasks before any ended.
LogMean JobEstimates::expect(Index row, const TaskEstimates::Stated& stated) {
  phases_[row].group = stated.group;
  return phases_[row].prior = tasks_.prior(phase_of(row), stated);
}

// The number of running tasks changes by `more`; new ones first restart their slots.
void JobEstimates::moved(Index row, std::int64_t running, std::int64_t more, double now,
                         double restart) {
  if (more == 0) return;
  Known& own = phases_[row];
  const auto before = static_cast<double>(running), change = static_cast<double>(more);
  if (more > 0) {
    const double begin = now + restart, off = before > 0.0 ? begin - own.began / before : 0.0;
    own.apart += off * off * before * change / (before + change);
    own.began += change * begin;
  } else {  // tasks that stop running count as old as the others
    own.apart += own.apart * change / before;
    own.began += own.began * change / before;
  }
  own.seen.running(now, before + change);
}

void JobEstimates::clear(Index row) {
  Known& own = phases_[row];
  if (!own.done) tasks_.close(phase_of(row), own.seen, own.group);
  tasks_.hide(phase_of(row), own.shown);
  own = Known{};
}

// Tasks have ended after `seconds`; true if the exponents of speed-up were updated.
bool JobEstimates::ended(Index row, const TaskEstimates::Stated& stated, std::int64_t tasks,
                         double seconds, std::int64_t running, double now) {
  Known& own = phases_[row];
  const auto count = static_cast<double>(tasks), left = static_cast<double>(running);
  if (silent(row)) showed_ += 1.0;
  own.seen.finished(count, seconds, now);
  // Ended tasks began `seconds` ago, the others at `now` at the latest; moved() counted all as
  // equally old.
  if (left > 0.0) {
    const double all = count + left, before = own.began * all / left, began = now - seconds;
    own.began = std::min(before - count * began, left * now);
    const double off = began - own.began / left;
    own.apart = std::max(0.0, own.apart * all / left - off * off * count * left / all);
  }
  const bool looked = tasks_.report_speedup(phase_of(row), own.seen, own.group);
  show(row, stated, running, now);
  return looked;
}

// Lets other jobs of the program know what the phase has shown so far.
void JobEstimates::show(Index row, const TaskEstimates::Stated& stated, std::int64_t running,
                        double now) {
  Known& own = phases_[row];
  if (!expects(row) || silent(row) || own.seen.count < kMoreTasks * own.showed) return;
  own.showed = own.seen.count;
  tasks_.show(phase_of(row), own.shown, stated, this->now(row, running, now));
}

// The running tasks and their mean age, as if each had run alone. `slowed` is the logarithm of the
// slow-down for each p of the grid, value_at() that for one p.
RunningTasks JobEstimates::running(Index row, std::int64_t count, double now) const {
  if (count <= 0) return {};
  const Known& own = phases_[row];
  const auto tasks = static_cast<double>(count);
  const double age = now - own.began / tasks;
  if (!(age > 0.0)) return {tasks, 0.0};
  return {tasks, age * std::exp(value_at(own.seen.slowed(now - age, now), speedup(row)))};
}

// What is left of a phase, for draws of its end: its tasks, and the estimates of their times for
// each scatter that the times may have. `working`: running tasks, but 0 for reduce tasks that still
// wait for maps; they count beside the ended tasks. `drift`: how much longer tasks take than those
// seen, as a logarithm.
LeftPhase JobEstimates::left(Index row, const TaskEstimates::Stated& stated,
                             const PhaseState& phase, double now, std::int64_t working) const {
  const Known& own = phases_[row];
  LeftPhase left{.shown = own.seen.count + static_cast<double>(working),
                 .drift = own.seen.drift(),
                 .running = phase.running,
                 .waiting = phase.unfinished() - phase.running};
  for (std::size_t k = 0; k < kScatters; ++k) {
    const auto [mean, log] = believed(row, before(row, stated), scatter_at(k), working, now);
    left.mean[k] = mean;
    left.log[k] = log;
  }
  if (phase.running > 0) {
    left.age = now - own.began / static_cast<double>(phase.running);
    const double slower = std::exp(value_at(own.seen.slowed(now - left.age, now), speedup(row)));
    left.age *= slower;
    left.ages = slower * std::sqrt(own.apart / static_cast<double>(phase.running));
  }
  return left;
}

// All tasks of a phase have ended: it becomes history; false if it had shown nothing, or is done.
bool JobEstimates::done(Index row, const TaskEstimates::Stated& stated, std::int64_t tasks) {
  Known& own = phases_[row];
  if (own.done || own.seen.count == 0.0) return false;
  own.done = true;
  showed_ += 1.0;
  const double all = std::max(static_cast<double>(tasks), own.seen.count);
  tasks_.hide(phase_of(row), own.shown);
  tasks_.learn(phase_of(row), stated, own.seen, all);
  own.seen.rest();  // gives memory back
  return true;
}

}  // namespace malleable
