// Unstarted tasks with their block on a node.
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/local_tasks.hpp"

namespace malleable::check {
namespace test_local_tasks {

// Against looking through all tasks.
TEST(agrees_with_looking_through_all_tasks) {
  trials(2, 150, [](Random& random) {
    const auto nodes = static_cast<std::size_t>(integer(random, 1, 8));
    const auto copies = static_cast<std::size_t>(
        integer(random, 1, std::min<std::int64_t>(3, static_cast<std::int64_t>(nodes))));
    const auto tasks = static_cast<std::size_t>(integer(random, 1, 20));
    std::vector<Index> place;
    for (std::size_t t = 0; t < tasks; ++t) {
      std::vector<Index> all(nodes);
      for (std::size_t k = 0; k < nodes; ++k) all[k] = static_cast<Index>(k);
      std::shuffle(all.begin(), all.end(), random);
      place.insert(place.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(copies));
    }
    LocalTasks blocks;
    blocks.reset(2);
    CHECK(!blocks.has_blocks(1));
    blocks.add(1, tasks, copies, place);
    CHECK(blocks.has_blocks(1));
    std::vector<char> taken(tasks, 0);
    for (int step = 0; step < 60; ++step) {
      const auto node =
          static_cast<Index>(integer(random, 0, static_cast<std::int64_t>(nodes) - 1));
      Index here = kNone, lowest = kNone;
      for (std::size_t t = tasks; t-- > 0;) {
        if (taken[t]) continue;
        lowest = static_cast<Index>(t);
        for (std::size_t c = 0; c < copies; ++c) {
          if (place[t * copies + c] == node) here = static_cast<Index>(t);
        }
      }
      CHECK(blocks.find(1, node) == here);
      CHECK(blocks.first(1) == lowest);
      if (here != kNone) {
        CHECK(blocks.on_node(1, here, node));
        CHECK(blocks.replicas(1, here).size() == copies);
      }
      if (chance(random, 0.3)) {
        const auto back =
            static_cast<Index>(integer(random, 0, static_cast<std::int64_t>(tasks) - 1));
        if (taken[back]) {
          blocks.put_back(1, back);
          taken[back] = 0;
        }
      } else {
        const Index task = chance(random, 0.5) ? here : lowest;
        if (task == kNone) continue;
        blocks.take(1, task);
        taken[task] = 1;
      }
    }
    blocks.remove(1);
    CHECK(!blocks.has_blocks(1));
  });
}

}  // namespace test_local_tasks
}  // namespace malleable::check
