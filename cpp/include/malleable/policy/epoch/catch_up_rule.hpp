// Smith's ratio, less for jobs that cannot catch up later: W / r over A + W / M, W being the work
// left, r the rate at which the penalty rises, M the job's most slots, and A half of the time of
// all work on all slots, rounded to steps of a fifth, so that keys stay while it moves little. One
// pass, O(J) for J jobs.
//
// A slot costs the waiting of all other jobs, and this cost falls as they end. For a short job the
// cost falls little while it runs, so Smith's ratio decides. A job that takes longer alone than all
// others together gains nothing by waiting, so M / r decides: narrow jobs first.
#pragma once

#include "malleable/policy/epoch/key_rule.hpp"

namespace malleable {

class CatchUpRule final : public KeyRule {
 public:
  static constexpr const char* kName = "catch up";
  const char* name() const override { return kName; }
  void changed(const Scene& at, std::size_t row) override;
  bool decide(Scene& at) override;
  void state(State& s) override;

 private:
  double beside_ = 0.0;  // A
};

}  // namespace malleable
