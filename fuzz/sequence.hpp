// What targets share that are sequences of calls on an epoch: a twin that gets the accepted calls
// only, ids to call with, and a copy made of bytes at the end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "malleable/model/state.hpp"
#include "target.hpp"

namespace malleable::fuzz {

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

// A few of those that are there, none twice; `bad`: and one that is not, or no more.
template <typename Job>
std::vector<std::int64_t> some_ids(Bytes& bytes, const std::map<std::int64_t, Job>& jobs,
                                   const std::vector<std::int64_t>& gone, bool bad) {
  std::vector<std::int64_t> known, ids;
  for (const auto& [id, _] : jobs) known.push_back(id);
  for (std::size_t count = bytes.index(4); count > 0 && !known.empty(); --count) {
    const std::size_t k = bytes.index(known.size());
    ids.push_back(known[k]);
    known.erase(known.begin() + static_cast<std::ptrdiff_t>(k));
  }
  if (bad) {
    ids.push_back(!gone.empty() && bytes.chance(128) ? gone[bytes.index(gone.size())]
                                                     : -bytes.integer(1, kSlotLimit));
  }
  return ids;
}

// Makes so many calls at most, each one of the list, and checks after each.
template <typename Sequence, std::size_t N, typename Check>
void play(Sequence& sequence, void (Sequence::* const (&calls)[N])(), int most, Check check) {
  for (; most > 0 && !sequence.bytes.empty(); --most) {
    (sequence.*calls[sequence.bytes.index(N)])();
    check();
  }
}

// `copy`, whatever it was, becomes what `object` is.
template <typename T>
void load_copy(const char* name, T& object, T& copy) {
  load_state(name, save_state(name, object), copy);
  CHECK(state_of(copy) == state_of(object));
}

}  // namespace malleable::fuzz
