#include "malleable/policy/epoch/flow_periodic.hpp"

#include <algorithm>

namespace malleable {
// Decisions that hold for a period: a job takes whole slot-periods (one slot for one period). Jobs
// go by slack: how many periods the longest path of their flow exceeds their own path.

// Counts whole periods from the start of each job to the end of its flow, if nothing else runs;
// returns the largest.
double FlowPeriodic::count_periods(const Flow& flow, double period) {
  double longest = 0.0;
  periods_.assign(flow.jobs.size(), 0.0);
  for (std::size_t at = flow.jobs.size(); at-- > 0;) {
    const Index place = flow.topological[at];
    const Job& job = flow.jobs[place];
    if (job.open()) periods_[place] += slot_periods(job.left, period * job.high);
    longest = std::max(longest, periods_[place]);
    for (const Index above : flow.parents_of(job)) {
      periods_[above] = std::max(periods_[above], periods_[place]);
    }
  }
  return longest;
}

// Baselines use no paths.
void FlowPeriodic::line_up(FlowScene& at, std::span<const Index> order) {
  const bool studies = !at.options.baseline;
  const double period = at.clock.period();
  line_.clear();
  for (const Index row : order) {
    Flow& flow = at.table.flows()[row];
    if (at.waits(flow)) continue;
    const double longest = studies ? count_periods(flow, period) : 0.0;
    flow.holds = true;
    for (const Index place : flow.queue) {
      Job& job = flow.jobs[place];
      line_.push_back({&flow, &job, studies ? longest - periods_[place] : 0.0,
                       cap_at_period(job.left, period, 0.0, job.high)});
    }
  }
  std::stable_sort(line_.begin(), line_.end(),
                   [](const Ready& a, const Ready& b) { return a.slack < b.slack; });
}

// Gives left-over slots to jobs that end earlier, then to any job that may have more.
void FlowPeriodic::hand_out_rest(FlowShares& to) {
  const FlowEpochOptions& options = to.at.options;
  if (!options.baseline && options.aggregate == Aggregate::kSum) {
    const std::size_t n = line_.size();
    for (auto* column : {&rest_.work, &rest_.high, &slots_}) column->resize(n);
    double used = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      rest_.work[k] = line_[k].job->left;
      rest_.high[k] = line_[k].job->high;
      slots_[k] = line_[k].job->share;
      used += slots_[k];
    }
    rest_.slots = used + to.free;
    to.free = left_over_.hand_out(rest_, to.at.clock.period(), {}, slots_);
    for (std::size_t k = 0; k < n; ++k) line_[k].job->share = slots_[k];
  }
  for (const Ready& ready : line_) to.hand(*ready.job, ready.job->high);
}

void FlowPeriodic::serve(FlowShares& to, std::span<const Index> order,
                         std::vector<std::int64_t>& turns) {
  line_up(to.at, order);
  for (const Ready& ready : line_) to.hand(*ready.job, ready.most);
  if (to.free > 0.0) hand_out_rest(to);
  for (const Ready& ready : line_) turns.push_back(ready.flow->id_of(*ready.job));
}

}  // namespace malleable
