// The simulation of a cluster, event by event: tasks on nodes, heartbeats, nodes that leave.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "malleable/policy/cluster_epoch.hpp"
#include "malleable/policy/cluster_srpt.hpp"
#include "malleable/sim/cluster.hpp"

namespace malleable::check {
namespace test_cluster {

constexpr double kEnd = std::numeric_limits<double>::infinity();

// What the views of a simulation point to.
struct World {
  std::vector<std::int64_t> map_slots, reduce_slots, type, maps, reduces;
  std::vector<double> rate, speed, arrival, map_seconds, reduce_seconds, shuffle;
  bool generic = false;

  World(std::size_t nodes, std::int64_t map, std::int64_t reduce)
      : map_slots(nodes, map),
        reduce_slots(nodes, reduce),
        type(nodes, 0),
        rate(nodes, 1.0),
        speed(nodes, kEnd) {}

  void job(double when, std::int64_t m, double m_seconds, std::int64_t r, double r_seconds,
           double copied) {
    arrival.push_back(when);
    maps.push_back(m);
    map_seconds.push_back(m_seconds);
    reduces.push_back(r);
    reduce_seconds.push_back(r_seconds);
    shuffle.push_back(copied);
  }
  ClusterView cluster() const {
    return {map_slots, reduce_slots, rate, type, speed, speed, generic};
  }
  ClusterJobsView jobs() const {
    ClusterJobsView view;
    view.arrival = arrival;
    view.tasks[kMap] = maps;
    view.tasks[kReduce] = reduces;
    view.seconds[kMap] = map_seconds;
    view.seconds[kReduce] = reduce_seconds;
    view.shuffle = shuffle;
    return view;
  }
};

std::vector<double> completions(const World& world, const ClusterOptions& options,
                                ClusterPolicy& policy) {
  validate(world.cluster());
  validate(world.jobs());
  ClusterSimulation simulation(world.cluster(), world.jobs(), options, {}, {}, policy);
  simulation.advance(kEnd);
  return simulation.completion;
}

// Three maps of 10 s on two slots, a reduce task that copies 6 s from 10 on and works 5 s.
TEST(one_job_by_hand) {
  World world(1, 2, 1);
  world.job(0.0, 3, 10.0, 1, 5.0, 6.0);
  ClusterOptions options;
  options.epoch = 0.0;
  options.slow_start = 0.3;
  ClusterFifo fifo;
  CHECK_EQUAL(completions(world, options, fifo)[0], 27.0);
  options.slow_start = 1.0;
  CHECK_EQUAL(completions(world, options, fifo)[0], 31.0);
  options.slow_start = 0.3;
  options.split_copy = true;
  CHECK_EQUAL(completions(world, options, fifo)[0], 27.0);
}

// Two nodes, a map of 10 s on each; the reduce task on node 0 copies 4 s, then works 5 s. Node 1
// leaves: its map runs again and releases the last 2 s of copying, unless all was copied.
TEST(outputs_leave_with_their_node) {
  World world(2, 1, 1);
  world.job(0.0, 2, 10.0, 1, 5.0, 4.0);
  ClusterOptions options;
  options.epoch = 0.0;
  options.slow_start = 1.0;
  for (const bool lose : {true, false}) {
    for (const double when : {12.0, 15.0}) {
      options.lose_output = lose;
      const std::vector<double> times{when};
      const std::vector<std::int64_t> nodes{1};
      const std::vector<std::uint8_t> up{0};
      ClusterFifo fifo;
      ClusterSimulation simulation(world.cluster(), world.jobs(), options, {times, nodes, up}, {},
                                   fifo);
      simulation.advance(kEnd);
      const bool again = lose && when < 14.0;
      CHECK_EQUAL(simulation.completion[0], again ? when + 10.0 + 2.0 + 5.0 : 19.0);
      CHECK_EQUAL(simulation.totals().outputs_lost, again ? 1 : 0);
    }
  }
}

// Running in steps of any length changes nothing.
TEST(steps_of_any_size) {
  trials(5, 60, [](Random& random) {
    World world(2, integer(random, 1, 3), integer(random, 1, 2));
    for (int j = 0; j < 6; ++j) {
      world.job(static_cast<double>(integer(random, 0, 20)), integer(random, 0, 5),
                static_cast<double>(integer(random, 1, 9)), integer(random, 0, 3),
                static_cast<double>(integer(random, 1, 9)),
                static_cast<double>(integer(random, 0, 4)));
    }
    ClusterOptions options;
    options.epoch = chance(random, 0.5) ? 0.0 : 1.5;
    options.heartbeat = chance(random, 0.5) ? 0.0 : 2.0;
    options.noise = chance(random, 0.5) ? 0.0 : 0.3;
    for (const EpochPolicy which : {EpochPolicy::kFlex, EpochPolicy::kFair}) {
      EpochOptions epoch;
      epoch.policy = which;
      const auto made = make_cluster_epoch({epoch});
      ClusterPolicy& policy = *made;
      const std::vector<double> whole = completions(world, options, policy);
      ClusterSimulation simulation(world.cluster(), world.jobs(), options, {}, {}, policy);
      double now = 0.0;
      while (simulation.totals().completed < simulation.totals().arrived ||
             simulation.totals().arrived < 6) {
        now += real(random, 0.1, 8.0);
        simulation.advance(now);
        if (now > 1e5) break;
      }
      for (std::size_t j = 0; j < whole.size(); ++j) {
        CHECK_EQUAL(simulation.completion[j], whole[j]);
      }
      // All work was done, and no slot idled while a task could have used it.
      double work = 0.0;
      for (std::size_t j = 0; j < 6; ++j) work += world.jobs().work_of(kMap, j);
      if (options.noise == 0.0) CHECK_NEAR(simulation.totals().busy[0], work, 1e-9);
      if (options.heartbeat == 0.0) CHECK_EQUAL(simulation.totals().idle[0], 0.0);
    }
  });
}

// Everything at once, for the sanitizers' eyes: all jobs end, and all tasks are counted.
TEST(all_options_together) {
  trials(7, 150, [](Random& random) {
    World world(3, integer(random, 1, 3), integer(random, 1, 2));
    world.generic = chance(random, 0.3);
    if (world.generic) std::fill(world.reduce_slots.begin(), world.reduce_slots.end(), 0);
    std::fill(world.speed.begin(), world.speed.end(), chance(random, 0.5) ? kEnd : 3.0);
    std::vector<std::int64_t> minimum, offset{0}, after;
    std::vector<double> block;
    for (int j = 0; j < 10; ++j) {
      world.job(static_cast<double>(integer(random, 0, 20)), integer(random, 0, 8),
                real(random, 0.0, 9.0), integer(random, 0, 4), real(random, 0.0, 9.0),
                real(random, 0.0, 4.0));
      minimum.push_back(integer(random, 0, 2));
      block.push_back(real(random, 0.0, 6.0));
      if (j > 0 && chance(random, 0.3)) after.push_back(integer(random, 0, j - 1));
      offset.push_back(static_cast<std::int64_t>(after.size()));
    }
    ClusterJobsView jobs = world.jobs();
    jobs.min_slots[kMap] = minimum;
    jobs.block = block;
    jobs.after_offset = offset;
    jobs.after = after;
    validate(jobs);
    ClusterOptions options;
    options.epoch = chance(random, 0.5) ? 0.0 : 1.5;
    options.heartbeat = chance(random, 0.3) ? 2.0 : 0.0;
    options.replicas = chance(random, 0.4) ? 2 : 0;
    options.delay = chance(random, 0.5) ? 1.0 : 0.0;
    options.noise = chance(random, 0.5) ? 0.0 : 0.3;
    options.failure = chance(random, 0.5) ? 0.0 : 0.3;
    options.speedup.p = chance(random, 0.5) ? 1.0 : 0.5;
    options.split_copy = chance(random, 0.5);
    options.ageing = chance(random, 0.3) ? 4.0 : 0.0;
    if (chance(random, 0.3)) options.min_mode = PhaseMinimum::kStart;
    options.learn = chance(random, 0.5);
    options.lose_output = chance(random, 0.8);
    options.seed = random();
    const std::vector<double> times{5.0, 15.0, 16.0, 40.0};
    const std::vector<std::int64_t> nodes{1, 2, 1, 2};
    const std::vector<std::uint8_t> up{0, 0, 1, 1};
    const ClusterChanges changes{times, nodes, up};
    EpochOptions epoch;
    if (options.start_together()) epoch.min_mode = MinMode::kGang;
    const auto flex =
        make_cluster_epoch({epoch, chance(random, 0.5) && !options.start_together(), false, 0.2});
    ClusterFifo fifo;
    ClusterSrpt asrpt(SrptKind::kAsrpt, 1.0), larger(SrptKind::kMaxSrpt, 1.0),
        hesrpt(SrptKind::kHeSrpt, 0.5);
    for (ClusterPolicy* policy :
         std::initializer_list<ClusterPolicy*>{flex.get(), &fifo, &asrpt, &larger, &hesrpt}) {
      ClusterSimulation simulation(world.cluster(), jobs, options, changes, {}, *policy);
      simulation.advance(kEnd);
      const ClusterTotals& totals = simulation.totals();
      CHECK_EQUAL(totals.completed, std::int64_t{10});
      std::int64_t tasks = 0;
      for (int j = 0; j < 10; ++j) {
        tasks +=
            world.maps[static_cast<std::size_t>(j)] + world.reduces[static_cast<std::size_t>(j)];
      }
      CHECK_EQUAL(totals.tasks, tasks);
      for (const int pool : {0, 1}) {
        CHECK_EQUAL(simulation.state().free[pool], simulation.state().slots[pool]);
        CHECK_AT_MOST(totals.busy[pool], totals.offered[pool], 1e-6);
      }
    }
  });
}

// One map slot and one reduce slot, one task each, no slow start: two stations in line.
TEST(one_slot_a_phase_is_a_tandem_queue) {
  trials(6, 50, [](Random& random) {
    World world(1, 1, 1);
    double now = 0.0, map_free = 0.0, reduce_free = 0.0;
    std::vector<double> expected;
    for (int j = 0; j < 20; ++j) {
      now += real(random, 0.0, 2.0);
      const double m = real(random, 0.1, 2.0), r = real(random, 0.1, 2.0);
      world.job(now, 1, m, 1, r, 0.0);
      map_free = std::max(map_free, now) + m;
      reduce_free = std::max(reduce_free, map_free) + r;
      expected.push_back(reduce_free);
    }
    ClusterOptions options;
    options.slow_start = 1.0;
    ClusterFifo fifo;
    const std::vector<double> found = completions(world, options, fifo);
    for (std::size_t j = 0; j < found.size(); ++j) CHECK_NEAR(found[j], expected[j], 1e-9);
  });
}

// One slot, taken for 10^6 epochs, while a job waits whose deadline makes the policy look at the
// time.
TEST(epochs_in_which_nothing_happens) {
  World world(1, 1, 1);
  for (const double seconds : {1e6, 5.0}) world.job(0.0, 1, seconds, 0, 0.0, 0.0);
  const std::vector<double> deadline{1e9, 2e6};
  ClusterJobsView jobs = world.jobs();
  jobs.deadline = deadline;
  EpochOptions flex;
  flex.kind = Kind::kTardy;
  for (const double epoch : {1.0, 1e-3, 1e-300}) {
    ClusterOptions options;
    options.epoch = epoch;
    const auto policy = make_cluster_epoch({flex});
    ClusterSimulation simulation(world.cluster(), jobs, options, {}, {}, *policy);
    simulation.advance(kEnd);
    CHECK_AT_MOST(simulation.completion[0], 1e6 + 5.0, 2.0 * epoch);
    CHECK_AT_MOST(simulation.completion[1], 1e6 + 5.0, 2.0 * epoch);
    CHECK(simulation.totals().decisions < 5000);
  }
}

// The only node leaves for good: a policy that looks at the time is asked no more.
TEST(nobody_is_asked_for_ever) {
  World world(1, 1, 1);
  world.job(0.0, 1, 10.0, 0, 0.0, 0.0);
  const std::vector<double> time{5.0};
  const std::vector<std::int64_t> node{0};
  const std::vector<std::uint8_t> up{0};
  EpochOptions flex;
  flex.kind = Kind::kTardiness;
  ClusterOptions options;
  const auto policy = make_cluster_epoch({flex});
  ClusterSimulation simulation(world.cluster(), world.jobs(), options, {time, node, up}, {},
                               *policy);
  simulation.advance(kEnd);
  CHECK_EQUAL(simulation.totals().completed, 0);
  CHECK(simulation.totals().decisions < 5000);
}

// Heartbeats that are too short for the clock act like none.
TEST(periods_of_any_size) {
  World world(2, 1, 1);
  world.speed.assign(2, 1.0);
  for (const double when : {0.1, 7.3, 7.9}) world.job(when, 3, 13.3, 1, 3.7, 0.0);
  const std::vector<double> bytes(3, 5.0);
  ClusterJobsView jobs = world.jobs();
  jobs.block = bytes;
  const auto last = [&](double heartbeat) {
    ClusterOptions options;
    options.epoch = 0.0;
    options.heartbeat = heartbeat;
    options.replicas = 1;
    ClusterFifo fifo;
    ClusterSimulation simulation(world.cluster(), jobs, options, {}, {}, fifo);
    simulation.advance(kEnd);
    return *std::max_element(simulation.completion.begin(), simulation.completion.end());
  };
  const double whole = last(1e-6);
  CHECK(whole < 200.0);
  for (const double period : {1e-9, 1e-15, 1e-17, 1e-300}) {
    CHECK_NEAR(last(period), whole, 1e-4);
  }
}

// The block of the only map lies where there is no slot: it runs elsewhere after the delay or when
// the job has aged, after any number of heartbeats, and with any other tasks.
TEST(a_delay_of_many_heartbeats) {
  World world(2, 1, 1);
  world.map_slots[1] = 0;
  world.job(0.0, 1, 10.0, 0, 0.0, 0.0);
  for (const std::int64_t others : {0, 1, 2}) {
    if (others == 1) world.job(0.0, 0, 0.0, 1, 2e6, 0.0);
    const double ageing = others == 2 ? 600.0 : 0.0, wait = others == 2 ? ageing : 1e6;
    std::size_t waited = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      ClusterOptions options;
      options.epoch = 0.0;
      options.heartbeat = 1.0;
      options.replicas = 1;
      options.delay = 1e6;
      options.ageing = ageing;
      options.seed = seed;
      ClusterFifo fifo;
      const double end = completions(world, options, fifo)[0];
      if (end > 100.0) ++waited;
      CHECK_NEAR(end, end > 100.0 ? wait + 10.0 : 10.0, 2.0);
    }
    CHECK(waited > 0 && waited < 4);
  }
}

// A gang waits until a long task leaves it enough slots, then for its blocks, each for more
// heartbeats than are made for nothing.
TEST(a_gang_after_many_heartbeats) {
  World world(2, 2, 1);
  world.job(0.0, 1, 1e6, 0, 0.0, 0.0);
  world.job(1.0, 4, 10.0, 0, 0.0, 0.0);
  const std::vector<std::int64_t> least{0, 4};
  ClusterJobsView jobs = world.jobs();
  jobs.min_slots[kMap] = least;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    ClusterOptions options;
    options.epoch = 0.0;
    options.heartbeat = 1.0;
    options.min_mode = PhaseMinimum::kStart;
    options.replicas = 1;
    options.delay = 5e5;
    options.seed = seed;
    ClusterFifo fifo;
    ClusterSimulation simulation(world.cluster(), jobs, options, {}, {}, fifo);
    simulation.advance(kEnd);
    CHECK_NEAR(simulation.start[1], 1.25e6, 2.5e5 + 5.0);
  }
}

TEST(wrong_input_is_named) {
  World world(1, 2, 0);
  world.job(0.0, 1, 10.0, 1, 5.0, 0.0);
  CHECK_THROWS(validate_fit(world.cluster(), world.jobs()), "reduces[0] = 1");
  world.map_seconds[0] = std::nan("");
  CHECK_THROWS(validate(world.jobs()), "map_seconds[0] = nan");
  world.map_seconds[0] = 1.0;
  world.rate[0] = 0.0;
  CHECK_THROWS(validate(world.cluster()), "rate[0] = 0");
  world.rate[0] = 1.0;
  world.generic = true;
  CHECK_THROWS((world.reduce_slots[0] = 1, validate(world.cluster())), "reduce_slots[0] = 1");
}

}  // namespace test_cluster
}  // namespace malleable::check
