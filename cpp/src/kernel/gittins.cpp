// The Gittins index of a job that has received so much service: the most that it can be expected to
// end, per unit of further service, given the sizes of ended jobs. Sizes are counted by class;
// class k holds sizes up to work_bound(k).
#include "malleable/kernel/gittins.hpp"

#include <numeric>

namespace malleable {

// Computes all indices again if an eighth more sizes are known; false if not.
bool GittinsIndex::update(const WorkCounts& sizes) {
  const double known = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  if (known_ >= 0.0 && known <= 1.125 * known_) return false;
  known_ = known;
  // One job, over all classes.
  constexpr double kUnseenSizes = 1.0 / static_cast<double>(kWorkClasses);
  double above = 0.0;  // sizes of this class and larger ones
  for (std::size_t first = kWorkClasses; first-- > 0;) {
    above += sizes[first] + kUnseenSizes;
    const double had = first > 0 ? work_bound(first - 1) : 0.0;
    double ended = 0.0, took = 0.0, best = 0.0;  // took: time of the jobs that end
    for (std::size_t last = first; last < kWorkClasses; ++last) {
      const double here = sizes[last] + kUnseenSizes;
      const double low = last > 0 ? work_bound(last - 1) : 0.0;
      ended += here;
      took += here * (0.5 * (low + work_bound(last)) - had);
      best = std::max(best, ended / (took + (above - ended) * (work_bound(last) - had)));
    }
    index_[first] = best;
  }
  return true;
}

}  // namespace malleable
