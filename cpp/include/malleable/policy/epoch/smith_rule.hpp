// Smith's ratio: work over the rate at which the penalty rises. For FIFO, the arrival. Jobs without
// work come before all others.
#pragma once

#include "malleable/policy/epoch/key_rule.hpp"

namespace malleable {

class SmithRule final : public KeyRule {
 public:
  static constexpr const char* kName = "smith";
  const char* name() const override { return kName; }
  void changed(const Scene& at, std::size_t row) override;
};

}  // namespace malleable
