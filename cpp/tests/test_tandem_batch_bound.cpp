// A lower bound of the total response time of a batch in two stations.
#include <algorithm>
#include <limits>
#include <numeric>

#include "batches.hpp"
#include "check.hpp"
#include "malleable/kernel/ordered_batch.hpp"
#include "malleable/kernel/srpt_bound.hpp"
#include "malleable/kernel/tandem_batch_bound.hpp"

namespace malleable::check {
namespace test_tandem_batch_bound {

// Between the bound of the lone stations and every pair of orders.
TEST(no_pair_of_orders_is_below) {
  OrderedBatch evaluate;
  trials(4, 60, [&](Random& random) {
    const Batch b = batch(random, 1 + random() % 4);
    const std::size_t count = b.map.size();
    const double bound = tandem_batch_bound(b.map, b.shuffle);
    std::vector<Index> order(count), place(count);
    std::iota(order.begin(), order.end(), Index{0});
    do {
      std::iota(place.begin(), place.end(), Index{0});
      do {
        CHECK(evaluate.run(b.map, b.shuffle, order, place, {}) >= bound - 1e-9);
      } while (std::next_permutation(place.begin(), place.end()));
    } while (std::next_permutation(order.begin(), order.end()));
    SrptBound lone;
    const std::vector<double> arrival(count, 0.0);
    lone.feed(arrival, b.map, b.shuffle);
    CHECK(bound >= lone.total() - 1e-9);
  });
}

// Equal jobs one after another: the bound is the optimum.
TEST(exact_for_equal_jobs) {
  const std::vector<double> map{2, 2, 2}, shuffle{1, 1, 1};
  CHECK(near(tandem_batch_bound(map, shuffle), 12.0, 1e-12));
}

}  // namespace test_tandem_batch_bound
}  // namespace malleable::check
