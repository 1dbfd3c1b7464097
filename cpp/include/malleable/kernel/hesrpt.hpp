// heSRPT's parts: if s slots do s^p, the i-th largest of m jobs gets the part (i / m)^(1 / (1 - p))
// - ((i - 1) / m)^(1 / (1 - p)) of all slots; p = 1: the smallest one gets all (Berg, Vesilo,
// Harchol-Balter, 2020).
//
// Slots are whole and cut to what jobs can use. Fractions, and slots that a job cannot use, go to
// the next larger job; the slots left over in the end go to the smallest jobs. O(m), and O(m)
// powers when m or p has changed. Allocates nothing once warm.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace malleable {

class HeSrptParts {
 public:
  // Rows have `given`, to which their slots are added; the smallest job comes first. most(row): the
  // most slots it can have in all. 0 <= p <= 1.
  template <typename Row, typename Most>
  void give(double p, double slots, std::span<Row> rows, const Most& most) {
    set_heights(p, rows.size());
    double free = slots, owed = 0.0;
    std::size_t i = rows.size();  // the row is the i-th largest
    for (Row& row : rows) {
      if (free <= 0.0) break;
      owed += slots * (heights_[i] - heights_[i - 1]);
      const double usable = std::min(most(row) - row.given, free);
      const double more = std::min(usable, std::floor(owed + 0.5));
      row.given += more;
      owed -= more;
      free -= more;
      --i;
    }
    for (Row& row : rows) {
      if (free <= 0.0) break;
      const double more = std::min(free, most(row) - row.given);
      row.given += more;
      free -= more;
    }
  }

 private:
  // heights_[i] = (i / m)^(1 / (1 - p)), whose differences are the parts.
  void set_heights(double p, std::size_t jobs) {
    if (heights_.size() == jobs + 1 && p_ == p) return;
    const auto count = static_cast<double>(jobs);
    heights_.resize(jobs + 1);
    p_ = p;
    for (std::size_t i = 0; i <= jobs; ++i) {
      heights_[i] = p >= 1.0 ? (i == jobs ? 1.0 : 0.0)
                             : std::pow(static_cast<double>(i) / count, 1.0 / (1.0 - p));
    }
  }

  std::vector<double> heights_;
  double p_ = -1.0;
};

}  // namespace malleable
