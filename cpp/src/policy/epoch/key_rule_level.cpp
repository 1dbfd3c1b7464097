// Maxima of penalties that are all lines. A level is a value of the maximum; it sets each job a
// deadline. Slots go by the latest start (from which a job needs its maximum all the time) for the
// deadlines of the least level that can be reached.
//
// Such slots begin an optimal schedule. Let t be the first time before which the work that the
// deadlines force (kernel/demand_bound.hpp) fills all slots. To stay at the level, jobs that are
// past their latest start at t must share now what minima leave. Together they can use it all, and
// their latest starts come before those of all others. A job whose latest start is now must get its
// maximum, and comes first.
//
// Each row keeps its line, and the level is found from the last one (kernel/linear_level.hpp).
// Three or four passes, O(J) for J jobs. The order of the jobs that get no slots is computed only
// on request (epoch/instance_rule).
#include <cmath>

#include "malleable/kernel/linear_level.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch/key_rule.hpp"

namespace malleable {
namespace {

constexpr double kSteepestLine = 1e200;  // largest slope for which levels are found
// With start conditions, from this many jobs on: for fewer the exact level costs no time that
// matters.
constexpr std::size_t kManyWaiting = 1'000;

// The latest starts of jobs for the deadlines of a level.
MALLEABLE_VECTOR_CLONES
void starts_of_lines(const LinearLevel::Jobs& jobs, double level, double now, double* start) {
  const double *work = jobs.work.data(), *low = jobs.low.data(), *room = jobs.room.data();
  const double *at = jobs.at.data(), *slope = jobs.slope.data();
  const std::size_t n = jobs.size();
#pragma omp simd
  for (std::size_t r = 0; r < n; ++r) {
    const double latest = at[r] + level / slope[r];
    const double due = latest + tolerance(latest) - now;
    start[r] = room[r] > 0.0 ? ((low[r] + room[r]) * due - work[r]) / room[r] : kInfinity;
  }
}

class LevelRule final : public KeyRule {
 public:
  LevelRule() : KeyRule({&slope_, &zero_}) {}
  // Slope and zero as in Penalties; slope 0 if no level can be found.
  void changed(const Scene& at, std::size_t row) override {
    const JobTable& jobs = at.jobs;
    const Kind kind = jobs.kind[row];
    double slope = jobs.weight[row];
    if (info(kind).per_size) {
      slope = jobs.size[row] > slope / kSteepestLine ? slope / jobs.size[row] : 0.0;
    }
    slope_[row] = slope;
    const bool due = kind == Kind::kLateness || kind == Kind::kTardiness;
    zero_[row] = due ? jobs.deadline[row] : kind == Kind::kCompletion ? 0.0 : jobs.arrival[row];
  }
  bool applies(const Scene& at) const override {
    return at.jobs.rows() >= (at.starts ? kManyWaiting : kManyLevels) &&
           !(at.options.hysteresis > 0.0) && KeyRule::applies(at);
  }
  bool decide(Scene& at) override {
    const LinearLevel::Jobs jobs{at.jobs.work, at.jobs.low, at.jobs.room, zero_, slope_};
    // Tardiness is a line from 0 on, and 0 below.
    const double floor = at.jobs.count(Kind::kTardiness) > 0 ? 0.0 : -kInfinity;
    const auto found = line_level_.find(at.starts ? started(jobs, at) : jobs, at.capacity(), at.now,
                                        level_, floor);
    if (!found) return false;
    level_ = *found;
    starts_of_lines(jobs, level_, at.now, key_.data());
    return KeyRule::decide(at);
  }
  bool orders() const override { return false; }
  void state(State& s) override {
    KeyRule::state(s);
    s(line_level_, level_);
  }

 private:
  // The jobs that do not wait to start, closed up.
  LinearLevel::Jobs started(const LinearLevel::Jobs& all, const Scene& at) {
    for (auto& column : started_) column.clear();
    const std::span<const double> from[] = {all.work, all.low, all.room, all.at, all.slope};
    for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
      if (at.waits(row)) continue;
      for (std::size_t k = 0; k < std::size(from); ++k) started_[k].push_back(from[k][row]);
    }
    return {started_[0], started_[1], started_[2], started_[3], started_[4]};
  }

  std::vector<double> slope_, zero_;  // slope of the line, and the time at which it is 0
  std::vector<double> started_[5];
  LinearLevel line_level_;
  double level_ = -kInfinity;  // last time
};

}  // namespace

std::unique_ptr<KeyRule> key_rule_level() { return std::make_unique<LevelRule>(); }

}  // namespace malleable
