#include "malleable/kernel/gang_packing.hpp"

#include <algorithm>
#include <bit>

#include "malleable/model/tolerance.hpp"

namespace malleable {

// Terms: a position is a job's place in the order; its need is its minimum, infinite once it has
// ended; its rate is the slots that it has. A gang runs on at least its minimum, or not at all.
void GangPacking::set_need(std::size_t position, double need) {
  std::size_t node = leaves_ + position;
  tree_[node] = need;
  while ((node /= 2) > 0) tree_[node] = std::min(tree_[2 * node], tree_[2 * node + 1]);
}

// The first position from `from` on whose need fits into the free slots; leaves_ if there is none.
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
    if ((node & (node - 1)) == 0) return leaves_;  // a power of two: off the right edge
  }
  while (node < leaves_) node = tree_[2 * node] <= free ? 2 * node : 2 * node + 1;
  return node - leaves_;
}

void GangPacking::begin(const Problem& problem, std::span<const Index> order, Plan* plan) {
  const std::size_t n = order.size();
  problem_ = &problem;
  order_ = order;
  plan_ = plan;
  leaves_ = std::bit_ceil(std::max<std::size_t>(n, 1));
  tree_.assign(2 * leaves_, kInfinity);
  left_.resize(n);
  since_.assign(n, 0.0);
  rate_.assign(n, 0.0);
  end_.resize(n);
  gone_.resize(n);
  running_.clear();
  unfinished_ = 0;
  for (std::size_t p = 0; p < n; ++p) {
    const Index j = order[p];
    left_[p] = problem.work[j];
    if (problem.work[j] > 0.0) {
      tree_[leaves_ + p] = std::max(1.0, problem.low[j]);
      ++unfinished_;
    }
  }
  for (std::size_t node = leaves_; --node > 0;) {
    tree_[node] = std::min(tree_[2 * node], tree_[2 * node + 1]);
  }
}

// The job at position p has so many slots from `time` on.
void GangPacking::set_rate(std::size_t p, double time, double slots) {
  if (slots == rate_[p]) return;
  const Index j = order_[p];
  const double now = problem_->now;
  left_[p] = std::max(0.0, left_[p] - rate_[p] * (time - since_[p]));
  if (plan_ != nullptr) {
    if (rate_[p] > 0.0 && now + time > now + since_[p]) {
      plan_->pieces.add(j, now + since_[p], now + time, rate_[p]);
    } else if (rate_[p] == 0.0 && left_[p] == problem_->work[j]) {
      plan_->start[j] = now + time;
    }
    if (time == 0.0) plan_->allocation[j] = static_cast<std::int64_t>(slots);
  }
  since_[p] = time;
  rate_[p] = slots;
  if (!(slots > 0.0)) return;
  end_[p] = time + left_[p] / slots;
  gone_[p] = end_[p] - kRounding * problem_->work[j] / slots;
}

// Serves the positions from `redo` on again; earlier positions keep their slots.
void GangPacking::serve(std::size_t redo, double time) {
  const std::size_t n = order_.size();
  const auto most = [&](std::size_t p) { return problem_->high[order_[p]]; };
  std::size_t kept = 0;
  double open = problem_->slots;
  for (; kept < running_.size() && running_[kept] < redo; ++kept) open -= rate_[running_[kept]];
  next_running_.clear();
  double free = open;
  for (std::size_t p = next_fitting(redo, free); p < n && free > 0.0;
       p = next_fitting(p + 1, free)) {
    free -= std::min(most(p), free);
    next_running_.push_back(p);
  }
  // First take slots away, then give: rates of jobs that lost their place become zero.
  std::size_t next = 0;
  for (std::size_t k = kept; k < running_.size(); ++k) {
    const std::size_t p = running_[k];
    while (next < next_running_.size() && next_running_[next] < p) ++next;
    if (next == next_running_.size() || next_running_[next] != p) set_rate(p, time, 0.0);
  }
  running_.resize(kept);
  for (const std::size_t p : next_running_) {
    const double slots = std::min(most(p), open);
    open -= slots;
    set_rate(p, time, slots);
    running_.push_back(p);
  }
}

// Moves the jobs that end by `time` from running_ to ended_. Jobs that end together leave together:
// if only one left and slots were served again, an earlier gang could take the slots of a job
// without work.
void GangPacking::collect_ended(double time) {
  ended_.clear();
  std::erase_if(running_, [&](std::size_t p) {
    if (gone_[p] > time && end_[p] > time * (1.0 + kSameTime)) return false;
    ended_.push_back(p);
    return true;
  });
}

void GangPacking::run(const Problem& problem, std::span<const Index> order,
                      const std::function<bool(Index, double)>& done, Plan* plan) {
  begin(problem, order, plan);
  double time = 0.0;
  std::size_t redo = 0;
  while (unfinished_ > 0) {
    serve(redo, time);
    if (running_.empty()) break;  // all remaining jobs need more slots than there are
    double end = kInfinity;
    for (const std::size_t p : running_) end = std::min(end, end_[p]);
    time = std::max(time, end);
    collect_ended(time);
    redo = ended_.front();
    for (const std::size_t p : ended_) {
      left_[p] = rate_[p] * (time - since_[p]);  // exactly, in spite of rounding
      set_rate(p, time, 0.0);
      set_need(p, kInfinity);
      --unfinished_;
      // the caller stops the run by returning false
      if (!done(order[p], time)) return;
    }
  }
  for (std::size_t p = 0; unfinished_ > 0 && p < order.size(); ++p) {
    const Index j = order[p];
    if (problem.work[j] == 0.0 || tree_[leaves_ + p] == kInfinity) continue;
    if (plan != nullptr) plan->start[j] = kInfinity;
    if (!done(j, kInfinity)) return;
  }
}

}  // namespace malleable
