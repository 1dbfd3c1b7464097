#include "malleable/policy/flow_epoch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "malleable/model/error.hpp"

namespace malleable {
namespace {

// So many jobs that have not ended are listed for every order, which takes about as long as to
// compare the orders of 1,000 flows as jobs.
constexpr std::size_t kListedJobs = 300;

}  // namespace

void FlowEpoch::Table::penalties(CustomPenalty custom, Penalties& made) const {
  made.build(flows.terms(), kind, custom, id);
}

FlowEpoch::FlowEpoch(std::int64_t slots, double task_work, const FlowEpochOptions& options) {
  at_.options = options;
  at_.slots = slots;
  if (slots != 0) validate_slots(slots);
  check_amount("hysteresis", options.hysteresis, kWeightRange);
  set_period(options.period);
  if (!(options.ready_fraction >= 0.0 && options.ready_fraction <= 1.0)) {
    throw FieldError("ready_fraction", options.ready_fraction, "must be 0 to 1");
  }
  at_.table.set_task_work(task_work, study_.touched);
}

// The policy has nothing but plans.
bool FlowEpoch::plans() const {
  return !at_.options.baseline && at_.options.method == FlowMethod::kLiteral;
}

FlowEpoch::Ids FlowEpoch::add(FlowTable::Additions&& added) {
  const Ids ids{at_.table.next_flow(), at_.table.next_job()};
  const std::size_t flows = added.flows.flows();
  const std::size_t before = at_.table.work.size();
  const std::size_t first = at_.table.add(std::move(added), custom_ != nullptr, at_.now);
  for (std::size_t row = before; at_.period > 0.0 && row < at_.table.work.size(); ++row) {
    load_.arrive(at_.period * slot_periods(at_.table.work[row], at_.period));
  }
  for (std::size_t j = 0; j < flows; ++j) {
    study_.touched.push_back(static_cast<Index>(first + j));
    order_.push_back(ids.first_flow + static_cast<std::int64_t>(j));
  }
  ++version_;
  return ids;
}

void FlowEpoch::update(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
                       const FlowTable::Changes& changes) {
  at_.table.update(jobs, flows, changes, study_.touched);
  ++version_;
}

void FlowEpoch::finish(std::span<const std::int64_t> jobs) {
  at_.table.finish(jobs, study_.touched);
  ++version_;
}

void FlowEpoch::remove(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows) {
  at_.table.remove(jobs, flows, study_.touched);
  ++version_;
}

void FlowEpoch::set_task_work(double task_work) {
  at_.table.set_task_work(task_work, study_.touched);
  ++version_;
}

void FlowEpoch::set_period(double period) {
  check_amount("period", period, kWeightRange);
  at_.options.period = period;
  ++version_;
}

// What people pay for these flows.
void FlowEpoch::study_flows(std::span<const std::size_t> rows, Table& columns) const {
  TermColumns& terms = columns.flows;
  terms.clear();
  columns.id.clear();
  columns.kind.clear();
  for (const std::size_t row : rows) {
    const FlowTable::Flow& flow = at_.table.rows()[row];
    columns.id.push_back(flow.id);
    columns.kind.push_back(flow.kind);
    terms.arrival.push_back(flow.arrival);
    terms.weight.push_back(flow.weight);
    terms.deadline.push_back(flow.deadline);
    terms.original.push_back(flow.size);
    terms.sla.add(at_.table.steps.of(flow.sla));
  }
}

// Flows that have come as jobs: relaxed_.
void FlowEpoch::relax_flows() {
  const std::size_t f = arrived_.size();
  relaxed_.now = at_.now;
  relaxed_.slots = static_cast<double>(at_.slots);
  relaxed_.work.resize(f);
  relaxed_.high.resize(f);
  relaxed_.low.assign(f, 0.0);
  relaxed_.idle_end.assign(f, at_.now);
  for (std::size_t k = 0; k < f; ++k) {
    const FlowStudy::View& view = study_.views[arrived_[k]];
    relaxed_.work[k] = view.volume;
    relaxed_.high[k] = std::min(relaxed_.slots, view.volume / view.alone);
  }
}

// The order of flows that have come by what it is worth, beside the last one: sorted_.
void FlowEpoch::order_by_value() {
  const std::size_t f = arrived_.size();
  const bool few = at_.table.open_jobs() <= kListedJobs || at_.options.effort;
  if (few) {
    build_table(arrived_, columns_);
    flow_problem_.build(columns_.flows.view(), at_.slots, at_.now);
    lists_.begin(flow_problem_);
  } else {
    study_flows(arrived_, columns_);
  }
  columns_.penalties(custom_, penalties_);
  relax_flows();
  kept_.clear();
  if (few || at_.options.hysteresis > 0.0) {
    place_.assign(at_.table.rows().size(), kNone);
    for (std::size_t k = 0; k < f; ++k) place_[arrived_[k]] = static_cast<Index>(k);
    for (const std::int64_t id : order_) {
      const Index row = at_.table.find_flow(id);
      if (row != kNone && place_[row] != kNone) kept_.push_back(place_[row]);
    }
  }
  FlowOrder::Exact exact;
  planned_orders_.clear();
  if (at_.options.effort) {
    FlowOptions how;
    how.method = at_.options.method;
    how.effort = *at_.options.effort;
    how.warm = kept_;
    flowflex_.plan(flow_problem_, penalties_, at_.options.aggregate, how, searched_);
    flowflex_.orders(searched_, planned_orders_);
  }
  if (few) {
    exact = [this](std::span<const Index> order, const Penalties& penalties, Aggregate aggregate) {
      return lists_.value(order, penalties, aggregate);
    };
  }
  flow_order_.decide(relaxed_, penalties_, at_.options.aggregate, kept_, planned_orders_,
                     at_.options.hysteresis, exact, sorted_);
}

// Fills ordered_ without a plan: flows with work that have come by priority, then the others.
void FlowEpoch::order_flows() {
  const std::span<const FlowTable::Flow> flows = at_.table.rows();
  arrived_.clear();
  for (std::size_t j = 0; j < flows.size(); ++j) {
    if (flows[j].there && !at_.waits(flows[j]) && study_.views[j].volume > 0.0)
      arrived_.push_back(j);
  }
  const std::size_t f = arrived_.size();
  sorted_.resize(f);
  if (at_.options.baseline == FlowBaseline::kFifo) {
    relaxed_.work.resize(f);
    for (std::size_t k = 0; k < f; ++k) relaxed_.work[k] = flows[arrived_[k]].arrival;
    sorter_.sort(relaxed_.work, sorted_);
  } else if (at_.options.baseline == FlowBaseline::kFair) {
    std::iota(sorted_.begin(), sorted_.end(), Index{0});
  } else if (f > 0) {
    order_by_value();
  }
  ordered_.clear();
  for (const Index k : sorted_) ordered_.push_back(arrived_[k]);
  append_idle();
}

// Flows without work, and then those that are still to come.
void FlowEpoch::append_idle() {
  const std::span<const FlowTable::Flow> flows = at_.table.rows();
  for (const bool late : {false, true}) {
    for (std::size_t j = 0; j < flows.size(); ++j) {
      if (flows[j].there && at_.waits(flows[j]) == late &&
          (late || study_.views[j].volume == 0.0)) {
        ordered_.push_back(j);
      }
    }
  }
}

// Makes a plan, whose order is ordered_.
void FlowEpoch::order_as_planned() {
  build_table(columns_);
  make_plan(columns_, false, planned_.emplace());
  arrived_.clear();
  for (std::size_t j = 0; j < at_.table.rows().size(); ++j) {
    if (at_.table.rows()[j].there) arrived_.push_back(j);
  }
  ordered_.clear();
  for (const Index k : planned_->order) ordered_.push_back(arrived_[k]);
}

// Flows of which nothing is left are told, and forgotten.
void FlowEpoch::drop_ended() {
  decision_.ended.clear();
  for (std::size_t j = 0; j < at_.table.rows().size(); ++j) {
    const FlowTable::Flow& flow = at_.table.rows()[j];
    if (!flow.there || flow.open > 0) continue;
    decision_.ended.push_back(flow.id);
    at_.table.drop(j);
  }
  if (at_.table.tidy()) study_.touch_all(at_);
}

void FlowEpoch::serve() {
  const bool held = shares_.hold(at_, study_);
  const bool planned = planned_.has_value();
  if (planned) {
    // The plan's slots, by the rows of the table.
    std::vector<std::int64_t> wanted(shares_.share.size(), 0);
    std::size_t k = 0;
    for (const FlowTable::Flow& flow : at_.table.rows()) {
      if (!flow.there) continue;
      for (std::size_t row = flow.first; row < flow.end(); ++row) {
        if (at_.table.stage[row] != JobStage::kRemoved) wanted[row] = planned_->allocation[k++];
      }
    }
    shares_.fill(at_, study_, ordered_, wanted);
  }
  if (!planned || held) shares_.fill(at_, study_, ordered_, {});
  shares_.split_phases(at_, study_);
  if (held) shares_.serve_spent(at_, study_, ordered_);
}

// Jobs that are ready: arrived_ has their rows, relaxed_ what they may have.
void FlowEpoch::list_ready() {
  arrived_.clear();
  relaxed_.slots = static_cast<double>(at_.slots);
  relaxed_.low.clear();
  relaxed_.high.clear();
  for (const FlowTable::Flow& flow : at_.table.rows()) {
    if (!flow.there || at_.waits(flow)) continue;
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (!study_.ready[row] || study_.is_joined(at_, flow, row)) continue;
      arrived_.push_back(row);
      const Index late = study_.second[row];
      relaxed_.low.push_back(shares_.share[row] +
                             (late == kNone ? 0.0 : shares_.share[flow.first + late]));
      relaxed_.high.push_back(
          at_.period > 0.0 ? cap_at_period(study_.work[row], at_.period, 1.0, study_.high[row])
                           : study_.high[row]);
    }
  }
}

// One waterline over all that are ready; whose work has run out has at least its slot.
void FlowEpoch::serve_fair() {
  shares_.hold(at_, study_);
  list_ready();
  const std::size_t n = arrived_.size();
  relaxed_.work.assign(n, 1.0);
  relaxed_.idle_end.assign(n, at_.now);
  poured_.assign(n, 0.0);
  waterline_.allocate(relaxed_, {}, poured_);
  if (at_.period > 0.0) raise_fair();
  for (std::size_t k = 0; k < n; ++k) shares_.share[arrived_[k]] = poured_[k];
  for (const FlowTable::Flow& flow : at_.table.rows()) {  // the first has all of both
    if (!flow.there) continue;
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (study_.second[row] != kNone && study_.ready[row])
        shares_.share[row] -= shares_.share[flow.first + study_.second[row]];
    }
  }
  shares_.split_phases(at_, study_);
}

// The decision, row by row, and what is kept of it.
void FlowEpoch::report() {
  const std::size_t n = at_.table.open_jobs();
  decision_.ids.resize(n);
  decision_.slots.resize(n);
  decision_.changed.resize(n);
  decision_.ready.resize(n);
  std::size_t k = 0;
  for (const FlowTable::Flow& flow : at_.table.rows()) {
    if (!flow.there) continue;
    const bool come = !at_.waits(flow);
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (at_.table.stage[row] != JobStage::kOpen) continue;
      const auto slots = static_cast<std::int64_t>(shares_.share[row]);
      decision_.ids[k] = flow.first_id + static_cast<std::int64_t>(row - flow.first);
      decision_.slots[k] = slots;
      decision_.changed[k] = slots != at_.table.given[row];
      decision_.ready[k++] = study_.ready[row] && come;
      at_.table.given[row] = slots;
    }
  }
  order_.clear();
  for (const std::size_t j : ordered_) order_.push_back(at_.table.rows()[j].id);
}

const FlowEpoch::Decision& FlowEpoch::decide(double now, std::optional<std::int64_t> slots,
                                             std::optional<double> period) {
  if (period) check_amount("period", *period, kWeightRange);
  check_now(now, at_.now);
  if (slots && *slots != 0) validate_slots(*slots);
  if (slots && *slots != at_.slots) {
    at_.slots = *slots;
    study_.touch_all(at_);
  }
  count_held(now);
  const double held = period.value_or(at_.options.period);
  if ((held > 0.0) != (at_.period > 0.0)) study_.touch_all(at_);  // whose estimates have run out
  at_.period = held;
  ++version_;
  if (at_.now == -kInfinity) at_.table.arrive(now);
  at_.now = now;
  planned_.reset();
  decision_.order.clear();
  drop_ended();
  study_.refresh(at_);
  shares_.begin(at_);
  if (at_.slots == 0 || !plans()) {
    order_flows();
  } else {
    order_as_planned();
  }
  if (at_.slots > 0) {
    if (at_.options.baseline == FlowBaseline::kFair) {
      serve_fair();
    } else if (at_.period > 0.0) {
      serve_period();
    } else {
      serve();
    }
  }
  report();
  decision_.overloaded = at_.period > 0.0 && load_.overloaded(static_cast<double>(at_.slots));
  return decision_;
}

// All flows that are there, with their finished jobs and joined phases.
void FlowEpoch::build_table(Table& table) {
  std::vector<std::size_t> rows;
  for (std::size_t j = 0; j < at_.table.rows().size(); ++j) {
    if (at_.table.rows()[j].there) rows.push_back(j);
  }
  build_table(rows, table);
}

void FlowEpoch::build_table(std::span<const std::size_t> rows, Table& table) {
  FlowColumns& flows = table.flows;
  flows.clear();
  study_flows(rows, table);
  table.name.clear();
  for (const std::size_t j : rows) {
    const FlowTable::Flow& flow = at_.table.rows()[j];
    place_in_flow_.assign(flow.jobs, -1);
    auto next = flows.job_offset.back();
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (at_.table.stage[row] != JobStage::kRemoved) place_in_flow_[row - flow.first] = next++;
    }
    flows.job_offset.push_back(next);
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (at_.table.stage[row] == JobStage::kRemoved) continue;
      flows.work.push_back(study_.work[row]);
      const bool joined = study_.second[row] != kNone;
      flows.max_slots.push_back(
          joined
              ? static_cast<std::int64_t>(at_.room(row) + at_.room(flow.first + study_.second[row]))
              : at_.table.max_slots[row]);
      const std::size_t edges = at_.table.parent_first[row];
      for (std::size_t e = edges; e < edges + at_.table.parents[row]; ++e) {
        // A job that finished before its parents did may outlive them.
        const std::int64_t above = place_in_flow_[at_.table.parent[e]];
        if (above >= 0) flows.parent.push_back(above);
      }
      flows.parent_offset.push_back(static_cast<std::int64_t>(flows.parent.size()));
      table.name.push_back(at_.table.name[row]);
    }
  }
}

// `keep_order`: the schedule that the last order makes, else the best that is found.
void FlowEpoch::make_plan(const Table& table, bool keep_order, FlowPlan& plan) {
  flow_problem_.build(table.flows.view(), at_.slots, at_.now);
  table.penalties(custom_, penalties_);
  std::vector<Index> warm;
  for (const std::int64_t id : order_) {
    const auto at = std::lower_bound(table.id.begin(), table.id.end(), id);
    if (at == table.id.end() || *at != id) continue;
    warm.push_back(static_cast<Index>(at - table.id.begin()));
  }
  if (at_.options.baseline) {
    plan_baseline(flow_problem_, penalties_, at_.options.aggregate, *at_.options.baseline,
                  table.flows.arrival, plan);
    return;
  }
  FlowOptions options;
  options.method = at_.options.method;
  options.effort = at_.options.effort.value_or(0);
  options.warm = warm;
  options.hysteresis = keep_order ? kInfinity : at_.options.hysteresis;
  flowflex_.plan(flow_problem_, penalties_, at_.options.aggregate, options, plan);
}

void FlowEpoch::plan(Table& table, FlowPlan& plan, std::vector<double>& penalty) {
  if (at_.slots == 0) throw std::invalid_argument("slots = 0: nothing can be planned");
  if (at_.period > 0.0) {
    throw std::invalid_argument("period = " + std::to_string(at_.period) +
                                ": a decision that is held has no plan, value or bound");
  }
  study_.refresh(at_);
  build_table(table);
  if (planned_) {
    plan = *planned_;
  } else {
    make_plan(table, true, plan);
  }
  table.penalties(custom_, penalties_);
  penalty.resize(plan.flow_completion.size());
  for (std::size_t j = 0; j < penalty.size(); ++j) {
    penalty[j] = penalties_(j, plan.flow_completion[j]);
  }
}

void FlowEpoch::state(State& s) {
  s(at_, load_, version_, order_, planned_);
  if (s.reading()) study_.touch_all(at_);
}

}  // namespace malleable
