#include "malleable/kernel/ordered_batch.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "malleable/model/tolerance.hpp"

namespace malleable {
double OrderedBatch::run(std::span<const double> map, std::span<const double> shuffle,
                         std::span<const Index> map_order, std::span<const Index> place,
                         std::span<double> completion) {
  buffer_.assign(map.size(), 0.0);
  waiting_.clear();
  double now = 0.0, total = 0.0;
  const auto wait = [&](Index job, double amount) {
    buffer_[job] = amount;
    waiting_.push_back({place[job], job});
    std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
  };
  const auto end = [&](Index job) {
    total += now;
    if (!completion.empty()) completion[job] = now;
  };
  const auto end_first = [&] {
    const Index job = waiting_.front().second;
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    waiting_.pop_back();
    end(job);
  };
  for (const Index job : map_order) {
    if (map[job] > 0.0) continue;
    if (shuffle[job] > 0.0) {
      wait(job, shuffle[job]);
    } else {
      end(job);
    }
  }
  for (const Index job : map_order) {
    if (map[job] == 0.0) continue;
    const double release = shuffle[job] / map[job];
    double left = map[job], own = 0.0;  // own: released and not shuffled
    while (left > 0.0) {
      const bool others = !waiting_.empty();
      const bool first = !others || place[job] < waiting_.front().first;
      const double mine = !first ? 0.0 : own > 0.0 ? 1.0 : std::min(1.0, release);
      const double theirs = others ? 1.0 - mine : 0.0;
      const double own_ends = own > 0.0 && mine > release ? own / (mine - release) : kInfinity;
      const double theirs_ends =
          theirs > 0.0 ? buffer_[waiting_.front().second] / theirs : kInfinity;
      const double step = std::min({left, own_ends, theirs_ends});
      now += step;
      own += (release - mine) * step;
      // What rounding leaves of a phase must not wait behind other jobs. Each phase is measured by
      // itself: what is nothing of a long one may be all of a short one.
      if (mine > release && own <= kRounding * shuffle[job]) own = 0.0;
      if (theirs > 0.0) {
        const Index other = waiting_.front().second;
        buffer_[other] -= theirs * step;
        if (buffer_[other] <= kRounding * shuffle[other]) end_first();
      }
      left -= step;
      if (left <= kRounding * map[job]) left = 0.0;
    }
    if (own > 0.0) {
      wait(job, own);
    } else {
      end(job);
    }
  }
  while (!waiting_.empty()) {
    now += buffer_[waiting_.front().second];
    end_first();
  }
  return total;
}

}  // namespace malleable
