// A heap of events, the earliest first.
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/event_heap.hpp"

namespace malleable::check {
namespace test_event_heap {

struct Event {
  double time;
  int sequence;
};
struct Earlier {
  bool operator()(const Event& a, const Event& b) const {
    return (a.time < b.time) | ((a.time == b.time) & (a.sequence < b.sequence));
  }
};

// Against a list that is searched through; many times are alike.
TEST(agrees_with_a_plain_list) {
  trials(1, 300, [](Random& random) {
    EventHeap<Event, Earlier> heap;
    std::vector<Event> list;
    const std::int64_t times = chance(random, 0.5) ? 5 : 1000;
    const double growth = real(random, 0.3, 0.9);
    for (int step = 0; step < 200; ++step) {
      if (chance(random, growth)) {
        const Event event{static_cast<double>(integer(random, 0, times)), step};
        heap.push(event);
        list.push_back(event);
      } else if (!list.empty()) {
        const auto first = std::min_element(list.begin(), list.end(), Earlier());
        CHECK_EQUAL(heap.front().sequence, first->sequence);
        CHECK_EQUAL(heap.pop().sequence, first->sequence);
        list.erase(first);
      }
      CHECK_EQUAL(heap.size(), list.size());
      CHECK_EQUAL(heap.empty(), list.empty());
    }
  });
}

// Against one heap: clustered times, many alike, events beyond the horizon, and used again.
TEST(a_calendar_gives_the_events_of_a_heap) {
  JobCalendar calendar;
  trials(2, 300, [&](Random& random) {
    JobEvents heap;
    start_empty(heap);
    calendar.start(static_cast<std::size_t>(integer(random, 300, 3000)), real(random, 0.01, 99.0));
    const double most = chance(random, 0.5) ? 2.0 : 200.0, growth = real(random, 0.3, 0.9);
    double now = 0.0;
    for (Index step = 0; step < 300; ++step) {
      if (chance(random, growth)) {
        const double after = chance(random, 0.3) ? 0.0 : real(random, 0.0, most);
        heap.push({now + after, 1.0, step, step});
        calendar.push({now + after, 1.0, step, step});
      } else {
        const JobEvent first = heap.front();
        CHECK_EQUAL(calendar.front().position, first.position);
        if (first.position == kNone) continue;
        now = first.time;
        heap.pop();
        calendar.pop();
      }
    }
  });
}

}  // namespace test_event_heap
}  // namespace malleable::check
