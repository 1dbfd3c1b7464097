// A decision over flows that is held for a period: a job that waits for another starts at the next
// decision at the earliest, so a flow takes at least as many periods as its longest path has jobs.
// Jobs that cannot wait for a period without making their flow end later go first, in the order of
// flows; then the others, by slack; each gets up to whole slot-periods of its work (one slot for
// one period, kernel/slot_periods.hpp). Slots left over go to jobs that end within the period, and
// earlier by them. O(jobs + parents + R log R) beside the order of flows, R jobs being ready.
#include <algorithm>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/policy/epoch/flow_shares.hpp"

namespace malleable {
namespace {

class FlowPeriodic final : public FlowServer {
 public:
  void serve(FlowShares& to, std::span<const Index> order,
             std::vector<std::int64_t>& turns) override {
    line_up(to.at, order);
    for (const Ready& ready : line_) to.hand(*ready.job, ready.most);
    if (to.free > 0.0) hand_out_rest(to);
    for (const Ready& ready : line_) turns.push_back(ready.flow->id_of(*ready.job));
  }

 private:
  using Flow = FlowTable::Flow;
  using Job = FlowTable::Job;
  // A ready job: how many periods it can wait before its flow ends later (slack), and the slots it
  // can use fully (most).
  struct Ready {
    const Flow* flow;
    Job* job;
    double slack, most;
  };

  // Counts whole periods from the start of each job to the end of its flow, if nothing else runs;
  // returns the largest.
  double count_periods(const Flow& flow, double period) {
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

  // Lists ready jobs, the least slack first. Baselines use no paths.
  void line_up(FlowScene& at, std::span<const Index> order) {
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
    std::ranges::stable_sort(line_, {}, &Ready::slack);
  }

  // Gives left-over slots to jobs that end earlier, then to any job that may have more.
  void hand_out_rest(FlowShares& to) {
    const FlowEpochOptions& options = to.at.options;
    if (!options.baseline && options.aggregate == Aggregate::kSum) {
      for (auto* column : {&rest_.work, &rest_.high, &slots_}) column->clear();
      rest_.slots = to.free;
      for (const Ready& ready : line_) {
        rest_.work.push_back(ready.job->left);
        rest_.high.push_back(ready.job->high);
        slots_.push_back(ready.job->share);
        rest_.slots += ready.job->share;
      }
      to.free = left_over_.hand_out(rest_, to.at.clock.period(), {}, slots_);
      for (std::size_t k = 0; k < line_.size(); ++k) line_[k].job->share = slots_[k];
    }
    for (const Ready& ready : line_) to.hand(*ready.job, ready.job->high);
  }

  std::vector<Ready> line_;
  std::vector<double> periods_;  // by place in the flow: from the job's start to the flow's end
  Problem rest_;                 // jobs that could use slots that are left over
  std::vector<double> slots_;
  LeftOverSlots left_over_;
};

}  // namespace

std::unique_ptr<FlowServer> flow_shares_periodic() { return std::make_unique<FlowPeriodic>(); }

}  // namespace malleable
