// Slots by size if s tasks of a job do s^p: the parts of heSRPT (kernel/hesrpt.hpp: the i-th
// largest of m jobs gets the part (i / m)^(1 / (1 - q)) - ((i - 1) / m)^(1 / (1 - q)) of all slots)
// for an exponent q that the caller chooses, in whole slots. q = p is best if all jobs are there; q
// = 0 gives equal shares, which do most work while jobs keep coming. If p differs by job, each part
// is multiplied by p / (1 - p), like shares by price (WHAM: Li, Harchol-Balter and Berg 2026).
//
// The next slot goes to the job with the least (s + 1/2) / part, where s is its slots, as long as
// it can use one: Sainte-Lague's apportionment, because slot s + 1 adds about p (s + 1/2)^(p - 1).
// The first slot adds 1, which is p^(1 / (1 - p)) in place of s + 1/2. So a slot goes where it adds
// most relative to the parts, a job that needs little leaves the rest to all others, and with more
// jobs than slots the smallest jobs get one each. The factor between parts and slots is sought by
// chords and halves: O(n) for n jobs in each of at most 64 + 104 steps, about ten in practice, and
// n powers when n or q has changed, or when p differs from one row to the next. Allocates nothing
// once warm.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace malleable {

class PowerShares {
 public:
  // Rows come with the smallest job first: `given` is the job's minimum and becomes its slots,
  // `most` the slots it can use, both whole, and `p` its exponent. If the minima do not all fit,
  // the first rows get theirs. 0 <= p <= 1, 0 <= q <= 1.
  template <typename Row>
  void give(double q, double slots, std::span<Row> rows) {
    set_parts_by_rank(q, rows.size());
    set_parts<Row>(rows);
    double all = 0.0;
    for (std::size_t k = rows.size(); k-- > 0;) low_[k] = all += slots_of(rows[k], k, 0.0);
    double below = 0.0, above = slots, least = all, most = sum<Row>(rows, above);
    for (int k = 0; k < kDoublings && most < slots; ++k) {
      below = above;
      least = most;
      above *= 2.0;
      most = sum<Row>(rows, above);
    }
    if (least >= slots) above = below;
    for (int k = 0; k < kSteps && below < above; ++k) {
      // Every other step halves, because chords may converge slowly.
      double middle = below + (above - below) * (slots - least) / (most - least);
      if (k % 2 == 1 || !(below < middle && middle < above)) middle = 0.5 * (below + above);
      all = sum<Row>(rows, middle);
      if (all <= slots) {
        below = middle;
        least = all;
      }
      if (all >= slots) {
        above = middle;
        most = all;
      }
    }
    hand_out(slots, below, above, rows);
  }
  // The part of all slots of the k-th row of the last call; if p differs by row, only the ratios of
  // parts have a meaning.
  double part(std::size_t k) const { return parts_[k]; }

 private:
  // Rounds of the search for the factor: to bracket it, and to narrow it.
  static constexpr int kDoublings = 64, kSteps = 104;
  // The largest exponent for a price: beyond it jobs that are nearly linear would leave nothing to
  // others.
  static constexpr double kMostExponent = 0.9;

  // All rows get what the factor `below` gives; the slots left go to rows that get more by `above`,
  // the first rows first.
  template <typename Row>
  void hand_out(double slots, double below, double above, std::span<Row> rows) {
    double free = slots;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      Row& row = rows[k];
      rest_[k] = slots_of(row, k, above);
      row.given = std::min(free, slots_of(row, k, below));
      rest_[k] -= row.given;
      free -= row.given;
    }
    for (std::size_t k = 0; k < rows.size() && free > 0.0; ++k) {
      const double more = std::min(free, rest_[k]);
      rows[k].given += more;
      free -= more;
    }
    // Slots are left over if all other parts are 0, or nearly.
    for (std::size_t k = 0; k < rows.size() && free > 0.0; ++k) {
      const double more = std::min(free, std::max(0.0, rows[k].most - rows[k].given));
      rows[k].given += more;
      free -= more;
    }
  }
  // The slots of the k-th row at a factor.
  template <typename Row>
  double slots_of(const Row& row, std::size_t k, double factor) const {
    const double part = parts_[k] * factor;
    const double own =
        part < first_[k] || part <= 0.0 ? 0.0 : std::max(1.0, std::floor(part + 0.5));
    return std::clamp(own, std::min(row.given, row.most), row.most);
  }
  // If p is the same for all, parts fall: all jobs behind the first one that gets none have their
  // minima.
  template <typename Row>
  double sum(std::span<const Row> rows, double factor) const {
    double all = 0.0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (alike_ && parts_[k] * factor < first_[k]) return all + low_[k];
      all += slots_of(rows[k], k, factor);
    }
    return all;
  }
  void set_parts_by_rank(double q, std::size_t jobs) {
    if (by_rank_.size() == jobs && q_ == q) return;
    for (auto* column : {&by_rank_, &rest_, &low_, &first_}) column->resize(jobs);
    q_ = q;
    double above = 1.0;
    for (std::size_t k = 0; k < jobs; ++k) {
      const double left = 1.0 - static_cast<double>(k + 1) / static_cast<double>(jobs);
      const double height = q < 1.0 ? std::pow(left, 1.0 / (1.0 - q)) : 0.0;
      // q = 0 apart: differences of equal parts would not be quite equal.
      by_rank_[k] = q > 0.0 ? above - height : 1.0 / static_cast<double>(jobs);
      above = height;
    }
  }
  template <typename Row>
  void set_parts(std::span<const Row> rows) {
    parts_ = by_rank_;
    alike_ = true;
    double p = -1.0, first = 0.0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      alike_ = alike_ && rows[k].p == rows[0].p;
      if (rows[k].p != p) {
        p = rows[k].p;
        first = p < 1.0 ? std::pow(p, 1.0 / (1.0 - p)) : std::exp(-1.0);
      }
      first_[k] = first;
    }
    for (std::size_t k = 0; !alike_ && k < rows.size(); ++k) {
      const double own = std::min(kMostExponent, rows[k].p);
      parts_[k] *= own / (1.0 - own);
    }
  }

  // By rank: parts if all exponents are alike; parts; slots that a row still lacks.
  std::vector<double> by_rank_, parts_, rest_;
  std::vector<double> low_;    // minima of the rows from here on
  std::vector<double> first_;  // what a part must reach for a first slot
  double q_ = -1.0;            // the power that by_rank_ is for
  bool alike_ = true;          // all rows have one exponent
};

}  // namespace malleable
