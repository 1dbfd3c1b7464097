#include "malleable/model/restarts.hpp"

#include "malleable/model/domain.hpp"
#include "malleable/model/length.hpp"

namespace malleable {

// Seconds that a change of slots costs a job: `any` change, or if it grows or shrinks, and for each
// slot; columns that are not given are as in `otherwise`.
Restart RestartView::of(std::size_t row, const Restart& otherwise) const {
  const auto pick = [&](std::span<const double> own, double other) {
    return !own.empty() ? own[row] : other;
  };
  return {pick(grow, pick(any, otherwise.grow)), pick(shrink, pick(any, otherwise.shrink)),
          pick(slot, otherwise.slot)};
}

void RestartColumns::add(const RestartView& from, std::size_t row) {
  if (!from.any.empty()) any.push_back(from.any[row]);
  if (!from.grow.empty()) grow.push_back(from.grow[row]);
  if (!from.shrink.empty()) shrink.push_back(from.shrink[row]);
  if (!from.slot.empty()) slot.push_back(from.slot[row]);
}

void validate(const RestartView& restart, std::size_t rows, const char* beside) {
  RestartColumns::each(restart, rows, [&](const char* name, auto& column, std::size_t, bool) {
    if (column.empty()) return;
    check_length(name, column.size(), rows, beside);
    check_amounts(name, column, kWeightRange);
  });
}

}  // namespace malleable
