// Tables of flows (jobs that wait for each other), and the checks of their numbers.
#include "flow_instances.hpp"
#include "malleable/model/flows.hpp"

namespace malleable::check {
namespace test_flows {

FlowTable chain() {
  FlowTable table;
  table.add_flow(0.0, 1.0, 9.0);
  table.add_job(2.0, 2);
  table.add_job(3.0, 1, {0});
  return table;
}

TEST(valid_flows_pass) {
  trials(1, 200, [](Random& random) {
    const FlowTable table = random_flows(random, 5, 6, true);
    validate(table.view());
    CHECK(find_cycle(table.view()).empty());
  });
}

TEST(wrong_values_are_named) {
  FlowTable table = chain();
  table.work[1] = -1.0;
  CHECK_THROWS(validate(table.view()), "work[1] = -1");
  table = chain();
  table.max_slots[0] = 0;
  CHECK_THROWS(validate(table.view()), "max_slots[0] = 0");
  table = chain();
  table.arrival[0] = NAN;
  CHECK_THROWS(validate(table.view()), "arrival[0]");
  table = chain();
  table.parent[0] = 7;
  CHECK_THROWS(validate(table.view()), "after[1] = 7");
  table = chain();
  table.job_offset.push_back(2);
  CHECK_THROWS(validate(table.view()), "job_offset");
  table = chain();
  table.parent_offset[1] = 2;
  CHECK_THROWS(validate(table.view()), "parent_offset");
}

TEST(a_table_knows_how_large_its_flows_are) {
  FlowColumns few = chain();
  few.original.clear();
  few.deadline.clear();
  const Flows flows(std::move(few));
  CHECK(flows.columns().original == (std::vector<double>{5.0}));
  CHECK_EQUAL(flows.columns().deadline[0], kInfinity);
  FlowTable turns = chain();
  turns.parent = {1};
  CHECK_THROWS(Flows(FlowColumns(turns)), "form a cycle");
}

TEST(tables_taken_apart_and_joined_are_the_same) {
  trials(3, 100, [](Random& random) {
    const Flows flows{FlowColumns(random_flows(random, 5, 6, true))};
    std::vector<Flows> parts;
    for (std::size_t j = 0; j < flows.view().flows(); ++j) {
      parts.push_back(flows.take(std::vector{static_cast<std::int64_t>(j)}));
    }
    std::vector<const Flows*> each;
    for (const Flows& part : parts) each.push_back(&part);
    const Flows again = Flows::joined(each);
    CHECK(again.columns().parent == flows.columns().parent);
    CHECK(again.columns().job_offset == flows.columns().job_offset);
    CHECK(again.columns().parent_offset == flows.columns().parent_offset);
    CHECK(again.columns().work == flows.columns().work);
    CHECK(again.columns().sla.time == flows.columns().sla.time);
    CHECK(again.columns().original == flows.columns().original);
  });
}

TEST(cycles_are_found_and_real) {
  trials(2, 300, [](Random& random) {
    FlowTable table;
    table.add_flow(0.0, 1.0, 1.0);
    const std::int64_t jobs = integer(random, 1, 7);
    for (std::int64_t i = 0; i < jobs; ++i) {
      std::vector<std::int64_t> parents;
      for (std::int64_t p = 0; p < jobs; ++p) {
        if (chance(random, 0.2)) parents.push_back(p);
      }
      table.add_job(1.0, 1, parents);
    }
    // Slow and obvious: take away jobs without parents until none is left.
    std::vector<bool> gone(static_cast<std::size_t>(jobs), false);
    for (bool any = true; any;) {
      any = false;
      for (std::size_t i = 0; i < gone.size(); ++i) {
        bool waits = gone[i];
        for (auto e = table.parent_offset[i]; !waits && e < table.parent_offset[i + 1]; ++e) {
          waits = !gone[static_cast<std::size_t>(table.parent[static_cast<std::size_t>(e)])];
        }
        if (!waits) gone[i] = any = true;
      }
    }
    const bool cyclic = std::find(gone.begin(), gone.end(), false) != gone.end();
    const auto cycle = find_cycle(table.view());
    CHECK_EQUAL(!cycle.empty(), cyclic);
    for (std::size_t k = 0; k < cycle.size(); ++k) {
      const auto i = static_cast<std::size_t>(cycle[k]);
      const auto* first = table.parent.data() + table.parent_offset[i];
      const auto* end = table.parent.data() + table.parent_offset[i + 1];
      CHECK(std::find(first, end, cycle[(k + 1) % cycle.size()]) != end);
    }
  });
}

}  // namespace test_flows
}  // namespace malleable::check
