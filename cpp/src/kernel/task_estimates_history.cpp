// Histories: what was learnt as plain numbers, and back.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "malleable/kernel/task_estimates.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// A sum over more phases than there can be.
constexpr double kMostOfHistory = 1e18;

// Numbers that may be below 0 (`any`), or not, one after the other.
template <typename See, typename... Numbers>
void see_all(const See& see, bool any, Numbers&... numbers) {
  (see(numbers, any), ...);
}

}  // namespace

template <typename Self, typename See>
void TaskEstimates::each(Self& self, const See& see) {
  for (auto& q : self.plane_) {
    see_all(see, false, q.n, q.uu, q.xx, q.yy);
    see_all(see, true, q.u, q.x, q.y, q.ux, q.uy, q.xy);
  }
  for (auto& groups : self.group_) {
    see_all(see, false, groups.all.n, groups.all.square, groups.within, groups.freedom);
    see(groups.all.mean, true);
  }
  for (auto& w : self.within_) {
    see_all(see, false, w.xx, w.yy, w.freedom);
    see(w.xy, true);
  }
  see_all(see, false, self.alike_speedup_, self.alike_variance_);
  for (auto& counts : self.counts_) {
    for (auto& count : counts) see(count, false);
  }
  see(self.belief_.told(), false);
  for (auto& log : self.belief_.said()) see(log, true);
  for (auto& curve : self.belief_.weights()) {
    for (auto& weight : curve) see(weight, false);
  }
  for (auto& errors : self.errors_) {
    see_all(see, false, errors.all.n, errors.all.square);
    see(errors.all.mean, true);
  }
}

TaskEstimates::History TaskEstimates::history() const {
  History found;
  each(*this, [&](double number, bool) { found.common.push_back(number); });
  for (const Phase p : {kMap, kReduce}) {
    for (const Group& own : group_[p].of) {
      own.runs.append_to(found.runs[p]);
      const ChangePoint change =
          find_change(own.sums(), own.latest, 0.0, std::sqrt(within(group_[p])), {});
      const TaskSums& late = change.late;
      found.changes[p].insert(found.changes[p].end(),
                              {own.c, own.cc, late.count, late.y, late.yy, late.c, late.cc});
    }
    for (const Runs& own : errors_[p].of) own.append_to(found.errors[p]);
  }
  for (std::size_t row = 1; row < belief_.programs(); ++row) {
    const SpeedupPosterior::Said own = belief_.of(static_cast<std::int64_t>(row) - 1);
    found.speedups.push_back(own.told);
    found.speedups.insert(found.speedups.end(), own.logs.begin(), own.logs.end());
  }
  return found;
}

double TaskEstimates::checked(double number, bool any) {
  if (std::isfinite(number) && std::fabs(number) <= kMostOfHistory && (any || number >= 0.0)) {
    return number;
  }
  throw std::invalid_argument("history: " + std::to_string(number) + " is no such number");
}

std::vector<TaskEstimates::Runs> TaskEstimates::read_runs(const std::vector<double>& numbers,
                                                          const char* whose) {
  if (numbers.size() % 3 != 0) {
    throw std::invalid_argument(std::string("history: three numbers a ") + whose);
  }
  std::vector<Runs> found;
  for (std::size_t row = 0; row < numbers.size(); row += 3) {
    found.push_back({checked(numbers[row], false), checked(numbers[row + 1], true),
                     checked(numbers[row + 2], false)});
  }
  return found;
}

std::vector<SpeedupPosterior::Said> TaskEstimates::read_speedups(
    const std::vector<double>& numbers) {
  constexpr std::size_t kOfProgram = 1 + kSpeedups;
  if (numbers.size() % kOfProgram != 0) {
    throw std::invalid_argument("history: a program's speedup has " + std::to_string(kOfProgram) +
                                " numbers");
  }
  std::vector<SpeedupPosterior::Said> found(numbers.size() / kOfProgram);
  for (std::size_t row = 0; row < found.size(); ++row) {
    const double* const own = numbers.data() + kOfProgram * row;
    found[row].told = checked(own[0], false);
    for (std::size_t g = 0; g < kSpeedups; ++g) found[row].logs[g] = checked(own[1 + g], true);
  }
  return found;
}

void TaskEstimates::read_changes(const std::vector<double>& numbers, std::vector<Group>& groups) {
  if (numbers.size() % kOfChange != 0 || numbers.size() > kOfChange * groups.size()) {
    throw std::invalid_argument("history: changes of a program have " + std::to_string(kOfChange) +
                                " numbers");
  }
  for (std::size_t row = 0; row < numbers.size() / kOfChange; ++row) {
    const double* const own = numbers.data() + kOfChange * row;
    Group& group = groups[row];
    if (std::all_of(own, own + kOfChange, [](double number) { return number == 0.0; })) continue;
    TaskSums late;
    late.count = checked(own[2], false);
    late.y = checked(own[3], true);
    late.yy = checked(own[4], false);
    late.c = checked(own[5], true);
    late.cc = checked(own[6], false);
    group.c = checked(own[0], true);
    group.cc = checked(own[1], false);
    if (late.count > 0.0 && late.count < group.runs.n) group.latest.add_first(late);
  }
}

void TaskEstimates::recall(const History& history) {
  TaskEstimates read(*this);
  std::size_t k = 0;
  each(read, [&](double& number, bool any) {
    if (k < history.common.size()) number = checked(history.common[k], any);
    ++k;
  });
  if (history.common.size() != k) {
    throw std::invalid_argument("history: " + std::to_string(history.common.size()) +
                                " numbers, expected " + std::to_string(k));
  }
  for (const Phase p : {kMap, kReduce}) {
    read.errors_[p].of = read_runs(history.errors[p], "user");
    if (read.errors_[p].of.empty()) read.errors_[p].of.resize(1);
  }
  for (const Phase p : {kMap, kReduce}) {
    const std::vector<Runs> runs = read_runs(history.runs[p], "program");
    read.group_[p].of.assign(runs.size(), {});
    for (std::size_t row = 0; row < runs.size(); ++row) {
      Group& own = read.group_[p].of[row];
      own.runs = runs[row];
      own.c = own.sums().y;
      own.cc = own.sums().yy;
    }
    read_changes(history.changes[p], read.group_[p].of);
  }
  read.belief_.recall(read_speedups(history.speedups));
  read.fit_speedup();
  *this = std::move(read);
}

}  // namespace malleable
