#include "malleable/policy/flex.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "malleable/model/tolerance.hpp"
#include "malleable/policy/budget.hpp"
#include "malleable/policy/finish_plan.hpp"

namespace malleable {
namespace {

// Terms: a level is a value of a max objective, which sets each job a deadline; a candidate is an
// order that is packed into a schedule and scored; packing hands slots to jobs in the order. A gang
// runs on at least its minimum, or not at all.

// Packing for deadlines takes several times as long, so local search does it only for few jobs.
constexpr std::size_t kFewPacked = 200;
constexpr std::size_t kStarts = 8;  // of local search

// With more jobs the clock is looked at between fixed orders, too.
constexpr std::size_t kClocked = 20'000;

// With more jobs, the memory of the orders is freed for the schedule.
constexpr std::size_t kKeptWarm = 200'000;

// Jobs of a candidate that counts as one where speed-ups are below linear, and how many candidates
// are tried by default at least.
constexpr std::uint64_t kCurvedJobs = 100, kFewestCurved = 60;

// Due times tried for jobs without strict deadlines, as multiples of their completions in the plan.
constexpr double kPlanTimes[] = {kInfinity, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0};

// The rules are explained in kernel/priority_orders.hpp. The fitting set and the spare set are jobs
// that can all be on time; the spare set leaves some slots out.
constexpr OrderRule kLinearRules[] = {OrderRule::kSmith, OrderRule::kShortestPath};
// Due dates alone are left out, because the on-time set is at least as good in each case.
constexpr OrderRule kSumRules[] = {OrderRule::kOnTimeSet,   OrderRule::kFittingSet,
                                   OrderRule::kSpareSet,    OrderRule::kSmith,
                                   OrderRule::kModifiedDue, OrderRule::kApparentCost};
// The same, if there are so many jobs that a short budget may end the list: the best come first. As
// many as kSureRules are tried in any case.
constexpr OrderRule kSumRulesOfMany[] = {OrderRule::kApparentCost, OrderRule::kSpareSet,
                                         OrderRule::kSmith, OrderRule::kModifiedDue,
                                         OrderRule::kOnTimeSet};
constexpr std::size_t kSureRules = 2;

std::span<const OrderRule> rules_for(const Penalties& penalties, std::size_t jobs) {
  if (penalties.linear()) return kLinearRules;
  if (jobs > kClocked) return kSumRulesOfMany;
  return kSumRules;
}

}  // namespace

// Candidates that one schedule with speed-up curves costs.
std::uint64_t curved_price(std::size_t jobs) {
  return std::max<std::uint64_t>(jobs * jobs / (kCurvedJobs * kCurvedJobs), 1);
}

std::uint64_t default_effort(std::size_t jobs, bool curved) {
  if (curved) return std::max(kDefaultEffort, kFewestCurved * curved_price(jobs));
  const std::uint64_t count = std::max<std::size_t>(jobs, 1);
  return std::clamp<std::uint64_t>(16'000'000'000 / count / count, kPricedSteps, kDefaultEffort);
}

// The order of ends if each job keeps the slots of the resource allocation problem (a fixed number
// each, for the least cost).
void Flex::generic_order(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                         std::span<const Index> waiting, std::span<Index> order) {
  completion_.resize(problem.size());  // slots first, then their completions
  allocation_.run(problem, penalties, aggregate, waiting, completion_);
  orders_.by_moldable(problem, completion_, waiting, order);
}

// The order of a decision without search, and for a maximum the optimal level.
double Flex::own_order(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                       std::span<Index> order) {
  const std::size_t n = problem.size();
  if (StrictDeadlines strict; study_deadlines(problem, penalties, strict)) {
    return own_order(problem, strict.finite(), Aggregate::kSum, order);
  }
  if (aggregate == Aggregate::kSum) {
    earliest_.resize(n);
    earliest_completions(problem, earliest_);
    bool steps = !penalties.linear();
    for (std::size_t j = 0; steps && j < n; ++j) steps = penalties.steps(j);
    const OrderRule rule = penalties.linear() ? OrderRule::kSmith
                           : steps            ? OrderRule::kFittingSet
                                              : OrderRule::kApparentCost;
    orders_.make(rule, problem, penalties, earliest_, order);
    return -kInfinity;
  }
  due_.resize(n);
  const double level = own_level(problem, penalties, -kInfinity, due_);
  orders_.by_due(problem, due_, order);
  return level;
}

double Flex::own_level(const Problem& problem, const Penalties& penalties, double before,
                       std::span<double> due) {
  // Searches up to the level at which all jobs end with the last one; from `before` if that level
  // does not pass.
  const std::size_t n = problem.size();
  earliest_.resize(n);
  earliest_completions(problem, earliest_);
  double low = -kInfinity;
  double total = 0.0, longest = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    low = std::max(low, penalties(j, problem.work[j] > 0.0 ? problem.now + earliest_[j]
                                                           : problem.idle_end[j]));
    total += problem.work[j];
    longest = std::max(longest, earliest_[j]);
  }
  double high = low;
  for (std::size_t j = 0; j < n; ++j) {
    high = std::max(high, penalties(j, problem.now + total / problem.slots + longest));
  }
  double level = -kInfinity;
  if (before > low && before < high) {
    level = demand_bound_.level(problem, penalties, before, high, 1.0);
  }
  if (!(level > before)) level = demand_bound_.level(problem, penalties, low, high, 1.0);
  demand_bound_.deadlines_found(problem, penalties, level, 1.0, due);
  return level;
}

void Flex::plan_order(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                      std::span<const Index> order, bool detail, Plan& plan) {
  plan.order.assign(order.begin(), order.end());
  pack(problem, penalties, aggregate, detail, plan);
}

// Fills the rest of the plan from its order.
void Flex::pack(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                bool detail, Plan& plan) {
  completion_.resize(problem.size());
  plan.status = Status::kOk;
  plan.lower_bound = -kInfinity;
  plan.candidates = 0;
  packing_.run(problem, plan.order, completion_, detail ? &plan : nullptr);
  finish_plan(problem, penalties, aggregate, completion_, lower_bound_, plan, !detail);
}

// A schedule by water-filling for the deadlines in due_, as far as it goes without an objective.
void Flex::fill(const Problem& problem, Plan& filled, std::vector<double>& completion) {
  const std::size_t n = problem.size();
  completion.resize(n);
  order_.resize(n);
  deadline_packing_.run(problem, due_, order_, completion, filled);
  filled.order.assign(order_.begin(), order_.end());
  filled.completion.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    filled.completion[j] =
        problem.work[j] == 0.0 ? problem.idle_end[j] : problem.now + completion[j];
  }
}

// Replaces the plan by a schedule for the deadlines of the optimal level, if that is better.
bool Flex::pack_deadlines(const Problem& problem, const Penalties& penalties, double bound,
                          Plan& plan) {
  const std::size_t n = problem.size();
  due_.resize(n);
  // Test at a quarter of the tolerance and schedule by half of it, which leaves room for rounding.
  const double level = demand_bound_.level(problem, penalties, bound, plan.value, 0.25);
  DemandBound::deadlines(problem, penalties, level, 0.5, due_);
  Plan filled;
  std::vector<double> completion;
  fill(problem, filled, completion);
  if (evaluate(penalties, Aggregate::kMax, filled.completion) >= plan.value) return false;
  completion_.assign(completion.begin(), completion.end());
  filled.status = plan.status;
  filled.lower_bound = plan.lower_bound;
  filled.candidates = plan.candidates;
  plan = std::move(filled);
  return true;
}

void Flex::plan(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                const FlexOptions& options, Plan& plan) {
  if (study_deadlines(problem, penalties, strict_)) {
    plan_strict(problem, penalties, aggregate, options, plan);
  } else {
    plan_finite(problem, penalties, aggregate, options, plan);
  }
}

// Replaces a plan by water-filling for the strict deadlines, if that misses none and costs less.
// Jobs without deadlines get some: their completions in that plan, or more time, or unlimited time.
bool Flex::meet_deadlines(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                          Plan& plan) {
  if (problem.gang || problem.size() > kMostDeadlinePacked) return false;
  const std::size_t n = problem.size();
  due_.resize(n);
  Plan filled;
  std::vector<double> completion;
  const double before = evaluate(penalties, aggregate, plan.completion);
  double least = before;
  for (const double times : kPlanTimes) {
    if (strict_.pure() && times < kInfinity) continue;
    strict_.due(0.5, due_);
    for (std::size_t j = 0; times < kInfinity && j < n; ++j) {
      if (due_[j] == kInfinity) due_[j] = times * (plan.completion[j] - problem.now);
    }
    Plan tried;
    std::vector<double> ends;
    fill(problem, tried, ends);
    const double value = evaluate(penalties, aggregate, tried.completion);
    if (!(value < least)) continue;
    least = value;
    filled = std::move(tried);
    completion = std::move(ends);
  }
  if (least == before) return false;
  filled.status = plan.status;
  filled.candidates = plan.candidates;
  // Keep the bound, and the start and end of jobs without work, which water-filling does not set.
  filled.lower_bound = plan.lower_bound;
  finish_plan(problem, strict_.finite(), aggregate, completion, lower_bound_, filled,
              /*quick_bound=*/false);
  plan = std::move(filled);
  return true;
}

// Plans for strict deadlines, behind which penalties are infinite.
void Flex::plan_strict(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                       const FlexOptions& options, Plan& plan) {
  const Penalties& finite = strict_.finite();
  const bool impossible = deadlines_impossible(problem, strict_, demand_bound_);
  const auto missed = [&] { return evaluate(penalties, aggregate, plan.completion) == kInfinity; };
  const bool max = aggregate == Aggregate::kMax;
  plan = Plan{};
  bool done = false;
  if (strict_.pure() && !impossible) {
    plan.lower_bound = 0.0;
    plan.completion.assign(problem.size(), kInfinity);
    done = meet_deadlines(problem, penalties, aggregate, plan);
  }
  if (!done && max && !strict_.pure() && !impossible) {
    plan_finite(problem, finite, aggregate, options, plan);
    done = !missed();
  }
  if (!done) {
    // Meets as many deadlines as possible, by weight; the objective counts only for the rest.
    const double bound = plan.lower_bound;
    plan_finite(problem, finite, Aggregate::kSum, options, plan);
    if (max && !strict_.pure()) plan.lower_bound = bound;
    if (!impossible && missed()) meet_deadlines(problem, penalties, aggregate, plan);
  }
  strict_.settle(penalties, aggregate, plan.completion, impossible, plan.value, plan.lower_bound,
                 plan.status);
}

void Flex::plan_strict_order(const Problem& problem, const Penalties& penalties,
                             Aggregate aggregate, Plan& plan) {
  std::vector<Index> order(problem.size());
  own_order(problem, penalties, aggregate, order);
  plan_order(problem, penalties, aggregate, order, /*detail=*/true, plan);
  if (plan.status != Status::kUnmet || !study_deadlines(problem, penalties, strict_)) return;
  if (deadlines_impossible(problem, strict_, demand_bound_)) return;
  meet_deadlines(problem, penalties, aggregate, plan);
  strict_.settle(penalties, aggregate, plan.completion, /*impossible=*/false, plan.value,
                 plan.lower_bound, plan.status);
}

// Packs an order and inserts it among the others by score. An order is given up once it is worse
// than the best so far.
void Flex::consider(std::vector<Index> order, std::vector<double> due) {
  const Score score = search_.score(order, scores_.empty() ? Score{} : scores_[0], due);
  const auto at = std::upper_bound(scores_.begin(), scores_.end(), score, OrderSearch::better);
  starts_.insert(starts_.begin() + (at - scores_.begin()), {std::move(order), std::move(due)});
  scores_.insert(at, score);
}

// The schedule of the best candidate.
void Flex::pack_best(const Problem& problem, Plan* plan) {
  const auto& [order, due] = starts_[0];
  if (due.empty()) {
    packing_.run(problem, order, completion_, plan);
  } else {
    laxity_.run(problem, order, due, completion_, plan);
  }
}

// Tries fixed orders for a maximum, until one attains the optimal level.
void Flex::try_levels(const Task& task) {
  const Problem& problem = task.problem;
  std::vector<Index> order(problem.size());
  const auto reached = [&] {
    return reaches(scores_[0].value, task.plan.lower_bound, Aggregate::kMax);
  };
  task.plan.lower_bound = own_order(problem, task.penalties, Aggregate::kMax, order);
  consider(order);
  const auto known = task.options.known;
  if (!reached() && !known.empty()) consider({known.begin(), known.end()});
  if (!reached()) {
    // due_ holds the deadlines of the optimal level; least slack first is the other classic.
    for (std::size_t j = 0; j < problem.size(); ++j) due_[j] -= earliest_[j];
    orders_.by_due(problem, due_, order);
    consider(order);
  }
  if (!reached()) {
    generic_order(problem, task.penalties, Aggregate::kMax, starts_[0].order, order);
    consider(order);
  }
  // Water-filling solves smaller tables below.
  if (!reached() && !problem.gang && problem.size() > kMostDeadlinePacked) {
    for (std::size_t j = 0; j < problem.size(); ++j) due_[j] += earliest_[j];
    orders_.by_due(problem, due_, order);
    consider(order, {due_.begin(), due_.end()});
  }
}

// Tries schedules for a sum in which no job is late. True if one is found.
bool Flex::try_deadlines(const Task& task) {
  const Problem& problem = task.problem;
  const std::size_t n = problem.size();
  std::vector<Index> order(n);
  std::vector<double> due(orders_.due().begin(), orders_.due().end());
  for (double& d : due) {
    if (std::isfinite(d)) d -= 0.5 * tolerance(problem.now + d);
  }
  if (!problem.gang) {
    orders_.by_due(problem, due, order);
    consider(order, due);
    if (search_.least(scores_[0])) return true;
  }
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] > 0.0) due[j] -= problem.work[j] / problem.high[j];
  }
  orders_.by_due(problem, due, order);
  consider(order);
  return search_.least(scores_[0]);
}

// Fixed orders for a sum.
void Flex::try_rules(const Task& task) {
  const Problem& problem = task.problem;
  std::vector<Index> order(problem.size());
  const bool many = problem.size() > kClocked;
  const std::span<const OrderRule> rules = rules_for(task.penalties, problem.size());
  orders_.study(problem, task.penalties, earliest_);
  if (!task.penalties.linear() && try_deadlines(task)) return;
  if (!task.options.known.empty()) {
    consider({task.options.known.begin(), task.options.known.end()});
  }
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const OrderRule rule = rules[k];
    if (rule == OrderRule::kFittingSet && problem.size() > kManyStepped) continue;
    if (many && k >= kSureRules && over(task)) return;
    orders_.apply(rule, problem, task.penalties, earliest_, order);
    consider(order);
    if ((rule == OrderRule::kFittingSet || rule == OrderRule::kSpareSet) && !problem.gang) {
      // packs the order for the due times of the set, too
      consider_set(task, order);
    }
  }
  if (many && over(task)) return;
  generic_order(problem, task.penalties, Aggregate::kSum, starts_[0].order, order);
  consider(order);
}

// Local search, unless the bound says that there is nothing to gain.
void Flex::search(const Task& task) {
  const auto& [problem, penalties, aggregate, options, late, plan] = task;
  pack_best(problem);
  if (plan.lower_bound == -kInfinity) {
    plan.lower_bound = lower_bound_.run(problem, penalties, aggregate, completion_,
                                        scores_[0].value, /*quick=*/false, earliest_);
  }
  if (reaches(scores_[0].value, plan.lower_bound, aggregate)) return;
  Score best = scores_[0];
  std::uint64_t tried = plan.candidates;
  const std::function<bool()> stop = [&task, &tried] {
    if (task.options.progress) task.options.progress(tried++);
    return task.late();
  };
  std::vector<PackedOrder> starts;
  for (const PackedOrder& start : starts_) {
    if (starts.size() < kStarts && (start.due.empty() || problem.size() <= kFewPacked)) {
      starts.push_back(start);
    }
  }
  const std::uint64_t found = search_.improve(starts, best, left_, plan.lower_bound, stop);
  plan.candidates += found;
  if (OrderSearch::better(best, scores_[0])) starts_[0] = std::move(starts[0]);
  if (found < left_ && late()) plan.status = Status::kTruncated;
}

// Plans for finite penalties: fixed orders, candidates by prices, then local search.
void Flex::plan_finite(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                       const FlexOptions& options, Plan& plan) {
  const std::size_t n = problem.size();
  const std::function<bool()> late = over_budget(options.budget);
  plan = Plan{};
  if (n == 0) {
    plan.lower_bound = 0.0;
    return;
  }
  completion_.resize(n);
  earliest_.resize(n);
  earliest_completions(problem, earliest_);
  search_.begin(problem, penalties, aggregate);
  starts_.clear();
  scores_.clear();
  const Task task{problem, penalties, aggregate, options, late, plan};
  left_ = options.effort;
  const bool max = aggregate == Aggregate::kMax;
  if (max) {
    try_levels(task);
  } else {
    try_rules(task);
    if (!penalties.linear() && !search_.least(scores_[0])) {
      try_prices(task);
    }
  }
  // A max objective without gangs is solved exactly below: water-filling is its one candidate.
  if (left_ > 0 && (!max || problem.gang)) search(task);
  if (n > kKeptWarm) {
    starts_.resize(1);
    search_ = OrderSearch();
    allocation_ = ResourceAllocation();
    orders_ = PriorityOrders();
    density_ = LagrangianDensity();
    prices_ = LagrangianBound();
  }
  pack_best(problem, &plan);
  plan.order = starts_[0].order;
  const auto finish = [&] {
    // If there was no time for all fixed orders, there is no bound yet, and no time for a good one.
    finish_plan(problem, penalties, aggregate, completion_, lower_bound_, plan,
                plan.status == Status::kTruncated, earliest_);
  };
  finish();
  const bool filling = max && !problem.gang && options.effort > 0 && n <= kMostDeadlinePacked;
  if (!filling || !std::isfinite(plan.value) || reaches(plan.value, plan.lower_bound, aggregate)) {
    return;
  }
  if (late()) {
    plan.status = Status::kTruncated;
    return;
  }
  const bool better = pack_deadlines(problem, penalties, plan.lower_bound, plan);
  plan.candidates = 1;
  if (better) finish();
}

}  // namespace malleable
