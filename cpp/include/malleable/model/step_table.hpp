// SLA steps (times after which a completion costs more, and the cumulative penalties) of jobs or
// flows that come, change and leave. The steps of a row stand together. Steps that no row uses any
// more stay until they are more than half, and are then removed at once.
//
// O(steps) to replace, amortised.
#pragma once

#include <cstddef>
#include <vector>

#include "malleable/model/state.hpp"
#include "malleable/model/terms.hpp"

namespace malleable {

class StepTable {
 public:
  struct Range {
    std::size_t first = 0, count = 0;
    void state(State& s) { s(first, count); }
  };

  SlaView::Steps of(const Range& row) const {
    return {std::span(time_).subspan(row.first, row.count),
            std::span(penalty_).subspan(row.first, row.count)};
  }
  bool empty() const { return held_ == 0; }
  // Replaces the steps of a row.
  void replace(Range& row, SlaView::Steps steps) {
    drop(row);
    row = append(steps);
    held_ += row.count;
  }
  void drop(const Range& row) { held_ -= row.count; }

  // Removes unused steps. `each(visit)` calls visit(range) for the remaining rows.
  template <typename Each>
  void tidy(Each each) {
    constexpr std::size_t kFew = 1024;
    if (time_.size() <= 2 * held_ + kFew) return;
    StepTable kept;
    each([&](Range& row) { row = kept.append(of(row)); });
    kept.held_ = held_;
    *this = std::move(kept);
  }

  void state(State& s) { s(time_, penalty_, held_); }

 private:
  Range append(SlaView::Steps steps) {
    const Range made{time_.size(), steps.time.size()};
    time_.insert(time_.end(), steps.time.begin(), steps.time.end());
    penalty_.insert(penalty_.end(), steps.penalty.begin(), steps.penalty.end());
    return made;
  }

  std::vector<double> time_, penalty_;
  std::size_t held_ = 0;  // steps that rows use
};

}  // namespace malleable
