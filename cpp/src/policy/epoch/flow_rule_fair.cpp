#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/slot_periods.hpp"
#include "malleable/kernel/water_filling.hpp"
#include "malleable/policy/epoch/flow_rule.hpp"

namespace malleable {
namespace {

// An empty job has at least its slot. With a period, equal shares go only
// up to the slots that jobs can use fully; the rest follows, and the job with the fewest slots is
// first in turn.
class FlowFair final : public FlowRule {
 public:
  const char* name() const override { return "fair"; }
  bool by_order() const override { return false; }
  void order(const FlowScene&, FlowInstance&, std::span<const std::int64_t>,
             std::vector<Index>&) override {}
  void serve(FlowShares& to, std::span<const Index>, std::vector<std::int64_t>& turns) override {
    to.serve_empty();
    FlowScene& at = to.at;
    ready_.clear();
    for (auto* column : {&problem_.low, &problem_.high}) column->clear();
    for (FlowTable::Flow& flow : at.table.flows()) {
      if (at.waits(flow)) continue;
      flow.holds = true;
      for (FlowTable::Job& job : flow.jobs) {
        if (!job.ready) continue;
        ready_.push_back({&flow, &job});
        problem_.low.push_back(job.share);
        problem_.high.push_back(
            at.clock.any() ? cap_at_period(job.left, at.clock.period(), 1.0, job.high) : job.high);
      }
    }
    const std::size_t n = ready_.size();
    problem_.slots = static_cast<double>(at.slots);
    problem_.work.assign(n, 1.0);
    problem_.idle_end.assign(n, at.clock.now());
    poured_.assign(n, 0.0);
    water_filling_.allocate(problem_, {}, poured_);
    if (at.clock.any()) raise(at.clock.period(), turns);
    for (std::size_t k = 0; k < n; ++k) ready_[k].job->share = poured_[k];
  }

 private:
  // Gives slots left over, and lists the jobs in the order in which they get more.
  void raise(double period, std::vector<std::int64_t>& turns) {
    for (std::size_t k = 0; k < ready_.size(); ++k) {
      problem_.work[k] = ready_[k].job->left;
      problem_.high[k] = ready_[k].job->high;
    }
    left_over_.hand_out(problem_, period, {}, poured_);
    sorted_.resize(ready_.size());
    sorter_.sort(poured_, sorted_);
    for (const Index k : sorted_) turns.push_back(ready_[k].flow->id_of(*ready_[k].job));
  }

  struct Ready {
    const FlowTable::Flow* flow;
    FlowTable::Job* job;
  };
  std::vector<Ready> ready_;
  std::vector<double> poured_;  // by ready job: slots
  std::vector<Index> sorted_;
  Problem problem_;
  WaterFilling water_filling_;
  LeftOverSlots left_over_;
  KeySort sorter_;
};

}  // namespace

std::unique_ptr<FlowRule> flow_rule_fair() { return std::make_unique<FlowFair>(); }

}  // namespace malleable
