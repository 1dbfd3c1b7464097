#include "check.hpp"
#include "malleable/policy/cluster_urgency.hpp"

namespace malleable::check {
namespace test_cluster_urgency {

// Jobs of map tasks on four generic slots, at time 0.
struct Waits {
  ClusterState state;
  std::vector<double> deadline, weight, arrival;

  Waits() {
    state.cluster.generic = true;
    state.slots[0] = 4;
  }
  void job(std::int64_t waiting, double seconds, double due, double weighs = 1.0) {
    deadline.push_back(due);
    weight.push_back(weighs);
    arrival.push_back(0.0);
    state.rank.push_back(static_cast<Index>(state.rank.size()));
    PhaseState maps;
    maps.total = maps.waiting = waiting;
    maps.estimate = seconds;
    maps.ready = true;
    state.phases.push_back(maps);
    state.phases.emplace_back();
  }
  std::vector<Index> order(Kind kind, std::int64_t first = 100,
                           Aggregate aggregate = Aggregate::kSum) {
    state.jobs.deadline = deadline;
    state.jobs.weight = weight;
    state.jobs.arrival = arrival;
    ClusterUrgency urgency;
    for (Index j = 0; j < weight.size(); ++j) set(urgency, kNone, j, kind);
    return first_of(urgency, first, aggregate);
  }
  Index set(ClusterUrgency& urgency, Index row, Index job, Kind kind) const {
    return urgency.set(row, state, 0, job, 0, kind);
  }
  std::vector<Index> first_of(ClusterUrgency& urgency, std::int64_t first,
                              Aggregate aggregate) const {
    std::vector<Index> found;
    urgency.decide(state, 0, aggregate, first);
    urgency.each_first([&](const auto& row) { found.push_back(row.job); });
    return found;
  }
};

TEST(what_is_lost_already_comes_last) {
  Waits world;
  world.job(1, 10.0, 9.0, 100.0);  // one task is too long
  world.job(8, 1.0, 1.9, 100.0);   // two rounds of tasks are too long
  world.job(8, 1.0, 2.0);          // just in time
  CHECK(world.order(Kind::kTardy) == (std::vector<Index>{2, 1, 0}));
  // Tardiness grows for late jobs, too: by work over weight.
  CHECK(world.order(Kind::kTardiness) == (std::vector<Index>{1, 0, 2}));
}

TEST(a_far_deadline_can_wait) {
  Waits world;
  world.job(4, 1.0, 1e6);
  world.job(4, 10.0, 11.0);
  world.job(4, 1.0, kInfinity);
  for (const Kind kind : {Kind::kTardy, Kind::kTardiness}) {
    CHECK(world.order(kind) == (std::vector<Index>{1, 0, 2}));
  }
  CHECK(world.order(Kind::kResponse) == (std::vector<Index>{0, 2, 1}));
}

TEST(a_maximum_goes_by_the_latest_start_of_the_last_task) {
  Waits world;
  world.job(4, 10.0, kInfinity);
  world.job(1, 30.0, kInfinity);  // its task is long
  world.job(8, 20.0, kInfinity);  // two rounds of tasks
  CHECK(world.order(Kind::kResponse, 100, Aggregate::kMax) == (std::vector<Index>{2, 1, 0}));
  world.arrival[0] = -25.0;
  CHECK(world.order(Kind::kResponse, 100, Aggregate::kMax) == (std::vector<Index>{2, 0, 1}));
}

TEST(only_the_first_are_chosen) {
  Waits world;
  for (const double seconds : {5.0, 3.0, 9.0, 1.0, 7.0}) world.job(1, seconds, 100.0);
  CHECK(world.order(Kind::kResponse) == (std::vector<Index>{3, 1, 0, 4, 2}));
  CHECK(world.order(Kind::kResponse, 2) == (std::vector<Index>{3, 1}));
}

// Rows that are kept while jobs come, change and leave give the order of new ones. Few of many jobs
// are chosen, some of them alike.
TEST(kept_rows_are_in_order) {
  trials(1, 6, [](Random& random) {
    constexpr Index kJobs = 1000;
    Waits world;
    for (Index j = 0; j < kJobs; ++j) {
      const auto few = [&](int most) { return static_cast<double>(integer(random, 1, most)); };
      world.job(integer(random, 1, 4), few(40), few(400), few(3));
    }
    const Kind kind = chance(random, 0.5) ? Kind::kTardy : Kind::kTardiness;
    (void)world.order(kind);  // sets the table
    ClusterUrgency kept;
    std::vector<Index> row(kJobs, kNone);
    for (int round = 0; round < 10; ++round) {
      for (int change = 0; change < 300; ++change) {
        const auto job = static_cast<Index>(integer(random, 0, kJobs - 1));
        if (row[job] == kNone || chance(random, 0.5)) {
          world.state.phases[2 * job].waiting = integer(random, 1, 4);
          row[job] = world.set(kept, row[job], job, kind);
          continue;
        }
        const Index other = kept.erase(row[job]);
        if (other != kNone) row[other] = row[job];
        row[job] = kNone;
      }
      ClusterUrgency fresh;
      for (Index job = 0; job < kJobs; ++job) {
        if (row[job] != kNone) world.set(fresh, kNone, job, kind);
      }
      CHECK(world.first_of(kept, 20, Aggregate::kSum) ==
            world.first_of(fresh, 20, Aggregate::kSum));
    }
  });
}

}  // namespace test_cluster_urgency
}  // namespace malleable::check
