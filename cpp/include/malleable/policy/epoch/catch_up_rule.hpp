// Smith's ratio, less for jobs that cannot catch up later: W / r over A + W / M, W being the work
// left, r the rate at which the penalty rises, M the maximum, and A half of the time of all work on
// all slots, rounded to steps of a fifth, so that keys stay while it moves little. One pass, O(J).
//
// A slot costs what the others wait for it, which falls as they end. A short job waits for it to
// fall by a part of that, in proportion to its work: Smith's ratio. A job that takes longer alone
// than the others together has nothing to wait for: M / r, the narrow first.
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
