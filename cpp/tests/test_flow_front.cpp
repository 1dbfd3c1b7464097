// The order of many flows by prices, from a sample of them.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "malleable/policy/flow_front.hpp"

namespace malleable::check {
namespace test_flow_front {

struct Flow {
  double work, high, rate;
};

std::vector<Flow> random_flows(Random& random, std::size_t count, double slots) {
  std::uniform_real_distribution<double> log(0.0, 6.0), weight(0.5, 4.0), wide(1.0, slots);
  std::vector<Flow> flows;
  for (std::size_t k = 0; k < count; ++k) {
    const double rate = random() % 50 == 0 ? 0.0 : weight(random);
    flows.push_back({std::exp(log(random)), wide(random), rate});
  }
  return flows;
}

std::vector<double> prices_of(FlowFront& front, const std::vector<Flow>& flows, double slots) {
  std::vector<double> work, high, rate;
  for (const Flow& flow : flows) {
    work.push_back(flow.work);
    high.push_back(flow.high);
    rate.push_back(flow.rate);
  }
  const std::span<const double> found = front.prices(work, high, rate, slots);
  return {found.begin(), found.end()};
}

std::vector<Index> sorted_by(std::span<const double> key) {
  std::vector<Index> order(key.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return key[a] < key[b]; });
  return order;
}

std::vector<double> keys_of(const std::vector<Flow>& flows, double exponent, double slots) {
  std::vector<double> key;
  for (const Flow& flow : flows) {
    const double ratio = flow.rate > 0.0 ? std::log(flow.work / flow.rate) : kInfinity;
    key.push_back(ratio + exponent * std::log(flow.high / slots));
  }
  return key;
}

// What all flows pay where they run one behind the other's slots, in the order of an exponent.
double paid(const std::vector<Flow>& flows, double exponent, double slots) {
  Problem problem;
  problem.slots = slots;
  for (const Flow& flow : flows) {
    problem.work.push_back(flow.work);
    problem.high.push_back(flow.high);
    problem.low.push_back(0.0);
  }
  std::vector<double> end(flows.size());
  MalleablePacking packing;
  packing.run(problem, sorted_by(keys_of(flows, exponent, slots)), end);
  double sum = 0.0;
  for (std::size_t k = 0; k < flows.size(); ++k) sum += flows[k].rate * end[k];
  return sum;
}

TEST(the_cheapest_exponent_of_few_flows) {
  Random random(1);
  std::size_t others = 0;
  for (int round = 0; round < 60; ++round) {
    const double slots = 8.0;
    const std::vector<Flow> flows = random_flows(random, 1 + random() % 60, slots);
    FlowFront front;
    const std::vector<double> prices = prices_of(front, flows, slots);
    CHECK(prices == keys_of(flows, front.exponent(), slots));
    const double found = paid(flows, front.exponent(), slots);
    for (const double exponent : FlowFront::kExponents) {
      CHECK(found <= paid(flows, exponent, slots));
    }
    others += front.exponent() != FlowFront::kExponents[0];
  }
  CHECK(others > 10);
}

// A sample gives nearly the order that all flows give.
TEST(a_sample_chooses_well) {
  Random random(2);
  for (int round = 0; round < 5; ++round) {
    const double slots = 200.0;
    const std::vector<Flow> flows = random_flows(random, 4000, slots);
    FlowFront front;
    prices_of(front, flows, slots);
    double least = kInfinity;
    for (const double exponent : FlowFront::kExponents) {
      least = std::min(least, paid(flows, exponent, slots));
    }
    CHECK(paid(flows, front.exponent(), slots) <= 1.01 * least);
  }
}

}  // namespace test_flow_front
}  // namespace malleable::check
