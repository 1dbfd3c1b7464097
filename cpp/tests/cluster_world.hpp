// A small cluster of generic slots with flows of map tasks, and when its jobs end under a policy.
#pragma once

#include <limits>
#include <vector>

#include "malleable/sim/cluster.hpp"

namespace malleable::check {

inline constexpr double kEnd = std::numeric_limits<double>::infinity();

// One node with two generic slots unless a test sets others; jobs of map tasks.
struct World {
  std::vector<std::int64_t> slots{2}, none{0};
  std::vector<double> rate{1.0}, speed{kEnd}, arrival, seconds, no_seconds;
  std::vector<std::int64_t> maps, reduces, offset{0}, after, user, flow;
  // For rigid jobs; may be empty.
  std::vector<std::int64_t> width;
  std::vector<double> requested;

  void job(std::int64_t number, std::int64_t tasks, double each,
           std::vector<std::int64_t> waits_for, std::int64_t owner) {
    arrival.push_back(0.0);
    maps.push_back(tasks);
    seconds.push_back(each);
    reduces.push_back(0);
    no_seconds.push_back(0.0);
    after.insert(after.end(), waits_for.begin(), waits_for.end());
    offset.push_back(static_cast<std::int64_t>(after.size()));
    user.push_back(owner);
    flow.push_back(number);
  }
  std::vector<double> completions(ClusterPolicy& policy) const {
    const ClusterView cluster{slots, none, rate, none, speed, speed, true};
    ClusterJobsView jobs;
    jobs.arrival = arrival;
    jobs.tasks[kMap] = maps;
    jobs.tasks[kReduce] = reduces;
    jobs.seconds[kMap] = seconds;
    jobs.seconds[kReduce] = no_seconds;
    jobs.after_offset = offset;
    jobs.after = after;
    jobs.user = user;
    jobs.flow = flow;
    jobs.width = width;
    jobs.requested = requested;
    validate(cluster);
    validate(jobs);
    ClusterOptions options;
    options.epoch = 0.0;
    ClusterSimulation simulation(cluster, jobs, options, {}, {}, policy);
    simulation.advance(kEnd);
    return simulation.completion;
  }
};

}  // namespace malleable::check
