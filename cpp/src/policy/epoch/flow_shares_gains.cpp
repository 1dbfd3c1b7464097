// FlowFlex with some speed-up below linear: slots go to the jobs that gain most by them
// (kernel/flow_gains). With a period no job gets more slots than it can keep busy; jobs are in turn
// by flow, within a flow the longest path first.
#include <cmath>

#include "malleable/kernel/flow_gains.hpp"
#include "malleable/policy/epoch/flow_shares.hpp"

namespace malleable {
namespace {

class FlowByGains final : public FlowServer {
 public:
  void serve(FlowShares& to, std::span<const Index> order,
             std::vector<std::int64_t>& turns) override {
    const FlowScene& at = to.at;
    to.serve_empty();
    gains_.begin(to.free);
    gaining_.clear();
    for (const Index row : order) {
      FlowTable::Flow& flow = to.at.table.flows()[row];
      if (at.waits(flow) || flow.volume == 0.0) continue;
      flow.holds = true;
      const SpeedupView speedup = flow.speedup.view();
      for (const Index place : flow.queue) {
        FlowTable::Job& job = flow.jobs[place];
        double most = job.high;
        if (at.clock.any()) {
          const double busy = speedup.slots_for(place, job.left / at.clock.period());
          most = std::min(most, std::ceil(busy));
          turns.push_back(flow.id_of(job));
        }
        gains_.add(job.left, most, speedup, place);
        gaining_.push_back(&job);
      }
      gains_.end_flow(flow.value_of_second());
    }
    gained_.resize(gaining_.size());
    gains_.allocate(at.coming.expected(), gained_);
    for (std::size_t k = 0; k < gaining_.size(); ++k) to.hand(*gaining_[k], gained_[k]);
    to.serve_empty_rest(order);
  }

 private:
  FlowGains gains_;
  // Jobs that may get slots, and the slots that they get.
  std::vector<FlowTable::Job*> gaining_;
  std::vector<double> gained_;
};

}  // namespace

std::unique_ptr<FlowServer> flow_shares_gains() { return std::make_unique<FlowByGains>(); }

}  // namespace malleable
