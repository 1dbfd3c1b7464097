// Free slots in the order in which they became free, fast nodes first.
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "malleable/scheduler/slot_queue.hpp"

namespace malleable::check {
namespace test_slot_queue {

std::vector<Index> drain(SlotQueue& queue) {
  std::vector<Index> nodes;
  while (queue.size() > 0) nodes.push_back(queue.pop());
  return nodes;
}

TEST(slots_go_in_the_order_in_which_they_became_free) {
  SlotQueue queue;
  const std::vector<std::int64_t> slots{2, 0, 3};
  queue.reset(slots);
  CHECK(queue.size() == 5 && queue.alike() == 5);
  CHECK(queue.pop() == 0);
  queue.push(0);
  CHECK((drain(queue) == std::vector<Index>{2, 0, 2, 2, 0}));
}

TEST(fast_slots_go_first) {
  SlotQueue queue;
  const std::vector<std::int64_t> slots{1, 2, 1};
  queue.set_speeds(std::vector<Index>{1, 0, 2});
  queue.reset(slots);
  CHECK(queue.speed() == 0 && queue.alike() == 2);
  CHECK((drain(queue) == std::vector<Index>{1, 1, 0, 2}));
  for (const Index node : {2, 0, 1}) queue.push(node);
  CHECK(queue.alike() == 1);
  CHECK((drain(queue) == std::vector<Index>{1, 0, 2}));
}

TEST(a_node_that_leaves_takes_its_slots) {
  SlotQueue queue;
  const std::vector<std::int64_t> slots{2, 2, 1};
  queue.set_speeds(std::vector<Index>{0, 0, 1});
  queue.reset(slots);
  queue.erase(0);
  CHECK(queue.size() == 3 && queue.alike() == 2);
  queue.erase(1);
  CHECK(queue.size() == 1 && queue.speed() == 1);
  queue.push(1);
  CHECK((drain(queue) == std::vector<Index>{1, 2}));
}

}  // namespace test_slot_queue
}  // namespace malleable::check
