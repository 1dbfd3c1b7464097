// A decision over flows that is held for a period: what waits for a job starts at the next decision
// at the earliest, so a flow takes as many periods as its longest path. Jobs that cannot wait for
// a period without making their flow end later go first, in the order of flows; then the others,
// the less slack the earlier; each up to whole slot-periods (kernel slot_periods). Left-over slots
// go where flows end within the period, then where jobs do. O(jobs + parents + R log R) beside the
// order of flows, R jobs being ready.
#include <algorithm>
#include <cmath>

#include "malleable/model/domain.hpp"
#include "malleable/policy/flow_epoch.hpp"

namespace malleable {

// What jobs held since the decision before; a job that has outlived its estimate is seen anew.
void FlowEpoch::count_held(double now) {
  if (!(at_.period > 0.0) || !(now > at_.now)) return;
  const double elapsed = now - at_.now;
  load_.pass(elapsed);
  for (std::size_t j = 0; j < at_.table.rows().size(); ++j) {
    const FlowTable::Flow& flow = at_.table.rows()[j];
    if (!flow.there) continue;
    bool outlived = false;
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (at_.table.given[row] == 0 || at_.table.stage[row] != JobStage::kOpen) continue;
      at_.table.attained[row] += elapsed * static_cast<double>(at_.table.given[row]);
      outlived |= at_.table.work[row] == 0.0;
    }
    if (outlived) study_.touched.push_back(static_cast<Index>(j));
  }
}

// Whole periods from the start of each job to the end of its flow, if nothing else runs; the most.
double FlowEpoch::count_periods(const FlowTable::Flow& flow) {
  double longest = 0.0;
  for (std::size_t row = flow.first; row < flow.end(); ++row) periods_[row] = 0.0;
  for (std::size_t at = flow.end(); at-- > flow.first;) {
    const std::size_t row = flow.first + at_.table.topological[at];
    if (at_.table.stage[row] == JobStage::kOpen) {
      periods_[row] += slot_periods(study_.work[row], at_.period * study_.high[row]);
    }
    longest = std::max(longest, periods_[row]);
    const std::size_t edges = at_.table.parent_first[row];
    for (std::size_t e = edges; e < edges + at_.table.parents[row]; ++e) {
      double& above = periods_[flow.first + at_.table.parent[e]];
      above = std::max(above, periods_[row]);
    }
  }
  return longest;
}

// The ready jobs: first those that cannot wait for a period without their flow ending later, each
// kind in the order of flows, within a flow the longest path first. Baselines know no paths.
void FlowEpoch::line_up() {
  const std::span<const FlowTable::Flow> flows = at_.table.rows();
  const bool slack = !at_.options.baseline;
  periods_.resize(at_.table.work.size());
  ready_line_.clear();
  for (std::size_t place = 0; place < ordered_.size(); ++place) {
    const std::size_t j = ordered_[place];
    if (at_.waits(flows[j])) continue;
    const double longest = slack ? count_periods(flows[j]) : 0.0;
    for (std::size_t k = flows[j].first; k < flows[j].first + study_.views[j].queued; ++k) {
      const std::size_t row = flows[j].first + study_.queue[k];
      ready_line_.push_back({row, place, slack ? longest - periods_[row] : 0.0,
                             cap_at_period(study_.work[row], at_.period, 0.0, study_.high[row])});
    }
  }
  std::stable_sort(ready_line_.begin(), ready_line_.end(),
                   [](const Ready& a, const Ready& b) { return a.slack < b.slack; });
}

// Whether a flow ends within the period if its jobs get what they can use.
bool FlowEpoch::ends_now(const FlowTable::Flow& flow, const FlowStudy::View& view) const {
  std::size_t ends = 0;
  for (std::size_t k = flow.first; k < flow.first + view.queued; ++k) {
    const std::size_t row = flow.first + study_.queue[k];
    if (slot_periods(study_.work[row], at_.period) <= study_.high[row])
      ends += study_.second[row] == kNone ? 1 : 2;
  }
  return ends == flow.open;
}

// What a second is worth at which a flow ends earlier; only of those that end within the period.
void FlowEpoch::value_ends() {
  worth_.assign(ordered_.size(), 0.0);
  const std::size_t known = planned_ ? ordered_.size() : sorted_.size();
  for (std::size_t place = 0; place < known; ++place) {
    const std::size_t j = ordered_[place];
    const FlowTable::Flow& flow = at_.table.rows()[j];
    if (at_.waits(flow) || !ends_now(flow, study_.views[j])) continue;
    const Index k = planned_ ? planned_->order[place] : sorted_[place];
    const double rise = penalties_(k, at_.now + at_.period) - penalties_(k, at_.now);
    if (rise < kInfinity) worth_[place] = rise;
  }
}

// Left-over slots: where flows end earlier, then where jobs do, then to any job that may have more.
void FlowEpoch::hand_out_rest() {
  if (!at_.options.baseline && at_.options.aggregate == Aggregate::kSum) {
    const std::size_t n = ready_line_.size();
    value_ends();
    for (auto* column : {&relaxed_.work, &relaxed_.high, &poured_, &value_}) column->resize(n);
    double used = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      const Ready& job = ready_line_[k];
      relaxed_.work[k] = study_.work[job.row];
      relaxed_.high[k] = study_.high[job.row];
      poured_[k] = shares_.share[job.row];
      value_[k] = worth_[job.place];
      used += poured_[k];
    }
    relaxed_.low.assign(n, 0.0);
    relaxed_.idle_end.assign(n, at_.now);
    relaxed_.slots = used + shares_.free;
    shares_.free = left_over_.hand_out(relaxed_, at_.period, value_, poured_);
    shares_.free = left_over_.hand_out(relaxed_, at_.period, {}, poured_);
    for (std::size_t k = 0; k < n; ++k) shares_.share[ready_line_[k].row] = poured_[k];
  }
  for (const Ready& job : ready_line_) shares_.hand(job.row, study_.high[job.row]);
}

void FlowEpoch::serve_period() {
  line_up();
  for (const Ready& job : ready_line_) shares_.hand(job.row, job.most);
  if (shares_.free > 0.0) hand_out_rest();
  for (const Ready& job : ready_line_) tell_turn(ordered_[job.place], job.row);
  shares_.split_phases(at_, study_);
}

// What equal shares of what jobs can use fully leave over, and who has the least.
void FlowEpoch::raise_fair() {
  const std::size_t n = arrived_.size();
  for (std::size_t k = 0; k < n; ++k) {
    relaxed_.work[k] = study_.work[arrived_[k]];
    relaxed_.high[k] = study_.high[arrived_[k]];
  }
  left_over_.hand_out(relaxed_, at_.period, {}, poured_);
  sorted_.resize(n);
  sorter_.sort(poured_, sorted_);
  for (const Index k : sorted_) {
    const std::span<const FlowTable::Flow> flows = at_.table.rows();
    const auto after = std::upper_bound(
        flows.begin(), flows.end(), arrived_[k],
        [](std::size_t row, const FlowTable::Flow& flow) { return row < flow.first; });
    tell_turn(static_cast<std::size_t>(after - flows.begin()) - 1, arrived_[k]);
  }
}

void FlowEpoch::tell_turn(std::size_t flow, std::size_t row) {
  const FlowTable::Flow& of = at_.table.rows()[flow];
  decision_.order.push_back(of.first_id + static_cast<std::int64_t>(row - of.first));
}

}  // namespace malleable
