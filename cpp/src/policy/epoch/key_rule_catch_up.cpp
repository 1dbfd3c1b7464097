// Smith's ratio, less for jobs that cannot catch up later: W / r over A + W / M, W being the work
// left, r the rate at which the penalty rises, M the job's most slots, and A half of the time of
// all work on all slots, rounded to steps of a fifth, so that keys stay while it moves little. One
// pass, O(J) for J jobs.
//
// A slot costs the waiting of all other jobs, and this cost falls as they end. For a short job the
// cost falls little while it runs, so Smith's ratio decides. A job that takes longer alone than all
// others together gains nothing by waiting, so M / r decides: narrow jobs first.
#include <algorithm>
#include <cmath>

#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch/key_rule.hpp"

namespace malleable {
namespace {

constexpr double kHalf = 0.5;   // chosen with benchmarks/rivals, section events
constexpr double kSteps = 4.0;  // steps while it doubles

// Rounds a time to kSteps steps for each doubling.
double in_steps(double time) {
  return std::exp2(std::round(std::log2(std::max(time, kTiny)) * kSteps) / kSteps);
}

class CatchUpRule final : public KeyRule {
 public:
  void changed(const Scene& at, std::size_t row) override {
    const JobTable& jobs = at.jobs;
    const double work = jobs.work[row], most = jobs.low[row] + jobs.room[row];
    double& key = key_[row];
    key = 0.0;
    if (!(work > 0.0)) return;
    key = jobs.smith_ratio(row) / (beside_ + (most > 0.0 ? work / most : 0.0));
    if (at.favoured(row)) key /= 1.0 + at.options.hysteresis;
  }
  bool decide(Scene& at) override {
    const double before =
        std::exchange(beside_, in_steps(kHalf * at.jobs.all_work / at.capacity()));
    for (std::size_t row = 0; beside_ != before && row < key_.size(); ++row) changed(at, row);
    return KeyRule::decide(at);
  }
  void state(State& s) override {
    KeyRule::state(s);
    s(beside_);
  }

 private:
  double beside_ = 0.0;  // A
};

}  // namespace

std::unique_ptr<KeyRule> key_rule_catch_up() { return std::make_unique<CatchUpRule>(); }

}  // namespace malleable
