#include "malleable/kernel/malleable_packing.hpp"

#include "malleable/kernel/running_sum.hpp"
#include "malleable/model/fetch.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

// Terms: slack is the slots beyond all minima. The frontier is the first job in the order that does
// not run at its maximum; jobs before it run at theirs, jobs behind it at their minima. A gang runs
// on at least its minimum, or not at all.
//
// Writes pieces as rates change, but no pieces without length or slots.
struct MalleablePacking::Trace {
  const Problem& problem;
  // per position: time since which it holds its slots, and how many
  std::vector<double>&since, &held;
  Plan& plan;

  void finish(Index p, Index job, double time) const {
    if (held[p] > 0.0 && problem.now + time > problem.now + since[p]) {
      plan.pieces.add(job, problem.now + since[p], problem.now + time, held[p]);
    }
  }
  void rate(Index p, Index job, double time, double slots) const {
    if (p == held.size() || slots == held[p]) return;
    finish(p, job, time);
    if (held[p] == 0.0) plan.start[job] = problem.now + time;
    since[p] = time;
    held[p] = slots;
    if (time == 0.0) plan.allocation[job] = static_cast<std::int64_t>(slots);
  }
};

namespace {

// Steps by which loops over jobs scattered in memory prefetch.
constexpr std::size_t kFetched = 16;

}  // namespace

void MalleablePacking::load(const Problem& problem, std::span<const Index> order) {
  const std::size_t n = problem.size();
  assert(order.size() == n);
  const double minima = sum_of(problem.low);
  slack_ = problem.slots - minima;
  start_empty(minimal_);
  rows_.resize(n + 1);
  Index count = 0;
  double before = 0.0, behind = minima;
  for (std::size_t p = 0; p < n; ++p) {
    if (p + kFetched < n) {
      for (const auto* column : {&problem.work, &problem.low, &problem.high}) {
        fetch(&(*column)[order[p + kFetched]]);
      }
    }
    const Index j = order[p];
    const double work = problem.work[j], low = problem.low[j];
    if (work == 0.0) continue;
    // The frontier reaches a job at the latest when the slots that the minima behind leave have
    // done the work before it. This tests end <= that time, without dividing.
    if (low > 0.0 && work * (problem.slots - behind) <= before * low * (1.0 + kAmple)) {
      minimal_.push({work / low, low, count, j});
    }
    behind -= low;
    before += work;
    rows_[count++] = {work, low, problem.high[j], j, false};
  }
  rows_.resize(count + 1);
  rows_[count] = {kInfinity, 0.0, kInfinity, kNone, false};
  horizon_ = std::max(before / problem.slots, kTiny);
}

// Completions are first written one after the other: jobs are scattered in memory, and a simulation
// that waits for memory takes longer than both passes.
void MalleablePacking::simulate_into(std::span<double> completion) {
  const std::size_t n = rows_.size() - 1;
  end_.resize(n);
  ended_.resize(n);
  double* end = end_.data();
  Index* ended = ended_.data();
  auto done = [&](Index job, double time) {
    *end++ = time;
    *ended++ = job;
    return true;
  };
  simulate(done, NoTrace{});
  for (std::size_t k = 0; k < n; ++k) {
    if (k + kFetched < n) fetch(&completion[ended_[k + kFetched]]);
    completion[ended_[k]] = end_[k];
  }
}

void MalleablePacking::run(const Problem& problem, std::span<const Index> order,
                           std::span<double> completion, Plan* plan) {
  const std::size_t n = problem.size();
  auto done = [&](Index job, double time) {
    completion[job] = time;
    return true;
  };
  if (plan != nullptr) {
    plan->start.assign(n, problem.now);
    plan->allocation.assign(n, 0);
    plan->pieces.clear();
  }
  if (!problem.gang) load(problem, order);
  if (problem.gang || rows_.size() <= n) {
    for (std::size_t j = 0; j < n; ++j) {
      if (problem.work[j] == 0.0) completion[j] = 0.0;
    }
  }
  if (problem.gang) {
    gang_.run(problem, order, done, plan);
  } else if (plan == nullptr) {
    simulate_into(completion);
  } else {
    Pieces& pieces = plan->pieces;  // at least one piece a job
    for (auto* column : {&pieces.job, &pieces.slots}) column->reserve(rows_.size());
    for (auto* column : {&pieces.start, &pieces.end}) column->reserve(rows_.size());
    since_.assign(rows_.size() - 1, 0.0);
    held_.assign(rows_.size() - 1, 0.0);
    simulate(done, Trace{problem, since_, held_, *plan});
  }
}

}  // namespace malleable
