// When nodes report: node k of n first at k / n of the period, then once a period, as long as it is
// worth their while.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "malleable/scheduler/cluster_scheduler.hpp"

namespace malleable {

class Heartbeats {
 public:
  Heartbeats(double period, std::size_t nodes) : period_(period), beating_(nodes, 0) {}

  bool used() const { return period_ > 0.0; }
  bool beating(Index node) const { return beating_[node] != 0; }
  // Whether a node's slots could start anything.
  static bool wanted(const ClusterScheduler& scheduler, Index node) {
    const auto& free = scheduler.state().free_on;
    return (free[0][node] > 0 && scheduler.ready(0) > 0) ||
           (free[1][node] > 0 && scheduler.ready(1) > 0);
  }
  // The next time from now on, after now.
  double begin(Index node, double now) {
    beating_[node] = 1;
    double beats = std::max(0.0, std::ceil((now - first(node)) / period_));
    while (first(node) + beats * period_ < now) beats += 1.0;
    return first(node) + beats * period_;
  }
  double go_on(Index node, double now) {
    beating_[node] = 1;
    double beats = std::floor((now - first(node)) / period_) + 1.0;
    while (first(node) + beats * period_ <= now) beats += 1.0;
    return first(node) + beats * period_;
  }
  void stop(Index node) { beating_[node] = 0; }

  // A policy that chooses for nodes may never choose again, whatever time it is.
  void reported(bool runs) { fruitless_ = runs ? 0 : fruitless_ + 1; }
  void wake() { fruitless_ = 0; }
  bool hopeless() const { return fruitless_ > kMostFruitless * beating_.size(); }

 private:
  static constexpr std::size_t kMostFruitless = 100'000;  // of every node in which nothing runs

  double first(Index node) const {
    return period_ * static_cast<double>(node) / static_cast<double>(beating_.size());
  }

  double period_;
  std::vector<std::uint8_t> beating_;
  std::size_t fruitless_ = 0;  // in a row while nothing ran
};

}  // namespace malleable
