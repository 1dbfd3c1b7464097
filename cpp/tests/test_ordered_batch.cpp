// A batch in two stations, map and shuffle, each served in a fixed order.
#include <algorithm>
#include <limits>
#include <numeric>

#include "batches.hpp"
#include "check.hpp"
#include "malleable/kernel/ordered_batch.hpp"
#include "malleable/sim/tandem.hpp"

namespace malleable::check {
namespace test_ordered_batch {

TEST(agrees_with_the_fluid_queue) {
  OrderedBatch evaluate;
  trials(3, 300, [&](Random& random) {
    // Now and then so many that the queue's rankings do not keep all of them sorted; then without
    // ties, which the rounding of long sums would break one way or the other.
    const bool many = random() % 20 == 0;
    Batch b = batch(random, 1 + random() % (many ? 900 : 12));
    for (std::size_t j = 0; many && j < b.map.size(); ++j) {
      b.map[j] *= real(random, 0.5, 1.5);
      b.shuffle[j] *= real(random, 0.5, 1.5);
    }
    const std::size_t count = b.map.size();
    std::vector<Index> order(count), place(count);
    std::iota(order.begin(), order.end(), Index{0});
    std::iota(place.begin(), place.end(), Index{0});
    std::shuffle(order.begin(), order.end(), random);
    std::shuffle(place.begin(), place.end(), random);
    std::vector<double> completion(count), arrival(count, 0.0), first(count), second(count);
    for (std::size_t k = 0; k < count; ++k) {
      first[order[k]] = static_cast<double>(k);
      second[k] = static_cast<double>(place[k]);
    }
    const double total = evaluate.run(b.map, b.shuffle, order, place, completion);
    CHECK(near(total, std::accumulate(completion.begin(), completion.end(), 0.0),
               1e-9 * (1.0 + total)));
    TandemOptions options;
    options.policy = TandemPolicy::kOrder;
    TandemQueue queue(options);
    queue.feed({arrival, b.map, b.shuffle, {}, {}, {}, first, second});
    queue.advance(std::numeric_limits<double>::infinity());
    CHECK_EQUAL(queue.done_id.size(), count);
    for (std::size_t k = 0; k < count; ++k) {
      CHECK(near(queue.done_completion[k], completion[static_cast<std::size_t>(queue.done_id[k])],
                 1e-9));
    }
  });
}

}  // namespace test_ordered_batch
}  // namespace malleable::check
