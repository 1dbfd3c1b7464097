#include "malleable/policy/epoch/grants.hpp"

#include <algorithm>

namespace malleable {

// The slots that each job holds, and which have changed in this decision. Winners hold more than
// their minimum; touched rows have new limits.
void Grants::grow(std::size_t rows) {
  given_.resize(rows, 0);
  for (auto* column : {&changed_, &marked_}) column->resize(rows, 0);
}

void Grants::close(const RowsGone& gone) {
  gone(given_);
  for (auto* column : {&changed_, &marked_}) gone(*column);
}

void Grants::begin() {
  stay();
  affected_.clear();
}

void Grants::stay() { std::fill(changed_.begin(), changed_.end(), 0); }

void Grants::reset_all(const JobTable& jobs, std::span<const std::int64_t> ids) {
  constexpr std::size_t kAhead = 2 * kFetchAhead;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    if (k + kAhead < ids.size()) jobs.fetch_place(ids[k + kAhead]);
    if (k + kFetchAhead < ids.size()) {
      if (const Index row = jobs.find(ids[k + kFetchAhead]); row != kNone) fetch_row(jobs, row);
    }
    if (const Index row = jobs.find(ids[k]); row != kNone) reset(jobs, row);
  }
}

// Rows that changed since the last such decision first go back to their minima.
void Grants::give_chosen(const JobTable& jobs) {
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

void Grants::state(State& s) {
  s(given_, winners_, touched_, all_touched_);
  if (!s.reading()) return;
  for (auto* column : {&changed_, &marked_}) column->assign(given_.size(), 0);
}

}  // namespace malleable
