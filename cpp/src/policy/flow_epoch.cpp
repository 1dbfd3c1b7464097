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

FlowEpoch::FlowEpoch(std::int64_t slots, double task_work, const FlowEpochOptions& options)
    : options_(options), slots_(slots) {
  if (slots != 0) validate_slots(slots);
  check_amount("hysteresis", options.hysteresis, kWeightRange);
  set_period(options.period);
  if (!(options.ready_fraction >= 0.0 && options.ready_fraction <= 1.0)) {
    throw FieldError("ready_fraction", options.ready_fraction, "must be 0 to 1");
  }
  table_.set_task_work(task_work, touched_);
}

// The policy has nothing but plans.
bool FlowEpoch::plans() const {
  return !options_.baseline && options_.method == FlowMethod::kLiteral;
}

FlowEpoch::Ids FlowEpoch::add(FlowTable::Additions&& added) {
  const Ids ids{table_.next_flow(), table_.next_job()};
  const std::size_t flows = added.flows.flows();
  const std::size_t before = table_.work.size();
  const std::size_t first = table_.add(std::move(added), custom_ != nullptr);
  for (std::size_t row = before; period_ > 0.0 && row < table_.work.size(); ++row) {
    load_.arrive(period_ * slot_periods(table_.work[row], period_));
  }
  for (std::size_t j = 0; j < flows; ++j) {
    touched_.push_back(static_cast<Index>(first + j));
    order_.push_back(ids.first_flow + static_cast<std::int64_t>(j));
  }
  ++version_;
  return ids;
}

void FlowEpoch::update(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
                       const FlowTable::Changes& changes) {
  table_.update(jobs, flows, changes, touched_);
  ++version_;
}

void FlowEpoch::finish(std::span<const std::int64_t> jobs) {
  table_.finish(jobs, touched_);
  ++version_;
}

void FlowEpoch::remove(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows) {
  table_.remove(jobs, flows, touched_);
  ++version_;
}

void FlowEpoch::set_task_work(double task_work) {
  table_.set_task_work(task_work, touched_);
  ++version_;
}

void FlowEpoch::set_period(double period) {
  check_amount("period", period, kWeightRange);
  options_.period = period;
  ++version_;
}

// The most that a job may have by itself. Where there are no slots, what a single one would mean.
double FlowEpoch::room(std::size_t row) const {
  return static_cast<double>(std::min(table_.max_slots[row], std::max<std::int64_t>(slots_, 1)));
}

void FlowEpoch::touch_all() {
  touched_.resize(table_.rows().size());
  std::iota(touched_.begin(), touched_.end(), Index{0});
}

void FlowEpoch::refresh_touched() {
  const std::span<const FlowTable::Flow> flows = table_.rows();
  const std::size_t n = table_.work.size();
  views_.resize(flows.size());
  marked_.assign(flows.size(), 0);
  for (auto* column : {&work_, &high_, &head_, &path_}) column->resize(n);
  for (auto* column : {&pending_, &second_, &queue_}) column->resize(n);
  ready_.resize(n);
  for (const Index j : touched_) {
    if (!flows[j].there || marked_[j]) continue;
    marked_[j] = 1;
    refresh(flows[j], views_[j]);
  }
  touched_.clear();
}

// Second phases whose first one is far enough, and which wait for nothing else.
void FlowEpoch::join_phases(const FlowTable::Flow& flow) {
  const double fraction = options_.ready_fraction;
  for (std::size_t row = flow.first; fraction < 1.0 && row < flow.end(); ++row) {
    if (table_.follows[row] == kNone || table_.stage[row] != JobStage::kOpen) continue;
    const std::size_t first = flow.first + table_.follows[row];
    if (pending_[row] != 1 || table_.stage[first] != JobStage::kOpen || pending_[first] != 0) {
      continue;
    }
    const double whole = table_.whole[first];
    if (!(whole - table_.work[first] >= fraction * whole)) continue;
    ready_[row] = 1;
    if (work_[first] + work_[row] == 0.0) continue;
    second_[first] = static_cast<Index>(row - flow.first);
    work_[first] += work_[row];
    work_[row] = 0.0;
    high_[first] =
        std::min(high_[first] + high_[row], static_cast<double>(std::max<std::int64_t>(slots_, 1)));
  }
}

void FlowEpoch::refresh_jobs(const FlowTable::Flow& flow) {
  for (std::size_t row = flow.first; row < flow.end(); ++row) {
    work_[row] = table_.work[row];
    high_[row] = room(row);
    head_[row] = path_[row] = 0.0;
    second_[row] = kNone;
    pending_[row] = 0;
    const std::size_t edges = table_.parent_first[row];
    for (std::size_t e = edges; e < edges + table_.parents[row]; ++e) {
      pending_[row] += table_.stage[flow.first + table_.parent[e]] == JobStage::kOpen ? 1 : 0;
    }
    ready_[row] = table_.stage[row] == JobStage::kOpen && pending_[row] == 0;
  }
  for (std::size_t row = flow.first; row < flow.end(); ++row) {
    if (ready_[row]) work_[row] = left_of(row);
  }
}

// The longest path from each job's start to the end of its flow.
void FlowEpoch::find_paths(const FlowTable::Flow& flow) {
  for (std::size_t at = flow.end(); at-- > flow.first;) {
    const std::size_t row = flow.first + table_.topological[at];
    path_[row] += work_[row] / high_[row];
    const std::size_t edges = table_.parent_first[row];
    for (std::size_t e = edges; e < edges + table_.parents[row]; ++e) {
      const std::size_t above = flow.first + table_.parent[e];
      path_[above] = std::max(path_[above], path_[row]);
    }
  }
}

void FlowEpoch::refresh(const FlowTable::Flow& flow, View& view) {
  view = View{};
  refresh_jobs(flow);
  join_phases(flow);
  double longest = 0.0;
  Index queued = 0;
  for (std::size_t at = flow.first; at < flow.end(); ++at) {
    const std::size_t row = flow.first + table_.topological[at];
    const std::size_t edges = table_.parent_first[row];
    for (std::size_t e = edges; e < edges + table_.parents[row]; ++e) {
      const std::size_t above = flow.first + table_.parent[e];
      head_[row] = std::max(head_[row], head_[above] + work_[above] / high_[above]);
    }
    view.volume += work_[row];
    longest = std::max(longest, head_[row] + work_[row] / high_[row]);
    view.held += ready_[row] && left_of(row) == 0.0 ? 1 : 0;
    if (ready_[row] && work_[row] > 0.0 && pending_[row] == 0) {
      queue_[flow.first + queued++] = table_.topological[at];
    }
  }
  view.queued = queued;
  view.alone =
      std::max(longest, view.volume / static_cast<double>(std::max<std::int64_t>(slots_, 1)));
  if (options_.baseline == FlowBaseline::kFifo || queued < 2) return;
  find_paths(flow);
  const auto queue = queue_.begin() + static_cast<std::ptrdiff_t>(flow.first);
  std::sort(queue, queue + queued, [&](Index a, Index b) {
    const double longer = path_[flow.first + a], shorter = path_[flow.first + b];
    return longer != shorter ? longer > shorter : a < b;
  });
}

// What people pay for these flows.
void FlowEpoch::study_flows(std::span<const std::size_t> rows, Table& columns) const {
  TermColumns& terms = columns.flows;
  terms.clear();
  columns.id.clear();
  columns.kind.clear();
  for (const std::size_t row : rows) {
    const FlowTable::Flow& flow = table_.rows()[row];
    columns.id.push_back(flow.id);
    columns.kind.push_back(flow.kind);
    terms.arrival.push_back(flow.arrival);
    terms.weight.push_back(flow.weight);
    terms.deadline.push_back(flow.deadline);
    terms.original.push_back(flow.size);
    terms.sla.add(table_.steps.of(flow.sla));
  }
}

// Flows that have come as jobs: relaxed_.
void FlowEpoch::relax_flows() {
  const std::size_t f = arrived_.size();
  relaxed_.now = now_;
  relaxed_.slots = static_cast<double>(slots_);
  relaxed_.work.resize(f);
  relaxed_.high.resize(f);
  relaxed_.low.assign(f, 0.0);
  relaxed_.idle_end.assign(f, now_);
  for (std::size_t k = 0; k < f; ++k) {
    const View& view = views_[arrived_[k]];
    relaxed_.work[k] = view.volume;
    relaxed_.high[k] = std::min(relaxed_.slots, view.volume / view.alone);
  }
}

// The order of flows that have come by what it is worth, beside the last one: sorted_.
void FlowEpoch::order_by_value() {
  const std::size_t f = arrived_.size();
  const bool few = table_.open_jobs() <= kListedJobs || options_.effort;
  if (few) {
    build_table(arrived_, columns_);
    flow_problem_.build(columns_.flows.view(), slots_, now_);
    lists_.begin(flow_problem_);
  } else {
    study_flows(arrived_, columns_);
  }
  columns_.penalties(custom_, penalties_);
  relax_flows();
  kept_.clear();
  if (few || options_.hysteresis > 0.0) {
    place_.assign(table_.rows().size(), kNone);
    for (std::size_t k = 0; k < f; ++k) place_[arrived_[k]] = static_cast<Index>(k);
    for (const std::int64_t id : order_) {
      const Index row = table_.find_flow(id);
      if (row != kNone && place_[row] != kNone) kept_.push_back(place_[row]);
    }
  }
  FlowOrder::Exact exact;
  planned_orders_.clear();
  if (options_.effort) {
    FlowOptions how;
    how.method = options_.method;
    how.effort = *options_.effort;
    how.warm = kept_;
    flowflex_.plan(flow_problem_, penalties_, options_.aggregate, how, searched_);
    flowflex_.orders(searched_, planned_orders_);
  }
  if (few) {
    exact = [this](std::span<const Index> order, const Penalties& penalties, Aggregate aggregate) {
      return lists_.value(order, penalties, aggregate);
    };
  }
  flow_order_.decide(relaxed_, penalties_, options_.aggregate, kept_, planned_orders_,
                     options_.hysteresis, exact, sorted_);
}

// Fills ordered_ without a plan: flows with work that have come by priority, then the others.
void FlowEpoch::order_flows() {
  const std::span<const FlowTable::Flow> flows = table_.rows();
  arrived_.clear();
  for (std::size_t j = 0; j < flows.size(); ++j) {
    if (flows[j].there && !waits(flows[j]) && views_[j].volume > 0.0) arrived_.push_back(j);
  }
  const std::size_t f = arrived_.size();
  sorted_.resize(f);
  if (options_.baseline == FlowBaseline::kFifo) {
    relaxed_.work.resize(f);
    for (std::size_t k = 0; k < f; ++k) relaxed_.work[k] = flows[arrived_[k]].arrival;
    sorter_.sort(relaxed_.work, sorted_);
  } else if (options_.baseline == FlowBaseline::kFair) {
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
  const std::span<const FlowTable::Flow> flows = table_.rows();
  for (const bool late : {false, true}) {
    for (std::size_t j = 0; j < flows.size(); ++j) {
      if (flows[j].there && waits(flows[j]) == late && (late || views_[j].volume == 0.0)) {
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
  for (std::size_t j = 0; j < table_.rows().size(); ++j) {
    if (table_.rows()[j].there) arrived_.push_back(j);
  }
  ordered_.clear();
  for (const Index k : planned_->order) ordered_.push_back(arrived_[k]);
}

// Flows of which nothing is left are told, and forgotten.
void FlowEpoch::drop_ended() {
  decision_.ended.clear();
  for (std::size_t j = 0; j < table_.rows().size(); ++j) {
    const FlowTable::Flow& flow = table_.rows()[j];
    if (!flow.there || flow.open > 0) continue;
    decision_.ended.push_back(flow.id);
    table_.drop(j);
  }
  if (table_.tidy()) touch_all();
}

// A slot for every ready job whose work has run out, as far as there are any. Tells whether there
// is such a job.
bool FlowEpoch::hold() {
  bool any = false;
  const std::span<const FlowTable::Flow> flows = table_.rows();
  for (std::size_t j = 0; j < flows.size(); ++j) {
    if (!flows[j].there || views_[j].held == 0 || waits(flows[j])) continue;
    any = true;
    for (std::size_t row = flows[j].first; free_ > 0.0 && row < flows[j].end(); ++row) {
      if (!ready_[row] || left_of(row) > 0.0) continue;
      share_[row] = 1.0;
      free_ -= 1.0;
    }
  }
  return any;
}

// Hands free slots down the order: each up to its maximum, or to `limit` (per job row) if given.
void FlowEpoch::fill(std::span<const std::int64_t> limit) {
  const std::span<const FlowTable::Flow> flows = table_.rows();
  for (const std::size_t j : ordered_) {
    if (free_ <= 0.0) return;
    if (waits(flows[j])) continue;  // a plan's order may have it first
    const std::size_t first = flows[j].first;
    for (std::size_t k = first; k < first + views_[j].queued; ++k) {
      const std::size_t row = first + queue_[k];
      double most = limit.empty() ? high_[row] : static_cast<double>(limit[row]);
      if (second_[row] != kNone) most -= share_[first + second_[row]];
      const double more = std::min(most - share_[row], free_);
      if (more <= 0.0) continue;
      share_[row] += more;
      free_ -= more;
    }
  }
}

// What joined phases got, by the work that each has left, within their maxima.
void FlowEpoch::split_phases() {
  if (options_.ready_fraction >= 1.0) return;
  const std::span<const FlowTable::Flow> flows = table_.rows();
  for (std::size_t j = 0; j < flows.size(); ++j) {
    if (!flows[j].there) continue;
    for (std::size_t k = flows[j].first; k < flows[j].first + views_[j].queued; ++k) {
      const std::size_t row = flows[j].first + queue_[k];
      if (second_[row] == kNone) continue;
      const std::size_t late = flows[j].first + second_[row];
      const double total = share_[row] + share_[late];
      const double mine = table_.work[row] == 0.0 ? std::min(1.0, total) : 0.0;
      const double share = std::nearbyint(total * (table_.work[late] / work_[row]));
      share_[late] = std::clamp(share, std::max(total - room(row), share_[late]),
                                std::min(room(late), total - mine));
      share_[row] = total - share_[late];
    }
  }
}

void FlowEpoch::serve() {
  const bool held = hold();
  const bool planned = planned_.has_value();
  if (planned) {
    // The plan's slots, by the rows of the table.
    std::vector<std::int64_t> wanted(share_.size(), 0);
    std::size_t k = 0;
    for (const FlowTable::Flow& flow : table_.rows()) {
      if (!flow.there) continue;
      for (std::size_t row = flow.first; row < flow.end(); ++row) {
        if (table_.stage[row] != JobStage::kRemoved) wanted[row] = planned_->allocation[k++];
      }
    }
    fill(wanted);
  }
  if (!planned || held) fill({});
  split_phases();
  if (held) serve_spent();
}

// Those who have work come before those who may have none.
void FlowEpoch::serve_spent() {
  const std::span<const FlowTable::Flow> flows = table_.rows();
  for (const std::size_t j : ordered_) {
    if (views_[j].held == 0 || waits(flows[j])) continue;
    for (std::size_t row = flows[j].first; free_ > 0.0 && row < flows[j].end(); ++row) {
      if (!ready_[row] || left_of(row) > 0.0) continue;
      const double more = std::min(room(row) - share_[row], free_);
      share_[row] += more;
      free_ -= more;
    }
  }
}

// Whether a second phase is a part of the first one.
bool FlowEpoch::is_joined(const FlowTable::Flow& flow, std::size_t row) const {
  return pending_[row] > 0 && table_.follows[row] != kNone &&
         second_[flow.first + table_.follows[row]] == row - flow.first;
}

// Jobs that are ready: arrived_ has their rows, relaxed_ what they may have.
void FlowEpoch::list_ready() {
  arrived_.clear();
  relaxed_.slots = static_cast<double>(slots_);
  relaxed_.low.clear();
  relaxed_.high.clear();
  for (const FlowTable::Flow& flow : table_.rows()) {
    if (!flow.there || waits(flow)) continue;
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (!ready_[row] || is_joined(flow, row)) continue;
      arrived_.push_back(row);
      const Index late = second_[row];
      relaxed_.low.push_back(share_[row] + (late == kNone ? 0.0 : share_[flow.first + late]));
      relaxed_.high.push_back(period_ > 0.0 ? cap_at_period(work_[row], period_, 1.0, high_[row])
                                            : high_[row]);
    }
  }
}

// One waterline over all that are ready; whose work has run out has at least its slot.
void FlowEpoch::serve_fair() {
  hold();
  list_ready();
  const std::size_t n = arrived_.size();
  relaxed_.work.assign(n, 1.0);
  relaxed_.idle_end.assign(n, now_);
  poured_.assign(n, 0.0);
  waterline_.allocate(relaxed_, {}, poured_);
  if (period_ > 0.0) raise_fair();
  for (std::size_t k = 0; k < n; ++k) share_[arrived_[k]] = poured_[k];
  for (const FlowTable::Flow& flow : table_.rows()) {  // the first has all of both
    if (!flow.there) continue;
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (second_[row] != kNone && ready_[row]) share_[row] -= share_[flow.first + second_[row]];
    }
  }
  split_phases();
}

// The decision, row by row, and what is kept of it.
void FlowEpoch::report() {
  const std::size_t n = table_.open_jobs();
  decision_.ids.resize(n);
  decision_.slots.resize(n);
  decision_.changed.resize(n);
  decision_.ready.resize(n);
  std::size_t k = 0;
  for (const FlowTable::Flow& flow : table_.rows()) {
    if (!flow.there) continue;
    const bool come = !waits(flow);
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (table_.stage[row] != JobStage::kOpen) continue;
      const auto slots = static_cast<std::int64_t>(share_[row]);
      decision_.ids[k] = flow.first_id + static_cast<std::int64_t>(row - flow.first);
      decision_.slots[k] = slots;
      decision_.changed[k] = slots != table_.given[row];
      decision_.ready[k++] = ready_[row] && come;
      table_.given[row] = slots;
    }
  }
  order_.clear();
  for (const std::size_t j : ordered_) order_.push_back(table_.rows()[j].id);
}

const FlowEpoch::Decision& FlowEpoch::decide(double now, std::optional<std::int64_t> slots,
                                             std::optional<double> period) {
  if (period) check_amount("period", *period, kWeightRange);
  check_time("now", now);
  if (now < now_) {
    throw FieldError("now", now, "before " + std::to_string(now_) + ", times never fall");
  }
  if (slots && *slots != 0) validate_slots(*slots);
  if (slots && *slots != slots_) {
    slots_ = *slots;
    touch_all();
  }
  count_held(now);
  const double held = period.value_or(options_.period);
  if ((held > 0.0) != (period_ > 0.0)) touch_all();  // whose estimates have run out
  period_ = held;
  ++version_;
  now_ = now;
  planned_.reset();
  decision_.order.clear();
  drop_ended();
  refresh_touched();
  share_.assign(table_.work.size(), 0.0);
  free_ = static_cast<double>(slots_);
  if (slots_ == 0 || !plans()) {
    order_flows();
  } else {
    order_as_planned();
  }
  if (slots_ > 0) {
    if (options_.baseline == FlowBaseline::kFair) {
      serve_fair();
    } else if (period_ > 0.0) {
      serve_period();
    } else {
      serve();
    }
  }
  report();
  decision_.overloaded = period_ > 0.0 && load_.overloaded(static_cast<double>(slots_));
  return decision_;
}

// All flows that are there, with their finished jobs and joined phases.
void FlowEpoch::build_table(Table& table) {
  std::vector<std::size_t> rows;
  for (std::size_t j = 0; j < table_.rows().size(); ++j) {
    if (table_.rows()[j].there) rows.push_back(j);
  }
  build_table(rows, table);
}

void FlowEpoch::build_table(std::span<const std::size_t> rows, Table& table) {
  FlowColumns& flows = table.flows;
  flows.clear();
  study_flows(rows, table);
  table.name.clear();
  for (const std::size_t j : rows) {
    const FlowTable::Flow& flow = table_.rows()[j];
    place_in_flow_.assign(flow.jobs, -1);
    auto next = flows.job_offset.back();
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (table_.stage[row] != JobStage::kRemoved) place_in_flow_[row - flow.first] = next++;
    }
    flows.job_offset.push_back(next);
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (table_.stage[row] == JobStage::kRemoved) continue;
      flows.work.push_back(work_[row]);
      const bool joined = second_[row] != kNone;
      flows.max_slots.push_back(
          joined ? static_cast<std::int64_t>(room(row) + room(flow.first + second_[row]))
                 : table_.max_slots[row]);
      const std::size_t edges = table_.parent_first[row];
      for (std::size_t e = edges; e < edges + table_.parents[row]; ++e) {
        // A job that finished before its parents did may outlive them.
        const std::int64_t above = place_in_flow_[table_.parent[e]];
        if (above >= 0) flows.parent.push_back(above);
      }
      flows.parent_offset.push_back(static_cast<std::int64_t>(flows.parent.size()));
      table.name.push_back(table_.name[row]);
    }
  }
}

// `keep_order`: the schedule that the last order makes, else the best that is found.
void FlowEpoch::make_plan(const Table& table, bool keep_order, FlowPlan& plan) {
  flow_problem_.build(table.flows.view(), slots_, now_);
  table.penalties(custom_, penalties_);
  std::vector<Index> warm;
  for (const std::int64_t id : order_) {
    const auto at = std::lower_bound(table.id.begin(), table.id.end(), id);
    if (at == table.id.end() || *at != id) continue;
    warm.push_back(static_cast<Index>(at - table.id.begin()));
  }
  if (options_.baseline) {
    plan_baseline(flow_problem_, penalties_, options_.aggregate, *options_.baseline,
                  table.flows.arrival, plan);
    return;
  }
  FlowOptions options;
  options.method = options_.method;
  options.effort = options_.effort.value_or(0);
  options.warm = warm;
  options.hysteresis = keep_order ? kInfinity : options_.hysteresis;
  flowflex_.plan(flow_problem_, penalties_, options_.aggregate, options, plan);
}

void FlowEpoch::plan(Table& table, FlowPlan& plan, std::vector<double>& penalty) {
  if (slots_ == 0) throw std::invalid_argument("slots = 0: nothing can be planned");
  if (period_ > 0.0) {
    throw std::invalid_argument("period = " + std::to_string(period_) +
                                ": a decision that is held has no plan, value or bound");
  }
  refresh_touched();
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
  s(options_, table_, slots_, now_, period_, load_, version_, order_, planned_);
  if (s.reading()) touch_all();
}

}  // namespace malleable
