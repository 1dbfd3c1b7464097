// What jobs hold after a decision, by kind of slots, so that the next one can say what changed.
//
// A decision names every job that holds slots now or held some after the decision before; whoever
// is not named has none and had none. O(jobs named), whatever else there is; allocates nothing once
// warm.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

template <std::size_t Kinds>
class AssignedSlots {
 public:
  using Slots = std::array<std::int64_t, Kinds>;

  void grow(std::size_t rows) {
    held_.resize(rows, Slots{});
    mark_.resize(rows, 0);
  }
  // The job may hold slots in the next decision without being given any by it.
  void note(Index row) {
    if (mark_[row] == named_ + 1) return;
    mark_[row] = named_ + 1;
    listed_.push_back(row);
  }
  // The job is gone; its row may be another one's from now on.
  void forget(Index row) { held_[row] = Slots{}; }

  // A decision begins. It names some rows, each once, in an order of its own, then the rest.
  void begin() {
    if (named_ > std::numeric_limits<std::uint32_t>::max() - 4) {
      std::fill(mark_.begin(), mark_.end(), 0);
      named_ = 0;
    }
    named_ += 2;
    kept_.clear();
  }
  bool named(Index row) const { return mark_[row] >= named_; }
  // Names a row; whether it held anything else before.
  bool name(Index row, const Slots& slots) {
    const bool any = slots != Slots{}, changed = slots != held_[row];
    held_[row] = slots;
    mark_[row] = named_ + (any ? 1 : 0);
    if (any) kept_.push_back(row);
    return changed;
  }
  // Names the others that hold slots, now(row), or did: tell(row, slots, changed). The end.
  template <typename Now, typename Tell>
  void name_rest(const Now& now, const Tell& tell) {
    for (const Index row : listed_) {
      if (named(row)) continue;
      const Slots slots = now(row);
      if (slots == Slots{} && held_[row] == Slots{}) continue;
      const bool changed = name(row, slots);
      tell(row, slots, changed);
    }
    listed_.swap(kept_);
  }

  void state(State& s) {
    s(held_, listed_);
    if (!s.reading()) return;
    named_ = 0;
    mark_.assign(held_.size(), 0);
    for (const Index row : listed_) mark_[row] = named_ + 1;
  }

 private:
  std::vector<Slots> held_;    // after the last decision
  std::vector<Index> listed_;  // rows that the next one may name
  // By row: the last decision that named it, an even number, and 1 more if it is listed since.
  std::vector<std::uint32_t> mark_;
  std::uint32_t named_ = 0;  // the decision's number
  std::vector<Index> kept_;
};

}  // namespace malleable
