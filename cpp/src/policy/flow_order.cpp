#include "malleable/policy/flow_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "malleable/policy/finish_plan.hpp"

namespace malleable {
namespace {

// Mean times of a flow on all slots after which being early no longer counts.
constexpr double kAllPatience[] = {0.25, 0.5, 1.0, 2.0, 4.0, kInfinity};
constexpr double kFewPatience[] = {0.5, 2.0, kInfinity};  // where every order takes long
constexpr double kFewExponents[] = {0.0, 0.4, 0.8};

}  // namespace

double FlowOrder::value(const Problem& flows, const Penalties& penalties, Aggregate aggregate,
                        std::span<const Index> order) {
  if (*exact_) return (*exact_)(order, penalties, aggregate);
  completion_.resize(flows.size());
  packing_.run(flows, order, completion_);
  for (double& end : completion_) end += flows.now;
  return evaluate(penalties, aggregate, completion_);
}

// Keeps the order on trial if it is the best so far.
void FlowOrder::consider(const Problem& flows, const Penalties& penalties, Aggregate aggregate,
                         std::span<Index> order) {
  const double tried = value(flows, penalties, aggregate, trial_);
  if (tried >= best_) return;
  best_ = tried;
  std::copy(trial_.begin(), trial_.end(), order.begin());
}

// Of so many flows that a sample of them says which order is best.
void FlowOrder::front_order(const Problem& flows, const Penalties& penalties,
                            std::span<Index> order) {
  const std::size_t n = flows.size();
  front_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    front_.set(j, flows.work[j], flows.high[j], penalties.slope()[j], flows.slots, 0.0);
  }
  trial_.resize(n);
  sorter_.sort(front_.keys(front_.exponent(flows.slots)), trial_);
  consider(flows, penalties, Aggregate::kSum, order);
}

// What Smith's keys are made of.
void FlowOrder::study(const Problem& flows, const Penalties& penalties) {
  const std::size_t n = flows.size();
  earliest_.resize(n);
  earliest_completions(flows, earliest_);
  for (auto* column : {&ratio_, &narrow_, &wait_, &key_}) column->resize(n);
  double total = 0.0;
  for (const double work : flows.work) total += work;
  const double span = total / flows.slots, mean = span / static_cast<double>(n);
  for (std::size_t j = 0; j < n; ++j) {
    // From when on the penalty rises, and how fast it does from there to the end of all work.
    double due = earliest_[j], rate = 0.0;
    if (penalties.linear()) {
      rate = penalties.slope()[j];
    } else {
      const double from = flows.now + earliest_[j];
      due = std::clamp(penalties.latest(j, penalties(j, from)) - flows.now, due, 1e3 * span + due);
      const double start = flows.now + due, rise = penalties(j, start + span);
      rate = (rise - penalties(j, start)) / span;
    }
    ratio_[j] = rate > 0.0 ? std::log(flows.work[j] / rate) : kInfinity;
    narrow_[j] = std::log(flows.high[j] / flows.slots);
    wait_[j] = (due - earliest_[j]) / mean;
  }
}

void FlowOrder::try_keys(const Problem& flows, const Penalties& penalties, double exponent,
                         double patience, std::span<Index> order) {
  for (std::size_t j = 0; j < flows.size(); ++j) {
    key_[j] = ratio_[j] + exponent * narrow_[j] + wait_[j] / patience;
  }
  sorter_.sort(key_, trial_);
  consider(flows, penalties, Aggregate::kSum, order);
}

void FlowOrder::sum_orders(const Problem& flows, const Penalties& penalties,
                           std::span<Index> order) {
  const std::size_t n = flows.size();
  if (penalties.linear() && !*exact_ && n > FlowFront::kSample) {
    front_order(flows, penalties, order);
    return;
  }
  trial_.resize(n);
  study(flows, penalties);
  if (penalties.linear()) {
    for (const double exponent : FlowFront::kExponents) {
      try_keys(flows, penalties, exponent, kInfinity, order);
    }
    return;
  }
  orders_.study(flows, penalties, earliest_);
  bool steps = true;
  for (std::size_t j = 0; steps && j < n; ++j) steps = penalties.steps(j);
  for (const OrderRule rule : {OrderRule::kLeastSlack, OrderRule::kOnTimeSet}) {
    if (rule == OrderRule::kOnTimeSet && !steps) continue;
    orders_.apply(rule, flows, penalties, earliest_, trial_);
    consider(flows, penalties, Aggregate::kSum, order);
  }
  const std::span<const double> all = kAllPatience, few = kFewPatience;
  for (const double exponent : kFewExponents) {
    for (const double patience : *exact_ ? all : few) {
      try_keys(flows, penalties, exponent, patience, order);
    }
  }
}

// The flows' deadlines at the best level: least slack first, then by due times.
void FlowOrder::max_orders(const Problem& flows, const Penalties& penalties,
                           std::span<Index> order) {
  const std::size_t n = flows.size();
  trial_.resize(n);
  const double level = flex_.own_order(flows, penalties, Aggregate::kMax, trial_);
  due_order_.assign(trial_.begin(), trial_.end());
  for (auto* column : {&earliest_, &key_}) column->resize(n);
  earliest_completions(flows, earliest_);
  ForcedWork::deadlines(flows, penalties, level, 1.0, key_);
  for (std::size_t j = 0; j < n; ++j) key_[j] -= earliest_[j];
  sorter_.sort(key_, trial_);
  consider(flows, penalties, Aggregate::kMax, order);
  trial_.swap(due_order_);
  consider(flows, penalties, Aggregate::kMax, order);
}

void FlowOrder::decide(const Problem& flows, const Penalties& penalties, Aggregate aggregate,
                       std::span<const Index> kept, std::span<const std::vector<Index>> planned,
                       double hysteresis, const Exact& exact, std::span<Index> order) {
  exact_ = &exact;
  if (study_deadlines(flows, penalties, strict_)) {
    decide(flows, strict_.finite(), Aggregate::kSum, kept, planned, hysteresis, exact, order);
    return;
  }
  best_ = kInfinity;
  std::iota(order.begin(), order.end(), Index{0});
  if (aggregate == Aggregate::kSum) {
    sum_orders(flows, penalties, order);
  } else {
    max_orders(flows, penalties, order);
  }
  for (const std::vector<Index>& other : planned) {
    trial_.assign(other.begin(), other.end());
    consider(flows, penalties, aggregate, order);
  }
  if (kept.empty()) return;
  const double before = value(flows, penalties, aggregate, kept);
  if (before < best_ || (hysteresis > 0.0 && before - best_ <= hysteresis * std::fabs(best_))) {
    std::copy(kept.begin(), kept.end(), order.begin());
  }
}

}  // namespace malleable
