#include <set>
#include <utility>

#include "instances.hpp"
#include "malleable/kernel/event_calendar.hpp"

namespace malleable::check {
namespace test_event_calendar {

using Slow = std::multiset<std::pair<double, Index>>;

using Calendar = EventCalendar;

// What an event carries follows from what it is.
Calendar::Event event(double time, Index position) {
  return {time, 2.0 * time, position, position + 1};
}

void check_front(Calendar::Queue& queue, const Slow& slow) {
  const Calendar::Event& front = queue.front();
  if (slow.empty()) {
    CHECK_EQUAL(front.time, kInfinity);
    CHECK_EQUAL(front.position, kNone);
  } else {
    CHECK_EQUAL(front.time, slow.begin()->first);
    CHECK_EQUAL(front.position, slow.begin()->second);
    CHECK_EQUAL(front.slots, 2.0 * front.time);
    CHECK_EQUAL(front.job, front.position + 1);
  }
}

// Random pushes and pops; every position waits at most once at a time, and no time falls behind the
// last one taken. `gap` draws how far ahead of it an event lies.
template <typename Gap>
void compare(Calendar& calendar, Random& random, std::size_t count, double first, double last,
             Gap gap) {
  auto queue = calendar.start(count, first, last);
  Slow slow;
  Order free = shuffled(random, count);
  double taken = 0.0;
  check_front(queue, slow);
  const double busy = real(random, 0.3, 0.9);
  for (std::size_t step = 0; step < 4 * count; ++step) {
    if (!free.empty() && (slow.empty() || chance(random, busy))) {
      const double time = taken + gap();
      queue.push(event(time, free.back()));
      slow.emplace(time, free.back());
      free.pop_back();
    } else if (!slow.empty()) {
      taken = slow.begin()->first;
      free.push_back(slow.begin()->second);
      slow.erase(slow.begin());
      queue.pop();
    }
    check_front(queue, slow);
  }
  while (!slow.empty()) {
    slow.erase(slow.begin());
    queue.pop();
    check_front(queue, slow);
  }
}

TEST(empty) {
  Calendar calendar;
  for (const std::size_t count : {0, 1, 1000}) {
    auto queue = calendar.start(count, 1.0, 2.0);
    check_front(queue, {});
    check_front(queue, {});
  }
}

TEST(spread_times) {
  Calendar calendar;  // one for all: a start must leave nothing behind
  trials(1, 300, [&](Random& random) {
    const auto count = static_cast<std::size_t>(integer(random, 1, 600));
    const double first = std::pow(10.0, real(random, -6.0, 3.0));
    const double last = first * std::pow(10.0, real(random, 0.1, 6.0));
    compare(calendar, random, count, first, last, [&] { return real(random, first, last); });
  });
}

TEST(times_outside_the_range_announced) {
  Calendar calendar;
  trials(2, 200, [&](Random& random) {
    compare(calendar, random, 300, 1.0, 10.0, [&] {
      const double some[] = {0.0, 1e-300, 0.5, 3.0, 9.999, 10.0, 1e6, 1e300};
      return some[random() % 8] * (chance(random, 0.5) ? 1.0 : real(random, 0.5, 1.0));
    });
  });
}

TEST(equal_times_go_by_position) {
  Calendar calendar;
  trials(3, 200, [&](Random& random) {
    const auto kinds = integer(random, 1, 4);
    compare(calendar, random, 400, 1.0, 8.0,
            [&] { return static_cast<double>(integer(random, 0, kinds)); });
  });
  // All at once, pushed in every direction.
  for (const bool rising : {false, true}) {
    auto queue = calendar.start(5000, 1.0, 100.0);
    for (Index k = 0; k < 5000; ++k) queue.push(event(50.0, rising ? k : 4999 - k));
    for (Index k = 0; k < 5000; ++k) {
      CHECK_EQUAL(queue.front().position, k);
      queue.pop();
    }
  }
}

// Everything in one bucket of many: it is sorted once, and what comes later waits in a heap.
TEST(times_that_hardly_differ) {
  Calendar calendar;
  trials(4, 100, [&](Random& random) {
    compare(calendar, random, 500, 1e-9, 1e9,
            [&] { return static_cast<double>(integer(random, 0, 20)) * 0x1p-50; });
  });
}

// One event far ahead, others close by in turn: what is looked for lies a long way off.
TEST(a_long_way_to_the_next) {
  Calendar calendar;
  auto queue = calendar.start(4000, 1e-6, 1e6);
  queue.push(event(1e6, 0));
  double time = 1e-6;
  for (Index k = 1; k < 3999; k += 2) {
    for (const Index p : {k, k + 1}) queue.push(event(time + 1e-7 * p, p));
    for (const Index p : {k, k + 1}) {
      CHECK_EQUAL(queue.front().position, p);
      queue.pop();
    }
    CHECK_EQUAL(queue.front().position, Index{0});
    time *= 1.01;
  }
}

// Who stops early leaves events behind, which the next queue must not show.
TEST(a_start_forgets_what_waited) {
  Calendar calendar;
  trials(7, 100, [&](Random& random) {
    const auto left = static_cast<std::size_t>(integer(random, 1, 2000));
    auto queue = calendar.start(left, 1.0, 1000.0);
    const bool equal = chance(random, 0.3);  // many of one time end in the heap
    for (Index k = 0; k < left; ++k) {
      const double time = equal ? 500.0 : real(random, 1.0, 1000.0);
      queue.push(event(time, k));
      if (k % 7 == 3) queue.front();
    }
    const auto count = static_cast<std::size_t>(integer(random, 1, 200));
    compare(calendar, random, count, 1.0, 10.0, [&] { return real(random, 0.0, 5.0); });
  });
}

TEST(ranges_without_sense_fall_back_to_a_heap) {
  Calendar calendar;
  trials(5, 50, [&](Random& random) {
    const std::pair<double, double> ranges[] = {{0.0, 1.0}, {-1.0, 1.0},      {2.0, 1.0},
                                                {1.0, 1.0}, {kInfinity, 0.0}, {1.0, kInfinity}};
    const auto [first, last] = ranges[random() % 6];
    compare(calendar, random, 200, first, last, [&] { return real(random, 0.0, 2.0); });
  });
}

TEST(neighbouring_ends_of_a_range) {
  Calendar calendar;
  trials(6, 20, [&](Random& random) {
    compare(calendar, random, 200, 1.0, std::nextafter(1.0, 2.0),
            [&] { return chance(random, 0.5) ? 1.0 : std::nextafter(1.0, 2.0); });
  });
}

}  // namespace test_event_calendar
}  // namespace malleable::check
