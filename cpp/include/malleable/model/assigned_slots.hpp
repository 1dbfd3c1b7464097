// The slots that jobs hold after a decision, by kind of slots (`Kinds`: 2 if maps and reduces have
// slots of their own, else 1), so that the next decision can say what changed.
//
// A decision names (lists in its answer) every job that holds slots now or held some after the
// decision before; a job that is not named has none and had none. Jobs are rows of a table. O(jobs
// named), however many others there are; allocates nothing once warm.
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
  // Notes a row that may hold slots in the next decision, though that gives it none.
  void note(Index row) {
    if (mark_[row] == named_ + 1) return;
    mark_[row] = named_ + 1;
    listed_.push_back(row);
  }
  // The job is gone; another job may get its row.
  void forget(Index row) { held_[row] = Slots{}; }

  // Begins a decision, which first names some rows, each once, in its own order, then the rest.
  void begin() {
    if (named_ > std::numeric_limits<std::uint32_t>::max() - 4) {
      std::fill(mark_.begin(), mark_.end(), 0);
      named_ = 0;
    }
    named_ += 2;
    kept_.clear();
  }
  bool is_set(Index row) const { return mark_[row] >= named_; }
  // Sets the slots of a row; returns whether its slots have changed.
  bool set(Index row, const Slots& slots) {
    const bool any = slots != Slots{}, changed = slots != held_[row];
    held_[row] = slots;
    mark_[row] = named_ + (any ? 1 : 0);
    if (any) kept_.push_back(row);
    return changed;
  }
  // Sets all other rows that hold slots, now(row), or did: visit(row, slots, changed). Ends the
  // decision.
  template <typename Now, typename Visit>
  void set_rest(const Now& now, const Visit& visit) {
    for (const Index row : listed_) {
      if (is_set(row)) continue;
      const Slots slots = now(row);
      if (slots == Slots{} && held_[row] == Slots{}) continue;
      const bool changed = set(row, slots);
      visit(row, slots, changed);
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
  std::vector<Index> listed_;  // rows that the next decision may name
  // By row: the number of the last decision that named it, which is even; plus 1 if it was listed
  // since.
  std::vector<std::uint32_t> mark_;
  std::uint32_t named_ = 0;  // the decision's number
  std::vector<Index> kept_;  // rows to which the present decision gives slots
};

}  // namespace malleable
