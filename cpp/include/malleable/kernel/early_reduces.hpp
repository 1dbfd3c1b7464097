// May a job's reduce tasks start before all its maps have ended?
//
// A reduce task that starts early copies the output of the maps that have ended, and holds its slot
// until the last map has ended. So it may start if all maps will probably have ended by the time it
// has copied that output: then it loses nothing. The chance of that is a product over the running
// maps, whose times are log-normal and at least their ages. The time of copying is a low quantile
// of the times of earlier jobs, because an estimate that is too large makes reduce tasks hold slots
// in vain, and one that is too small loses little. In a slot that no other task wants nothing is
// lost either way, so there the largest time counts.
//
// A chance costs O(maps that run), less if it is small; noting a job's copying O(kept jobs).
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "malleable/kernel/log_times.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// The chance that maps of these ages, and `waiting` more that wait for their slots, all end within
// `seconds`. If it is below `enough`, any number below `enough` may be returned.
double chance_of_ends(std::span<const double> ages, double waiting, const LogTimes& times,
                      double seconds, double enough);

// Seconds that reduce tasks copied in the last jobs.
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
  // Jobs remembered; from so many on, it is known.
  static constexpr std::size_t kKept = 64, kLeast = 3;

  std::array<double, kKept> last_{};  // seconds of the last jobs, a ring
  std::uint64_t count_ = 0;           // jobs learnt from
  double low_ = 0.0, most_ = 0.0;
};

}  // namespace malleable
