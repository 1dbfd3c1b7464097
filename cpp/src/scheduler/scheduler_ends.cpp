// Expected ends: converts the work left of all jobs for kernel/expected_ends, which draws random
// futures of all jobs and averages their ends.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "malleable/kernel/expected_ends.hpp"
#include "malleable/scheduler/scheduler.hpp"

namespace malleable {
namespace {

// The k-th largest job gets k^c - (k - 1)^c parts, c = 1 / (1 - p), if s slots do s^p: shares of
// heSRPT (Berg, Vesilo and Harchol-Balter 2020), whose proportions do not change when jobs end.
void share_by_size(std::vector<LeftJob>& jobs, double speedup) {
  constexpr double kMostSpeedup = 0.999;  // the formula has no value for 1
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return jobs[a].key[1] > jobs[b].key[1]; });
  const double c = 1.0 / (1.0 - std::min(speedup, kMostSpeedup));
  for (std::size_t k = 1; k <= order.size(); ++k) {
    const auto place = static_cast<double>(k);
    const double before = k > 1 ? std::exp(c * std::log1p(-1.0 / place)) : 0.0;
    jobs[order[k - 1]].share = c * std::log(place) + std::log1p(-before);
  }
}

// Fills what is left of a job's phases; returns the estimated work.
double fill_phases(const ClusterScheduler& core, Index row, bool here, LeftJob& job) {
  double work = 0.0;
  for (const Phase p : {kMap, kReduce}) {
    LeftPhase& phase = job.phases[p];
    phase = core.left(row, p);
    if (!here) phase.waiting = core.state().jobs.tasks[p][row];
    const auto tasks = static_cast<double>(phase.waiting + phase.running);
    work +=
        tasks * (here ? core.estimate_of(row, p).seconds : core.estimate_before(row, p).seconds);
  }
  return work;
}

}  // namespace

std::vector<Scheduler::End> Scheduler::expected_ends(EndsOrder order, int draws,
                                                     std::uint64_t seed) const {
  if (!core_.learns()) throw std::invalid_argument("expected_ends: needs learn = True");
  const ClusterState& state = core_.state();
  std::vector<Index> rows, place(ids_.rows(), kNone);
  for (std::size_t row = 0; row < ids_.rows(); ++row) {
    const auto own = static_cast<Index>(row);
    if (!ids_.has(own) || jobs_[row].gone) continue;
    place[row] = static_cast<Index>(rows.size());
    rows.push_back(own);
  }
  std::vector<LeftJob> jobs(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Index row = rows[k];
    LeftJob& job = jobs[k];
    const double work = fill_phases(core_, row, jobs_[row].here, job);
    job.speedup = core_.speedup(row);
    job.most = state.jobs.maximum_of(row);
    const double weight = state.jobs.weight_of(row);
    job.share = std::log(weight);
    job.key[1] = work / weight;
    if (order == EndsOrder::kArrival) job.key[0] = static_cast<double>(state.rank[row]);
    if (order == EndsOrder::kDeadline) job.key[0] = state.jobs.deadline_of(row);
    for (const Index child : jobs_[row].children) {
      if (place[child] != kNone) jobs[place[child]].parents.push_back(static_cast<Index>(k));
    }
  }
  if (order == EndsOrder::kSize) share_by_size(jobs, state.learned.speedup);
  EndsRequest request;
  request.slots[0] = state.slots[0];
  request.slots[1] = state.slots[1];
  request.generic = state.cluster.generic;
  request.shared = order == EndsOrder::kEqual || order == EndsOrder::kSize;
  request.now = state.now;
  request.draws = draws;
  request.seed = seed;
  const std::vector<ExpectedEnd> ends = malleable::expected_ends(jobs, request);
  std::vector<End> found(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) found[k] = {ids_.id_of(rows[k]), ends[k]};
  return found;
}

}  // namespace malleable
