#include <set>

#include "check.hpp"
#include "malleable/kernel/ranked_heap.hpp"

namespace malleable::check {

// Against an ordered set: fronts, the whole order, and moves in both directions.
TEST(ranked_heap_is_an_ordered_set) {
  trials(1, 200, [](Random& random) {
    RankedHeap heap;
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
      if (!expected.empty()) CHECK_EQUAL(heap.front().sequence, expected.begin()->second);
    }
    std::vector<Entry> seen;
    heap.visit_in_order([&](const RankedHeap::Entry& entry) {
      seen.push_back({entry.key, entry.sequence});
      return true;
    });
    CHECK(seen == std::vector<Entry>(expected.begin(), expected.end()));
    std::size_t visited = 0;
    heap.visit_in_order([&](const RankedHeap::Entry&) { return ++visited < 3; });
    CHECK_EQUAL(visited, std::min<std::size_t>(3, seen.size()));
  });
}

TEST(ranked_heap_empty) {
  RankedHeap heap;
  heap.erase(5);
  CHECK(heap.empty());
  CHECK(!heap.contains(5));
  heap.visit_in_order([](const RankedHeap::Entry&) {
    CHECK(false);
    return true;
  });
}

}  // namespace malleable::check
