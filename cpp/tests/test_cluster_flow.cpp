// FlowFlex on a cluster: the phases of all jobs of a flow are a graph; a flow is jobs that wait for
// each other.
#include <vector>

#include "check.hpp"
#include "cluster_world.hpp"
#include "malleable/policy/cluster_flow.hpp"

namespace malleable::check {
namespace test_cluster_flow {

// The short flow gets a slot at once; the other one's first job has the other slot, and both from 1
// on: until 11. Then its second job.
TEST(flows_by_hand) {
  World world;
  world.job(0, 2, 10.0, {}, 0);
  world.job(0, 1, 5.0, {0}, 0);
  world.job(1, 1, 1.0, {}, 0);
  const auto policy = make_cluster_flow({});
  const std::vector<double> found = world.completions(*policy);
  CHECK_EQUAL(found[0], 11.0);
  CHECK_EQUAL(found[1], 16.0);
  CHECK_EQUAL(found[2], 1.0);
}

// Ten tasks of a second each: one flow after the other, or a slot each for their users.
TEST(users_share_before_flows) {
  World world;
  world.job(0, 10, 1.0, {}, 0);
  world.job(1, 10, 1.0, {}, 1);
  const auto all = make_cluster_flow({}), apart = make_cluster_flow({.by_user = true});
  CHECK_EQUAL(world.completions(*all)[0], 5.0);
  CHECK_EQUAL(world.completions(*all)[1], 10.0);
  CHECK_EQUAL(world.completions(*apart)[0], 10.0);
  CHECK_EQUAL(world.completions(*apart)[1], 10.0);
}

}  // namespace test_cluster_flow
}  // namespace malleable::check
