// The times at which nodes report: node k of n first at k / n of the period, then once a period
// while the report may start a task. After 100,000 heartbeats of every node without a start or any
// other event, they report only when jobs have waited long enough for their blocks, and when a
// policy reconsiders; then no more until the next event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "malleable/scheduler/cluster_scheduler.hpp"

namespace malleable {

class Heartbeats {
 public:
  Heartbeats(double period, std::size_t nodes) : period_(period), beating_(nodes, 0) {}

  bool used() const { return period_ > 0.0; }
  bool beating(Index node) const { return beating_[node] != 0; }
  // Whether a node's slots could start anything (pool 0: slots of maps, or generic slots; 1: slots
  // of reduces).
  static bool wanted(const ClusterScheduler& scheduler, Index node) {
    const auto& free = scheduler.state().free_on;
    return (free[0][node] > 0 && scheduler.ready(0) > 0) ||
           (free[1][node] > 0 && scheduler.ready(1) > 0);
  }
  // The first report of a node at `now` or later.
  double begin(Index node, double now) {
    beating_[node] = 1;
    return next_tick(period_, first(node), now, /*after=*/false);
  }
  // The node's next report. `delay` [s]: how long jobs wait for nodes with their blocks; `again`:
  // when a policy reconsiders slots that it refused.
  double go_on(Index node, double now, double delay, double again) {
    beating_[node] = 1;
    double from = now;
    if (tired(0)) from = std::max(from, since_ + delay);
    if (tired(1) && again < kInfinity) from = std::max(from, again);
    return next_tick(period_, first(node), from, true);
  }
  void stop(Index node) { beating_[node] = 0; }

  // A node has reported; `taken`: a task started.
  void reported(bool taken, double now) {
    if (taken) fruitless_ = 0;
    if (!taken && fruitless_++ == 0) since_ = now;
  }
  // Notes an event, or that a gang (a job whose tasks start together) begins to gather slots; true
  // if nodes had stopped reporting.
  bool note_event() {
    const bool gave_up = tired(0);
    fruitless_ = 0;
    return gave_up;
  }
  // Whether nothing will start before the next event.
  bool hopeless() const { return tired(2); }

 private:
  static constexpr std::size_t kMostFruitless = 100'000;  // of every node

  // Whether nodes reported so often, and `rounds` times more, without a start. From 0 on they
  // report when jobs have waited for their blocks, from 1 on when a policy reconsiders, from 2 on
  // no more.
  bool tired(std::size_t rounds) const {
    return fruitless_ > (kMostFruitless + rounds) * beating_.size();
  }
  double first(Index node) const {
    return period_ * static_cast<double>(node) / static_cast<double>(beating_.size());
  }

  double period_;
  std::vector<std::uint8_t> beating_;  // by node: its next heartbeat is an event
  std::size_t fruitless_ = 0;          // heartbeats in a row without a start or any other event
  double since_ = 0.0;                 // time of the first of them
};

}  // namespace malleable
