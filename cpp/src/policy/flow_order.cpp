#include "malleable/policy/flow_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "malleable/policy/finish_plan.hpp"

namespace malleable {
// The order of flows for one decision: the best of several keys, each tried as a schedule. Keys are
// logarithms: Smith's ratio (work over rate of penalty), an exponent times the part of all slots
// that the flow can use, and the time until its penalty rises over a patience. `listed`: there are
// few jobs, so an order is tried as a list of the flows' jobs (policy/flow_lists); otherwise flows
// are packed as jobs.
namespace {

// Patience, in mean times of a flow on all slots: a flow that has so long until its penalty rises
// is postponed by a factor of e.
constexpr double kAllPatience[] = {0.25, 0.5, 1.0, 2.0, 4.0, kInfinity};
constexpr double kFewPatience[] = {0.5, 2.0, kInfinity};  // used if every order takes long
constexpr double kFewExponents[] = {0.0, 0.4, 0.8};       // with each patience

}  // namespace

double FlowOrder::value(std::span<const Index> order) {
  if (listed_) return lists_.value(order, *penalties_, aggregate_);
  completion_.resize(flows_->size());
  packing_.run(*flows_, order, completion_);
  for (double& end : completion_) end += flows_->now;
  return evaluate(*penalties_, aggregate_, completion_);
}

// Keeps the tried order if it is the best so far.
void FlowOrder::consider() {
  const double tried = value(trial_);
  if (tried >= best_) return;
  best_ = tried;
  std::copy(trial_.begin(), trial_.end(), order_.begin());
}

// Computes the parts of Smith's keys.
void FlowOrder::study() {
  const FlowsAsJobs& flows = *flows_;
  const Penalties& penalties = *penalties_;
  const std::size_t n = flows.size();
  earliest_.resize(n);
  earliest_completions(flows, earliest_);
  for (auto* column : {&ratio_, &narrow_, &wait_, &key_}) column->resize(n);
  double total = 0.0;
  for (const double work : flows.work) total += work;
  const double span = total / flows.slots, mean = span / static_cast<double>(n);
  for (std::size_t j = 0; j < n; ++j) {
    // The time from which the penalty rises, and its mean rate from there to the end of all work.
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

// Tries the order by keys with this exponent and patience.
void FlowOrder::try_keys(double exponent, double patience) {
  for (std::size_t j = 0; j < key_.size(); ++j) {
    key_[j] = ratio_[j] + exponent * narrow_[j] + wait_[j] / patience;
  }
  sorter_.sort(key_, trial_);
  consider();
}

void FlowOrder::sum_orders() {
  const FlowsAsJobs& flows = *flows_;
  const std::size_t n = flows.size();
  if (penalties_->linear() && !listed_) {
    // Prices are keys of the exponent that is best for a sample of the flows.
    sorter_.sort(front_.prices(flows.work, flows.high, penalties_->slope(), flows.slots), trial_);
    consider();
    return;
  }
  study();
  if (penalties_->linear()) {
    for (const double exponent : FlowFront::kExponents) try_keys(exponent, kInfinity);
    return;
  }
  orders_.study(flows, *penalties_, earliest_);
  bool steps = true;
  for (std::size_t j = 0; steps && j < n; ++j) steps = penalties_->steps(j);
  for (const OrderRule rule : {OrderRule::kLeastSlack, OrderRule::kOnTimeSet}) {
    if (rule == OrderRule::kOnTimeSet && !steps) continue;
    orders_.apply(rule, flows, *penalties_, earliest_, trial_);
    consider();
  }
  const std::span<const double> all = kAllPatience, few = kFewPatience;
  for (const double exponent : kFewExponents) {
    for (const double patience : listed_ ? all : few) try_keys(exponent, patience);
  }
}

// Tries orders by the flows' deadlines at the best level: least slack first, then by due times.
void FlowOrder::max_orders() {
  const double level = flex_.own_order(*flows_, *penalties_, Aggregate::kMax, trial_);
  due_order_.assign(trial_.begin(), trial_.end());
  for (auto* column : {&earliest_, &key_}) column->resize(flows_->size());
  earliest_completions(*flows_, earliest_);
  DemandBound::deadlines(*flows_, *penalties_, level, 1.0, key_);
  for (std::size_t j = 0; j < key_.size(); ++j) key_[j] -= earliest_[j];
  sorter_.sort(key_, trial_);
  consider();
  trial_.swap(due_order_);
  consider();
}

void FlowOrder::decide(const Choice& choice, std::span<Index> order) {
  const bool strict = study_deadlines(choice.flows, choice.penalties, strict_);
  flows_ = &choice.flows;
  penalties_ = strict ? &strict_.finite() : &choice.penalties;
  aggregate_ = strict ? Aggregate::kSum : choice.aggregate;
  listed_ = choice.listed != nullptr;
  if (listed_) lists_.begin(*choice.listed);
  order_ = order;
  best_ = kInfinity;
  trial_.resize(order.size());
  std::iota(order.begin(), order.end(), Index{0});
  if (aggregate_ == Aggregate::kSum) {
    sum_orders();
  } else {
    max_orders();
  }
  for (const std::vector<Index>& other : choice.planned) {
    trial_.assign(other.begin(), other.end());
    consider();
  }
  if (choice.kept.empty()) return;
  const double before = value(choice.kept), most = choice.hysteresis * std::fabs(best_);
  if (before < best_ || (choice.hysteresis > 0.0 && before - best_ <= most)) {
    std::copy(choice.kept.begin(), choice.kept.end(), order.begin());
  }
}

}  // namespace malleable
