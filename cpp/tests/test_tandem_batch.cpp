// Plans of batches in two stations, map and shuffle: policies and orders, searched.
#include <algorithm>
#include <limits>
#include <numeric>

#include "batches.hpp"
#include "check.hpp"
#include "malleable/kernel/tandem_batch_bound.hpp"
#include "malleable/sim/tandem_batch.hpp"

namespace malleable::check {
namespace test_tandem_batch {

// Against every pair of orders of four jobs.
TEST(finds_the_best_pair_of_orders) {
  OrderedBatch evaluate;
  std::size_t equal = 0, trials_made = 0;
  trials(6, 50, [&](Random& random) {
    const Batch b = batch(random, 4);
    std::vector<Index> order(4), place(4);
    std::iota(order.begin(), order.end(), Index{0});
    double best = std::numeric_limits<double>::infinity();
    do {
      std::iota(place.begin(), place.end(), Index{0});
      do {
        best = std::min(best, evaluate.run(b.map, b.shuffle, order, place, {}));
      } while (std::next_permutation(place.begin(), place.end()));
    } while (std::next_permutation(order.begin(), order.end()));
    TandemBatch plan(b.map, b.shuffle);
    plan.search(1000);
    ++trials_made;
    equal += plan.value() <= best + 1e-9;
    CHECK(plan.value() <= best * 1.1 + 1e-9);
    CHECK(plan.value() >= plan.lower_bound() - 1e-9);
  });
  CHECK(equal * 10 >= trials_made * 9);
}

// Phases that differ by decades beyond a double's digits: nothing of the short ones is lost, in no
// way of working the batch off.
TEST(phases_of_very_different_lengths) {
  trials(8, 200, [](Random& random) {
    Batch b;
    for (std::size_t j = 1 + random() % 8; j > 0; --j) {
      b.map.push_back(std::exp(real(random, -27.0, 34.0)));
      b.shuffle.push_back(std::exp(real(random, -27.0, 34.0)));
    }
    TandemBatch plan(b.map, b.shuffle);
    plan.search(50);
    CHECK(plan.lower_bound() <= plan.value());
    const double bound = tandem_batch_bound(b.map, b.shuffle);
    CHECK_AT_MOST(bound, plan.value(), 1e-12 * bound);
    CHECK_NEAR(plan.run().totals().response, plan.value(), 1e-9 * plan.value());
  });
}

TEST(never_worse_than_either_plan_and_repeats) {
  trials(7, 30, [](Random& random) {
    const Batch b = batch(random, 1 + random() % 40);
    TandemBatch plan(b.map, b.shuffle), again(b.map, b.shuffle);
    const double fixed = plan.value();
    plan.search(200);
    again.search(150);
    again.search(50);
    CHECK(fixed <= std::min(plan.max_srpt(), plan.split_srpt()));
    CHECK(plan.value() <= fixed);
    CHECK_EQUAL(plan.value(), again.value());
    CHECK_EQUAL(plan.tried(), again.tried());
    TandemQueue queue = plan.run();
    CHECK(near(queue.totals().response, plan.value(), 1e-9 * (1.0 + plan.value())));
  });
}

}  // namespace test_tandem_batch
}  // namespace malleable::check
