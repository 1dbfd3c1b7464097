// Ids of jobs that come and go, and the rows of their columns: rows are used again, ids are not.
//
// An id combines a row and the number of jobs that had the row before. After 2^31 jobs a row is
// retired. O(1) a job; allocates nothing once warm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/named_rows.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

class JobIds {
 public:
  // The row of a new job: a free row, or a new one.
  Index add() {
    if (free_.empty()) {
      free_.push_back(static_cast<Index>(live_.size()));
      live_.push_back(0);
      before_.push_back(0);
    }
    const Index row = free_.back();
    free_.pop_back();
    live_[row] = 1;
    ++size_;
    return row;
  }
  void remove(Index row) {
    live_[row] = 0;
    if (before_[row]++ < kMostJobs) free_.push_back(row);
    --size_;
  }

  std::int64_t id_of(Index row) const {
    return static_cast<std::int64_t>(before_[row]) << 32 | static_cast<std::int64_t>(row);
  }
  static Index row_of(std::int64_t id) { return static_cast<Index>(id & 0xffffffff); }
  bool has(Index row) const { return live_[row] != 0; }
  // The row of the job, or kNone.
  Index find(std::int64_t id) const {
    const Index row = row_of(id);
    const bool known = id >= 0 && row < rows() && has(row) && id_of(row) == id;
    return known ? row : kNone;
  }
  // Rows of ids, which must be known and named once; FieldError otherwise. Valid until the next
  // call.
  std::span<const Index> rows_of(std::span<const std::int64_t> ids) {
    return named_.of(ids, rows(), [this](std::int64_t id) { return find(id); });
  }

  std::size_t rows() const { return live_.size(); }
  std::size_t size() const { return size_; }

  void state(State& s) { s(before_, live_, free_, size_); }

 private:
  static constexpr std::uint32_t kMostJobs = 0x7fffffff;  // ids stay positive

  std::vector<std::uint32_t> before_;  // by row: the number of jobs that had it and left
  std::vector<std::uint8_t> live_;     // by row: whether a job has it
  std::vector<Index> free_;            // rows without a job
  std::size_t size_ = 0;
  NamedRows named_;
};

}  // namespace malleable
