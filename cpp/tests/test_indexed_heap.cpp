// A priority queue of numbered items whose keys change.
#include <algorithm>
#include <set>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/indexed_heap.hpp"

namespace malleable::check {
namespace test_indexed_heap {

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

// Against an ordered set: fronts, the whole order, and moves in both directions.
TEST(is_an_ordered_set) {
  trials(1, 200, [](Random& random) {
    IndexedHeap heap;
    using Entry = std::pair<double, std::int64_t>;
    std::set<Entry> expected;
    std::vector<Entry> key(40, {-1.0, 0});
    for (int step = 0; step < 300; ++step) {
      const auto row = static_cast<Index>(integer(random, 0, 39));
      if (chance(random, 0.7)) {
        if (key[row].first >= 0.0) expected.erase(key[row]);
        key[row] = {static_cast<double>(integer(random, 0, 9)), std::int64_t{row}};
        expected.insert(key[row]);
        heap.set(row, key[row].first, key[row].second);
      } else {
        if (key[row].first >= 0.0) expected.erase(key[row]);
        key[row] = {-1.0, 0};
        heap.erase(row);
      }
      CHECK_EQUAL(heap.contains(row), key[row].first >= 0.0);
      CHECK_EQUAL(heap.size(), expected.size());
      if (!expected.empty()) CHECK_EQUAL(heap.top(), static_cast<Index>(expected.begin()->second));
    }
    std::vector<Entry> seen;
    heap.visit_in_order([&](const IndexedHeap::Entry& entry) {
      seen.push_back({entry.key, entry.rank});
      return true;
    });
    CHECK(seen == std::vector<Entry>(expected.begin(), expected.end()));
    std::size_t visited = 0;
    heap.visit_in_order([&](const IndexedHeap::Entry&) { return ++visited < 3; });
    CHECK_EQUAL(visited, std::min<std::size_t>(3, seen.size()));
  });
}

TEST(empty) {
  IndexedHeap heap;
  heap.erase(5);
  CHECK(heap.empty());
  CHECK(!heap.contains(5));
  heap.visit_in_order([](const IndexedHeap::Entry&) {
    CHECK(false);
    return true;
  });
}

}  // namespace test_indexed_heap
}  // namespace malleable::check
