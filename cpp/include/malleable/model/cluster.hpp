// A cluster's nodes, and jobs made of map and reduce tasks, as structs of arrays; the one place
// where their numbers are checked.
//
// Times are seconds, data are bytes. A node has slots of its own for maps and for reduces, or
// generic ones that run both: then all of its slots count as `map_slots`. A task of `s` seconds
// takes s / rate on a node. Views never own. Columns of jobs marked "may be empty" then have the
// value named.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "malleable/model/domain.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/terms.hpp"

namespace malleable {

enum Phase : std::uint8_t { kMap = 0, kReduce = 1 };

struct ClusterView {
  std::span<const std::int64_t> map_slots;
  std::span<const std::int64_t> reduce_slots;  // all 0 with generic slots
  std::span<const double> rate;                // of execution; 1: as the tasks' seconds say
  std::span<const std::int64_t> type;          // of node: index of its name
  std::span<const std::int64_t> rack;
  std::span<const double> storage;  // bytes a second read from the node's own disks
  std::span<const double> link;     // bytes a second into the node, and as many out of it
  bool generic = false;
  // Bytes a second into each rack, and as many out of it; may be empty: no limit.
  std::span<const double> rack_link = {};
  // Bytes of blocks that each node has room for; may be empty: no limit.
  std::span<const double> capacity = {};

  std::size_t size() const { return rate.size(); }
};

// Task t of job j in phase p is number offset[p][j] + t of `seconds[p]`; where `offset[p]` is empty
// all tasks of a job take seconds[p][j].
struct ClusterJobsView {
  std::span<const double> arrival;
  std::span<const std::int64_t> tasks[2];
  std::span<const double> seconds[2];  // a reduce task's own, after its copying
  std::span<const std::int64_t> offset[2];
  std::span<const double> shuffle;  // seconds that each reduce task copies; may be empty: 0
  std::span<const double> block;    // bytes that each map task reads; may be empty: 0
  // Bytes that all its map tasks together leave for its reduce tasks; may be empty: 0.
  std::span<const double> shuffle_bytes;
  std::span<const std::int64_t> min_slots[2];  // may be empty: 0
  // Tasks that may run at once on slots of one kind; may be empty: any number.
  std::span<const std::int64_t> max_slots;
  std::span<const double> weight;       // may be empty: 1
  std::span<const double> deadline;     // may be empty: none (infinity)
  SlaView sla;                          // may be empty: no steps
  std::span<const std::uint8_t> kind;   // of penalty; may be empty: what the policy is for
  std::span<const std::int64_t> user;   // may be empty: 0
  std::span<const std::int64_t> group;  // jobs that are runs of one program; may be empty
  std::span<const std::int64_t> flow;   // its number; may be empty: each job is its own
  // Job j comes when it has arrived and the jobs after[after_offset[j]] ... have finished; may be
  // empty.
  std::span<const std::int64_t> after_offset, after;
  // s running tasks of a phase of job j together do what one alone does in rates[rate_offset[j] + s
  // - 1] times its time; beyond the end of the job's rates, as at the end. A job without any, or
  // where they are empty, follows the simulation's.
  std::span<const std::int64_t> rate_offset;
  std::span<const double> rates;
  // As policies of one's own see it: p where s tasks do s^p; may be empty: 1.
  std::span<const double> exponent;
  // By job, phase and type of nodes, what these do of the job's seconds in one; NaN: their own
  // rate. May be empty: so everywhere.
  std::span<const double> node_rates;
  std::span<const std::int64_t> id;       // what jobs are called outside; may be empty: their rows
  std::span<const double> user_minimum;   // slots, one entry a user; may be empty: 0
  std::span<const double> user_priority;  // may be empty: 1

  std::size_t size() const { return arrival.size(); }

  double weight_of(std::size_t j) const { return weight.empty() ? 1.0 : weight[j]; }
  double exponent_of(std::size_t j) const { return exponent.empty() ? 1.0 : exponent[j]; }
  std::int64_t id_of(std::size_t j) const {
    return id.empty() ? static_cast<std::int64_t>(j) : id[j];
  }
  double deadline_of(std::size_t j) const { return deadline.empty() ? kInfinity : deadline[j]; }
  SlaView::Steps steps_of(std::size_t j) const {
    return sla.given() ? sla.of(j) : SlaView::Steps{};
  }
  Kind kind_of(std::size_t j, Kind usual) const {
    return kind.empty() ? usual : static_cast<Kind>(kind[j]);
  }
  std::int64_t minimum_of(Phase p, std::size_t j) const {
    return min_slots[p].empty() ? 0 : min_slots[p][j];
  }
  std::int64_t maximum_of(std::size_t j) const {
    return max_slots.empty() ? kMostSlots : max_slots[j];
  }
  std::size_t user_of(std::size_t j) const {
    return user.empty() ? 0 : static_cast<std::size_t>(user[j]);
  }
  double seconds_of(Phase p, std::size_t j, std::size_t t) const {
    return offset[p].empty() ? seconds[p][j]
                             : seconds[p][static_cast<std::size_t>(offset[p][j]) + t];
  }
  double rate_on(const ClusterView& cluster, std::size_t node, Phase p, std::size_t j) const {
    if (node_rates.empty()) return cluster.rate[node];
    const std::size_t types = node_rates.size() / (2 * size());
    const double own =
        node_rates[(2 * j + p) * types + static_cast<std::size_t>(cluster.type[node])];
    return std::isnan(own) ? cluster.rate[node] : own;
  }
  // Slot-seconds of a phase on nodes of rate 1; O(1), or O(tasks) where every task has its own.
  double work_of(Phase p, std::size_t j) const;
};

// Throw FieldError for the first value that makes no sense, std::invalid_argument for lengths that
// differ. O(nodes), O(jobs + tasks listed).
void validate(const ClusterView& cluster);
void validate(const ClusterJobsView& jobs);
// Of 1, 2 ... tasks that run at once: above 0, finite, never falling; `row` is the job that errors
// name.
void validate_rates(std::span<const double> rates, std::size_t row);
// Jobs that no node can run (reduces but no slot for them, say), told before anything runs.
void validate_fit(const ClusterView& cluster, const ClusterJobsView& jobs);

}  // namespace malleable
