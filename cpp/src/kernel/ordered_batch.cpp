#include "malleable/kernel/ordered_batch.hpp"

#include <algorithm>
#include <limits>

#include "malleable/model/tolerance.hpp"

namespace malleable {

// Two stations: map, one job after another, and shuffle, which serves the job with the first place
// among those with released work. A buffer is a job's released work that is not shuffled yet; `own`
// is that of the job that maps now.
//
// The first waiting job in order has shuffled everything.
inline void OrderedBatch::end_first() {
  const Index job = waiting_.front().second;
  std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
  waiting_.pop_back();
  end(job);
}

// Runs a job's map phase; returns the work that it has released and not shuffled.
inline double OrderedBatch::map_one(Index job, double map, std::span<const double> shuffle) {
  const double all = shuffle[job], release = all / map;
  const Index place = place_[job];
  double left = map, own = 0.0, now = now_;
  while (left > 0.0) {
    const bool others = !waiting_.empty();
    const bool first = !others || place < waiting_.front().first;
    const double mine = !first ? 0.0 : own > 0.0 ? 1.0 : std::min(1.0, release);
    const double theirs = others ? 1.0 - mine : 0.0;
    const double own_ends = own > 0.0 && mine > release ? own / (mine - release) : kInfinity;
    const double theirs_ends = theirs > 0.0 ? buffer_[waiting_.front().second] / theirs : kInfinity;
    const double step = std::min({left, own_ends, theirs_ends});
    now += step;
    own += (release - mine) * step;
    // Work left by rounding must not wait behind other jobs. It is compared with its own phase,
    // because what is rounding in a long phase may be all work of a short one.
    if (mine > release && own <= kRounding * all) own = 0.0;
    if (theirs > 0.0) {
      const Index other = waiting_.front().second;
      buffer_[other] -= theirs * step;
      if (buffer_[other] <= kRounding * shuffle[other]) {
        now_ = now;
        end_first();
      }
    }
    left -= step;
    if (left <= kRounding * map) left = 0.0;
  }
  now_ = now;
  return own;
}

// The sum of completion times of all jobs; `place`: each job's place in the order of shuffling.
double OrderedBatch::run(std::span<const double> map, std::span<const double> shuffle,
                         std::span<const Index> map_order, std::span<const Index> place,
                         std::span<double> completion) {
  buffer_.assign(map.size(), 0.0);
  waiting_.clear();
  place_ = place;
  completion_ = completion;
  now_ = total_ = 0.0;
  const auto wait_or_end = [&](Index job, double amount) {
    if (amount > 0.0) {
      wait(job, amount);
    } else {
      end(job);
    }
  };
  for (const Index job : map_order) {
    if (!(map[job] > 0.0)) wait_or_end(job, shuffle[job]);
  }
  for (const Index job : map_order) {
    if (map[job] != 0.0) wait_or_end(job, map_one(job, map[job], shuffle));
  }
  while (!waiting_.empty()) {
    now_ += buffer_[waiting_.front().second];
    end_first();
  }
  return total_;
}

}  // namespace malleable
