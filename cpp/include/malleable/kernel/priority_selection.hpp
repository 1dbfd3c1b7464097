// The slots now, for priorities given as keys: selection instead of sorting.
//
// A decision needs only the slots of the present moment: minima to all J jobs, then slack (slots
// beyond all minima) in order of key until it is used up. The jobs that get slack are those below a
// threshold key, found by one pass around the last threshold (it moves little between epochs) and a
// partial sort of the few candidates near it. O(J) expected with one pass over key and room; equal
// keys go to the lower index.
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

  // Forgets the threshold of the last call.
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
  // Draws a sorted sample of keys; guess() takes from it a key below which jobs with about `slack`
  // room lie.
  void draw(std::span<const double> key, std::span<const double> room);
  double guess(std::span<const double> key, std::span<const double> room, double slack);
  // Larger limits; the second raises `limit` until the candidates can use all the slack.
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

template <typename Give>
void PrioritySelection::run(std::span<const double> key, std::span<const double> room, double slack,
                            Give give) {
  if (!(slack > 0.0) || key.empty()) return;
  // A little beyond the last threshold; widened until the candidates can use all the slack.
  double limit = first_limit(key, room, slack);
  double total = widen(key, room, slack, limit);
  // Already in order, if all keys are equal or rise with the index.
  const bool sorted = std::is_sorted(candidates_.begin(), candidates_.end(), before);
  // Quickselect by room: all jobs left of `first` fit.
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
  if (total <= slack) {  // all jobs on the left fit
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
