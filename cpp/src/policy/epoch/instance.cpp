#include "malleable/policy/epoch/instance.hpp"

#include <algorithm>

namespace malleable {

// The present jobs as a problem with penalties.
JobsView Instance::jobs(const Scene& at, std::span<const double> left) const {
  const JobTable& jobs = at.jobs;
  return {{jobs.arrival, jobs.weight, jobs.deadline, jobs.size, sla_.view()},
          left,
          jobs.min_slots,
          jobs.max_slots,
          speedup_.view(),
          jobs.min_mode,
          jobs.preferred,
          restart_.view()};
}

std::span<const Kind> Instance::kinds(const Scene& at) const {
  return at.jobs.all(at.options.kind) ? std::span<const Kind>(&at.options.kind, 1)
                                      : std::span<const Kind>(at.jobs.kind);
}

void Instance::build(const Scene& at, std::span<const double> left) {
  const JobTable& jobs = at.jobs;
  const std::size_t n = jobs.rows();
  sla_.clear();
  for (std::size_t r = 0; r < jobs.sla.size(); ++r) sla_.add(jobs.steps_of(r));
  if (jobs.sla.empty()) sla_.offset.assign(n + 1, 0);
  speedup_.clear();
  for (std::size_t r = 0; r < jobs.exponent.size(); ++r) {
    speedup_.add(jobs.exponent[r], jobs.rates[r]);
  }
  restart_.clear();
  for (const Restart& own : jobs.restart) restart_.add(own);
  ended_.assign(n, at.now);  // jobs without work left
  const std::span<const std::int64_t> names = jobs.count(Kind::kCustom) > 0
                                                  ? std::span<const std::int64_t>(jobs.id)
                                                  : std::span<const std::int64_t>();
  penalties.build(this->jobs(at, left), kinds(at), at.custom, names);
  // Searches in a caller's function begin where those of earlier decisions ended.
  if (!names.empty()) penalties.remember(seen_);
  // at.starts: some jobs have a start condition; started jobs keep their minima
  problem.build(left, ended_, jobs.min_slots, jobs.max_slots, at.slots, at.now,
                at.starts ? MinMode::kGuarantee : at.options.min_mode);
  if (at.ignores_minima) problem.drop_minima();
  obey_starts(at, problem);
  built = true;
}

// Started jobs keep their minima under any policy, and jobs that wait to start have nothing to do.
void Instance::obey_starts(const Scene& at, Problem& of) const {
  for (std::size_t r = 0; at.starts && r < at.jobs.rows(); ++r) {
    if (at.waits(r)) of.work[r] = of.high[r] = 0.0;
    of.low[r] = of.work[r] > 0.0 ? at.jobs.low[r] : 0.0;
  }
}

bool Instance::has_strict(const Scene& at) const {
  if (at.jobs.count(Kind::kStrict) > 0) return true;
  if (at.jobs.count(Kind::kCustom) == 0) return false;
  for (std::size_t r = 0; r < at.jobs.rows(); ++r) {
    if (info(at.jobs.kind[r]).custom && penalties.last_finite(r) < kInfinity) return true;
  }
  return false;
}

// Jobs without work left still hold slots (kept aside) until they are reported as ended;
// `with_work` is the problem of the others.
const Problem& Instance::set_kept_aside(const Scene& at) {
  const JobTable& jobs = at.jobs;
  const std::size_t n = jobs.rows();
  kept.assign(n, 0.0);
  if (std::find(jobs.work.begin(), jobs.work.end(), 0.0) == jobs.work.end()) return problem;
  rest_.resize(n);
  most_.resize(n);
  for (std::size_t r = 0; r < n; ++r) {
    // 1.0 stands for no work, so that build() gives the job limits
    rest_[r] = jobs.work[r] > 0.0 ? jobs.work[r] : 1.0;
    most_[r] = jobs.work[r] > 0.0 ? jobs.max_slots[r] : jobs.kept_by(r);
  }
  with_work.build(rest_, ended_, jobs.min_slots, most_, at.slots, at.now,
                  at.starts ? MinMode::kGuarantee : at.options.min_mode);
  if (at.ignores_minima) with_work.drop_minima();
  obey_starts(at, with_work);
  double free = with_work.slots;
  if (!with_work.gang) {
    for (const double low : with_work.low) free -= low;
  }
  for (std::size_t r = 0; r < n; ++r) {
    if (jobs.work[r] > 0.0) continue;
    const double least = with_work.gang ? std::max(1.0, with_work.low[r]) : 0.0;
    const double base = with_work.gang ? 0.0 : with_work.low[r];
    const double more = least > free ? 0.0 : std::min(with_work.high[r] - base, free);
    kept[r] = base + more;
    free -= more;
    with_work.slots -= kept[r];
    with_work.work[r] = with_work.low[r] = 0.0;
  }
  for (double& high : with_work.high) high = std::min(high, with_work.slots);
  return with_work;
}

}  // namespace malleable
