// A sorted list that is kept while some entries change: entries that belong elsewhere are taken
// out, sorted and merged in again.
//
// An update takes O(n) cheap steps and sorts the m entries that moved, O(m log m): by insertion,
// because they are often nearly in order, and by std::sort once they have passed eight places each.
// Allocates nothing once warm. `Entry` has a total order by <.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace malleable {

template <typename Entry>
class IncrementalOrder {
 public:
  enum class Place : std::uint8_t { kSame, kOther, kGone };

  // Calls change(entry) for each in order, which may change the entry and says whether it keeps its
  // place (kSame), belongs elsewhere (kOther) or leaves (kGone). Then call add() for new entries,
  // and then settle().
  template <typename Change>
  void each(const Change& change) {
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      const Place place = change(entries_[k]);
      if (place == Place::kSame) continue;
      gone_.push_back(k);
      if (place == Place::kOther) moving_.push_back(entries_[k]);
    }
  }
  void add(const Entry& entry) { moving_.push_back(entry); }
  void settle() {
    sort_moving();
    merged_.resize(entries_.size() - gone_.size() + moving_.size());
    auto to = merged_.begin();
    auto next = moving_.cbegin();
    const auto merge = [&](std::size_t first, std::size_t end) {
      for (std::size_t k = first; k < end; ++k) {
        while (next != moving_.cend() && *next < entries_[k]) *to++ = *next++;
        *to++ = entries_[k];
      }
    };
    std::size_t first = 0;
    for (const std::size_t gone : gone_) {
      merge(first, gone);
      first = gone + 1;
    }
    merge(first, entries_.size());
    std::copy(next, moving_.cend(), to);
    entries_.swap(merged_);
    moving_.clear();
    gone_.clear();
  }
  void clear() { entries_.clear(); }

  std::span<Entry> entries() { return entries_; }

 private:
  void sort_moving() {
    std::size_t moves = 8 * moving_.size() + 64;
    for (std::size_t k = 1; k < moving_.size(); ++k) {
      const Entry entry = moving_[k];
      std::size_t place = k;
      for (; place > 0 && entry < moving_[place - 1]; --place) moving_[place] = moving_[place - 1];
      moving_[place] = entry;
      if (k - place > moves) {
        std::sort(moving_.begin(), moving_.end());
        return;
      }
      moves -= k - place;
    }
  }

  std::vector<Entry> entries_, moving_, merged_;
  std::vector<std::size_t> gone_;  // places without an entry
};

}  // namespace malleable
