// What every target shares: the entry that libFuzzer calls, and checks that end the run.
//
// A target defines fuzz(bytes). It fails by a failed CHECK, an unexpected exception, a
// sanitizer's report, or by taking longer than the driver's `-timeout`.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "decode.hpp"

namespace malleable::fuzz {

void fuzz(Bytes bytes);

// True if the call was refused as wrong input is; anything else that it throws is a fault.
template <typename Call>
bool refused(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    CHECK(error.what()[0] != '\0');
    return true;
  }
  return false;
}

}  // namespace malleable::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    malleable::fuzz::fuzz(malleable::fuzz::Bytes(data, size));
  } catch (const malleable::check::Enough&) {
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unexpected exception: %s\n", error.what());
    std::abort();
  }
  if (malleable::check::failures > 0) std::abort();
  return 0;
}
