// Slots of flows by gain: a job's next slot goes where it helps most.
#include <numeric>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/flow_gains.hpp"

namespace malleable::check {
namespace test_flow_gains {

// One flow a job, all s^p.
std::vector<double> given(double p, const std::vector<double>& weight, double slots,
                          double coming) {
  FlowGains gains;
  gains.begin(slots);
  const std::vector<double> exponent(weight.size(), p);
  const SpeedupView speedup{exponent, {}, {}};
  for (std::size_t k = 0; k < weight.size(); ++k) {
    gains.add(1.0, slots, speedup, k);
    gains.end_flow(weight[k]);
  }
  std::vector<double> found(weight.size());
  gains.allocate(coming, found);
  return found;
}

TEST(linear_flows_are_served_in_their_order_others_share_the_first_one_most) {
  CHECK((given(1.0, {1.0, 1.0, 1.0}, 12.0, 0.0) == std::vector<double>{12.0, 0.0, 0.0}));
  const std::vector<double> shares = given(0.5, {1.0, 1.0, 1.0}, 12.0, 0.0);
  CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == 12.0);
  CHECK(shares[0] > shares[1]);
  CHECK(shares[1] > shares[2]);
  CHECK(shares[2] > 0.0);
}

TEST(the_more_flows_come_the_nearer_shares_are_to_equal_ones) {
  const std::vector<double> few = given(0.5, {1.0, 1.0, 1.0}, 60.0, 0.0);
  const std::vector<double> many = given(0.5, {1.0, 1.0, 1.0}, 60.0, 1000.0);
  CHECK(few[0] > many[0]);
  CHECK(many[0] <= many[2] + 1.0);
}

TEST(flows_that_weigh_nothing_come_last) {
  CHECK((given(0.5, {0.0, 0.0}, 4.0, 0.0)[0] > 0.0));
  CHECK((given(0.5, {1.0, 0.0}, 4.0, 0.0) == std::vector<double>{4.0, 0.0}));
}

TEST(the_jobs_of_a_flow_are_alike_and_nobody_has_more_than_it_can_use) {
  FlowGains gains;
  gains.begin(10.0);
  const std::vector<double> exponent(3, 0.5);
  for (std::size_t k = 0; k < 2; ++k) gains.add(1.0, 3.0, {exponent, {}, {}}, k);
  gains.end_flow(1.0);
  gains.end_flow(5.0);  // it has no job that is ready
  gains.add(1.0, 100.0, {exponent, {}, {}}, 2);
  gains.end_flow(0.001);
  std::vector<double> slots(3);
  gains.allocate(0.0, slots);
  CHECK((slots == std::vector<double>{3.0, 3.0, 4.0}));
}

}  // namespace test_flow_gains
}  // namespace malleable::check
