// heSRPT's parts: where s slots do s^p, of m jobs the i-th largest gets the part
// (i / m)^(1 / (1 - p)) - ((i - 1) / m)^(1 / (1 - p)) of all slots; p = 1: the smallest one gets
// all (Berg, Vesilo, Harchol-Balter, 2020).
//
// In whole slots, cut to what jobs can use: fractions, and what a job cannot use, go on to the next
// larger one; what is left over in the end to the smallest ones. O(m), and O(m) powers when m or p
// is another one than before. Allocates nothing once warm.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace malleable {

class HeSrptParts {
 public:
  // Rows have `given`, to which their slots are added; the smallest job first. most(row): what it
  // can have in all. 0 <= p <= 1.
  template <typename Row, typename Most>
  void give(double p, double slots, std::span<Row> rows, const Most& most) {
    look(p, rows.size());
    double free = slots, owed = 0.0;
    std::size_t largest = rows.size();
    for (Row& row : rows) {
      if (free <= 0.0) break;
      owed += slots * (heights_[largest] - heights_[largest - 1]);
      const double usable = std::min(most(row) - row.given, free);
      const double more = std::min(usable, std::floor(owed + 0.5));
      row.given += more;
      owed -= more;
      free -= more;
      --largest;
    }
    for (Row& row : rows) {
      if (free <= 0.0) break;
      const double more = std::min(free, most(row) - row.given);
      row.given += more;
      free -= more;
    }
  }

 private:
  // Heights of the curve that the parts are cut from.
  void look(double p, std::size_t jobs) {
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
