// Smith's ratio: work over the rate at which the penalty rises. For FIFO, the arrival. Jobs without
// work come before all others.
#include "malleable/policy/epoch/key_rule.hpp"

namespace malleable {
namespace {

class SmithRule final : public KeyRule {
 public:
  void changed(const Scene& at, std::size_t row) override {
    const JobTable& jobs = at.jobs;
    const bool fifo = at.options.policy == EpochPolicy::kFifo;
    double& key = key_[row];
    if (!(jobs.work[row] > 0.0)) {
      key = fifo ? -2.0 * kLatestTime : 0.0;
    } else if (fifo) {
      key = jobs.arrival[row];
    } else {
      key = jobs.smith_ratio(row);
      if (at.favoured(row)) key /= 1.0 + at.options.hysteresis;
    }
  }
};

}  // namespace

std::unique_ptr<KeyRule> key_rule_smith() { return std::make_unique<SmithRule>(); }

}  // namespace malleable
