// The simulation in steps (unit slots of time), with map and reduce tasks.
#include <cmath>

#include "malleable/sim/slotted.hpp"
#include "slotted_instances.hpp"

namespace malleable::check {
namespace test_slotted {

// Asks another policy, and checks its grants against what there is; `feasible` in the tests.
class Watched final : public SlottedPolicy {
 public:
  Watched(std::unique_ptr<SlottedPolicy> inner, std::int64_t& granted)
      : inner_(std::move(inner)), granted_(granted) {}
  void arrive(std::span<const SlottedJob> jobs, Index row) override { inner_->arrive(jobs, row); }
  void update(std::span<const SlottedJob> jobs, Index row) override { inner_->update(jobs, row); }
  void leave(std::span<const SlottedJob> jobs, Index row, bool cancelled) override {
    inner_->leave(jobs, row, cancelled);
  }
  void pass(std::int64_t machines, double steps) override { inner_->pass(machines, steps); }
  void state(State& s) override { inner_->state(s); }
  void decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle,
              bool fresh, std::vector<SlottedGrant>& grants) override {
    inner_->decide(jobs, machines, idle, fresh, grants);
    std::int64_t sum = 0, running = 0;
    std::vector<char> seen(jobs.size(), 0);
    for (const SlottedGrant& grant : grants) {
      const SlottedJob& job = jobs[grant.row];
      CHECK(job.sequence >= 0);
      CHECK(!seen[grant.row]);
      seen[grant.row] = 1;
      CHECK(grant.maps >= 0 && grant.maps <= job.maps);
      CHECK(grant.reduces >= 0 && grant.reduces <= job.ready);
      sum += grant.maps + grant.reduces;
    }
    for (const SlottedJob& job : jobs) running += job.running;
    CHECK(sum <= idle);
    CHECK_EQUAL(running + idle, machines);
    granted_ += sum;
  }

 private:
  std::unique_ptr<SlottedPolicy> inner_;
  std::int64_t& granted_;
};

const char* const kNames[] = {"asrpt", "unlock", "dsrpt", "srpt", "lrpt", "fifo", "fair"};

// Every step is feasible, all work is done, and the number of jobs in the system adds up to the
// flow times (Little's law).
TEST(slotted_every_step_is_feasible) {
  trials(1, 300, [](Random& random) {
    const SlottedTable table = random_slotted(random);
    std::int64_t units = 0, tasks = static_cast<std::int64_t>(table.task.size());
    for (std::size_t j = 0; j < table.map.size(); ++j) {
      units += table.map[j] + table.reduce(j);
      tasks += table.map[j];
    }
    for (const char* name : kNames) {
      SlottedOptions options;
      options.machines = integer(random, 1, 9);
      options.preemptive = chance(random, 0.5) || std::string(name) == "dsrpt";
      std::int64_t granted = 0;
      SlottedSim sim(options, std::make_unique<Watched>(
                                  make_slotted_policy(name, options.preemptive), granted));
      sim.feed(table.view(), {});
      sim.advance(kLastStep);
      const SlottedTotals& totals = sim.totals();
      CHECK_EQUAL(totals.completed, static_cast<std::int64_t>(table.map.size()));
      CHECK_EQUAL(sim.live(), 0);
      CHECK_EQUAL(totals.busy, units);
      CHECK_EQUAL(granted, options.preemptive ? units : tasks);
      CHECK_EQUAL(totals.live_steps, totals.flow);
      const SlottedRecords records = sim.take_records();
      for (std::size_t k = 0; k < records.job.size(); ++k) {
        const auto j = static_cast<std::size_t>(records.job[k]);
        const std::int64_t reduce = table.reduce(j);
        CHECK(records.start[k] >= table.arrival[j]);
        if (reduce > 0) CHECK(records.finish[k] > records.map_finish[k]);
        if (reduce == 0) CHECK_EQUAL(records.finish[k], records.map_finish[k]);
        if (!options.preemptive) {
          for (auto t = table.offset[j]; t < table.offset[j + 1]; ++t) {
            CHECK(records.finish[k] - records.map_finish[k] >=
                  table.task[static_cast<std::size_t>(t)]);
          }
        }
      }
    }
  });
}

// Feeding job by job, and running up to any step in between, changes nothing.
TEST(slotted_runs_in_pieces) {
  trials(2, 150, [](Random& random) {
    const SlottedTable table = random_slotted(random);
    for (const char* name : kNames) {
      SlottedOptions options;
      options.machines = integer(random, 1, 6);
      options.preemptive = chance(random, 0.5) || std::string(name) == "dsrpt";
      const auto whole = finish_of(table, options, make_slotted_policy(name, options.preemptive));
      SlottedSim sim(options, make_slotted_policy(name, options.preemptive));
      std::vector<std::int64_t> finish(table.map.size(), -1);
      const auto collect = [&] {
        const SlottedRecords records = sim.take_records();
        for (std::size_t k = 0; k < records.job.size(); ++k) {
          finish[static_cast<std::size_t>(records.job[k])] = records.finish[k];
        }
      };
      for (std::size_t j = 0; j < table.map.size(); ++j) {
        SlottedTable one;
        one.add(table.arrival[j], table.map[j],
                {table.task.begin() + table.offset[j], table.task.begin() + table.offset[j + 1]});
        sim.advance(integer(random, 0, table.arrival[j] - 1));
        sim.feed(one.view(), {});
        collect();
      }
      while (sim.live() > 0) sim.advance(sim.next_step() + integer(random, 0, 4));
      collect();
      CHECK(finish == whole);
    }
  });
}

// Estimates change what policies see, never what is done.
TEST(slotted_estimates_change_decisions_only) {
  trials(3, 150, [](Random& random) {
    const SlottedTable table = random_slotted(random);
    std::vector<double> guess(table.map.size());
    for (double& each : guess) each = real(random, 0.0, 30.0);
    for (const char* name : kNames) {
      SlottedOptions options;
      options.machines = integer(random, 1, 6);
      options.preemptive = chance(random, 0.5) || std::string(name) == "dsrpt";
      std::int64_t granted = 0;
      SlottedSim sim(options, std::make_unique<Watched>(
                                  make_slotted_policy(name, options.preemptive), granted));
      sim.feed(table.view(), guess);
      sim.advance(kLastStep);
      CHECK_EQUAL(sim.totals().completed, static_cast<std::int64_t>(table.map.size()));
      CHECK_EQUAL(sim.totals().live_steps, sim.totals().flow);
    }
  });
}

// While every machine runs a long task, nothing is asked and nothing is stepped through.
TEST(slotted_skips_steps_in_which_nothing_can_change) {
  SlottedTable table;
  const std::int64_t length = kMostUnits / 4;
  table.add(1, 0, {length, length});
  table.add(5, 1, {length});
  SlottedOptions options;
  options.machines = 2;
  options.preemptive = false;
  SlottedSim sim(options, make_slotted_policy("asrpt", false));
  sim.feed(table.view(), {});
  sim.advance(100);
  CHECK_EQUAL(sim.next_step(), 101);
  CHECK_EQUAL(sim.totals().busy, 200);
  sim.advance(kLastStep);
  CHECK_EQUAL(sim.totals().last_finish, 2 * length + 1);
  CHECK_EQUAL(sim.totals().decisions, 3);
  CHECK_EQUAL(sim.totals().busy, 3 * length + 1);
  CHECK_EQUAL(sim.totals().live_steps, sim.totals().flow);
}

TEST(slotted_refuses_what_is_late_or_wrong) {
  SlottedTable table;
  table.add(3, 1, {});
  SlottedSim sim({}, make_slotted_policy("fifo", true));
  const std::vector<double> two(2, 1.0);
  CHECK_THROWS(sim.feed(table.view(), two), "one entry a job");
  sim.feed(table.view(), {});
  table.arrival[0] = 2;
  CHECK_THROWS(sim.feed(table.view(), {}), "must not fall");
  SlottedOptions none;
  none.machines = 0;
  CHECK_THROWS(SlottedSim(none, make_slotted_policy("fifo", true)), "machines = 0");
}

// What the poll throws comes through, and the simulation can go on.
TEST(slotted_can_be_interrupted_and_go_on) {
  SlottedTable table;
  table.add(1, 0, {20'000});
  SlottedSim sim({}, make_slotted_policy("fifo", true));
  bool stop = true;
  sim.set_poll([&] {
    if (stop) throw std::runtime_error("enough");
  });
  sim.feed(table.view(), {});
  CHECK_THROWS(sim.advance(kLastStep), "enough");
  CHECK(sim.next_step() > 1 && sim.next_step() < 20'000);
  stop = false;
  sim.advance(kLastStep);
  CHECK_EQUAL(sim.totals().last_finish, 20'000);
}

}  // namespace test_slotted
}  // namespace malleable::check
