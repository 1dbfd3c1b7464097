// May a job's reduce tasks start before all its maps have ended?
//
// A reduce task that starts early copies what ended maps have left, and holds its slot until the
// last map has ended. So it may start if all maps will probably have ended by the time it has
// copied what there is: then it loses nothing. The chance of that is a product over the running
// maps, whose times are log-normal and at least their ages. The time of copying is a low quantile
// of what earlier jobs took. If this estimate is too large, reduce tasks hold slots in vain; if it
// is too small, little is lost. A slot that nobody wants loses nothing either way: there the
// largest time counts.
//
// A chance costs O(maps that run), less where it is small; what a job copied O(kept).
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "malleable/kernel/log_times.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// The chance that maps of these ages, and so many more that wait for slots of theirs, all end
// within `seconds`; below `enough` any smaller number will do.
double chance_of_ends(std::span<const double> ages, double waiting, const LogTimes& times,
                      double seconds, double enough);

// What a reduce task copies, in seconds, as the last jobs have shown.
class CopySeconds {
 public:
  void learn(double seconds);
  bool unknown() const { return count_ < kLeast; }
  // A low quantile, and the largest of the last jobs'; 0 while unknown.
  double low() const { return low_; }
  double most() const { return most_; }

  void state(State& s) { s(last_, count_, low_, most_); }
  friend bool operator==(const CopySeconds&, const CopySeconds&) = default;

 private:
  static constexpr std::size_t kKept = 64, kLeast = 3;

  std::array<double, kKept> last_{};
  std::uint64_t count_ = 0;
  double low_ = 0.0, most_ = 0.0;
};

}  // namespace malleable
