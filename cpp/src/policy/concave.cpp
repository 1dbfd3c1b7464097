#include "malleable/policy/concave.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "malleable/kernel/demand_bound.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/budget.hpp"
#include "malleable/policy/finish_plan.hpp"

namespace malleable {
// Plans for speed-up curves, where s slots do s^p or what a table says. A choice is a rule that
// sets shares of the slots at any time: by an order and a power of shares, by fixed shares, or by
// values of work. `coming` is the number of jobs that will come while the present ones run; a hull
// is the least concave curve above a job's speeds. If some table is not concave (`rough_`), rules
// see the hulls, and rules that follow the objective give slots by marginal gains (`gains_`).
//
// Deadlines whose miss costs infinitely much are strict: they get finite penalties, larger than all
// others together (kernel/strict_deadlines.hpp), and the plan makes the sum small, so that as few
// as possible are missed.
namespace {

// Beyond this exponent all slots go to the first: the power of shares would be above 100.
constexpr double kNearlyLinear = 0.99;
// Halvings of a price between 1e-18 and 1. Any price gives a valid bound, and near the best price
// it hardly changes.
constexpr int kBoundHalvings = 24;
constexpr std::size_t kMostWeights = 32;  // different weights in heSRPT's bound
// Jobs x jobs x fixed rules that are tried with any effort.
constexpr std::uint64_t kFixedWork = 4'000'000;
constexpr double kFactors[] = {4.0, 2.0, 1.4, 1.15};  // by which the search changes shares

// Prices of slots rise by this for each later job, while jobs keep coming; by 1 in a batch.
constexpr double kSteep = 3.0;
// The part of (power of shares - 1) that is kept while jobs keep coming. The best part for jobs
// with one p is between 0.3 and 0.7 for p of 0.4 to 0.9, at load 0.5 and 0.9 (this is within 1 % of
// it).
constexpr double kFlat = 0.4;
// A job without weight counts as this part of the mean weight.
constexpr double kLight = 1e-9;
constexpr double kMostCost = 1e280;  // larger costs of a unit of work count as this

// Whether the policy follows the objective.
bool follows(const Concave::Task& task) {
  return task.policy == EpochPolicy::kFlex || task.policy == EpochPolicy::kHeSrpt;
}

std::uint64_t fixed_rules(std::size_t jobs) {
  return kFixedWork / std::max<std::uint64_t>(jobs * jobs, 1);
}

// The power q of shares: the i-th of m jobs gets (i / m)^q - ((i - 1) / m)^q.
double share_exponent(double p) { return p >= kNearlyLinear ? kInfinity : 1.0 / (1.0 - p); }

// While jobs keep coming, shares are more equal: the jobs together then do more work, and new jobs
// wait less.
double flatter(double power, double coming) {
  return 1.0 + (power - 1.0) * (1.0 - (1.0 - kFlat) * coming / (1.0 + coming));
}

}  // namespace

// An upper bound of the speed of all jobs together, by a price of a slot.
double most_together(const Problem& problem, const SpeedupView& speedup) {
  const std::size_t n = problem.size();
  SpeedupHulls hulls;
  hulls.build(speedup, std::vector<double>(n, 0.0), problem.high);
  double alone = 0.0, each = 1.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (!(problem.work[j] > 0.0)) continue;
    alone += speedup.at(j, problem.high[j]);
    each = std::max(each, speedup.most_per_slot(j));
  }
  double least = std::min(each * problem.slots, alone);
  double low = std::log(1e-18), high = std::log(each);
  for (int step = 0; step < kBoundHalvings; ++step) {
    const double middle = low + (high - low) / 2.0, price = std::exp(middle);
    double asked = 0.0, made = price * problem.slots;
    for (std::size_t j = 0; j < n; ++j) {
      if (!(problem.work[j] > 0.0)) continue;
      const double slots = hulls.best(speedup, j, price, problem.high[j]);
      made += std::max(0.0, speedup.at(j, slots) - price * slots);
      asked += slots;
    }
    least = std::min(least, made);
    (asked > problem.slots ? low : high) = middle;
  }
  return least * (1.0 + kAmple);
}

// A lower bound for linear penalties: heSRPT is optimal if all jobs have one exponent and one
// weight; other weights are sums of such layers.
double hesrpt_bound(const Problem& problem, const SpeedupView& speedup,
                    const Penalties& penalties) {
  struct Row {
    double work, slope;
  };
  std::vector<Row> rows;
  std::vector<double> weights;
  double bound = 0.0, steepest = 0.0, each = 1.0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const bool works = problem.work[j] > 0.0;
    bound += penalties(j, works ? problem.now : problem.idle_end[j]);
    if (!works || !(penalties.slope()[j] > 0.0)) continue;
    steepest = std::max(steepest, speedup.largest_exponent(j));
    each = std::max(each, speedup.most_per_slot(j));
    rows.push_back({problem.work[j], penalties.slope()[j]});
    weights.push_back(penalties.slope()[j]);
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.work > b.work; });
  std::sort(weights.begin(), weights.end());
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
  if (weights.size() > kMostWeights) {
    for (std::size_t k = 0; k < kMostWeights; ++k) {
      weights[k] = weights[k * weights.size() / kMostWeights];
    }
    weights.resize(kMostWeights);
  }
  // The last k jobs have these parts of a job's time alone: k^q - (k - 1)^q to the power 1 / q.
  if (each > 1.0) steepest = 1.0;
  const double q = steepest < 1.0 ? 1.0 / (1.0 - steepest) : kInfinity;
  std::vector<double> part(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto count = static_cast<double>(k + 1);
    part[k] = q == kInfinity ? count
                             : count * std::pow(-std::expm1(q * std::log1p(-1.0 / count)), 1.0 / q);
  }
  const double speed = each * std::pow(problem.slots, steepest);
  double before = 0.0, floor = 0.0;
  for (const double weight : weights) {
    double total = 0.0;
    std::size_t k = 0;
    for (const Row& row : rows) {
      if (row.slope >= weight) total += row.work * part[k++];
    }
    floor += (weight - before) * total / speed;
    before = weight;
  }
  return bound + floor - kRounding * (std::fabs(bound) + floor);
}

// Only a bound needs the exact rate of all jobs together, which takes most of the time.
void Concave::prepare(const Task& task, bool for_bound) {
  const Problem& problem = task.problem;
  limited_ = relaxed_ = problem;
  relaxed_.gang = false;
  if (for_bound) {
    relaxed_.slots = std::max(most_together(problem, task.speedup), kTiny);
  } else {
    double each = 1.0;
    for (std::size_t j = 0; j < problem.size(); ++j)
      each = std::max(each, task.speedup.most_per_slot(j));
    relaxed_.slots *= each;
  }
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const double high = problem.high[j];
    relaxed_.low[j] = 0.0;
    relaxed_.high[j] = std::min(relaxed_.slots, task.speedup.at(j, high));
    if (high > 0.0) limited_.high[j] = std::max(problem.low[j], task.speedup.useful(j, high));
  }
  slope_.assign(task.penalties.slope().begin(), task.penalties.slope().end());
  hulls_.build(task.speedup, relaxed_.low, problem.high);
  rough_ = hulls_.rough();
  hulled_.clear();
  if (rough_) hulled_.add_hulls(task.speedup, hulls_);
  if (follows(task)) gains_.prepare(limited_, task.speedup);
}

// Whether all jobs that more than one slot makes faster have s^p with one p.
bool Concave::alike(const Task& task) const {
  double p = -1.0;
  for (std::size_t j = 0; j < task.problem.size(); ++j) {
    if (!(task.problem.work[j] > 0.0) || !(limited_.high[j] > 1.0)) continue;
    const double own = task.speedup.power(j);
    if (!task.speedup.table(j).empty() || (p >= 0.0 && own != p)) return false;
    p = own;
  }
  return true;
}

// The value of a unit of each job's work, what it saves the job and those behind it, from the order
// of jobs by their cost at the mean price over their weight.
std::vector<double> Concave::values(const Task& task, double steep, double coming) {
  const std::size_t n = task.problem.size();
  std::vector<double> value(n, 0.0), weight(n, 0.0);
  double count = 0.0, all = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (!(task.problem.work[j] > 0.0)) continue;
    weight[j] = slope_[j];
    all += weight[j];
    count += 1.0;
  }
  const double mean = all > 0.0 ? all / count : 1.0, slots = std::max(1.0, task.problem.slots);
  // Jobs of weight 0 come last, but still get slots.
  for (double& w : weight) w = std::max(w, mean * kLight);
  const double price = steep * mean * (count / 2.0 + coming) / slots;
  key_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double cost = hulls_.cost(task.speedup, j, 1.0, price / weight[j], limited_.high[j]);
    key_[j] = task.problem.work[j] * std::min(cost, kMostCost);
  }
  std::vector<Index> order(n);
  sorter_.sort(key_, order);
  double behind = coming * mean;
  for (std::size_t place = n; place-- > 0;) {
    const Index j = order[place];
    if (!(task.problem.work[j] > 0.0)) continue;
    value[j] = hulls_.cost(task.speedup, j, weight[j], steep * behind / slots, limited_.high[j]);
    if (!std::isfinite(value[j])) value[j] = weight[j];
    behind += weight[j];
  }
  return value;
}

// The mean exponent of the jobs that more than one slot makes faster.
double Concave::mean_exponent(const Task& task) const {
  double sum = 0.0, count = 0.0;
  for (std::size_t j = 0; j < task.problem.size(); ++j) {
    const double slots = task.speedup.useful(j, task.problem.high[j]);
    if (!(task.problem.work[j] > 0.0) || !(slots > 1.0)) continue;
    sum += task.speedup.table(j).empty() ? task.speedup.power(j)
                                         : std::log(task.speedup.at(j, slots)) / std::log(slots);
    count += 1.0;
  }
  return count > 0.0 ? sum / count : 1.0;
}

// The choice for the objective, without any search.
void Concave::own_choice(const Task& task, const Penalties& penalties, Choice& choice) {
  choice = {};
  choice.order.resize(task.problem.size());
  flex_.own_order(relaxed_, penalties, task.aggregate, choice.order);
  if (task.aggregate == Aggregate::kMax) {
    fixed_slots(task, penalties, choice);
  } else if (penalties.linear() && !alike(task)) {
    const double steep = 1.0 + (kSteep - 1.0) * task.coming / (1.0 + task.coming);
    choice.value = values(task, steep, task.coming);
    choice.order.clear();
  } else {
    choice.power = share_exponent(mean_exponent(task));
    choice.weighted = penalties.linear();
    if (choice.weighted && task.flat) choice.power = flatter(choice.power, task.coming);
  }
}

// The slots of the resource allocation problem as shares; waiting jobs are in the choice's order.
void Concave::fixed_slots(const Task& task, const Penalties& penalties, Choice& choice) {
  const std::vector<Index> order = std::exchange(choice.order, {});
  choice.share.resize(task.problem.size());
  const SpeedupView speedup = seen(task.speedup);
  allocation_.run(limited_, penalties, task.aggregate, order, choice.share, &speedup);
}

// The choice of the task's policy.
void Concave::by_policy(const Task& task, Choice& choice) {
  choice = {};
  const auto sorted = [&](std::span<const double> keys) {
    choice.order.resize(keys.size());
    sorter_.sort(keys, choice.order);
  };
  switch (task.policy) {
    case EpochPolicy::kFair:
      break;
    case EpochPolicy::kWdeq:
      choice.share.assign(task.weight.begin(), task.weight.end());
      break;
    case EpochPolicy::kFifo:
      sorted(task.arrival);
      break;
    case EpochPolicy::kHeSrpt:
      sorted(task.problem.work);
      choice.power = share_exponent(mean_exponent(task));
      break;
    case EpochPolicy::kFlex: {
      const bool strict = study_deadlines(relaxed_, task.penalties, strict_);
      Task sum = task;
      if (strict) sum.aggregate = Aggregate::kSum;
      own_choice(sum, strict ? strict_.finite() : task.penalties, choice);
      break;
    }
  }
}

Concave::Rule Concave::rule_of(const Task& task, const Choice& choice) {
  const bool gains = !choice.value.empty() || (rough_ && follows(task));
  return {
      choice.share, choice.order,
      choice.power, choice.weighted ? std::span<const double>(slope_) : std::span<const double>(),
      choice.value, gains ? &gains_ : nullptr};
}

double Concave::value_of(const Task& task, const Penalties& penalties, const Choice& choice) {
  const Problem& problem = task.problem;
  completion_.resize(problem.size());
  packing_.run(limited_, task.speedup, rule_of(task, choice), completion_);
  absolute_.resize(problem.size());
  for (std::size_t j = 0; j < problem.size(); ++j) {
    absolute_[j] = problem.work[j] > 0.0 ? problem.now + completion_[j] : problem.idle_end[j];
  }
  return evaluate(penalties, task.aggregate, absolute_);
}

bool Concave::compares(std::size_t jobs, std::uint64_t effort) {
  return fixed_rules(jobs) + effort / curved_price(jobs) > 1;
}

// Tries a fixed rule, if the limit is not reached.
void Concave::consider(const Task& task, const Penalties& penalties, Choice choice, Tries& tries) {
  if (tries.count == tries.most) return;
  ++tries.count;
  const double value = value_of(task, penalties, choice);
  if (!(value < tries.least)) return;
  tries.least = value;
  tries.best = std::move(choice);
}

// Tries the objective's order with several powers of shares, equal shares, and fixed slots.
void Concave::try_all(const Task& task, const Penalties& penalties, Tries& tries) {
  const std::size_t n = task.problem.size();
  const auto consider = [&](Choice choice) {
    this->consider(task, penalties, std::move(choice), tries);
  };
  std::vector<Index> order(n);
  flex_.own_order(relaxed_, penalties, task.aggregate, order);
  const double p = mean_exponent(task);
  for (const double steep : {p, p / 2.0, (1.0 + p) / 2.0, 1.0}) {
    consider({{}, order, share_exponent(steep), /*weighted=*/false, {}});
    if (penalties.linear() && steep < kNearlyLinear) {
      consider({{}, order, share_exponent(steep), /*weighted=*/true, {}});
    }
  }
  consider({});
  Choice fixed{.share = {}, .order = std::move(order), .value = {}};
  fixed_slots(task, penalties, fixed);
  consider(std::move(fixed));
}

// Tries the choice after `change`, and keeps it if it is better.
template <typename Change, typename Undo>
bool Concave::improves(const Search& search, Change change, Undo undo) {
  if (search.done()) return false;
  if (search.options.progress) search.options.progress(search.tried);
  if (search.over()) {
    search.late = true;
    return false;
  }
  ++search.tried;
  change();
  const double value = value_of(search.task, search.penalties, search.best);
  if (value < search.least) {
    search.least = value;
    return true;
  }
  undo();
  return false;
}

// Swaps neighbours in the order.
bool Concave::swap_neighbours(const Search& search) {
  std::vector<Index>& order = search.best.order;
  bool better = false;
  for (std::size_t k = 0; k + 1 < order.size() && !search.done(); ++k) {
    const auto swapped = [&] { std::swap(order[k], order[k + 1]); };
    better |= improves(search, swapped, swapped);
  }
  return better;
}

// Multiplies or divides shares of single jobs by the factor; for a maximum first those of the worst
// jobs.
bool Concave::change_shares(const Search& search, double factor) {
  const Task& task = search.task;
  const std::size_t n = task.problem.size();
  std::vector<Index> turn(n);
  std::iota(turn.begin(), turn.end(), Index{0});
  if (task.aggregate == Aggregate::kMax) {
    value_of(task, search.penalties, search.best);
    std::vector<double> paid(n);
    for (std::size_t j = 0; j < n; ++j) paid[j] = -search.penalties(j, absolute_[j]);
    sorter_.sort(paid, turn);
  }
  bool better = false;
  for (const Index j : turn) {
    if (search.done()) break;
    if (!(task.problem.work[j] > 0.0)) continue;
    double& share = search.best.factors()[j];
    const double before = share;
    const auto put_back = [&] { share = before; };
    better |= improves(
                  search, [&] { share = before * factor; }, put_back) ||
              improves(search, [&] { share = before / factor; }, put_back);
  }
  return better;
}

// Repeats rounds while they find something better, up to the candidates of the effort.
void Concave::refine(const Search& search) {
  Choice& best = search.best;
  if (!best.order.empty() && best.power == kInfinity) {
    while (!search.done() && swap_neighbours(search)) {
    }
    return;
  }
  if (best.factors().empty()) best.share.assign(search.task.problem.size(), 1.0);
  for (const double factor : kFactors) {
    while (!search.done() && change_shares(search, factor)) {
    }
  }
}

// FIFO, FAIR and WDEQ give slots up to maxima, also slots that do not help.
const Problem& Concave::limits(const Task& task) const {
  return follows(task) ? limited_ : task.problem;
}

// Makes the plan of a choice, with its bound.
void Concave::finish(const Task& task, const Choice& choice, bool detail, Plan& plan) {
  completion_.resize(task.problem.size());
  packing_.run(limits(task), task.speedup, rule_of(task, choice), completion_,
               detail ? &plan : nullptr);
  if (choice.order.empty()) {
    plan.order.resize(task.problem.size());
    sorter_.sort(completion_, plan.order);
  } else {
    plan.order = choice.order;
  }
  if (task.aggregate == Aggregate::kSum && task.penalties.linear()) {
    plan.lower_bound = hesrpt_bound(task.problem, task.speedup, task.penalties);
  }
  finish_plan(relaxed_, task.penalties, task.aggregate, completion_, lower_bound_, plan, !detail);
}

void Concave::plan(const Task& task, const FlexOptions& options, Plan& plan) {
  plan = Plan{};
  if (task.problem.size() == 0) {
    plan.lower_bound = 0.0;
    return;
  }
  prepare(task, /*for_bound=*/true);
  Choice best;
  if (task.policy != EpochPolicy::kFlex) {
    by_policy(task, best);
    finish(task, best, /*detail=*/true, plan);
    return;
  }
  Task goal = task;
  const bool strict = study_deadlines(relaxed_, task.penalties, strict_);
  if (strict) goal.aggregate = Aggregate::kSum;
  // A copy: finish() studies them again.
  const Penalties penalties = strict ? strict_.finite() : task.penalties;
  const std::uint64_t paid = options.effort / curved_price(task.problem.size());
  const std::uint64_t fixed = fixed_rules(task.problem.size());
  Tries tries{std::max<std::uint64_t>(fixed + paid, 1), 0, best, kInfinity};
  Choice own;  // the choice of a decision without effort
  own_choice(goal, penalties, own);
  consider(goal, penalties, std::move(own), tries);
  try_all(goal, penalties, tries);
  std::uint64_t tried = tries.count > fixed ? tries.count - fixed : 0;
  bool late = false;
  refine({goal, penalties, options, over_budget(options.budget), best, tries.least, paid, tried,
          late});
  plan.candidates = tried;
  if (late) plan.status = Status::kTruncated;
  finish(task, best, /*detail=*/true, plan);
}

// Slots for now; `with_work` has the limits of this decision. Jobs that hold more than their
// minimum have shares larger by `hysteresis`.
void Concave::decide(const Task& task, const Problem& with_work, double hysteresis,
                     std::span<const std::int64_t> held, std::span<double> slots) {
  prepare(task, /*for_bound=*/false);
  by_policy(task, choice_);
  const std::size_t n = task.problem.size();
  if (hysteresis > 0.0) {
    std::vector<double>& factors = choice_.factors();
    if (factors.empty()) factors.assign(n, 1.0);
    for (std::size_t j = 0; j < n; ++j) {
      if (static_cast<double>(held[j]) > task.problem.low[j]) factors[j] *= 1.0 + hysteresis;
    }
  }
  Problem now = with_work;
  const Problem& limits_now = limits(task);
  for (std::size_t j = 0; j < n; ++j) now.high[j] = std::min(now.high[j], limits_now.high[j]);
  if (follows(task)) gains_.prepare(now, task.speedup);
  packing_.allocate(now, rule_of(task, choice_), slots);
}

void Concave::plan_decided(const Task& task, bool detail, Plan& plan) {
  plan = Plan{};
  prepare(task, /*for_bound=*/true);
  finish(task, choice_, detail, plan);
}

}  // namespace malleable
