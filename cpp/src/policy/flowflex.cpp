#include "malleable/policy/flowflex.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

namespace malleable {
namespace {

using Clock = std::chrono::steady_clock;

bool reaches(double value, double bound) { return value <= bound + 2e-9 * std::fabs(bound); }

// One half is the paper's (figure 6, step 5).
constexpr double kShares[] = {0.5, 1.0, 0.75, 0.25, 0.9};
constexpr double kUnseen =
    1e-9;  // of a job's work may be lost to the clock before it is looked for
constexpr double kBisected = 1e-6;       // relative width of the bracket at which bisection ends
constexpr std::size_t kMostRecipes = 6;  // that the local search starts from
constexpr double kFlowShare = 0.4;  // of the search: over orders of flows; the rest: keys of jobs
constexpr int kPursuits = 12;       // levels that a maximum is tried for
constexpr std::uint64_t kStepNodes = 200'000;

constexpr OrderRule kLinearRules[] = {OrderRule::kSmith, OrderRule::kShortestPath};
constexpr OrderRule kSumRules[] = {OrderRule::kModifiedDue, OrderRule::kOnTimeSet,
                                   OrderRule::kSmith,       OrderRule::kApparentCost,
                                   OrderRule::kLeastSlack,  OrderRule::kShortestPath};

}  // namespace

std::uint64_t default_flow_effort(std::size_t jobs) {
  return std::clamp<std::uint64_t>(4'000'000 / (jobs + 1), 20, kFlowEffort);
}

double speed_needed(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                    std::span<const double> flow_completion, double bound) {
  std::vector<double> sooner(flow_completion.begin(), flow_completion.end());
  const double goal = bound + 1e-9 * std::fabs(bound);
  const auto meets = [&](double speed) {
    for (std::size_t j = 0; j < problem.flows(); ++j) {
      if (problem.volume[j] == 0.0) continue;
      sooner[j] = problem.now + (flow_completion[j] - problem.now) / speed;
    }
    return evaluate(penalties, aggregate, sooner) <= goal;
  };
  if (meets(1.0)) return 1.0;
  double low = 1.0, high = 2.0;
  while (!meets(high)) {
    low = high;
    if ((high *= 2.0) > 1e18) return kInfinity;
  }
  for (int step = 0; step < 100 && high - low > 1e-12 * high; ++step) {
    const double middle = low + (high - low) / 2.0;
    (meets(middle) ? high : low) = middle;
  }
  return high;
}

void complete_jobs(const FlowProblem& problem, FlowPlan& plan) {
  const std::size_t n = problem.jobs();
  plan.start.assign(n, kInfinity);
  plan.allocation.assign(n, 0);
  const Pieces& pieces = plan.pieces;
  std::vector<double> left(problem.work), end(n, -kInfinity);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const auto i = static_cast<std::size_t>(pieces.job[k]);
    plan.start[i] = std::min(plan.start[i], pieces.start[k]);
    end[i] = std::max(end[i], pieces.end[k]);
    // What its piece shows of a job's work, and what rounding of times may hide of it.
    const double digits = std::max(std::fabs(pieces.start[k]), std::fabs(pieces.end[k]));
    const double shown =
        pieces.end[k] - pieces.start[k] + 2.0 * std::numeric_limits<double>::epsilon() * digits;
    left[i] -= static_cast<double>(pieces.slots[k]) * shown;
    if (pieces.start[k] <= problem.now) plan.allocation[i] += pieces.slots[k];
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (end[i] == -kInfinity) continue;
    const bool all = left[i] <= kUnseen * problem.work[i];
    plan.completion[i] = all ? end[i] : std::max(end[i], problem.now + plan.completion[i]);
  }
  // A job without a piece starts and ends at once: without work, with the last of its parents.
  std::vector<double> ready(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Index j = problem.flow[i];
    ready[i] = problem.volume[j] > 0.0 ? problem.now + problem.release[j] : problem.idle_end[j];
  }
  for (const Index i : problem.topological) {
    if (plan.start[i] == kInfinity) {
      const double known = problem.work[i] > 0.0 ? problem.now + plan.completion[i] : ready[i];
      plan.start[i] = plan.completion[i] = std::max(ready[i], known);
    }
    for (std::size_t e = problem.child_offset[i]; e < problem.child_offset[i + 1]; ++e) {
      ready[problem.child[e]] = std::max(ready[problem.child[e]], plan.completion[i]);
    }
  }
}

namespace {

// Completions of flows from those of their jobs; value.
void total(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
           FlowPlan& plan) {
  plan.flow_completion.assign(problem.idle_end.begin(), problem.idle_end.end());
  for (std::size_t j = 0; j < problem.flows(); ++j) {
    if (problem.volume[j] > 0.0) plan.flow_completion[j] = problem.now;
  }
  for (std::size_t i = 0; i < problem.jobs(); ++i) {
    double& end = plan.flow_completion[problem.flow[i]];
    if (problem.volume[problem.flow[i]] > 0.0) end = std::max(end, plan.completion[i]);
  }
  plan.value = evaluate(penalties, aggregate, plan.flow_completion);
}

}  // namespace

void schedule_flows(const FlowProblem& problem, const FlowChains& chains,
                    const Penalties& penalties, Aggregate aggregate, const FlowRecipe& recipe,
                    FlowSearch& search, FlowPlan& plan) {
  const std::size_t n = problem.jobs();
  plan.pieces.clear();
  plan.completion.assign(n, 0.0);
  const auto keep_going = [](Index, double) { return true; };
  if (recipe.scheduler == FlowScheduler::kChains) {
    ChainPieces pieces;
    DeadlineGreedy().run(problem, chains, recipe.order, keep_going, &pieces);
    // What no piece will show.
    for (std::size_t i = 0; i < n; ++i) {
      const Index j = problem.flow[i];
      if (problem.work[i] == 0.0) continue;
      // The pseudo-job that it ends with; one too short for the chain ends with what is before it.
      const std::size_t last = std::max(chains.end[i], chains.first[i]);
      plan.completion[i] = last > chains.offset[j] ? pieces.done[last - 1] : problem.release[j];
    }
    WrapAround().run(problem, chains, pieces, plan.pieces);
  } else {
    std::vector<Index> rank(n);
    if (recipe.scheduler == FlowScheduler::kList) {
      search.rank_by_order(recipe.order, rank);
    } else if (recipe.scheduler == FlowScheduler::kSlack) {
      search.rank_by_due(recipe.due, rank);
    } else {
      search.rank_by_key(recipe.key, rank);
    }
    ReadyList().run(problem, rank, plan.completion, keep_going, &plan.pieces);
  }
  complete_jobs(problem, plan);
  total(problem, penalties, aggregate, plan);
}

void FlowFlex::order_by(std::span<const double> due, std::vector<Index>& order) {
  order.resize(due.size());
  sorter_.sort(due, order);
}

bool FlowFlex::all_steps() const {
  if (penalties_->linear()) return false;
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    if (problem_->volume[j] > 0.0 && !penalties_->steps(j)) return false;
  }
  return true;
}

// Scores a recipe and keeps it at its place among the best.
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

// An order in all three forms, as far as tries are left; `due` (may be empty) are its due times.
void FlowFlex::consider_all(const std::vector<Index>& order, std::span<const double> due) {
  const auto left = [&] { return tries_ > 0 && tries_-- > 0; };
  if (left()) consider({FlowScheduler::kList, order, {}, {}});
  if (left()) consider({FlowScheduler::kChains, order, {}, {}});
  if (due.empty() || tries_ == 0) return;
  // A flow that need never end counts as due after all others.
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
// have the same order of deadlines, and orders that begin alike begin with the same schedule: flows
// that stand in the histogram already are not placed again.
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
      if (!(end - release <= 2.0 * (due_[j] - release) * (1.0 + 1e-12))) return false;
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

// The paper's own schedule. Sums: the cells must stand.
void FlowFlex::literal(Aggregate aggregate, FlowRecipe& recipe) {
  const std::size_t f = problem_->flows();
  if (!strict_due_.empty() && strict_.pure()) {  // figure 5
    if (aggregate == Aggregate::kSum) solve_cells(TimeCells::Charge::kRight, nullptr);
    recipe.scheduler = FlowScheduler::kChains;
    order_by(strict_due_, recipe.order);
    return;
  }
  due_.resize(f);
  if (aggregate == Aggregate::kSum) {
    solve_cells(TimeCells::Charge::kRight, nullptr);
    rounded_deadlines(*problem_, cells_, min_cost_flow_.assignment(), bound_.earliest(), 0.5, due_);
    recipe.scheduler = FlowScheduler::kChains;
    order_by(due_, recipe.order);
    return;
  }
  // H bounds the length of every sensible schedule; nobody can pay more.
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

// A maximum: the least level that keys of jobs are found for, between the bound, which often can be
// reached, and what has been.
void FlowFlex::pursue(double low, FlowRecipe& top, Score& best, std::uint64_t& left,
                      const std::function<bool()>& late) {
  const std::uint64_t reserve = left / 2;
  double level = low;
  for (int round = 0; round < kPursuits && left > reserve && !late(); ++round) {
    bound_.deadlines(*penalties_, level, due_);
    FlowRecipe recipe{FlowScheduler::kKeys, top.order, {}, {}};
    keys_.keys_by_due(due_, recipe.key);
    const std::uint64_t share = (left - reserve) / 3 + 1;
    std::uint64_t rest = share;
    const bool met = keys_.meet(due_, recipe.key, rest, late);
    left -= share - rest;
    const Score found = search_.score(recipe);
    if (found.value < best.value) {
      best = found;
      top = std::move(recipe);
    }
    if (!met) low = level;
    if (reaches(best.value, low)) return;
    level = low + (best.value - low) / 2.0;
  }
}

// Local search over orders of flows, then over keys of jobs. `low`: the bound.
void FlowFlex::search(double low, std::uint64_t& left, const std::function<bool()>& late) {
  FlowRecipe top = recipes_[0];
  Score best = scores_[0];
  keys_.begin(*problem_);
  if (aggregate_ == Aggregate::kMax) {
    pursue(low, top, best, left, late);
    if (!reaches(best.value, low)) {
      bound_.deadlines(*penalties_, low, due_);
      search_.aim(due_);
      best = search_.score(top);
    }
  }
  if (!reaches(best.value, low)) {
    Score found = search_.score(recipes_[0]);
    const auto share = static_cast<std::uint64_t>(kFlowShare * static_cast<double>(left));
    left -= search_.improve(recipes_, found, share, low, late);
    if (OrderSearch::better(found, best)) {
      best = found;
      top = recipes_[0];
    }
  }
  if (!reaches(best.value, low)) {
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
    keys_.improve(search_, recipe, found, left, low + 2e-9 * std::fabs(low), late);
    if (OrderSearch::better(found, best)) top = std::move(recipe);
  }
  recipes_[0] = std::move(top);
}

// Orders of the flows taken for malleable jobs.
void FlowFlex::relaxed_orders() {
  bound_.relax(relaxed_);
  const std::span<const OrderRule> rules =
      penalties_->linear() ? std::span<const OrderRule>(kLinearRules) : kSumRules;
  std::vector<Index> order(problem_->flows());
  for (const OrderRule rule : rules) {
    if (tries_ == 0) return;
    orders_.make(rule, relaxed_, *penalties_, bound_.earliest(), order);
    consider_all(order, {});
  }
}

namespace {

bool study_deadlines(const FlowProblem& problem, const Penalties& penalties,
                     StrictDeadlines& strict) {
  if (!penalties.may_be_infinite()) return false;
  double horizon = 0.0;
  for (std::size_t j = 0; j < problem.flows(); ++j) {
    horizon = std::max(horizon, problem.release[j]) + problem.alone[j];
  }
  return strict.study(penalties, problem.now, horizon, problem.volume, problem.idle_end);
}

// True value, bound, status and speed of a plan that was made for finite penalties.
void settle(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
            const StrictDeadlines& strict, FlowPlan& plan) {
  bool impossible = false;
  if (evaluate(penalties, aggregate, plan.flow_completion) == kInfinity) {
    FlowBound bound;
    bound.build(problem);
    std::vector<double> due(problem.flows());
    strict.due(1.0, due);
    impossible = bound.impossible(due, problem.flows() <= FlowBound::kMostGrid);
  }
  strict.settle(penalties, aggregate, plan.flow_completion, impossible, plan.value,
                plan.lower_bound, plan.status);
  if (strict.pure()) {
    plan.literal_value *= plan.literal_value > 0.0 ? kInfinity : 1.0;  // misses, and nothing else
  } else {
    plan.literal_value = std::numeric_limits<double>::quiet_NaN();
  }
  plan.speed = std::numeric_limits<double>::quiet_NaN();
  if (!problem.released) return;
  // Where no schedule meets all deadlines, what speed would let this one do so.
  const double goal = plan.lower_bound < kInfinity ? plan.lower_bound
                      : strict.pure()              ? 0.0
                                                   : std::numeric_limits<double>::max();
  plan.speed = speed_needed(problem, penalties, aggregate, plan.flow_completion, goal);
}

}  // namespace

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
    // As many deadlines as can be met, by weight, whatever the objective makes of the others.
    const double bound = plan.lower_bound;
    plan_finite(problem, strict_.finite(), Aggregate::kSum, options, plan);
    if (max) plan.lower_bound = bound;
  }
  settle(problem, penalties, aggregate, strict_, plan);
}

void FlowFlex::plan_finite(const FlowProblem& problem, const Penalties& penalties,
                           Aggregate aggregate, const FlowOptions& options, FlowPlan& plan) {
  const auto began = Clock::now();
  const bool timed = std::isfinite(options.budget);
  const std::function<bool()> late = [&] {
    return timed && std::chrono::duration<double>(Clock::now() - began).count() >= options.budget;
  };
  const std::size_t f = problem.flows(), n = problem.jobs();
  plan = FlowPlan{};
  problem_ = &problem;
  penalties_ = &penalties;
  aggregate_ = aggregate;
  if (f == 0) {
    plan.lower_bound = 0.0;
    plan.speed = 1.0;
    return;
  }
  chains_.build(problem);
  bound_.build(problem, timed ? &late : nullptr);
  search_.begin(problem, chains_, penalties, aggregate, bound_.earliest());
  recipes_.clear();
  scores_.clear();
  kept_.order.clear();
  due_.resize(f);
  const bool sum = aggregate == Aggregate::kSum;
  const bool fast = options.method == FlowMethod::kFast;
  double lower = bound_.alone(penalties, aggregate);
  // About as many fixed orders as cost a few milliseconds.
  tries_ = std::clamp<std::size_t>(60'000 / (n + 1), 2, 60);

  if (sum && !fast) {
    const std::size_t steps = std::clamp<std::size_t>(65'536 / f, 32, 128);
    cells_.build(problem, penalties, bound_.all(), bound_.earliest(), steps);
  }
  if (!fast) {
    FlowRecipe recipe;
    literal(aggregate, recipe);
    const Score score = search_.score(recipe);
    plan.literal_value = score.value;
    recipes_.push_back(std::move(recipe));
    scores_.push_back(score);
    if (options.method == FlowMethod::kBest && sum) {
      for (const double share : kShares) {
        rounded_deadlines(problem, cells_, min_cost_flow_.assignment(), bound_.earliest(), share,
                          due_);
        order_by(due_, order_);
        consider_all(order_, due_);
      }
    }
  }
  if (options.method != FlowMethod::kLiteral) {
    if (options.warm.size() == f) {
      const std::vector<Index> warm(options.warm.begin(), options.warm.end());
      consider_all(warm, {});
      if (options.hysteresis > 0.0) kept_ = {FlowScheduler::kList, warm, {}, {}};
    }
    if (!strict_due_.empty()) {
      order_by(strict_due_, order_);
      consider_all(std::vector<Index>(order_), strict_due_);
    }
    if (sum) relaxed_orders();
  }
  if (recipes_.empty()) {  // a maximum, fast: by the deadlines of its bound alone
    std::vector<Index> arrived(f);
    std::iota(arrived.begin(), arrived.end(), Index{0});
    consider({FlowScheduler::kChains, std::move(arrived), {}, {}});
  }
  if (sum) {
    std::vector<double> end(f, 0.0);
    greedy_.run(problem, chains_, recipes_[0].order, [&](Index j, double t) {
      end[j] = t;
      return true;
    });
    if (all_steps()) {
      const std::uint64_t nodes =
          options.method == FlowMethod::kBest && options.effort > 0 ? kStepNodes : 0;
      lower = std::max(lower, bound_.step_bound(penalties, scores_[0].value, nodes, due_));
      if (options.method != FlowMethod::kLiteral) {
        order_by(due_, order_);
        consider_all(order_, due_);
      }
    } else {
      lower = std::max(lower, bound_.busy_bound(penalties, end));
      if (options.method == FlowMethod::kBest && options.effort > 0 &&
          !reaches(scores_[0].value, lower) && !late()) {
        lower = std::max(lower, bound_.grid_bound(penalties, scores_[0].value));
      }
    }
    // The flow's own bound: the only one for a caller's own penalties, and for some small instances
    // the strongest one.
    bool custom = false;
    for (std::size_t j = 0; j < f; ++j) custom |= penalties.is_custom(j);
    const bool open = f <= FlowBound::kMostGrid && !reaches(scores_[0].value, lower);
    if (!fast && (custom || (options.method == FlowMethod::kBest && open))) {
      solve_cells(TimeCells::Charge::kLeft, timed ? &late : nullptr);
      double idle = 0.0;  // what flows without work cost, which may be negative
      for (std::size_t j = 0; j < f; ++j) {
        if (problem.volume[j] == 0.0) idle += penalties(j, problem.idle_end[j]);
      }
      lower = std::max(lower, idle + min_cost_flow_.bound());
    }
  } else {
    const bool pairs = !problem.released && options.effort > 0 && f <= 64 && !late();
    lower = bound_.max_level(penalties, lower, scores_[0].value, pairs);
    if (options.method != FlowMethod::kLiteral) {
      // Deadlines of levels between the bound and what has been reached.
      constexpr int kLevels = 8;
      for (int k = 0; k <= kLevels && tries_ > 0 && !reaches(scores_[0].value, lower); ++k) {
        const double share = static_cast<double>(k) / kLevels;
        bound_.deadlines(penalties, lower + share * share * (scores_[0].value - lower), due_);
        order_by(due_, order_);
        consider_all(order_, due_);
      }
    }
  }
  lower = std::min(lower, scores_[0].value);

  if (options.method == FlowMethod::kBest && options.effort > 0 &&
      !reaches(scores_[0].value, lower)) {
    std::uint64_t left = options.effort;
    search(lower, left, late);
    plan.candidates = options.effort - left;
    if (left > 0 && late()) plan.status = Status::kTruncated;
  }
  if (!kept_.order.empty()) {
    const double best = search_.score(recipes_[0]).value;
    const double more = search_.score(kept_).value - best;
    if (options.hysteresis == kInfinity || more <= options.hysteresis * std::fabs(best)) {
      recipes_[0] = kept_;
    }
  }
  schedule_flows(problem, chains_, penalties, aggregate, recipes_[0], search_, plan);
  plan.order = recipes_[0].order;
  if (recipes_[0].scheduler == FlowScheduler::kKeys) order_by(plan.flow_completion, plan.order);
  plan.lower_bound = std::min(lower, plan.value);
  if (problem.released) {
    plan.speed =
        speed_needed(problem, penalties, aggregate, plan.flow_completion, plan.lower_bound);
  }
}

void plan_baseline(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                   FlowBaseline which, std::span<const double> arrival, FlowPlan& plan) {
  const std::size_t f = problem.flows(), n = problem.jobs();
  if (StrictDeadlines strict; study_deadlines(problem, penalties, strict)) {
    plan_baseline(problem, strict.finite(), aggregate, which, arrival, plan);
    settle(problem, penalties, aggregate, strict, plan);
    return;
  }
  plan = FlowPlan{};
  if (f == 0) {
    plan.lower_bound = 0.0;
    plan.speed = 1.0;
    return;
  }
  plan.order.resize(f);
  KeySort().sort(arrival, plan.order);
  plan.completion.assign(n, 0.0);
  if (which == FlowBaseline::kFair) {
    std::vector<double> end(f, 0.0);
    FairList().run(problem, plan.completion, end, plan.pieces);
  } else {
    std::vector<Index> rank(n);
    Index next = 0;
    for (const Index j : plan.order) {
      // The topological order of a flow stands where the flow stands in the table.
      for (std::size_t k = problem.job_offset[j]; k < problem.job_offset[j + 1]; ++k) {
        rank[problem.topological[k]] = next++;
      }
    }
    ReadyList().run(
        problem, rank, plan.completion, [](Index, double) { return true; }, &plan.pieces);
  }
  complete_jobs(problem, plan);
  total(problem, penalties, aggregate, plan);
  FlowBound bound;
  bound.build(problem);
  plan.lower_bound = bound.alone(penalties, aggregate);
  if (aggregate == Aggregate::kMax) {
    plan.lower_bound = bound.max_level(penalties, plan.lower_bound, plan.value, false);
  } else {
    bool steps = !penalties.linear();
    for (std::size_t j = 0; steps && j < f; ++j) {
      steps = problem.volume[j] == 0.0 || penalties.steps(j);
    }
    std::vector<double> end(f);
    for (std::size_t j = 0; j < f; ++j) end[j] = plan.flow_completion[j] - problem.now;
    plan.lower_bound =
        std::max(plan.lower_bound, steps ? bound.step_bound(penalties, plan.value, 0, {})
                                         : bound.busy_bound(penalties, end));
  }
  plan.lower_bound = std::min(plan.lower_bound, plan.value);
  if (problem.released) {
    plan.speed =
        speed_needed(problem, penalties, aggregate, plan.flow_completion, plan.lower_bound);
  }
}

}  // namespace malleable
