// What every target shares: the entry that libFuzzer calls, and checks that end the run.
//
// A target defines fuzz(bytes). It fails by a failed CHECK, an exception that nobody expected, a
// sanitizer's report, or by taking longer than the driver's `-timeout`.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "decode.hpp"
#include "malleable/model/state.hpp"

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

// All that an object keeps, as bytes.
template <typename T>
std::string state_of(T& object) {
  State out;
  object.state(out);
  return out.take();
}

// Calls `object`, and `twin` if that went well; `bad`: the call must be refused. A refused call
// changes nothing, and two that accepted the same calls are equal.
template <typename T, typename Call>
bool both(T& object, T& twin, bool bad, Call call) {
  const bool stopped = refused([&] { call(object); });
  CHECK_EQUAL(stopped, bad);
  if (!stopped) call(twin);
  CHECK(state_of(object) == state_of(twin));
  return !stopped;
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
