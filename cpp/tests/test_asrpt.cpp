// ASRPT and DSRPT: the cluster follows a virtual schedule that serves the job with the least work
// left on all machines; steps are unit slots of time.
#include "malleable/policy/asrpt.hpp"
#include "slotted_instances.hpp"

namespace malleable::check {
namespace test_asrpt {

class NaiveAsrpt final : public NaiveVirtual {
 public:
  void decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle, bool,
              std::vector<SlottedGrant>& grants) override {
    virtual_steps(static_cast<double>(machines));
    const auto order = by(jobs, [](const SlottedJob& job) { return job.left(); });
    for (const Index row : order) give(jobs, row, planned(jobs[row]), idle);
    for (const Index row : order) give(jobs, row, jobs[row].ready, idle);
    for (const Index row : order) give(jobs, row, jobs[row].maps, idle);
    hand_over(jobs, grants);
  }
};

// Delayed reduce work by the unit, first come first served.
class NaiveDsrpt final : public NaiveVirtual {
 public:
  void decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle, bool,
              std::vector<SlottedGrant>& grants) override {
    const auto before = ghosts_;
    virtual_steps(static_cast<double>(machines));
    // The virtual order of the step: least work first as it was at its beginning.
    std::vector<std::int64_t> served;
    for (const auto& [sequence, ghost] : before) {
      const auto after = ghosts_.find(sequence);
      if (after == ghosts_.end() || after->second.total < ghost.total) served.push_back(sequence);
    }
    std::sort(served.begin(), served.end(), [&](std::int64_t a, std::int64_t b) {
      const double x = before.at(a).total, y = before.at(b).total;
      return x < y || (x == y && a < b);
    });
    for (const std::int64_t sequence : served) {
      const Index row = before.at(sequence).row;
      if (jobs[row].sequence == sequence) give(jobs, row, planned(jobs[row]), idle);
    }
    for (auto& [sequence, row] : queue_) {
      if (idle == 0) break;
      if (jobs[row].sequence != sequence) continue;
      const std::int64_t had = given_[row];
      give(jobs, row, std::min<std::int64_t>(1, jobs[row].ready - had), idle);
      if (given_[row] > had) sequence = -1;
    }
    std::erase_if(queue_, [](const auto& unit) { return unit.first < 0; });
    for (const std::int64_t sequence : served) {
      const Ghost& ghost = before.at(sequence);
      const auto after = ghosts_.find(sequence);
      const double left = after == ghosts_.end() ? 0.0 : after->second.total;
      const double maps = served_.contains(sequence) ? served_[sequence] : 0.0;
      for (double unit = ghost.total - left - maps; unit > 0.0; --unit) {
        queue_.push_back({sequence, ghost.row});
      }
    }
    hand_over(jobs, grants);
  }

 private:
  std::vector<std::pair<std::int64_t, Index>> queue_;
};

TEST(asrpt_sorted_anew) { compare_with_naive<NaiveAsrpt>("asrpt", 1, 4000); }

TEST(dsrpt_unit_by_unit) { compare_with_naive<NaiveDsrpt>("dsrpt", 2, 400, true); }

TEST(dsrpt_needs_tasks_that_may_be_interrupted) {
  CHECK_THROWS(make_slotted_policy("dsrpt", false), "preemptive reduce tasks only");
  CHECK_THROWS(make_slotted_policy("sjf", true), "sjf");
}

// Virtual steps cut estimated work anywhere; no work may be lost by rounding, and no job may
// starve.
TEST(dsrpt_on_estimates_ends) {
  trials(4, 4000, [](Random& random) {
    const SlottedTable table = random_slotted(random);
    std::vector<double> guess(table.map.size());
    for (double& each : guess) {
      each = chance(random, 0.3) ? 0.0 : real(random, 0.0, 20.0);
    }
    SlottedOptions options;
    options.machines = integer(random, 1, 6);
    SlottedSim sim(options, make_slotted_policy("dsrpt", true));
    sim.feed(table.view(), guess);
    sim.advance(sim.next_step() + 3000);
    CHECK_EQUAL(sim.live(), 0);
  });
}

// Estimated work beyond a job's end keeps no other job waiting.
TEST(dsrpt_on_estimates_far_too_large_ends) {
  trials(5, 400, [](Random& random) {
    const SlottedTable table = random_slotted(random);
    std::int64_t work = 0;
    std::vector<double> guess(table.map.size());
    for (std::size_t j = 0; j < guess.size(); ++j) {
      guess[j] = chance(random, 0.5) ? 1e12 : real(random, 0.0, 20.0);
      work += table.map[j] + table.reduce(j);
    }
    SlottedOptions options;
    options.machines = integer(random, 1, 6);
    SlottedSim sim(options, make_slotted_policy("dsrpt", true));
    sim.feed(table.view(), guess);
    sim.advance(sim.next_step() + 4 * work + 100);
    CHECK_EQUAL(sim.live(), 0);
  });
}

// Map tasks that the virtual SRPT runs go before reduce tasks of a job with less work left.
TEST(asrpt_runs_planned_maps_first) {
  SlottedTable table;
  table.add(1, 1, {9});
  table.add(2, 4, {2});
  SlottedOptions options;
  options.machines = 4;
  // Virtual: job 0 has all of steps 1 and 2, then 2 units of step 3, whose other 2 and whose step 4
  // are job 1's. So steps 3 and 4 run two of job 1's map tasks each and, for the rest, reduce work
  // of job 0, of which one unit is left for step 5, where job 1's reduce work runs as well. Without
  // a plan job 0 would have ended in step 4.
  const auto finish = finish_of(table, options, make_slotted_policy("asrpt", true));
  CHECK(finish == (std::vector<std::int64_t>{5, 5}));
  CHECK_EQUAL(finish_of(table, options, make_slotted_policy("fifo", true))[0], 4);
}

// A job that is done early stays in the virtual schedule until it is done there, and then its plan
// is gone: no other job with its row inherits it.
TEST(asrpt_forgets_plans_of_rows_that_are_used_again) {
  trials(3, 100, [](Random& random) {
    SlottedTable table;
    for (std::int64_t step = 1; step < 60; ++step) {
      table.add(step, integer(random, 0, 3), {integer(random, 1, 3)});
    }
    SlottedOptions options;
    options.machines = integer(random, 2, 5);
    const auto expected = finish_of(table, options, std::make_unique<NaiveAsrpt>());
    CHECK(expected == finish_of(table, options, make_slotted_policy("asrpt", true)));
  });
}

}  // namespace test_asrpt
}  // namespace malleable::check
