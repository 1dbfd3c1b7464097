#include <algorithm>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/indexed_heap.hpp"

namespace malleable::check {
namespace {

// Against a list that is searched through.
TEST(agrees_with_a_plain_list) {
  trials(1, 200, [](Random& random) {
    const auto count = static_cast<std::size_t>(integer(random, 1, 30));
    std::vector<Index> rank(count);
    for (std::size_t k = 0; k < count; ++k) rank[k] = static_cast<Index>(k);
    for (std::size_t k = count; k > 1; --k) {
      std::swap(
          rank[k - 1],
          rank[static_cast<std::size_t>(integer(random, 0, static_cast<std::int64_t>(k) - 1))]);
    }
    IndexedHeap heap;
    heap.reset(rank);
    std::vector<double> key(count, -1.0);
    std::vector<Index> inside;
    for (int step = 0; step < 200; ++step) {
      const auto item =
          static_cast<Index>(integer(random, 0, static_cast<std::int64_t>(count) - 1));
      if (chance(random, 0.3)) {
        heap.erase(item);
        std::erase(inside, item);
      } else {
        key[item] = static_cast<double>(integer(random, 0, 5));
        heap.set(item, key[item]);
        if (std::find(inside.begin(), inside.end(), item) == inside.end()) inside.push_back(item);
      }
      const auto less = [&](Index a, Index b) {
        return key[a] != key[b] ? key[a] < key[b] : rank[a] < rank[b];
      };
      std::sort(inside.begin(), inside.end(), less);
      CHECK(heap.size() == inside.size());
      CHECK(heap.empty() == inside.empty());
      CHECK(heap.contains(item) == (std::find(inside.begin(), inside.end(), item) != inside.end()));
      if (inside.empty()) continue;
      CHECK(heap.top() == inside[0]);
      CHECK(heap.top_key() == key[inside[0]]);
      // With a new key, does the top stay before the second?
      const double more = key[inside[0]] + static_cast<double>(integer(random, 0, 2));
      bool stays = true;
      if (inside.size() > 1) {
        const Index second = inside[1];
        stays = more != key[second] ? more < key[second] : rank[inside[0]] < rank[second];
      }
      CHECK(heap.before_second(more, inside[0]) == stays);
    }
  });
}

}  // namespace
}  // namespace malleable::check
