// Calls of the C interface in tests: columns, and what a call answered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"
#include "malleable/malleable.h"

namespace malleable::check {

using Reals = std::vector<double>;
using Wholes = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

#define OK(call) CHECK_EQUAL(std::string((call) == MALLEABLE_OK ? "" : malleable_message()), "")

inline bool refused(int status, const std::string& message) {
  return status == MALLEABLE_INVALID &&
         std::string(malleable_message()).find(message) != std::string::npos;
}

}  // namespace malleable::check
