// The Gittins index of jobs of unknown sizes, by classes of what they have had that double: the
// largest, over all classes in which one may stop, of the chance to end there over the service that
// it takes to try (Gittins 1989; Aalto, Ayesta, Righter 2009).
//
// Sizes are known as counts by class. Within a class they are taken to be its middle; a job is
// taken to have had the least of its class. Every class counts one size more, shared by all: where
// nothing was seen the index falls from class to class, as least attained service first has it.
// O(kWorkClasses^2) to compute, O(1) to ask.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "malleable/model/state.hpp"

namespace malleable {

// Of work in slot-seconds: up to 2^-9, 2^-8 ... 2^53 and more.
inline constexpr std::size_t kWorkClasses = 64;
using WorkCounts = std::array<double, kWorkClasses>;

// Class k has those above bound(k - 1) up to bound(k).
inline double work_bound(std::size_t k) { return std::ldexp(1.0, static_cast<int>(k) - 9); }
inline std::size_t work_class(double work) {
  int power = 0;
  const bool even = std::frexp(std::max(work, 0.0), &power) == 0.5;
  if (!(work > 0.0)) return 0;
  return static_cast<std::size_t>(std::clamp(power - (even ? 1 : 0) + 9, 0, 63));
}

class GittinsIndex {
 public:
  // Computes all indices again if an eighth more sizes are known than before; true if so.
  bool look(const WorkCounts& sizes);
  double of(double attained) const { return index_[work_class(attained)]; }

  void state(State& s) { s(index_, known_); }

 private:
  std::array<double, kWorkClasses> index_{};
  double known_ = -1.0;  // sizes
};

}  // namespace malleable
