// The reason why a job got no more slots in a decision: its code, and its text for users. (A
// station is all slots of one phase.)
#pragma once

#include <array>
#include <cstdint>

namespace malleable {

enum class Bound : std::uint8_t {
  kNothing,
  kAll,
  kWhole,
  kMaximum,
  kProgress,
  kRest,
  kOrder,
  kNoSlots,
  kRefused,
  kUnready,
  kMinimum,
  kShare,
  kPeriod,
  kRestart,
};

// Texts by code.
inline constexpr std::array<const char*, 14> kBoundTexts = {
    "nothing waits",
    "all that waited has started",
    "the whole station",
    "its maximum",
    "as fast as it maps",
    "what was left",
    "its place in the order",
    "no slots are left",
    "no free slot is for it",
    "waits for its maps",
    "its minimum",
    "its share",
    "all that it can use within the period",
    "a change costs more than it gains",
};

}  // namespace malleable
