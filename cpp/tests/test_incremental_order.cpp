// A sorted list that is mended where keys have changed.
#include <map>

#include "instances.hpp"
#include "malleable/kernel/incremental_order.hpp"

namespace malleable::check {
namespace test_incremental_order {

struct Entry {
  int key;
  Index item;
  bool operator<(const Entry& other) const {
    return key != other.key ? key < other.key : item < other.item;
  }
};

// Few entries move, or all; some come and some go: as if sorted again.
TEST(as_if_sorted_anew) {
  Random random(3);
  IncrementalOrder<Entry> order;
  using Place = IncrementalOrder<Entry>::Place;
  std::map<Index, int> keys;
  Index next = 0;
  for (int step = 0; step < 300; ++step) {
    const int part = step % 3 == 0 ? 100 : 5;
    std::map<Index, int> changed;
    for (const auto& [item, key] : keys) {
      if (integer(random, 0, 99) < part) changed[item] = static_cast<int>(integer(random, -1, 60));
    }
    order.each([&](Entry& entry) {
      const auto found = changed.find(entry.item);
      if (found == changed.end() || found->second == entry.key) return Place::kSame;
      entry.key = found->second;
      return entry.key < 0 ? Place::kGone : Place::kOther;
    });
    for (const auto& [item, key] : changed) keys[item] = key;
    std::erase_if(keys, [](const auto& one) { return one.second < 0; });
    for (std::int64_t more = integer(random, 0, 20); more > 0; --more) {
      keys[next] = static_cast<int>(integer(random, 0, 60));
      order.add({keys[next], next});
      ++next;
    }
    order.settle();
    std::vector<Entry> sorted;
    for (const auto& [item, key] : keys) sorted.push_back({key, item});
    std::sort(sorted.begin(), sorted.end());
    CHECK_EQUAL(order.entries().size(), sorted.size());
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      CHECK_EQUAL(order.entries()[k].item, sorted[k].item);
    }
  }
}

}  // namespace test_incremental_order
}  // namespace malleable::check
