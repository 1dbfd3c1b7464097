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
  if (!(period_ > 0.0) || !(now > now_)) return;
  const double elapsed = now - now_;
  load_.pass(elapsed);
  for (std::size_t j = 0; j < table_.rows().size(); ++j) {
    const FlowTable::Flow& flow = table_.rows()[j];
    if (!flow.there) continue;
    bool outlived = false;
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (table_.given[row] == 0 || table_.stage[row] != JobStage::kOpen) continue;
      table_.attained[row] += elapsed * static_cast<double>(table_.given[row]);
      outlived |= table_.work[row] == 0.0;
    }
    if (outlived) touched_.push_back(static_cast<Index>(j));
  }
}

// Of a job that has outlived its estimate a part of the work done so far counts as left.
double FlowEpoch::left_of(std::size_t row) const {
  const double work = table_.work[row];
  if (work > 0.0 || period_ == 0.0) return work;
  return std::max(kWorkRange.least, still_left(std::max(table_.attained[row], table_.whole[row])));
}

// Whole periods from the start of each job to the end of its flow, if nothing else runs; the most.
double FlowEpoch::count_periods(const FlowTable::Flow& flow) {
  double longest = 0.0;
  for (std::size_t row = flow.first; row < flow.end(); ++row) periods_[row] = 0.0;
  for (std::size_t at = flow.end(); at-- > flow.first;) {
    const std::size_t row = flow.first + table_.topological[at];
    if (table_.stage[row] == JobStage::kOpen) {
      periods_[row] += slot_periods(work_[row], period_ * high_[row]);
    }
    longest = std::max(longest, periods_[row]);
    const std::size_t edges = table_.parent_first[row];
    for (std::size_t e = edges; e < edges + table_.parents[row]; ++e) {
      double& above = periods_[flow.first + table_.parent[e]];
      above = std::max(above, periods_[row]);
    }
  }
  return longest;
}

// The ready jobs: first those that cannot wait for a period without their flow ending later, each
// kind in the order of flows, within a flow the longest path first. Baselines know no paths.
void FlowEpoch::line_up() {
  const std::span<const FlowTable::Flow> flows = table_.rows();
  const bool slack = !options_.baseline;
  periods_.resize(table_.work.size());
  ready_line_.clear();
  for (std::size_t place = 0; place < ordered_.size(); ++place) {
    const std::size_t j = ordered_[place];
    if (waits(flows[j])) continue;
    const double longest = slack ? count_periods(flows[j]) : 0.0;
    for (std::size_t k = flows[j].first; k < flows[j].first + views_[j].queued; ++k) {
      const std::size_t row = flows[j].first + queue_[k];
      ready_line_.push_back({row, place, slack ? longest - periods_[row] : 0.0,
                             cap_at_period(work_[row], period_, 0.0, high_[row])});
    }
  }
  std::stable_sort(ready_line_.begin(), ready_line_.end(),
                   [](const Ready& a, const Ready& b) { return a.slack < b.slack; });
}

// Whether a flow ends within the period if its jobs get what they can use.
bool FlowEpoch::ends_now(const FlowTable::Flow& flow, const View& view) const {
  std::size_t ends = 0;
  for (std::size_t k = flow.first; k < flow.first + view.queued; ++k) {
    const std::size_t row = flow.first + queue_[k];
    if (slot_periods(work_[row], period_) <= high_[row]) ends += second_[row] == kNone ? 1 : 2;
  }
  return ends == flow.open;
}

// What a second is worth at which a flow ends earlier; only of those that end within the period.
void FlowEpoch::value_ends() {
  worth_.assign(ordered_.size(), 0.0);
  const std::size_t known = planned_ ? ordered_.size() : sorted_.size();
  for (std::size_t place = 0; place < known; ++place) {
    const std::size_t j = ordered_[place];
    const FlowTable::Flow& flow = table_.rows()[j];
    if (waits(flow) || !ends_now(flow, views_[j])) continue;
    const Index k = planned_ ? planned_->order[place] : sorted_[place];
    const double rise = penalties_(k, now_ + period_) - penalties_(k, now_);
    if (rise < kInfinity) worth_[place] = rise;
  }
}

// Left-over slots: where flows end earlier, then where jobs do, then to any job that may have more.
void FlowEpoch::hand_out_rest() {
  if (!options_.baseline && options_.aggregate == Aggregate::kSum) {
    const std::size_t n = ready_line_.size();
    value_ends();
    for (auto* column : {&relaxed_.work, &relaxed_.high, &poured_, &value_}) column->resize(n);
    double used = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      const Ready& job = ready_line_[k];
      relaxed_.work[k] = work_[job.row];
      relaxed_.high[k] = high_[job.row];
      poured_[k] = share_[job.row];
      value_[k] = worth_[job.place];
      used += poured_[k];
    }
    relaxed_.low.assign(n, 0.0);
    relaxed_.idle_end.assign(n, now_);
    relaxed_.slots = used + free_;
    free_ = left_over_.hand_out(relaxed_, period_, value_, poured_);
    free_ = left_over_.hand_out(relaxed_, period_, {}, poured_);
    for (std::size_t k = 0; k < n; ++k) share_[ready_line_[k].row] = poured_[k];
  }
  for (const Ready& job : ready_line_) hand(job.row, high_[job.row]);
}

void FlowEpoch::hand(std::size_t row, double most) {
  const double more = std::min(most - share_[row], free_);
  if (more <= 0.0) return;
  share_[row] += more;
  free_ -= more;
}

void FlowEpoch::serve_period() {
  line_up();
  for (const Ready& job : ready_line_) hand(job.row, job.most);
  if (free_ > 0.0) hand_out_rest();
  for (const Ready& job : ready_line_) tell_turn(ordered_[job.place], job.row);
  split_phases();
}

// What equal shares of what jobs can use fully leave over, and who has the least.
void FlowEpoch::raise_fair() {
  const std::size_t n = arrived_.size();
  for (std::size_t k = 0; k < n; ++k) {
    relaxed_.work[k] = work_[arrived_[k]];
    relaxed_.high[k] = high_[arrived_[k]];
  }
  left_over_.hand_out(relaxed_, period_, {}, poured_);
  sorted_.resize(n);
  sorter_.sort(poured_, sorted_);
  for (const Index k : sorted_) {
    const std::span<const FlowTable::Flow> flows = table_.rows();
    const auto after = std::upper_bound(
        flows.begin(), flows.end(), arrived_[k],
        [](std::size_t row, const FlowTable::Flow& flow) { return row < flow.first; });
    tell_turn(static_cast<std::size_t>(after - flows.begin()) - 1, arrived_[k]);
  }
}

void FlowEpoch::tell_turn(std::size_t flow, std::size_t row) {
  const FlowTable::Flow& of = table_.rows()[flow];
  decision_.order.push_back(of.first_id + static_cast<std::int64_t>(row - of.first));
}

}  // namespace malleable
