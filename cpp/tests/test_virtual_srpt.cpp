// SRPT (least work left first) in a virtual schedule that maps and reduces share freely.
#include "malleable/kernel/virtual_srpt.hpp"
#include "slotted_instances.hpp"

namespace malleable::check {
namespace test_virtual_srpt {

// Slot by step and unit by unit, from the definition.
std::vector<std::int64_t> slow_finish(const SlottedTable& table, std::int64_t machines) {
  const std::size_t n = table.map.size();
  std::vector<std::int64_t> left(n), finish(n);
  std::int64_t unfinished = 0;
  for (std::size_t j = 0; j < n; ++j) {
    left[j] = table.map[j] + table.reduce(j);
    finish[j] = table.arrival[j] - 1;
    unfinished += left[j] > 0;
  }
  for (std::int64_t step = 1; unfinished > 0; ++step) {
    for (std::int64_t unit = 0; unit < machines; ++unit) {
      std::size_t best = n;
      for (std::size_t j = 0; j < n; ++j) {
        if (table.arrival[j] > step || left[j] == 0) continue;
        if (best == n || left[j] < left[best]) best = j;
      }
      if (best == n) break;
      if (--left[best] == 0) {
        finish[best] = step;
        --unfinished;
      }
    }
  }
  return finish;
}

TEST(srpt_finish_unit_by_unit) {
  trials(1, 400, [](Random& random) {
    const SlottedTable table = random_slotted(random);
    const std::int64_t machines = integer(random, 1, 9);
    std::vector<std::int64_t> finish(table.map.size());
    const std::int64_t forced = srpt_finish(table.view(), machines, finish);
    CHECK(finish == slow_finish(table, machines));
    CHECK(forced >= 0);
  });
}

// Two jobs that SRPT ends at once, each with both phases; one of them alone would take two steps,
// both together two as well: one step a job is forced.
TEST(srpt_finish_knows_what_two_phases_force) {
  SlottedTable table;
  table.add(3, 1, {1});
  table.add(3, 1, {2});
  table.add(3, 0, {1});
  std::vector<std::int64_t> finish(3);
  CHECK_EQUAL(srpt_finish(table.view(), 10, finish), 2);
  CHECK(finish == (std::vector<std::int64_t>{3, 3, 3}));
  // With two machines SRPT ends the third and nothing else in step 3; nothing is forced but its
  // own order.
  CHECK_EQUAL(srpt_finish(table.view(), 2, finish), 0);
  CHECK(finish == (std::vector<std::int64_t>{4, 5, 3}));
}

TEST(srpt_finish_far_apart) {
  SlottedTable table;
  table.add(1, 0, {kMostUnits});
  table.add(kLastStep, 2, {});
  std::vector<std::int64_t> finish(2);
  srpt_finish(table.view(), 1, finish);
  CHECK(finish == (std::vector<std::int64_t>{kMostUnits, kLastStep + 1}));
  std::swap(table.arrival[0], table.arrival[1]);
  CHECK_THROWS(srpt_finish(table.view(), 1, finish), "arrivals must not fall");
}

// Pouring step by step and all at once end in the same state while no job arrives.
TEST(virtual_srpt_pours_several_steps_at_once) {
  trials(2, 200, [](Random& random) {
    VirtualSrpt slow, fast;
    const auto jobs = integer(random, 1, 12);
    for (std::int64_t j = 0; j < jobs; ++j) {
      const auto map = static_cast<double>(integer(random, 0, 6));
      const double total = map + static_cast<double>(integer(random, map > 0.0 ? 0 : 1, 6));
      slow.add(j, static_cast<Index>(j), map, total);
      fast.add(j, static_cast<Index>(j), map, total);
    }
    const std::int64_t steps = integer(random, 1, 5), machines = integer(random, 1, 6);
    const std::int64_t ends = fast.endings(static_cast<double>(steps * machines));
    double map = 0.0, total = 0.0;
    std::int64_t done = 0;
    for (std::int64_t k = 0; k < steps; ++k) {
      double used = 0.0;
      for (const auto& served : slow.pour(static_cast<double>(machines))) {
        map += served.map;
        total += served.total;
        used += served.total;
        done += served.done;
      }
      CHECK(used <= static_cast<double>(machines));
    }
    CHECK_EQUAL(done, ends);
    for (const auto& served : fast.pour(static_cast<double>(steps * machines))) {
      map -= served.map;
      total -= served.total;
      done -= served.done;
    }
    CHECK_EQUAL(map, 0.0);
    CHECK_EQUAL(total, 0.0);
    CHECK_EQUAL(done, 0);
    CHECK_EQUAL(slow.size(), fast.size());
  });
}

TEST(virtual_srpt_cancels_only_the_job_that_is_meant) {
  VirtualSrpt schedule;
  const Index first = schedule.add(0, 7, 1.0, 2.0);
  CHECK(schedule.pour(2.0).front().done);
  const Index second = schedule.add(1, 8, 0.0, 3.0);
  CHECK_EQUAL(first, second);
  schedule.cancel(first, 0);  // done; the handle is another job's by now
  CHECK_EQUAL(schedule.size(), std::size_t{1});
  schedule.cancel(second, 1);
  CHECK_EQUAL(schedule.size(), std::size_t{0});
  CHECK(schedule.pour(5.0).empty());
}

}  // namespace test_virtual_srpt
}  // namespace malleable::check
