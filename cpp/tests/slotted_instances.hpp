// Random tables of map-and-reduce jobs, and slotted policies that sort everything again in every
// step: slow, obvious, for comparison with policies that get only changes.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "check.hpp"
#include "malleable/model/map_reduce.hpp"
#include "malleable/policy/slotted_policy.hpp"
#include "malleable/sim/slotted.hpp"

namespace malleable::check {

struct SlottedTable {
  std::vector<std::int64_t> arrival, map, offset{0}, task;

  void add(std::int64_t at, std::int64_t maps, const std::vector<std::int64_t>& tasks) {
    arrival.push_back(at);
    map.push_back(maps);
    task.insert(task.end(), tasks.begin(), tasks.end());
    offset.push_back(static_cast<std::int64_t>(task.size()));
  }
  MapReduceView view() const { return {arrival, map, offset, task}; }
  std::int64_t reduce(std::size_t j) const {
    std::int64_t sum = 0;
    for (auto k = offset[j]; k < offset[j + 1]; ++k) sum += task[static_cast<std::size_t>(k)];
    return sum;
  }
};

inline SlottedTable random_slotted(Random& random, std::int64_t most_jobs = 25) {
  SlottedTable table;
  const std::int64_t count = integer(random, 0, most_jobs), longest = integer(random, 1, 12);
  std::int64_t now = integer(random, 1, 3);
  for (std::int64_t j = 0; j < count; ++j) {
    if (chance(random, 0.5)) now += integer(random, 0, 6);
    std::vector<std::int64_t> tasks(static_cast<std::size_t>(integer(random, 0, 5)));
    for (auto& units : tasks) units = integer(random, 1, longest);
    table.add(now, integer(random, 0, 8), tasks);
  }
  return table;
}

// Live rows in the order of their sequence; decide is left to the policy.
class NaivePolicy : public SlottedPolicy {
 public:
  void arrive(std::span<const SlottedJob>, Index row) override { rows_.push_back(row); }
  void update(std::span<const SlottedJob>, Index) override {}
  void state(State&) override {}
  void leave(std::span<const SlottedJob>, Index row, bool) override {
    rows_.erase(std::find(rows_.begin(), rows_.end(), row));
  }
  void pass(std::int64_t machines, double steps) override {
    virtual_steps(static_cast<double>(machines) * steps);
  }

 protected:
  virtual void virtual_steps(double) {}

  // Rows by key, ties by sequence.
  template <typename Key>
  std::vector<Index> by(std::span<const SlottedJob> jobs, Key key) const {
    std::vector<Index> sorted = rows_;
    std::sort(sorted.begin(), sorted.end(), [&](Index a, Index b) {
      const double x = key(jobs[a]), y = key(jobs[b]);
      return x < y || (x == y && jobs[a].sequence < jobs[b].sequence);
    });
    return sorted;
  }
  // Gives up to `most` of the idle machines to a row's waiting tasks.
  void give(std::span<const SlottedJob> jobs, Index row, std::int64_t most, std::int64_t& idle) {
    const SlottedJob& job = jobs[row];
    std::int64_t& has = given_[row];
    const std::int64_t more =
        std::max<std::int64_t>(std::min({most, job.maps + job.ready - has, idle}), 0);
    has += more;
    idle -= more;
  }
  void hand_over(std::span<const SlottedJob> jobs, std::vector<SlottedGrant>& grants) {
    for (const auto& [row, machines] : given_) {
      if (machines == 0) continue;
      const bool maps = jobs[row].maps > 0;
      grants.push_back({row, maps ? machines : 0, maps ? 0 : machines});
    }
    given_.clear();
  }

  std::vector<Index> rows_;
  std::map<Index, std::int64_t> given_;
};

// With SRPT without precedence beside it: the least of all again and again.
class NaiveVirtual : public NaivePolicy {
 public:
  void arrive(std::span<const SlottedJob> jobs, Index row) override {
    NaivePolicy::arrive(jobs, row);
    const SlottedJob& job = jobs[row];
    if (job.left() > 0.0) ghosts_[job.sequence] = {row, job.map_left, job.left()};
  }

 protected:
  struct Ghost {
    Index row;
    double map, total;
  };
  void virtual_steps(double capacity) override {
    served_.clear();
    while (capacity > 0.0 && !ghosts_.empty()) {
      auto least = ghosts_.begin();
      for (auto it = ghosts_.begin(); it != ghosts_.end(); ++it) {
        if (it->second.total < least->second.total) least = it;
      }
      Ghost& ghost = least->second;
      const double total = std::min(ghost.total, capacity);
      const double map = std::min(ghost.map, total);
      served_[least->first] = map;
      ghost.map -= map;
      ghost.total -= total;
      capacity -= total;
      if (ghost.total <= 0.0) ghosts_.erase(least);
    }
  }
  std::int64_t planned(const SlottedJob& job) const {
    const auto at = served_.find(job.sequence);
    if (at == served_.end() || job.maps == 0) return 0;
    return static_cast<std::int64_t>(std::ceil(at->second - 1e-9));
  }

  std::map<std::int64_t, Ghost> ghosts_;   // by sequence
  std::map<std::int64_t, double> served_;  // map units of the step
};

// Last steps of all jobs, in the order of the table.
inline std::vector<std::int64_t> finish_of(const SlottedTable& table, const SlottedOptions& options,
                                           std::unique_ptr<SlottedPolicy> policy,
                                           std::span<const double> estimate = {}) {
  SlottedSim sim(options, std::move(policy));
  sim.feed(table.view(), estimate);
  sim.advance(kLastStep);
  const SlottedRecords records = sim.take_records();
  std::vector<std::int64_t> finish(table.map.size(), -1);
  for (std::size_t k = 0; k < records.job.size(); ++k) {
    finish[static_cast<std::size_t>(records.job[k])] = records.finish[k];
  }
  return finish;
}

// The policy of that name does what the naive one does, on random tables and estimates; `exact`:
// preemptive, and the truth.
template <typename Naive>
void compare_with_naive(const char* name, std::uint64_t seed, std::size_t count,
                        bool exact = false) {
  trials(seed, count, [&](Random& random) {
    const SlottedTable table = random_slotted(random);
    SlottedOptions options;
    options.machines = integer(random, 1, 12);
    options.preemptive = exact || chance(random, 0.5);
    std::vector<double> guess;
    if (!exact && chance(random, 0.5)) {
      const double grain = chance(random, 0.5) ? 1.0 : 0.1;
      guess.resize(table.map.size());
      for (double& each : guess) each = grain * static_cast<double>(integer(random, 0, 300));
    }
    const auto expected = finish_of(table, options, std::make_unique<Naive>(), guess);
    const auto found =
        finish_of(table, options, make_slotted_policy(name, options.preemptive), guess);
    CHECK(expected == found);
    for (std::size_t j = 0; j < found.size(); ++j) CHECK(found[j] >= table.arrival[j] - 1);
  });
}

}  // namespace malleable::check
