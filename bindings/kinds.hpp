// Kinds of penalties and their codes, by which Python names them.
#pragma once

#include <algorithm>
#include <vector>

#include "arrays.hpp"

namespace malleable::bindings {

inline std::vector<Kind> kinds_of(const Array<std::uint8_t>& codes) {
  std::vector<Kind> kinds;
  for (const std::uint8_t code : view(codes)) kinds.push_back(kind_of(code));
  return kinds;
}

inline Array<std::uint8_t> codes_of(std::span<const Kind> kinds) {
  auto codes = fresh<std::uint8_t>(kinds.size());
  std::transform(kinds.begin(), kinds.end(), codes.mutable_data(),
                 [](Kind kind) { return static_cast<std::uint8_t>(kind); });
  return codes;
}

}  // namespace malleable::bindings
