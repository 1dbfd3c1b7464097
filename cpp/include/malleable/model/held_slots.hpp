// What jobs hold after a decision, by kind of slots, so that the next one can say what changed.
//
// A decision names every job that holds slots now or held some after the decision before; whoever
// is not named has none and had none. O(jobs named), whatever else there is.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

template <std::size_t Kinds>
class HeldSlots {
 public:
  using Slots = std::array<std::int64_t, Kinds>;
  struct Change {
    Index row;
    Slots slots;
    bool changed;
  };

  void grow(std::size_t rows) {
    held_.resize(rows, Slots{});
    mark_.resize(rows, kOut);
  }
  // The job may hold slots in the next decision without being given any by it.
  void note(Index row) {
    if (mark_[row] == kListed) return;
    mark_[row] = kListed;
    listed_.push_back(row);
  }
  // The job is gone; its row may be another one's from now on.
  void forget(Index row) { held_[row] = Slots{}; }

  // `first` in their order, each once, then the others that hold slots, now(row), or did.
  template <typename Now>
  std::span<const Change> decide(std::span<const Index> first, const Now& now) {
    changes_.clear();
    for (const Index row : first) {
      if (mark_[row] != kNamed) name(row, now(row));
    }
    for (const Index row : listed_) {
      if (mark_[row] == kNamed) continue;
      const Slots slots = now(row);
      mark_[row] = kOut;
      if (slots != Slots{} || held_[row] != Slots{}) name(row, slots);
    }
    listed_.clear();
    for (const Change& change : changes_) {
      held_[change.row] = change.slots;
      mark_[change.row] = kOut;
      if (change.slots != Slots{}) note(change.row);
    }
    return changes_;
  }

  void state(State& s) {
    s(held_, listed_);
    if (!s.reading()) return;
    mark_.assign(held_.size(), kOut);
    for (const Index row : listed_) mark_[row] = kListed;
  }

 private:
  static constexpr std::uint8_t kOut = 0, kListed = 1, kNamed = 2;

  void name(Index row, const Slots& slots) {
    changes_.push_back({row, slots, slots != held_[row]});
    mark_[row] = kNamed;
  }

  std::vector<Slots> held_;         // after the last decision
  std::vector<Index> listed_;       // rows that may be named by the next one
  std::vector<std::uint8_t> mark_;  // of rows
  std::vector<Change> changes_;
};

}  // namespace malleable
