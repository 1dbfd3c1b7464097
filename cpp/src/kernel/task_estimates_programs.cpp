// Runs of programs: their level, changes of it, and what is expected of the next run.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "malleable/kernel/task_estimates.hpp"

namespace malleable {
namespace {

// A program that has changed beyond doubt: runs before that are forgotten once there are so many
// since.
constexpr double kRecent = 8.0;
// A run counts as at most so many standard deviations away from its program's level (few tasks may
// have a straggler), and each task more adds to that, until there are so many.
constexpr double kFarOff = 2.5, kFarther = 0.1, kFarthest = 6.0;
// A group is clearly off if its mean is so many of its standard deviations away.
constexpr double kClearly = 2.0;
// Runs of a program, before there are any.
constexpr double kGroupVariance = 0.1;

}  // namespace

// Runs of a program around their mean.
double TaskEstimates::within(const Groups& groups) {
  return std::max(kLeastVariance,
                  (groups.within + kPhases * kGroupVariance) / (groups.freedom + kPhases));
}

TaskSums TaskEstimates::Group::sums() const {
  TaskSums found;
  found.count = runs.n;
  found.y = runs.n * runs.mean;
  found.yy = runs.square + runs.n * runs.mean * runs.mean;
  found.c = c;
  found.cc = cc;
  return found;
}

TaskEstimates::Group& TaskEstimates::group(Phase p, std::int64_t group) {
  const auto row = static_cast<std::size_t>(group);
  if (group_[p].of.size() <= row) group_[p].of.resize(row + 1);
  return group_[p].of[row];
}

TaskSums TaskEstimates::open_runs(Phase p, std::int64_t group) const {
  const auto row = static_cast<std::size_t>(group);
  return group >= 0 && row < open_[p].of.size() ? open_[p].of[row] : TaskSums{};
}

// Whether a program's runs have come to take other times, with those that go on.
ChangePoint TaskEstimates::group_change(Phase p, std::int64_t group) const {
  const auto row = static_cast<std::size_t>(group);
  if (group < 0 || row >= group_[p].of.size()) return {};
  const Group& own = group_[p].of[row];
  const TaskSums open = open_runs(p, group);
  TaskSums all = own.sums();
  all.add(open);
  return find_change(all, own.latest, 0.0, std::sqrt(within(group_[p])), begun(p, group), open);
}

// Runs of a program that go on, of which no task has ended.
RunningTasks TaskEstimates::begun(Phase p, std::int64_t group) const {
  const auto row = static_cast<std::size_t>(group);
  if (row >= open_[p].begun.size() || !(open_[p].begun[row].count > 0.0)) return {};
  const Open::StartedTask& own = open_[p].begun[row];
  return {own.count, std::max(0.0, now_ - own.began / own.count)};
}

// What a run counts as in looks for changes.
double TaskEstimates::near_group(Phase p, std::int64_t group, const Run& run) const {
  const auto row = static_cast<std::size_t>(group);
  TaskSums before;
  if (row < group_[p].of.size()) before = group_[p].of[row].sums();
  const double far = std::min(kFarOff + kFarther * (run.tasks - 1.0), kFarthest);
  return draw_near(before, 0.0, run.level, 0.0, std::sqrt(within(group_[p])), far);
}

// A group's own runs, drawn towards all by how much more groups differ than their runs.
LogMean TaskEstimates::from_runs(Phase p, std::int64_t group) const {
  const LogMean all = everybody(p);
  const auto row = static_cast<std::size_t>(group);
  TaskSums own = open_runs(p, group);
  if (group >= 0 && row < group_[p].of.size()) own.add(group_[p].of[row].sums());
  if (!(own.count > 0.5)) return all;
  const double within = TaskEstimates::within(group_[p]);
  const auto level = [&](const TaskSums& runs) {
    const LogMean known{runs.level(0.0), within / runs.count};
    // What is between groups: the own mean knows it up to within / n. A group that is clearly
    // farther from the others than groups are speaks for itself (Efron and Morris 1972).
    const double apart = known.mean - all.mean;
    const double between = std::max({kLeastVariance, all.variance - within,
                                     apart * apart - kClearly * kClearly * known.variance});
    const LogMean found = LogMean::combine({all.mean, between}, known);
    return LogMean{found.mean, found.variance + within};
  };
  const ChangePoint change = group_change(p, group);
  if (change.late.count == 0.0) return level(own);
  return LogMean::either(change.chance, level(change.late), level(own));
}

bool TaskEstimates::show_run(Phase p, std::int64_t group, Run& shown, const Run& now) {
  now_ = std::max(now_, now.ended);
  if (shown.tasks == 0.0 && now.tasks == 0.0) return false;
  const bool changed = group_change(p, group).likely();
  put_run(p, group, shown, now);
  look_at_scatter();
  return !changed && group_change(p, group).likely();
}

void TaskEstimates::count_begun(Phase p, std::int64_t group, double began, double sign) {
  now_ = std::max(now_, began);
  if (group < 0) return;
  const auto row = static_cast<std::size_t>(group);
  if (open_[p].begun.size() <= row) open_[p].begun.resize(row + 1);
  open_[p].begun[row].count += sign;
  open_[p].begun[row].began += sign * began;
}

void TaskEstimates::put_run(Phase p, std::int64_t group, Run& shown, const Run& now) {
  open_[p].within.add(shown.within, -1.0);
  if (!(open_[p].within.freedom > 0.5)) open_[p].within = {};
  open_[p].within.add(now.within);
  const Run before = std::exchange(shown, now);
  if (group < 0) return;
  const auto row = static_cast<std::size_t>(group);
  if (open_[p].of.size() <= row) open_[p].of.resize(row + 1);
  TaskSums& open = open_[p].of[row];
  if (before.tasks > 0.0) open.remove(before.sums());
  if (open.count < 0.5) open = {};
  if (now.tasks > 0.0) {
    shown.near = near_group(p, group, now);
    open.add(shown.sums());
  }
}

TaskEstimates::Run TaskEstimates::run_of(Phase p, double speedup, const LogMean& now,
                                         const TaskSamples& seen,
                                         const RunningTasks& running) const {
  if (seen.count == 0.0) return {};
  const ChangePoint found = change(p, speedup, seen, running);
  const TaskSums& tasks = found.likely() ? found.late : seen;
  return {.log = now.mean + above(p),
          .level = tasks.level(1.0 - speedup),
          .tasks = tasks.count,
          .began = tasks.mean_begin(),
          .ended = seen.until,
          .within = around_levels(speedup, seen, found)};
}

// A run of a program has ended.
void TaskEstimates::add_run(Phase p, std::int64_t group, Run& run) {
  Groups& groups = group_[p];
  Group& own = this->group(p, group);
  run.near = near_group(p, group, run);
  const double scatter = std::sqrt(within(groups));
  const auto scattered = [&](double sign) {
    TaskSums all = own.sums();
    if (!(all.count > 0.5)) return;
    // Without phases that go on: what is added here must be what is taken away later.
    const ChangePoint found = find_change(all, own.latest, 0.0, scatter, {});
    if (found.likely()) {
      all.remove(found.late);
      groups.within += sign * (all.square(0.0) + found.late.square(0.0));
      groups.freedom += sign * (all.count + found.late.count - 2.0);
    } else {
      groups.within += sign * own.runs.square;
      groups.freedom += sign * (all.count - 1.0);
    }
  };
  scattered(-1.0);
  own.runs.add(run.log);
  own.c += run.near;
  own.cc += run.near * run.near;
  own.latest.add(run.sums(), run.ended);
  scattered(1.0);
  groups.within = std::max(0.0, groups.within);
  groups.freedom = std::max(0.0, groups.freedom);
  const ChangePoint found =
      find_change(own.sums(), own.latest, 0.0, std::sqrt(within(groups)), begun(p, group));
  if (!(found.chance > kSure && found.late.count >= kRecent)) return;
  own.keep(found.late);
  own.latest.keep(found.parts);
}

// Only these runs speak for those to come.
void TaskEstimates::Group::keep(const TaskSums& late) {
  runs = {late.count, late.level(0.0), late.square(0.0)};
  c = late.c;
  cc = late.cc;
}

}  // namespace malleable
