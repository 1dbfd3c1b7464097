#include "malleable/policy/flowflex.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "malleable/model/tolerance.hpp"
#include "malleable/policy/budget.hpp"

namespace malleable {
namespace {

bool is_optimal(double value, double bound) { return value <= bound + kOptimal * std::fabs(bound); }

// Terms: literal is the schedule as printed; a recipe says how a schedule is made (an order of
// flows, due times or keys of jobs); the warm order is the caller's; a level is a value of a max
// objective, which sets each flow a deadline; figures are those of Nagarajan et al. 2013.

// One half is printed (figure 6, step 5).
constexpr double kShares[] = {0.5, 1.0, 0.75, 0.25, 0.9};
constexpr double kBisected = 1e-6;       // relative width of the bracket at which bisection ends
constexpr std::size_t kMostRecipes = 6;  // recipes that the local search starts from
// share of the search over orders of flows; the rest is over keys of jobs
constexpr double kFlowShare = 0.4;
constexpr int kLevelsTried = 12;               // levels that are tried for a maximum
constexpr std::uint64_t kStepNodes = 200'000;  // of the search behind the bound for steps

constexpr OrderRule kLinearFlowRules[] = {OrderRule::kSmith, OrderRule::kShortestPath};
constexpr OrderRule kSumFlowRules[] = {OrderRule::kModifiedDue, OrderRule::kOnTimeSet,
                                       OrderRule::kSmith,       OrderRule::kApparentCost,
                                       OrderRule::kLeastSlack,  OrderRule::kShortestPath};

}  // namespace

std::uint64_t default_flow_effort(std::size_t jobs) {
  return std::clamp<std::uint64_t>(4'000'000 / (jobs + 1), 20, kFlowEffort);
}

bool FlowFlex::reached() const { return is_optimal(scores_[0].value, lower_); }

// late_, or null without a budget, so that kernels need not call it.
const std::function<bool()>* FlowFlex::late_if_timed() const {
  return std::isfinite(options_->budget) ? &late_ : nullptr;
}

void FlowFlex::order_by(std::span<const double> due, std::vector<Index>& order) {
  order.resize(due.size());
  sorter_.sort(due, order);
}

// Scores a recipe and inserts it among the best.
void FlowFlex::consider(FlowRecipe recipe) {
  const Score score = search_.score(recipe);
  const auto at = std::upper_bound(scores_.begin(), scores_.end(), score, OrderSearch::better);
  const auto place = at - scores_.begin();
  scores_.insert(at, score);
  recipes_.insert(recipes_.begin() + place, std::move(recipe));
  if (recipes_.size() > kMostRecipes) {
    recipes_.pop_back();
    scores_.pop_back();
  }
}

// Tries an order in all three forms, as far as tries are left; `due` (may be empty): its due times.
void FlowFlex::consider_all(const std::vector<Index>& order, std::span<const double> due) {
  const auto left = [&] { return tries_ > 0 && tries_-- > 0; };
  if (left()) consider({FlowScheduler::kList, order, {}, {}});
  if (left()) consider({FlowScheduler::kChains, order, {}, {}});
  if (due.empty() || tries_ == 0) return;
  // A flow without a due time counts as due after all others.
  double last = 0.0;
  for (std::size_t j = 0; j < due.size(); ++j) {
    if (due[j] < kInfinity) last = std::max(last, due[j]);
    last = std::max(last, bound_.earliest()[j]);
  }
  finite_due_.assign(due.begin(), due.end());
  for (double& d : finite_due_) d = d < kInfinity ? std::max(d, 0.0) : 2.0 * last;
  --tries_;
  consider({FlowScheduler::kSlack, order, finite_due_, {}});
}

void FlowFlex::solve_cells(TimeCells::Charge charge, const std::function<bool()>* late) {
  cells_.charge(*problem_, *penalties_, bound_.earliest(), charge, costs_);
  min_cost_flow_.solve(problem_->volume, cells_.times(charge), cells_.room, costs_, {.late = late});
}

// Figure 8: the least level whose deadlines the greedy meets within twice their time. Many levels
// have the same order of deadlines, and orders with the same beginning begin with the same
// schedule: flows that are in the histogram already are not placed again.
void FlowFlex::bisect(double low, double high, FlowRecipe& recipe) {
  placed_.clear();
  placed_end_.resize(problem_->flows());
  const auto feasible = [&](double level) {
    bound_.deadlines(*penalties_, level, due_);
    order_by(due_, order_);
    if (placed_.empty() || !std::equal(placed_.begin(), placed_.end(), order_.begin())) {
      greedy_.reset(problem_->slots);
      placed_.clear();
    }
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const Index j = order_[k];
      const double release = problem_->release[j];
      if (k == placed_.size()) {
        placed_end_[j] = greedy_.place(chains_, j, release);
        placed_.push_back(j);
      }
      if (problem_->volume[j] == 0.0) continue;
      const double end = placed_end_[j];
      if (!(end - release <= 2.0 * (due_[j] - release) * (1.0 + kRounding))) return false;
    }
    return true;
  };
  double success = high;
  if (feasible(low)) {
    success = low;
  } else {
    double fail = low;
    for (int step = 0; step < 60; ++step) {
      const double middle = fail + (success - fail) / 2.0;
      if (!(middle > fail && middle < success)) break;
      if (success - fail <= kBisected * std::fabs(success)) break;
      (feasible(middle) ? success : fail) = middle;
    }
  }
  bound_.deadlines(*penalties_, success, due_);
  recipe.scheduler = FlowScheduler::kChains;
  order_by(due_, recipe.order);
}

// The literal schedule. For sums the cells must be built before.
void FlowFlex::literal(FlowRecipe& recipe) {
  const std::size_t f = problem_->flows();
  if (!strict_due_.empty() && strict_.pure()) {  // figure 5
    if (aggregate_ == Aggregate::kSum) solve_cells(TimeCells::Charge::kRight, nullptr);
    recipe.scheduler = FlowScheduler::kChains;
    order_by(strict_due_, recipe.order);
    return;
  }
  due_.resize(f);
  if (aggregate_ == Aggregate::kSum) {
    solve_cells(TimeCells::Charge::kRight, nullptr);
    rounded_deadlines(*problem_, cells_, min_cost_flow_.assignment(), bound_.earliest(), 0.5, due_);
    recipe.scheduler = FlowScheduler::kChains;
    order_by(due_, recipe.order);
    return;
  }
  // H bounds the length of every sensible schedule, and so every penalty.
  double length = 0.0, high = -kInfinity;
  for (std::size_t j = 0; j < f; ++j) {
    length = std::max(length, problem_->release[j]) + problem_->alone[j];
  }
  for (std::size_t j = 0; j < f; ++j) {
    high = std::max(high, (*penalties_)(j, problem_->volume[j] > 0.0 ? problem_->now + length
                                                                     : problem_->idle_end[j]));
  }
  bisect(bound_.alone(*penalties_, Aggregate::kMax), high, recipe);
}

// For a maximum: searches keys of jobs for the least level between the bound, which often can be
// reached, and the best value so far.
void FlowFlex::search_levels(FlowRecipe& top, Score& best, std::uint64_t& left) {
  const std::uint64_t reserve = left / 2;
  double low = lower_, level = low;
  for (int round = 0; round < kLevelsTried && left > reserve && !late_(); ++round) {
    bound_.deadlines(*penalties_, level, due_);
    FlowRecipe recipe{FlowScheduler::kKeys, top.order, {}, {}};
    keys_.keys_by_due(due_, recipe.key);
    const std::uint64_t share = (left - reserve) / 3 + 1;
    std::uint64_t rest = share;
    const bool met = keys_.meet_deadlines(due_, recipe.key, rest, late_);
    left -= share - rest;
    const Score found = search_.score(recipe);
    if (found.value < best.value) {
      best = found;
      top = std::move(recipe);
    }
    if (!met) low = level;
    if (is_optimal(best.value, low)) return;
    level = low + (best.value - low) / 2.0;
  }
}

// Local search over orders of flows, then over keys of jobs.
void FlowFlex::search(std::uint64_t& left) {
  FlowRecipe top = recipes_[0];
  Score best = scores_[0];
  keys_.begin(*problem_);
  if (aggregate_ == Aggregate::kMax) {
    search_levels(top, best, left);
    if (!is_optimal(best.value, lower_)) {
      bound_.deadlines(*penalties_, lower_, due_);
      search_.aim(due_);
      best = search_.score(top);
    }
  }
  if (!is_optimal(best.value, lower_)) {
    Score found = search_.score(recipes_[0]);
    const auto share = static_cast<std::uint64_t>(kFlowShare * static_cast<double>(left));
    left -= search_.improve(recipes_, found, share, lower_, late_);
    if (OrderSearch::better(found, best)) {
      best = found;
      top = recipes_[0];
    }
  }
  if (!is_optimal(best.value, lower_)) {
    std::vector<Index> rank(problem_->jobs());
    FlowRecipe recipe = top;
    if (top.scheduler == FlowScheduler::kSlack) {
      keys_.keys_by_due(top.due, recipe.key);
    } else if (top.scheduler != FlowScheduler::kKeys) {
      search_.rank_by_order(top.order, rank);
      keys_.keys_by_rank(rank, recipe.key);
    }
    recipe.scheduler = FlowScheduler::kKeys;
    Score found = search_.score(recipe);
    keys_.improve(search_, recipe, found, left, lower_ + kOptimal * std::fabs(lower_), late_);
    if (OrderSearch::better(found, best)) top = std::move(recipe);
  }
  recipes_.insert(recipes_.begin(), std::move(top));
}

// Orders of the plan that was made, and of the best recipes behind it.
void FlowFlex::orders(const FlowPlan& plan, std::vector<std::vector<Index>>& orders) const {
  orders.assign(1, plan.order);
  for (const FlowRecipe& recipe : recipes_) orders.push_back(recipe.order);
}

// Tries orders of the flows as malleable jobs.
void FlowFlex::relaxed_orders() {
  bound_.relax(relaxed_);
  const std::span<const OrderRule> rules =
      penalties_->linear() ? std::span<const OrderRule>(kLinearFlowRules) : kSumFlowRules;
  std::vector<Index> order(problem_->flows());
  for (const OrderRule rule : rules) {
    if (tries_ == 0) return;
    orders_.make(rule, relaxed_, *penalties_, bound_.earliest(), order);
    consider_all(order, {});
  }
}

void FlowFlex::plan(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                    const FlowOptions& options, FlowPlan& plan) {
  strict_due_.clear();
  if (!study_deadlines(problem, penalties, strict_)) {
    plan_finite(problem, penalties, aggregate, options, plan);
    return;
  }
  strict_due_.resize(problem.flows());
  strict_.due(0.0, strict_due_);
  const bool max = aggregate == Aggregate::kMax && !strict_.pure();
  const auto missed = [&] {
    return evaluate(penalties, aggregate, plan.flow_completion) == kInfinity;
  };
  if (max) plan_finite(problem, strict_.finite(), Aggregate::kMax, options, plan);
  if (!max || missed()) {
    // Meets as many deadlines as possible, by weight; the objective counts only for the rest.
    const double bound = plan.lower_bound;
    plan_finite(problem, strict_.finite(), Aggregate::kSum, options, plan);
    if (max) plan.lower_bound = bound;
  }
  settle_deadlines(problem, penalties, aggregate, strict_, plan);
}

void FlowFlex::begin(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                     const FlowOptions& options) {
  problem_ = &problem;
  penalties_ = &penalties;
  aggregate_ = aggregate;
  options_ = &options;
  const auto usual = static_cast<double>(default_flow_effort(problem.jobs()));
  share_ = std::min(1.0, static_cast<double>(options.effort) / usual);
  late_ = over_budget(options.budget);
  chains_.build(problem);
  bound_.build(problem, late_if_timed());
  search_.begin(problem, chains_, penalties, aggregate, bound_.earliest());
  recipes_.clear();
  scores_.clear();
  kept_.order.clear();
  due_.resize(problem.flows());
  lower_ = bound_.alone(penalties, aggregate);
  // The number of fixed orders that take a few milliseconds.
  tries_ = std::clamp<std::size_t>(60'000 / (problem.jobs() + 1), 2, 60);
}

// The literal schedule comes first; sums try other shares than its one half.
double FlowFlex::take_literal() {
  const bool sum = aggregate_ == Aggregate::kSum;
  if (sum) {
    const std::size_t steps = std::clamp<std::size_t>(65'536 / problem_->flows(), 32, 128);
    cells_.build(*problem_, *penalties_, bound_.all(), bound_.earliest(), steps);
  }
  FlowRecipe recipe;
  literal(recipe);
  const Score score = search_.score(recipe);
  recipes_.push_back(std::move(recipe));
  scores_.push_back(score);
  if (options_->method == FlowMethod::kBest && sum) {
    for (const double share : kShares) {
      rounded_deadlines(*problem_, cells_, min_cost_flow_.assignment(), bound_.earliest(), share,
                        due_);
      order_by(due_, order_);
      consider_all(order_, due_);
    }
  }
  return score.value;
}

// Orders that need no flow: the caller's, that of strict deadlines, those of malleable jobs.
void FlowFlex::take_orders() {
  if (options_->warm.size() == problem_->flows()) {
    const std::vector<Index> warm(options_->warm.begin(), options_->warm.end());
    consider_all(warm, {});
    if (options_->hysteresis > 0.0) kept_ = {FlowScheduler::kList, warm, {}, {}};
  }
  if (!strict_due_.empty()) {
    order_by(strict_due_, order_);
    consider_all(std::vector<Index>(order_), strict_due_);
  }
  if (aggregate_ != Aggregate::kSum) return;
  if (!problem_->released) {
    bound_.ends_by_work_left(*penalties_, due_);
    order_by(due_, order_);
    consider_all(std::vector<Index>(order_), {});
  }
  relaxed_orders();
}

// Computes the bound of a sum, and the order of the steps that it chooses.
void FlowFlex::bound_sum() {
  const std::size_t f = problem_->flows();
  const bool best = options_->method == FlowMethod::kBest;
  std::vector<double> end(f, 0.0);
  greedy_.run(*problem_, chains_, recipes_[0].order, [&](Index j, double t) {
    end[j] = t;
    return true;
  });
  if (all_steps(*problem_, *penalties_)) {
    const double most = best ? share_ * static_cast<double>(kStepNodes) : 0.0;
    const auto nodes = static_cast<std::uint64_t>(most);
    lower_ = std::max(lower_, bound_.step_bound(*penalties_, scores_[0].value, nodes, due_));
    if (options_->method != FlowMethod::kLiteral) {
      order_by(due_, order_);
      consider_all(order_, due_);
    }
  } else {
    lower_ = std::max(lower_, bound_.busy_bound(*penalties_, end));
    if (best && options_->effort > 0 && !reached() && !late_()) {
      lower_ = std::max(lower_, bound_.grid_bound(*penalties_, scores_[0].value, share_));
    }
  }
  bool custom = false;  // no other bound knows these
  for (std::size_t j = 0; j < f; ++j) custom |= penalties_->is_custom(j);
  if (custom && options_->method != FlowMethod::kFast) lower_ = std::max(lower_, cell_bound());
}

// Lower bound by the minimum-cost flow, with the flows that have no work.
double FlowFlex::cell_bound() {
  solve_cells(TimeCells::Charge::kLeft, late_if_timed());
  double idle = 0.0;  // may be negative
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    if (problem_->volume[j] == 0.0) idle += (*penalties_)(j, problem_->idle_end[j]);
  }
  return idle + min_cost_flow_.bound();
}

// Computes the bound of a maximum, and tries orders by the deadlines of levels between it and the
// best value.
void FlowFlex::bound_max() {
  lower_ = bound_.max_level(*penalties_, lower_, scores_[0].value);
  if (options_->method == FlowMethod::kLiteral) return;
  constexpr int kLevels = 8;  // tried between the bound and the best value
  for (int k = 0; k <= kLevels && tries_ > 0 && !reached(); ++k) {
    const double share = static_cast<double>(k) / kLevels;
    bound_.deadlines(*penalties_, lower_ + share * share * (scores_[0].value - lower_), due_);
    order_by(due_, order_);
    consider_all(order_, due_);
  }
}

// Keeps the warm order unless another is better by more than the hysteresis.
void FlowFlex::keep_warm() {
  if (kept_.order.empty()) return;
  const double best = search_.score(recipes_[0]).value;
  const double more = search_.score(kept_).value - best;
  if (options_->hysteresis == kInfinity || more <= options_->hysteresis * std::fabs(best)) {
    recipes_[0] = kept_;
  }
}

void FlowFlex::plan_finite(const FlowProblem& problem, const Penalties& penalties,
                           Aggregate aggregate, const FlowOptions& options, FlowPlan& plan) {
  plan = FlowPlan{};
  if (problem.flows() == 0) {
    plan.lower_bound = 0.0;
    plan.speed = 1.0;
    return;
  }
  begin(problem, penalties, aggregate, options);
  if (options.method != FlowMethod::kFast) plan.literal_value = take_literal();
  if (options.method != FlowMethod::kLiteral) take_orders();
  if (recipes_.empty()) {  // the fast method for a maximum: only by the deadlines of its bound
    std::vector<Index> arrived(problem.flows());
    std::iota(arrived.begin(), arrived.end(), Index{0});
    consider({FlowScheduler::kChains, std::move(arrived), {}, {}});
  }
  aggregate == Aggregate::kSum ? bound_sum() : bound_max();
  lower_ = std::min(lower_, scores_[0].value);
  // If the warm order decides in any case, no search is needed.
  const bool searches = options.method == FlowMethod::kBest && options.hysteresis < kInfinity;
  if (searches && options.effort > 0 && !reached()) {
    std::uint64_t left = options.effort;
    search(left);
    plan.candidates = options.effort - left;
    if (left > 0 && late_()) plan.status = Status::kTruncated;
  }
  keep_warm();
  schedule_flows(problem, chains_, penalties, aggregate, recipes_[0], search_, plan);
  plan.order = recipes_[0].order;
  if (recipes_[0].scheduler == FlowScheduler::kKeys) order_by(plan.flow_completion, plan.order);
  finish_plan(problem, penalties, aggregate, lower_, plan);
}

}  // namespace malleable
