// The shortest time in which two stations, map and shuffle, do a batch.
#include <algorithm>
#include <limits>
#include <numeric>

#include "batches.hpp"
#include "check.hpp"
#include "malleable/kernel/tandem_makespan.hpp"
#include "malleable/sim/tandem.hpp"

namespace malleable::check {
namespace test_tandem_makespan {

// No order does better than heavy shufflers first, and that meets the larger total.
TEST(no_order_is_shorter) {
  trials(1, 60, [](Random& random) {
    const Batch b = batch(random, 1 + random() % 6);
    const std::size_t count = b.map.size();
    std::vector<double> completion(count);
    const auto makespan = [&](const std::vector<Index>& order) {
      order_completions(b.map, b.shuffle, order, completion);
      return *std::max_element(completion.begin(), completion.end());
    };
    const double found = makespan(makespan_order(b.map, b.shuffle));
    std::vector<Index> order(count);
    std::iota(order.begin(), order.end(), Index{0});
    double best = std::numeric_limits<double>::infinity();
    do {
      best = std::min(best, makespan(order));
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(near(found, best, 1e-12));
    const double maps = std::accumulate(b.map.begin(), b.map.end(), 0.0);
    const double shuffles = std::accumulate(b.shuffle.begin(), b.shuffle.end(), 0.0);
    CHECK(near(found, std::max(maps, shuffles), 1e-12));
  });
}

TEST(completions_are_those_of_the_fluid_queue) {
  trials(2, 60, [](Random& random) {
    const Batch b = batch(random, 1 + random() % 12);
    std::vector<Index> order(b.map.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::vector<double> completion(b.map.size()), arrival(b.map.size(), 0.0);
    order_completions(b.map, b.shuffle, order, completion);
    TandemOptions options;
    options.conserving = false;
    TandemQueue queue(options);
    queue.feed({arrival, b.map, b.shuffle});
    queue.advance(std::numeric_limits<double>::infinity());
    for (std::size_t k = 0; k < queue.done_id.size(); ++k) {
      CHECK(near(queue.done_completion[k], completion[static_cast<std::size_t>(queue.done_id[k])],
                 1e-9));
    }
  });
}

}  // namespace test_tandem_makespan
}  // namespace malleable::check
