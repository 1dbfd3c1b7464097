// Completions that prices of slots lead to (lagrangian_bound.hpp, lagrangian_density.hpp), as
// candidates of a plan for a sum with deadlines. A job's target is the completion that it chooses
// at these prices. On-time sets (on_time_set.hpp) are jobs that can all end by their targets. A
// gang runs on at least its minimum, or not at all.
//
// Prices are computed in stages, from rough to fine. A stage costs a number of candidates and is
// either completed or not begun. So a larger effort first tries everything that a smaller one
// tries, and is never worse, and no bound falls.
#include <algorithm>
#include <cmath>
#include <random>

#include "malleable/policy/flex.hpp"

namespace malleable {
namespace {

// Prices that have a density, for penalties that rise. Steps first use a sample, then all jobs.
// With many jobs, targets are packed only after stages that say so.
struct DensityStage {
  std::uint64_t price;
  std::size_t cells, steps, sample, whole;
  bool packed;
};
constexpr DensityStage kDensities[] = {
    {30, 32, 30, 1'000, 0, false},     {0, 64, 30, 2'000, 0, false},
    {0, 128, 40, 4'000, 0, true},      {800, 256, 60, 5'000, 40, true},
    {1000, 512, 60, 20'000, 30, true}, {2000, 512, 0, 0, 100, true},
    {4000, 512, 0, 0, 150, true},      {8000, 512, 0, 0, 300, true},
};
// Up to kSearched jobs, local search gains more than further stages that cost (DensityStage::price)
// at least kDear.
constexpr std::size_t kSearched = 5'000;
constexpr std::uint64_t kDear = 4000;
// Up to this many jobs, the first stage is enough, because local search gains more.
constexpr std::size_t kFewJobs = 400;
constexpr std::size_t kParts = 6;  // parts of a cell at which prices are interpolated

// Prices at single times, for steps.
struct PointStage {
  std::uint64_t price;
  std::size_t times, steps;
  bool rough;  // only a step towards good prices: no on-time sets
};
constexpr PointStage kPoints[] = {
    {10, 64, 30, true}, {10, 256, 30, true}, {15, 1024, 40, false}, {25, 4000, 80, false}};
// With many jobs each pass takes long: few steps, and one set.
constexpr PointStage kPointsOfMany[] = {
    {10, 64, 20, true}, {10, 256, 20, true}, {40, 4000, 40, false}};
static_assert(kPoints[0].price + kPoints[1].price + kPoints[2].price + kPoints[3].price ==
              kPricedSteps);
static_assert(kPointsOfMany[0].price + kPointsOfMany[1].price + kPointsOfMany[2].price ==
              kPricedSteps);

// Sets of few jobs by keys near the best ones: how many, and how much a key's logarithm varies.
constexpr int kVaried = 100;
constexpr double kVariation = 0.4;

constexpr std::size_t kManyPriced = 20'000;  // jobs
constexpr std::size_t kChunk = 10;  // steps between looks at the clock, and between candidates
// The same for prices at more times than these, whose steps build on each other.
constexpr std::size_t kChunked = 64, kBundled = 40;
// With more jobs with slopes than this, candidates are tried only at the end of a stage.
constexpr std::size_t kManyRising = 20'000;

// Whether a stage pays for so many jobs.
bool worth(const DensityStage& stage, std::size_t jobs) {
  if (jobs <= kFewJobs) return stage.cells <= 128;
  return jobs > kSearched || stage.price < kDear;
}

std::span<const PointStage> point_stages(std::size_t jobs) {
  if (jobs > kManyPriced) return kPointsOfMany;
  return kPoints;
}

// Whether orders are made of a stage's prices, at its end or before.
bool worth_packing(const PointStage& stage, std::size_t jobs, bool ended) {
  if (jobs > kManyPriced && stage.rough) return false;
  return ended || jobs <= kManyStepped;
}

bool any_rises(const Penalties& penalties) {
  const auto slope = penalties.slope();
  return std::any_of(slope.begin(), slope.end(), [](double s) { return s > 0.0; });
}

}  // namespace

// Whether a stage may begin; if so, subtracts its cost from the effort.
bool Flex::pay(const Task& task, std::uint64_t price) {
  Plan& plan = task.plan;
  const bool able = price <= left_ && !search_.least(scores_[0]);
  if (!able || task.late()) {
    if (able) plan.status = Status::kTruncated;
    left_ = 0;
    return false;
  }
  left_ -= price;
  plan.candidates += price;
  return true;
}

// True when the budget is used up.
bool Flex::over(const Task& task) {
  if (task.options.progress) task.options.progress(task.plan.candidates);
  if (!task.late()) return false;
  task.plan.status = Status::kTruncated;
  left_ = 0;
  return true;
}

// Packs the targets of jobs in three ways: in their order, so that they are met, and by latest
// start.
void Flex::consider_targets(const Task& task, std::span<const double> due) {
  const Problem& problem = task.problem;
  if (over(task)) return;
  std::vector<Index> order(problem.size());
  orders_.by_due(problem, due, order);
  consider(order);
  if (over(task)) return;
  if (!problem.gang) consider(order, {due.begin(), due.end()});
  if (over(task)) return;
  std::vector<double> start(due.begin(), due.end());
  for (std::size_t j = 0; j < start.size(); ++j) {
    if (problem.work[j] > 0.0) start[j] -= problem.work[j] / problem.high[j];
  }
  orders_.by_due(problem, start, order);
  consider(order);
}

// Candidates by a price density over time, for penalties that rise.
void Flex::try_densities(const Task& task) {
  const Problem& problem = task.problem;
  const std::size_t n = problem.size();
  pack_best(problem);
  density_.begin(problem, task.penalties, earliest_, completion_, task.late);
  std::vector<double> due(n), fine(n);
  const auto run = [&](std::size_t steps) {
    for (; steps > 0 && !over(task); --steps) density_.step(scores_[0].value);
    return steps == 0;
  };
  for (const DensityStage& stage : kDensities) {
    if (!worth(stage, n) || !pay(task, stage.price)) return;
    density_.sample(stage.sample);
    density_.refine(stage.cells);
    if (!run(stage.steps)) return;
    if (stage.sample < n && stage.whole > 0) {
      density_.sample(n);
      if (!run(stage.whole)) return;
    }
    if (!stage.packed && n > kManyRising) continue;
    double& bound = task.plan.lower_bound;
    bound = std::max(bound, density_.bound(1, due));
    if (over(task)) return;
    bound = std::max(bound, density_.bound(kParts, fine));
    if (over(task)) return;
    consider_targets(task, due);
    consider_targets(task, fine);
    if (density_.average().empty()) {
      for (std::size_t j = 0; j < n; ++j) due[j] = 0.5 * (due[j] + fine[j]);
      consider_targets(task, due);
    } else {
      consider_targets(task, density_.average());
    }
  }
}

// Packs the set that was made last so that it is met. `order` is by latest start, which is better
// if maxima are small; the order by ends is better if one job can fill all slots.
void Flex::consider_set(const Task& task, std::vector<Index>& order) {
  const std::span<const double> target = orders_.target();
  consider(order, {target.begin(), target.end()});
  if (order.size() > kManyStepped) return;
  orders_.set_by_end(task.problem, order);
  consider(order, {target.begin(), target.end()});
}

// Candidates by prices of single times, for steps.
void Flex::try_points(const Task& task) {
  const Problem& problem = task.problem;
  const std::size_t n = problem.size();
  std::vector<Index> order(n);
  std::vector<double> due(n);
  std::vector<DueAsk> asks;
  for (const PointStage& stage : point_stages(n)) {
    if (!pay(task, stage.price)) return;
    prices_.refine(task.penalties, earliest_, completion_, stage.times);
    const std::size_t chunk = stage.times > kChunked ? kBundled : kChunk;
    for (std::size_t step = 0; step < stage.steps; step += chunk) {
      if (over(task)) return;
      const double bound = prices_.improve(scores_[0].value, chunk);
      task.plan.lower_bound = std::max(task.plan.lower_bound, bound);
      if (!worth_packing(stage, n, step + chunk >= stage.steps)) continue;
      orders_.by_due(problem, prices_.average(), order);
      consider(order);
      prices_.choices(due);
      orders_.by_due(problem, due, order);
      consider(order);
    }
    if (stage.rough || problem.gang) continue;
    prices_.list_asks(asks);
    for (const double spare : {spare_slots(n), 0.0}) {
      if (spare == 0.0 && n > kManyStepped) break;
      if (over(task)) return;
      orders_.set_by(problem, task.penalties, asks, spare, /*at_once=*/true, order, task.late);
      consider_set(task, order);
    }
  }
  if (!problem.gang && n <= kFewJobs) vary_sets(task, std::move(asks));
}

// With few jobs, small changes decide which jobs fit: tries sets with keys that differ slightly
// from the best ones.
void Flex::vary_sets(const Task& task, std::vector<DueAsk> best) {
  const std::size_t n = task.problem.size();
  std::vector<Index> order(n);
  std::mt19937_64 random;
  for (int k = 0; k < kVaried && pay(task, 2) && !over(task); ++k) {
    std::vector<DueAsk> asks = best;
    for (DueAsk& ask : asks) {
      const double part = static_cast<double>(random() >> 11) * 0x1p-53;
      ask.key *= std::exp(kVariation * (2.0 * part - 1.0));
    }
    const Score before = scores_[0];
    orders_.set_by(task.problem, task.penalties, asks, k % 2 == 0 ? 0.0 : spare_slots(n),
                   /*at_once=*/true, order, task.late);
    consider_set(task, order);
    if (OrderSearch::better(scores_[0], before)) best = std::move(asks);
  }
}

void Flex::try_prices(const Task& task) {
  if (task.plan.status == Status::kTruncated) return;  // no time for all fixed orders
  const Problem& problem = task.problem;
  const std::size_t n = problem.size();
  std::vector<Index> order(n);
  pack_best(problem);
  if (!prices_.begin(problem, task.penalties, earliest_, completion_,
                     LagrangianBound::times(n, /*quick=*/true))) {
    return;
  }
  double& bound = task.plan.lower_bound;
  bound =
      std::max(bound, prices_.improve(scores_[0].value, LagrangianBound::steps(n, /*quick=*/true)));
  orders_.by_due(problem, prices_.average(), order);
  consider(order);
  if (!any_rises(task.penalties)) {
    try_points(task);
    return;
  }
  if (left_ > 0) try_densities(task);
}

}  // namespace malleable
