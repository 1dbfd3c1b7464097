// Backfill queues: rigid jobs start in order; later ones may start earlier beside the reservations
// of the first.
#include <vector>

#include "check.hpp"
#include "cluster_world.hpp"
#include "malleable/policy/backfill.hpp"

namespace malleable::check {
namespace test_backfill {

// Four slots, three of them busy until 10; then jobs on 4 slots, and on 1 for 12 s and for 8 s.
World header_example() {
  World world;
  world.slots[0] = 4;
  for (const auto& [slots, seconds] : {std::pair{3, 10.0}, {4, 5.0}, {1, 12.0}, {1, 8.0}}) {
    world.job(static_cast<std::int64_t>(world.maps.size()), slots, seconds, {}, 0);
    world.width.push_back(slots);
  }
  world.arrival = {0.0, 1.0, 1.0, 1.0};
  return world;
}

TEST(easy_starts_what_does_not_delay_the_first) {
  Backfill easy({Reserve::kFirst});
  CHECK(header_example().completions(easy) == (std::vector<double>{10.0, 15.0, 27.0, 9.0}));
}

TEST(first_come_first_served_lets_nobody_overtake) {
  Backfill fcfs({Reserve::kNone});
  CHECK(header_example().completions(fcfs) == (std::vector<double>{10.0, 15.0, 27.0, 23.0}));
}

TEST(conservative_gives_each_a_place) {
  Backfill conservative({Reserve::kEach});
  CHECK(header_example().completions(conservative) == (std::vector<double>{10.0, 15.0, 27.0, 9.0}));
}

// The second job's user asks for too much, so it may not overtake; the third asks for what it
// takes.
TEST(reservations_go_by_requested_times) {
  World world = header_example();
  world.requested = {10.0, 5.0, 100.0, 8.0};
  world.seconds[2] = 2.0;
  Backfill easy({Reserve::kFirst});
  CHECK(world.completions(easy) == (std::vector<double>{10.0, 15.0, 17.0, 9.0}));
}

// A malleable job fills what the rigid one leaves, task by task, and holds it up no longer than a
// task is expected to take.
TEST(malleable_jobs_fill_gaps) {
  World world;
  world.slots[0] = 4;
  world.job(0, 3, 10.0, {}, 0);
  world.job(1, 4, 5.0, {}, 0);
  world.job(2, 12, 4.0, {}, 0);
  world.width = {3, 4, 1};
  world.arrival = {0.0, 1.0, 1.0};
  Backfill easy({Reserve::kFirst});
  // Two tasks end before 10, the others start at 15: four, four and two.
  CHECK(world.completions(easy) == (std::vector<double>{10.0, 15.0, 27.0}));
}

// Elements of an array on two slots each.
TEST(tasks_start_in_bundles) {
  World world;
  world.slots[0] = 5;
  world.job(0, 6, 3.0, {}, 0);
  world.width = {2};
  for (const Reserve reserve : {Reserve::kNone, Reserve::kFirst, Reserve::kEach, Reserve::kBest}) {
    Backfill policy({reserve});
    CHECK(world.completions(policy) == (std::vector<double>{6.0}));
  }
}

// Shortest first would end at 12, 2 and 2; the long job first ends all later on average.
TEST(the_best_order_is_followed) {
  World world;
  world.slots[0] = 2;
  world.job(0, 2, 10.0, {}, 0);
  world.job(1, 1, 2.0, {}, 0);
  world.job(2, 1, 2.0, {}, 0);
  world.width = {2, 1, 1};
  Backfill best({Reserve::kBest, QueueOrder::kShortest});
  CHECK(world.completions(best) == (std::vector<double>{12.0, 2.0, 2.0}));
}

}  // namespace test_backfill
}  // namespace malleable::check
