// A budget of wall-clock time.
#pragma once

#include <chrono>
#include <cmath>
#include <functional>

namespace malleable {

// A function that says whether `seconds` have passed since now. If they are infinite, it never
// reads the clock.
inline std::function<bool()> over_budget(double seconds) {
  using Clock = std::chrono::steady_clock;
  if (!std::isfinite(seconds)) return [] { return false; };
  return [began = Clock::now(), seconds] {
    return std::chrono::duration<double>(Clock::now() - began).count() >= seconds;
  };
}

}  // namespace malleable
