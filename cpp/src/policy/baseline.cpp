// Plans of FIFO (without minima) and of fair sharing (water-filling).
#include "malleable/policy/baseline.hpp"

#include "malleable/policy/finish_plan.hpp"

namespace malleable {

void Baseline::fifo(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                    std::span<const double> arrival, Plan& plan) {
  Problem free = problem;
  free.drop_minima();
  plan = Plan{};
  plan.order.resize(free.size());
  sorter_.sort(arrival, plan.order);
  completion_.resize(free.size());
  packing_.run(free, plan.order, completion_, &plan);
  finish_plan(free, penalties, aggregate, completion_, lower_bound_, plan);
}

void Baseline::water_filling(const Problem& problem, const Penalties& penalties,
                             Aggregate aggregate, std::span<const double> weight, Plan& plan) {
  plan = Plan{};
  completion_.resize(problem.size());
  water_filling_.plan(problem, weight, completion_, plan);
  plan.order.resize(problem.size());
  sorter_.sort(completion_, plan.order);
  finish_plan(problem, penalties, aggregate, completion_, lower_bound_, plan);
}

}  // namespace malleable
