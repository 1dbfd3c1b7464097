#include "malleable/kernel/gang_packing.hpp"

#include <algorithm>
#include <bit>

namespace malleable {

void GangPacking::set_need(std::size_t position, double need) {
  std::size_t node = leaves_ + position;
  tree_[node] = need;
  while ((node /= 2) > 0) tree_[node] = std::min(tree_[2 * node], tree_[2 * node + 1]);
}

std::size_t GangPacking::next_fitting(std::size_t from, double free) const {
  if (from >= leaves_) return leaves_;
  std::size_t node = leaves_ + from;
  while (tree_[node] > free) {
    while (node & 1) {  // a right child: its parent lies to the left, too
      node /= 2;
      if (node == 0) return leaves_;
    }
    if (node == 0) return leaves_;
    ++node;
    if (std::has_single_bit(node)) return leaves_;  // stepped off the right edge
  }
  while (node < leaves_) node = tree_[2 * node] <= free ? 2 * node : 2 * node + 1;
  return node - leaves_;
}

void GangPacking::run(const Problem& problem, std::span<const Index> order,
                      const std::function<bool(Index, double)>& done, Plan* plan) {
  const std::size_t n = order.size();
  leaves_ = std::bit_ceil(std::max<std::size_t>(n, 1));
  tree_.assign(2 * leaves_, kInfinity);
  left_.resize(n);
  since_.assign(n, 0.0);
  rate_.assign(n, 0.0);
  running_.clear();
  std::size_t unfinished = 0;
  for (std::size_t p = 0; p < n; ++p) {
    const Index j = order[p];
    left_[p] = problem.work[j];
    if (problem.work[j] > 0.0) {
      tree_[leaves_ + p] = std::max(1.0, problem.low[j]);
      ++unfinished;
    }
  }
  for (std::size_t node = leaves_; --node > 0;) {
    tree_[node] = std::min(tree_[2 * node], tree_[2 * node + 1]);
  }

  const auto set_rate = [&](std::size_t p, double time, double slots) {
    if (slots == rate_[p]) return;
    const Index j = order[p];
    left_[p] = std::max(0.0, left_[p] - rate_[p] * (time - since_[p]));
    if (plan != nullptr) {
      if (rate_[p] > 0.0 && problem.now + time > problem.now + since_[p]) {
        plan->pieces.add(j, problem.now + since_[p], problem.now + time, rate_[p]);
      } else if (rate_[p] == 0.0 && left_[p] == problem.work[j]) {
        plan->start[j] = problem.now + time;
      }
      if (time == 0.0) plan->allocation[j] = static_cast<std::int64_t>(slots);
    }
    since_[p] = time;
    rate_[p] = slots;
  };

  double time = 0.0;
  std::size_t redo = 0;  // positions from here on are served again
  while (unfinished > 0) {
    double free = problem.slots;
    next_running_.clear();
    for (const std::size_t p : running_) {
      if (p < redo) {
        free -= rate_[p];
        next_running_.push_back(p);
      }
    }
    const std::size_t kept = next_running_.size();
    for (std::size_t p = next_fitting(redo, free); p < n && free > 0.0;
         p = next_fitting(p + 1, free)) {
      free -= std::min(problem.high[order[p]], free);
      next_running_.push_back(p);
    }
    // First take slots away, then give: rates of jobs that lost their place become zero.
    std::size_t k = kept;
    for (const std::size_t p : running_) {
      if (p < redo) continue;
      while (k < next_running_.size() && next_running_[k] < p) ++k;
      if (k == next_running_.size() || next_running_[k] != p) set_rate(p, time, 0.0);
    }
    double open = problem.slots;
    for (k = 0; k < next_running_.size(); ++k) {
      const std::size_t p = next_running_[k];
      const double slots = k < kept ? rate_[p] : std::min(problem.high[order[p]], open);
      open -= slots;
      set_rate(p, time, slots);
    }
    running_.swap(next_running_);
    if (running_.empty()) break;  // whoever is left needs more slots than there are

    double end = kInfinity;
    for (const std::size_t p : running_) end = std::min(end, since_[p] + left_[p] / rate_[p]);
    time = std::max(time, end);
    // Jobs that end together leave together: served again, an earlier gang could take the slots of
    // one that has nothing left to do.
    ended_.clear();
    std::erase_if(running_, [&](std::size_t p) {
      const double still = left_[p] - rate_[p] * (time - since_[p]);
      if (still > 1e-12 * problem.work[order[p]] &&
          since_[p] + left_[p] / rate_[p] > time * (1.0 + 1e-14)) {
        return false;
      }
      ended_.push_back(p);
      return true;
    });
    redo = ended_.front();
    for (const std::size_t p : ended_) {
      left_[p] = rate_[p] * (time - since_[p]);  // whatever rounding says
      set_rate(p, time, 0.0);
      set_need(p, kInfinity);
      --unfinished;
      if (!done(order[p], time)) return;
    }
  }
  for (std::size_t p = 0; unfinished > 0 && p < n; ++p) {
    const Index j = order[p];
    if (problem.work[j] > 0.0 && tree_[leaves_ + p] < kInfinity) {
      if (plan != nullptr) plan->start[j] = kInfinity;
      if (!done(j, kInfinity)) return;
    }
  }
}

}  // namespace malleable
