// Apparent cost (Vepsalainen and Morton 1987): work over the rate at which the penalty rises,
// postponed while the latest start is ahead. A step counts as a rise over twice the mean time of a
// job on all slots; a job that cannot reach a step aims at the next one. One pass in logarithms,
// O(J) for J jobs.
//
// For many jobs that have only steps it is the same, with a patience of a fiftieth of the time of
// all work (patience: the slack that postpones a job by a factor of e), so that jobs with late due
// times wait long; steps that cannot be reached come last. On five tables of 5,000 jobs the
// weight that is late is 0.80 to 0.97 of that if jobs go by a price of work for each due time. For
// fewer jobs the set of jobs that can all be on time is built job by job (kernel/on_time_set.hpp),
// which is better.
#include <algorithm>
#include <cmath>

#include "malleable/kernel/priority_orders.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch/key_rule.hpp"

namespace malleable {
namespace {

// Up to this many jobs with steps, the on-time set is built job by job.
constexpr std::size_t kFewSteps = 4000;
constexpr double kStepPatience = 0.02;  // part of the time of all work
constexpr double kFirst = -1e300;       // key of jobs without work

MALLEABLE_VECTOR_CLONES
void apparent_costs(const double* lead, const double* start, std::size_t n, double now,
                    double patience, double* key) {
#pragma omp simd
  for (std::size_t r = 0; r < n; ++r) {
    const double wait = start[r] - now;
    key[r] = rounded_key(lead[r] + (wait > 0.0 ? wait : 0.0) / patience);
  }
}

// An end at which a job saves something; cost 0: it saves nothing.
struct End {  // the penalty that it saves, and the latest start for it
  double cost = 0.0, start = -kInfinity;
};

// The latest start (absolute) that meets a deadline within its tolerance.
double latest_start(const JobTable& jobs, std::size_t row, double due) {
  return due + tolerance(due) - jobs.work[row] / (jobs.low[row] + jobs.room[row]);
}

// The first of a job's steps that can still be reached.
End next_step(const Scene& at, std::size_t row) {
  const JobTable& jobs = at.jobs;
  const auto [time, penalty] = jobs.steps_of(row);
  double paid = 0.0;
  for (std::size_t k = 0; k < time.size(); paid = penalty[k++]) {
    const End step{jobs.weight[row] * (penalty[k] - paid), latest_start(jobs, row, time[k])};
    if (step.cost > 0.0 && step.start >= at.now) return step;
  }
  return {};
}

End next_end(const Scene& at, std::size_t row) {
  const JobTable& jobs = at.jobs;
  const KindInfo& kind = info(jobs.kind[row]);
  if (kind.uses_sla) return next_step(at, row);
  const bool steps = jobs.kind[row] == Kind::kTardy;
  if (!steps && jobs.kind[row] != Kind::kTardiness) {
    const double size = kind.per_size ? jobs.size[row] : 1.0;
    return {size > 0.0 ? jobs.weight[row] / size : 0.0};
  }
  const End due{jobs.weight[row], latest_start(jobs, row, jobs.deadline[row])};
  const bool saves = due.cost > 0.0 && jobs.deadline[row] < kInfinity;
  return saves && !(steps && due.start < at.now) ? due : End{};
}

class CostRule final : public KeyRule {
 public:
  CostRule() : KeyRule({&lead_, &start_}) {}
  void changed(const Scene& at, std::size_t row) override {
    if (!(at.jobs.work[row] > 0.0)) {
      lead_[row] = kFirst;
      start_[row] = -kInfinity;
      return;
    }
    const End aim = next_end(at, row);
    start_[row] = aim.start;
    lead_[row] = aim.cost > 0.0 ? std::log(at.jobs.work[row] / aim.cost) : kInfinity;
    if (at.favoured(row)) lead_[row] -= std::log1p(at.options.hysteresis);
  }
  bool applies(const Scene& at) const override {
    const std::size_t n = at.jobs.rows();
    // Few jobs, or with hysteresis: no keys, as all jobs are looked at together (instance_rule).
    if (at.jobs.stepped() == n && n > 0 && (n <= kFewSteps || at.options.hysteresis > 0.0)) {
      return false;
    }
    return KeyRule::applies(at);
  }
  bool decide(Scene& at) override {
    make_keys(at);
    return KeyRule::decide(at);
  }

 private:
  void make_keys(const Scene& at) {
    const JobTable& jobs = at.jobs;
    const std::size_t n = jobs.rows(), steps = jobs.stepped();
    const double part = steps == n ? kStepPatience : 2.0 / static_cast<double>(n);
    const double patience = std::max(part * jobs.all_work / at.capacity(), kTiny);
    const auto has_steps = [&](std::size_t r) {
      return jobs.kind[r] == Kind::kTardy || info(jobs.kind[r]).uses_sla;
    };
    for (std::size_t r = 0; steps > 0 && r < n; ++r) {
      if (!(start_[r] < at.now && start_[r] > -kInfinity) || !has_steps(r)) continue;
      changed(at, r);  // its latest start has passed
    }
    apparent_costs(lead_.data(), start_.data(), n, at.now, patience, key_.data());
    if (steps == 0 || steps == n) return;
    const double spread = std::log(patience);
    for (std::size_t r = 0; r < n; ++r) {
      if (!has_steps(r)) continue;
      key_[r] = rounded_key(lead_[r] + spread + std::max(0.0, start_[r] - at.now) / patience);
    }
  }

  // For each job's aim, which is the first end that saves something and can still be reached: the
  // logarithm of work over penalty, and the latest start.
  std::vector<double> lead_, start_;
};

}  // namespace

std::unique_ptr<KeyRule> key_rule_cost() { return std::make_unique<CostRule>(); }

}  // namespace malleable
