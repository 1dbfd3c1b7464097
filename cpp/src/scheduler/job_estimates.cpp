#include "malleable/scheduler/job_estimates.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {
namespace {

// What is hardly likely is left out.
constexpr double kUnlikely = 0.01;
// A phase that goes on shows its program more when it has so many times more tasks.
constexpr double kMoreTasks = 1.5;

}  // namespace

LogMean JobEstimates::expect(Index row, const TaskEstimates::Stated& told) {
  const double first = phases_[row].first;
  set_begun(row, kNever);
  phases_[row].group = told.group;
  set_begun(row, first);
  return phases_[row].prior = tasks_.prior(phase_of(row), told);
}

void JobEstimates::moved(Index row, std::int64_t running, std::int64_t more, double now) {
  if (more == 0) return;
  Known& own = phases_[row];
  const auto before = static_cast<double>(running), change = static_cast<double>(more);
  if (more > 0) {
    const double off = before > 0.0 ? now - own.began / before : 0.0;
    own.apart += off * off * before * change / (before + change);
    own.began += change * now;
  } else {  // those that stop running are as old as those that go on
    own.apart += own.apart * change / before;
    own.began += own.began * change / before;
  }
  own.seen.running(now, before + change);
  if (more > 0 && silent(row) && own.first == kNever) set_begun(row, now);
}

void JobEstimates::set_begun(Index row, double first) {
  Known& own = phases_[row];
  if (own.first != kNever) tasks_.count_begun(phase_of(row), own.group, own.first, -1.0);
  own.first = first;
  if (first != kNever) tasks_.count_begun(phase_of(row), own.group, first, 1.0);
}

void JobEstimates::clear(Index row) {
  tasks_.close(phases_[row].seen, phases_[row].group);
  show_run(row, {});
  set_begun(row, kNever);
  phases_[row] = Known{};
}

bool JobEstimates::ended(Index row, std::int64_t tasks, std::int64_t total, double seconds,
                         std::int64_t running, double now, double arrived) {
  Known& own = phases_[row];
  const auto count = static_cast<double>(tasks), left = static_cast<double>(running);
  if (silent(row)) first_ended(row);
  // Of a task that is alone nothing follows for p.
  const double slope = 1.0 - speedup(row);
  own.seen.finished(count, seconds, now, arrived, total > 1, slope, tasks_.scatter(phase_of(row)));
  // They began when their seconds say, the others at `now` at the latest; moved() took them to be
  // as old as the others.
  if (left > 0.0) {
    const double all = count + left, before = own.began * all / left, began = now - seconds;
    own.began = std::min(before - count * began, left * now);
    const double off = began - own.began / left;
    own.apart = std::max(0.0, own.apart * all / left - off * off * count * left / all);
  }
  const bool looked = tasks_.look_at_speedup(own.seen, own.group);
  if (expects(row) && own.seen.count >= kMoreTasks * own.run.tasks) {
    const LogMean known = this->now(row, running, now);
    show_run(row, tasks_.run_of(phase_of(row), speedup(row), known, own.seen,
                                this->running(row, running, now)));
  }
  return looked;
}

void JobEstimates::show_run(Index row, const TaskEstimates::Run& run) {
  Known& own = phases_[row];
  if (tasks_.show_run(phase_of(row), own.group, own.run, run)) changed_ = true;
}

TaskEstimates::Shown JobEstimates::shown(Index row, const TaskEstimates::Stated& told,
                                         const LogMean& mean, std::int64_t running, double now) {
  Known& own = phases_[row];
  own.run =
      tasks_.run_of(phase_of(row), speedup(row), mean, own.seen, this->running(row, running, now));
  return {mean, told, &own.run};
}

RunningTasks JobEstimates::running(Index row, std::int64_t count, double now) const {
  if (count <= 0) return {};
  const Known& own = phases_[row];
  const auto tasks = static_cast<double>(count);
  const double age = now - own.began / tasks;
  if (!(age > 0.0)) return {tasks, 0.0};
  return {tasks, age * std::exp((speedup(row) - 1.0) * own.seen.beside(now - age, now))};
}

LogMean JobEstimates::now(Index row, std::int64_t count, double now) const {
  const Known& own = phases_[row];
  return tasks_.posterior(phase_of(row), speedup(row), own.prior, own.seen,
                          running(row, count, now));
}

LeftPhase JobEstimates::left(Index row, const TaskEstimates::Stated& told, const PhaseState& phase,
                             double now) const {
  const Known& own = phases_[row];
  const TaskSamples& seen = own.seen;
  LeftPhase left{.prior = expects(row) ? own.prior : tasks_.prior(phase_of(row), told),
                 .running = phase.running,
                 .waiting = phase.unfinished() - phase.running};
  if (phase.running > 0) {
    left.age = now - own.began / static_cast<double>(phase.running);
    const double slower = std::exp((speedup(row) - 1.0) * seen.beside(now - left.age, now));
    left.age *= slower;
    left.ages = slower * std::sqrt(own.apart / static_cast<double>(phase.running));
  }
  if (seen.count == 0.0) return left;
  const double slope = 1.0 - speedup(row);
  const auto of = [&](const auto& sums) {
    const double log = (sums.y - slope * sums.x) / sums.count;
    const double square = sums.yy - 2.0 * slope * sums.xy + slope * slope * sums.xx;
    return LeftPhase::Ended{sums.count, log, std::max(0.0, square - sums.count * log * log)};
  };
  left.all = of(seen);
  if (seen.together) {  // only their mean is known
    const double scatter = tasks_.scatter(phase_of(row)), square = scatter * scatter;
    left.all.log -= 0.5 * square;
    left.all.square = (seen.count - 1.0) * square;
    return left;
  }
  const ChangePoint change =
      tasks_.change(phase_of(row), speedup(row), seen, running(row, phase.running, now));
  if (change.chance < kUnlikely) return left;
  left.late = of(change.late);
  left.changed = change.chance;
  return left;
}

bool JobEstimates::done(Index row, const TaskEstimates::Stated& told, std::int64_t tasks) {
  Known& own = phases_[row];
  if (own.done || own.seen.count == 0.0) return false;
  own.done = true;
  showed_ += 1.0;
  const double all = std::max(static_cast<double>(tasks), own.seen.count);
  show_run(row, {});
  if (tasks_.learn(phase_of(row), told, own.seen, all)) changed_ = true;
  own.seen.rest();
  return true;
}

}  // namespace malleable
