// The jobs of an epoch by row. They are added, changed and removed by columns, which their type
// lists.
//
// A type of jobs says once, in `Columns`, which columns callers fill and change (`each`) and which
// values are allowed (`check`). The table checks lengths, values, ids and times before anything
// changes, gives ids and rows, and keeps the slots of jobs after the last decision. The meaning of
// columns is left to the caller, whose functions are called for each row. O(1) a job; allocates
// nothing once warm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/assigned_slots.hpp"
#include "malleable/model/job_ids.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/state.hpp"
#include "malleable/model/terms.hpp"

namespace malleable {

// Overwrites `own` if the column is given.
template <typename T, typename Given>
void overwrite(T& own, std::span<const Given> column, std::size_t k) {
  if (!column.empty()) own = column[k];
}

// `Kinds`: of slots (2: maps and reduces, or map and shuffle stations).
template <typename Job, std::size_t Kinds>
class EpochTable {
 public:
  // come(row, k) fills the row of the k-th new job, which is a new Job. `arrival` may be empty: the
  // default.
  template <typename Columns, typename Come>
  void add(std::span<const double> arrival, const Columns& columns, std::span<std::int64_t> ids,
           const Come& come) {
    if (!arrival.empty()) check_length("arrival", arrival.size(), ids.size());
    check_times("arrival", arrival);
    check_lengths(columns, kAnyLength);
    check_length("ids", ids.size(), columns.size());
    columns.check(true);  // of new jobs
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const Index row = ids_.add();
      if (row == jobs_.size()) {
        jobs_.emplace_back();
        held.grow(jobs_.size());
      }
      jobs_[row] = Job{};
      ids[k] = ids_.id_of(row);
      come(row, k);
    }
  }
  // change(row, k) writes the given columns of the k-th job.
  template <typename Columns, typename Change>
  void update(std::span<const std::int64_t> ids, const Columns& columns, const Change& change) {
    check_lengths(columns, ids.size());
    columns.check(false);  // of changes
    const std::span<const Index> rows = ids_.rows_of(ids);
    for (std::size_t k = 0; k < rows.size(); ++k) change(rows[k], k);
  }
  // leave(row) is called before the row is removed.
  template <typename Leave>
  void remove(std::span<const std::int64_t> ids, const Leave& leave) {
    for (const Index row : ids_.rows_of(ids)) {
      leave(row);
      jobs_[row] = Job{};
      ids_.remove(row);
      held.forget(row);
    }
  }

  Job& operator[](Index row) { return jobs_[row]; }
  const Job& operator[](Index row) const { return jobs_[row]; }
  std::span<const Job> all() const { return jobs_; }
  std::size_t rows() const { return jobs_.size(); }
  std::size_t size() const { return ids_.size(); }
  bool has(Index row) const { return ids_.has(row); }
  std::int64_t id_of(Index row) const { return ids_.id_of(row); }

  AssignedSlots<Kinds> held;  // by the last decision

  void state(State& s) { s(jobs_, ids_, held); }

 private:
  std::vector<Job> jobs_;
  JobIds ids_;
};

}  // namespace malleable
