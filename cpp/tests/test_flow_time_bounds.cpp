// Lower bounds of the total time of jobs in the system, in steps.
#include <algorithm>
#include <string>
#include <vector>

#include "malleable/kernel/flow_time_bounds.hpp"
#include "slotted_instances.hpp"

namespace malleable::check {
namespace test_flow_time_bounds {

const char* const kPreemptive[] = {"asrpt", "unlock", "dsrpt", "srpt", "lrpt", "fifo", "fair"};

std::int64_t flow_time(const SlottedTable& table, const std::vector<std::int64_t>& finish) {
  std::int64_t sum = 0;
  for (std::size_t j = 0; j < finish.size(); ++j) sum += finish[j] + 1 - table.arrival[j];
  return sum;
}

TEST(no_policy_is_below) {
  trials(1, 300, [](Random& random) {
    const SlottedTable table = random_slotted(random);
    SlottedOptions options;
    options.machines = integer(random, 1, 9);
    for (const bool preemptive : {false, true}) {
      options.preemptive = preemptive;
      const FlowTimeBounds bounds = flow_time_bounds(table.view(), options.machines, preemptive);
      CHECK(bounds.srpt <= bounds.tight);
      for (const char* name : kPreemptive) {
        if (!preemptive && std::string(name) == "dsrpt") continue;
        const auto finish = finish_of(table, options, make_slotted_policy(name, preemptive));
        CHECK(bounds.tight <= flow_time(table, finish));
      }
    }
  });
}

// One job: its maps on all machines, then its reduces; a task that may not be cut takes its length.
TEST(a_job_alone) {
  SlottedTable table;
  table.add(3, 5, {4, 2});
  const FlowTimeBounds cut = flow_time_bounds(table.view(), 2, true);
  CHECK_EQUAL(cut.srpt, std::int64_t{6});   // 11 units on 2 machines
  CHECK_EQUAL(cut.tight, std::int64_t{6});  // 3 slots of maps, 3 of reduces
  CHECK_EQUAL(flow_time_bounds(table.view(), 2, false).tight, std::int64_t{7});
  CHECK_EQUAL(flow_time_bounds(SlottedTable{}.view(), 2, false).tight, std::int64_t{0});
}

// Jobs of maps alone, all there at once: SRPT is what a policy does.
TEST(maps_alone_are_served_as_the_bound_says) {
  trials(2, 200, [](Random& random) {
    SlottedTable table;
    for (std::int64_t jobs = integer(random, 1, 8); jobs > 0; --jobs) {
      table.add(1, integer(random, 1, 9), {});
    }
    SlottedOptions options;
    options.machines = integer(random, 1, 5);
    const auto finish = finish_of(table, options, make_slotted_policy("srpt", options.preemptive));
    const FlowTimeBounds bounds = flow_time_bounds(table.view(), options.machines, true);
    CHECK_EQUAL(bounds.srpt, flow_time(table, finish));
  });
}

}  // namespace test_flow_time_bounds
}  // namespace malleable::check
