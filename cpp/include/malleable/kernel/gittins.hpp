// The Gittins index of jobs of unknown sizes, by classes of attained service (the work done for a
// job so far) that double: the largest ratio, over all classes in which service may stop, of the
// chance that the job ends by then to the service spent until then (Gittins 1989; Aalto, Ayesta,
// Righter 2009).
//
// Sizes are known as counts by class. A size counts as the middle of its class, and attained
// service as the lower end of its class. All classes together count one size more than was seen: so
// where no size was seen the index falls from class to class, as in least attained service first.
// O(kWorkClasses^2) to compute, O(1) to ask.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "malleable/model/state.hpp"

namespace malleable {

// Classes of work in slot-seconds: up to 2^-9, 2^-8 ... 2^53 and more.
inline constexpr std::size_t kWorkClasses = 64;
using WorkCounts = std::array<double, kWorkClasses>;

// Class k has works above work_bound(k - 1) up to work_bound(k).
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
  bool update(const WorkCounts& sizes);
  // The index after so much service.
  double of(double attained) const { return index_[work_class(attained)]; }

  void state(State& s) { s(index_, known_); }

 private:
  std::array<double, kWorkClasses> index_{};
  double known_ = -1.0;  // sizes
};

}  // namespace malleable
