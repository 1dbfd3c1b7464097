// The slots that the jobs of an Epoch hold after its last decision, and the jobs whose slots it
// changed.
//
// A decision starts from the minima. If it hands out slots in order of a key, it rewrites only the
// rows that gained or lost slots, O(those); any other decision gives the slots of every row.
// Allocates nothing once warm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "malleable/model/own_lines.hpp"
#include "malleable/policy/epoch/job_table.hpp"

namespace malleable {

class Grants {
 public:
  std::int64_t operator[](std::size_t row) const { return given_[row]; }
  std::span<const std::int64_t> given() const { return given_; }
  std::span<const std::uint8_t> changed() const { return changed_; }

  void grow(std::size_t rows) {
    given_.resize(rows, 0);
    for (auto* column : {&changed_, &marked_}) column->resize(rows, 0);
  }

  void close(const RowsGone& gone) {
    gone(given_);
    for (auto* column : {&changed_, &marked_}) gone(*column);
  }

  // The job's minimum has changed.
  void touch(std::int64_t id) { touched_.push_back(id); }

  // Begins a decision, which gives the same slots as the last one until give_chosen() or give_all()
  // is called. stay(): the last decision again, with no job changed.
  void begin() {
    stay();
    affected_.clear();
  }

  void stay() { std::fill(changed_.begin(), changed_.end(), 0); }

  // Sets slots beyond minima for few jobs: choose() them, then give the slots.
  void clear_chosen() { chosen_.clear(); }
  void choose(Index row, double slots) { chosen_.push_back({row, slots}); }

  // Rows that changed since the last such decision first go back to their minima.
  void give_chosen(const JobTable& jobs) {
    // If most rows must be looked at, in the order of rows.
    if (all_touched_ || 4 * (winners_.size() + touched_.size()) > jobs.rows()) {
      for (std::size_t r = 0; r < jobs.rows(); ++r) reset(jobs, r);
    } else {
      reset_all(jobs, winners_);
      reset_all(jobs, touched_);
    }
    winners_.clear();
    for (std::size_t k = 0; k < chosen_.size(); ++k) {
      if (k + kFetchAhead < chosen_.size()) {
        const Index next = chosen_[k + kFetchAhead].row;
        fetch_row(jobs, next);
        fetch(&jobs.id[next]);
      }
      const auto [row, slots] = chosen_[k];
      reset(jobs, row);
      given_[row] += static_cast<std::int64_t>(slots);
      winners_.push_back(jobs.id[row]);
    }
    all_touched_ = false;
  }

  // Sets the slots of every row: slots_of(row).
  template <typename SlotsOf>
  void give_all(const SlotsOf& slots_of) {
    for (std::size_t row = 0; row < given_.size(); ++row) {
      const auto slots = static_cast<std::int64_t>(slots_of(row));
      if (slots == given_[row]) continue;
      keep(row);
      given_[row] = slots;
    }
    winners_.clear();
    all_touched_ = true;
  }
  // Ends the decision: calls visit(row, slots before) for every changed row.
  template <typename Visit>
  void end(const Visit& visit) {
    touched_.clear();
    for (std::size_t k = 0; k < affected_.size(); ++k) {
      const Index next = affected_[std::min(k + kFetchAhead, affected_.size() - 1)].row;
      fetch(&given_[next]);
      fetch(&changed_[next]);
      const auto [row, before] = affected_[k];
      changed_[row] = given_[row] != before;
      marked_[row] = 0;
      if (changed_[row]) visit(row, before);
    }
  }

  void state(State& s) {
    s(given_, winners_, touched_, all_touched_);
    if (!s.reading()) return;
    for (auto* column : {&changed_, &marked_}) column->assign(given_.size(), 0);
  }

 private:
  struct Affected {  // a row whose slots may have changed in this decision
    Index row;
    std::int64_t before;
  };
  struct Chosen {
    Index row;
    double slots;
  };

  MALLEABLE_INLINE void fetch_row(const JobTable& jobs, std::size_t row) const {
    fetch(&marked_[row]);
    fetch(&given_[row]);
    fetch(&jobs.low[row]);
  }
  // Remembers the slots that the job had.
  MALLEABLE_INLINE void keep(std::size_t row) {
    if (marked_[row]) return;
    marked_[row] = 1;
    affected_.push_back({static_cast<Index>(row), given_[row]});
  }
  // The job goes back to its minimum; so do all with these ids.
  void reset(const JobTable& jobs, std::size_t row) {
    keep(row);
    given_[row] = static_cast<std::int64_t>(jobs.low[row]);
  }

  void reset_all(const JobTable& jobs, std::span<const std::int64_t> ids) {
    constexpr std::size_t kAhead = 2 * kFetchAhead;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (k + kAhead < ids.size()) jobs.fetch_place(ids[k + kAhead]);
      if (k + kFetchAhead < ids.size()) {
        if (const Index row = jobs.find(ids[k + kFetchAhead]); row != kNone) fetch_row(jobs, row);
      }
      if (const Index row = jobs.find(ids[k]); row != kNone) reset(jobs, row);
    }
  }

  alignas(kLine) LineVector<std::int64_t> given_;
  LineVector<std::uint8_t> changed_, marked_;  // by row; marked_: it is in affected_
  // ids of jobs that were chosen, and of jobs whose minimum changed: their slots may differ from it
  LineVector<std::int64_t> winners_, touched_;
  LineVector<Affected> affected_;
  LineVector<Chosen> chosen_;
  bool all_touched_ = true;  // as if all jobs were in touched_
};

}  // namespace malleable
