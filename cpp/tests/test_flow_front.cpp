#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "malleable/policy/flow_front.hpp"

namespace malleable::check {
namespace test_flow_front {

struct Flow {
  double work, high, rate, room;
};

std::vector<Flow> random_flows(Random& random, std::size_t count, double slots) {
  std::uniform_real_distribution<double> log(0.0, 6.0), weight(0.5, 4.0), wide(1.0, slots);
  std::vector<Flow> flows;
  for (std::size_t k = 0; k < count; ++k) {
    const double rate = random() % 50 == 0 ? 0.0 : weight(random);
    const double room = random() % 4 == 0 ? 0.0 : static_cast<double>(1 + random() % 5);
    flows.push_back({std::exp(log(random)), wide(random), rate, room});
  }
  return flows;
}

void set_all(FlowFront& front, const std::vector<Flow>& flows, double slots) {
  front.resize(flows.size());
  for (std::size_t row = 0; row < flows.size(); ++row) {
    const Flow& flow = flows[row];
    front.set(row, flow.work, flow.high, flow.rate, slots, flow.room);
  }
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
    set_all(front, flows, slots);
    const double found = paid(flows, front.exponent(slots), slots);
    for (const double exponent : FlowFront::kExponents) {
      CHECK(found <= paid(flows, exponent, slots));
    }
    others += front.exponent(slots) != FlowFront::kExponents[0];
  }
  CHECK(others > 10);
}

// A sample says nearly as much as all flows do.
TEST(a_sample_chooses_well) {
  Random random(2);
  for (int round = 0; round < 5; ++round) {
    const double slots = 200.0;
    const std::vector<Flow> flows = random_flows(random, 4000, slots);
    FlowFront front;
    set_all(front, flows, slots);
    double least = kInfinity;
    for (const double exponent : FlowFront::kExponents) {
      least = std::min(least, paid(flows, exponent, slots));
    }
    CHECK(paid(flows, front.exponent(slots), slots) <= 1.01 * least);
  }
}

TEST(slots_go_down_the_order_after_any_changes) {
  Random random(3);
  const double slots = 64.0;
  std::vector<Flow> flows = random_flows(random, 900, slots);
  FlowFront front;
  set_all(front, flows, slots);
  for (int round = 0; round < 40; ++round) {
    // Some change, some go, some come.
    for (int k = 0; k < 30; ++k) {
      const std::size_t row = random() % flows.size();
      flows[row] = random_flows(random, 1, slots)[0];
      front.set(row, flows[row].work, flows[row].high, flows[row].rate, slots, flows[row].room);
    }
    const auto stays = [&](std::size_t row) {
      return (row + static_cast<std::size_t>(round)) % 50;
    };
    std::vector<Flow> left;
    for (std::size_t row = 0; row < flows.size(); ++row) {
      if (stays(row)) left.push_back(flows[row]);
    }
    front.compact(stays);
    flows = left;
    for (const Flow& flow : random_flows(random, random() % 20, slots)) {
      flows.push_back(flow);
      front.resize(flows.size());
      front.set(flows.size() - 1, flow.work, flow.high, flow.rate, slots, flow.room);
    }
    std::vector<double> given(flows.size(), 0.0), expected(flows.size(), 0.0);
    front.hand_out(slots, front.exponent(slots),
                   [&](Index row, double more) { given[row] += more; });
    double free = slots;
    for (const Index row : sorted_by(keys_of(flows, front.exponent(slots), slots))) {
      expected[row] = std::min(free, flows[row].room);
      free -= expected[row];
    }
    CHECK(given == expected);
  }
  FlowFront none;
  none.hand_out(slots, 0.0, [](Index, double) { CHECK(false); });
}

}  // namespace test_flow_front
}  // namespace malleable::check
