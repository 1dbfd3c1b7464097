// The slots now, for priorities given as keys: selection instead of sorting.
//
// Packing needs only its first layer for a decision: minima to everybody, then slack in order of
// key until it is used up. The jobs that get slack are those below a threshold key, found by one
// pass around the last threshold (it moves little between epochs) and a partial sort of the few
// candidates near it. O(J) expected with one pass over key and room; equal keys go to the lower
// index. Keys may also be floors that are made exact only where that decides.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "malleable/model/own_lines.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

class PrioritySelection {
 public:
  // Hands out `slack` in order of key: room[j] at most to each job. Calls give(j, slots) for every
  // job that gets some, in no particular order. Keys may be infinite, not NaN. Jobs without room
  // are ignored.
  template <typename Give>
  void run(std::span<const double> key, std::span<const double> room, double slack, Give give);

  // Calls take(j), in the order of indices, for the jobs with room of the lowest keys, which
  // together have room for the slack. They may be more than it takes; jobs that are left out have
  // larger keys, or the same and a higher index. expect() says the key up to which slack went.
  template <typename Take>
  void cover(std::span<const double> key, std::span<const double> room, double slack, Take take);
  void expect(double threshold) { threshold_ = threshold; }

  // As run(), in order of key, while keys are floors: settle(j) makes key[j] exact and returns it.
  // Called for the jobs with room whose floors lie below the last key that gets slots, and for no
  // others. O(J) for each pass, and O(log J) for each of those jobs.
  template <typename Settle, typename Give>
  void run_settled(std::span<const double> key, std::span<const double> room, double slack,
                   Settle settle, Give give);

  // Forget the threshold of the last call.
  void reset() { threshold_ = -kInfinity; }
  void state(State& s) { s(threshold_); }

 private:
  struct Candidate {
    double key;
    Index job;
    double room;
  };
  static bool before(const Candidate& a, const Candidate& b) {
    return a.key != b.key ? a.key < b.key : a.job < b.job;
  }
  // Collects the jobs with room and from <= key <= limit, or as many as need it to use up the
  // slack; returns their room together.
  double collect(std::span<const double> key, std::span<const double> room, double slack,
                 double limit, double from = -kInfinity);
  void draw(std::span<const double> key, std::span<const double> room);
  double guess(std::span<const double> key, std::span<const double> room, double slack);
  double further(std::span<const double> key, std::span<const double> room, double limit);
  double widen(std::span<const double> key, std::span<const double> room, double slack,
               double& limit);
  double first_limit(std::span<const double> key, std::span<const double> room, double slack) {
    return threshold_ > -kInfinity ? threshold_ + 0.05 * std::fabs(threshold_)
                                   : guess(key, room, slack);
  }

  LineVector<Candidate> candidates_;
  std::vector<Candidate> sample_;
  double threshold_ = -kInfinity;
};

template <typename Take>
void PrioritySelection::cover(std::span<const double> key, std::span<const double> room,
                              double slack, Take take) {
  if (!(slack > 0.0) || key.empty()) return;
  double limit = first_limit(key, room, slack);
  widen(key, room, slack, limit);
  for (const Candidate& candidate : candidates_) take(candidate.job);
}

template <typename Settle, typename Give>
void PrioritySelection::run_settled(std::span<const double> key, std::span<const double> room,
                                    double slack, Settle settle, Give give) {
  if (!(slack > 0.0) || key.empty()) return;
  const auto after = [](const Candidate& a, const Candidate& b) { return before(b, a); };
  double limit = threshold_, from = -kInfinity;
  do {
    limit = further(key, room, limit);
    collect(key, room, kInfinity, limit, from);  // all of them, as keys may rise
    std::make_heap(candidates_.begin(), candidates_.end(), after);
    while (slack > 0.0 && !candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end(), after);
      Candidate& first = candidates_.back();
      if (const double own = settle(first.job); own > first.key) {
        first.key = own;
        if (own <= limit) {
          std::push_heap(candidates_.begin(), candidates_.end(), after);
        } else {
          candidates_.pop_back();  // seen again by a later pass
        }
        continue;
      }
      const double slots = std::min(slack, first.room);
      give(first.job, slots);
      slack -= slots;
      threshold_ = first.key;
      candidates_.pop_back();
    }
    from = std::nextafter(limit, kInfinity);
  } while (slack > 0.0 && limit < kInfinity);
}

template <typename Give>
void PrioritySelection::run(std::span<const double> key, std::span<const double> room, double slack,
                            Give give) {
  if (!(slack > 0.0) || key.empty()) return;
  // A little beyond the last threshold; widened until the candidates can use all the slack.
  double limit = first_limit(key, room, slack);
  double total = widen(key, room, slack, limit);
  // Already in order: keys that are all equal, or fall to the jobs as they came.
  const bool sorted = std::is_sorted(candidates_.begin(), candidates_.end(), before);
  // Quickselect by room: everybody left of `first` fits.
  std::size_t first = 0, end = candidates_.size();
  while (!sorted && total > slack && end - first > 32) {
    const std::size_t middle = first + (end - first) / 2;
    std::nth_element(candidates_.begin() + static_cast<std::ptrdiff_t>(first),
                     candidates_.begin() + static_cast<std::ptrdiff_t>(middle),
                     candidates_.begin() + static_cast<std::ptrdiff_t>(end), before);
    double sum = 0.0;
    for (std::size_t k = first; k < middle; ++k) sum += candidates_[k].room;
    if (sum <= slack) {
      for (std::size_t k = first; k < middle; ++k) give(candidates_[k].job, candidates_[k].room);
      slack -= sum;
      total -= sum;
      first = middle;
      threshold_ = candidates_[middle].key;
    } else {
      end = middle;
      total = sum;
    }
  }
  if (total <= slack) {  // everybody left fits
    for (std::size_t k = first; k < end; ++k) give(candidates_[k].job, candidates_[k].room);
    threshold_ = limit < kInfinity ? limit : -kInfinity;
    return;
  }
  if (!sorted)
    std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(first),
              candidates_.begin() + static_cast<std::ptrdiff_t>(end), before);
  for (std::size_t k = first; k < end && slack > 0.0; ++k) {
    const double slots = std::min(slack, candidates_[k].room);
    give(candidates_[k].job, slots);
    slack -= slots;
    threshold_ = candidates_[k].key;
  }
}

}  // namespace malleable
