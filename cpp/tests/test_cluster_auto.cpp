// AUTO on a cluster: by flows where jobs wait for each other, by jobs otherwise.
#include <vector>

#include "check.hpp"
#include "cluster_world.hpp"
#include "malleable/policy/cluster_auto.hpp"
#include "malleable/policy/cluster_epoch.hpp"
#include "malleable/policy/cluster_flow.hpp"

namespace malleable::check {
namespace test_cluster_auto {

// The long flow's first stage is the shortest job that is here; whole flows go the other way round.
TEST(flows_are_served_whole) {
  World world;
  world.job(0, 2, 1.0, {}, 0);
  world.job(0, 40, 1.0, {0}, 0);
  world.job(1, 6, 1.0, {}, 0);
  const auto policy = make_cluster_auto({}, false);
  const std::vector<double> found = world.completions(*policy);
  CHECK_EQUAL(found[0], 4.0);
  CHECK_EQUAL(found[1], 24.0);
  CHECK_EQUAL(found[2], 3.0);
  CHECK(policy->rule({}) != "flow by flow");  // all flows have ended
}

TEST(jobs_alone_are_shared_as_without_flows) {
  World world;
  for (const std::int64_t flow : {0, 1, 2, 3}) world.job(flow, 9 - 5 * flow % 7, 3.0, {}, 0);
  const auto policy = make_cluster_auto({}, false);
  const auto expected = make_cluster_epoch({.asks = true});
  CHECK(world.completions(*policy) == world.completions(*expected));
}

// As FlowFlex ranks them, with so many jobs that lists are not compared.
TEST(flows_run_as_with_flowflex) {
  for (const int flows : {5, 200}) {
    World world;
    world.slots[0] = 7;
    for (int k = 0; k < flows; ++k) {
      const auto first = static_cast<std::int64_t>(world.maps.size());
      world.job(k, 1 + k * 7 % 11, 1.0 + k * 5 % 3, {}, 0);
      world.job(k, 1 + k * 5 % 7, 1.0 + k * 3 % 4, {first}, 0);
    }
    const auto policy = make_cluster_auto({}, false);
    const auto expected = make_cluster_flow({});
    CHECK(world.completions(*policy) == world.completions(*expected));
  }
}

// The job alone ends when the first flow comes: flows are served without it from the start.
TEST(a_job_that_ends_when_flows_come) {
  World world;
  world.job(2, 2, 1.0, {}, 0);
  world.job(0, 2, 1.0, {}, 0);
  world.job(0, 4, 1.0, {1}, 0);
  world.arrival = {0.0, 1.0, 1.0};
  const auto policy = make_cluster_auto({}, false);
  CHECK(world.completions(*policy) == (std::vector<double>{1.0, 2.0, 4.0}));
}

}  // namespace test_cluster_auto
}  // namespace malleable::check
