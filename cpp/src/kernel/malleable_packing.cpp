#include "malleable/kernel/malleable_packing.hpp"

namespace malleable {

// Writes pieces as rates change; a piece of no length or no slots is not written.
struct MalleablePacking::Trace {
  const Problem& problem;
  std::vector<double>&since, &held;  // per position: from when on it holds how many slots
  Plan& plan;

  void finish(Index p, Index job, double time) const {
    if (held[p] > 0.0 && problem.now + time > problem.now + since[p]) {
      plan.pieces.add(job, problem.now + since[p], problem.now + time, held[p]);
    }
  }
  void rate(Index p, Index job, double time, double slots) const {
    if (slots == held[p]) return;
    finish(p, job, time);
    if (held[p] == 0.0) plan.start[job] = problem.now + time;
    since[p] = time;
    held[p] = slots;
    if (time == 0.0) plan.allocation[job] = static_cast<std::int64_t>(slots);
  }
};

void MalleablePacking::load(const Problem& problem, std::span<const Index> order) {
  assert(order.size() == problem.size());
  rows_.resize(problem.size());
  minima_ = total_ = longest_ = 0.0;
  shortest_ = kInfinity;
  std::size_t count = 0;
  for (const Index j : order) {
    const double work = problem.work[j];
    if (work == 0.0) continue;
    const double low = problem.low[j], high = problem.high[j], alone = work / high;
    rows_[count++] = {work, low, high, j, false};
    minima_ += low;
    total_ += work;
    shortest_ = alone < shortest_ ? alone : shortest_;
    longest_ = alone > longest_ ? alone : longest_;
  }
  rows_.resize(count);
}

void MalleablePacking::run(const Problem& problem, std::span<const Index> order,
                           std::span<double> completion, Plan* plan) {
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (problem.work[j] == 0.0) completion[j] = 0.0;
  }
  auto done = [&](Index job, double time) {
    completion[job] = time;
    return true;
  };
  if (plan != nullptr) {
    plan->start.assign(problem.size(), problem.now);
    plan->allocation.assign(problem.size(), 0);
    plan->pieces.clear();
  }
  if (problem.gang) {
    gang_.run(problem, order, done, plan);
    return;
  }
  load(problem, order);
  if (plan == nullptr) {
    simulate(problem, done, NoTrace{});
    return;
  }
  since_.assign(rows_.size(), 0.0);
  held_.assign(rows_.size(), 0.0);
  simulate(problem, done, Trace{problem, since_, held_, *plan});
}

}  // namespace malleable
