// Policies that plan jobs and decide in epochs.
#pragma once

#include <cstdint>

namespace malleable {

enum class EpochPolicy : std::uint8_t { kFlex, kFair, kFifo, kWdeq, kHeSrpt };

}  // namespace malleable
