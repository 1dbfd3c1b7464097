// The rows of jobs that a call names by ids; every id must be known, and named once.
//
// One pass, O(ids); allocates nothing once warm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/error.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class NamedRows {
 public:
  // `find(id)`: the row of that id among `count` rows, or kNone. Throws FieldError that calls the
  // ids `field`. The result is valid until the next call.
  template <typename Find>
  std::span<const Index> of(std::span<const std::int64_t> ids, std::size_t count, const Find& find,
                            const char* field = "ids", const char* unknown = "no such job") {
    unmark();
    if (marked_.size() < count) marked_.resize(count, 0);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const Index row = find(ids[k]);
      const char* fault = row == kNone ? unknown : marked_[row] ? "named twice" : nullptr;
      if (fault != nullptr) throw FieldError(field, k, static_cast<long long>(ids[k]), fault);
      marked_[row] = 1;
      rows_.push_back(row);
    }
    return rows_;
  }

 private:
  void unmark() {
    for (const Index row : rows_) marked_[row] = 0;
    rows_.clear();
  }

  std::vector<Index> rows_;
  std::vector<std::uint8_t> marked_;
};

}  // namespace malleable
