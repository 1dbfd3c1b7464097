// Slots that jobs hold since the last decision, and which of them change.
#include <map>
#include <set>

#include "check.hpp"
#include "malleable/model/assigned_slots.hpp"

namespace malleable::check::test_assigned_slots {

// Against all rows, looked at one by one.
TEST(whoever_holds_or_assigned_slots_is_named_once) {
  trials(3, 300, [](Random& random) {
    const std::size_t rows = 1 + random() % 6;
    AssignedSlots<2> held;
    held.grow(rows);
    std::vector<std::array<std::int64_t, 2>> now(rows), before(rows);
    for (int round = 0; round < 12; ++round) {
      std::vector<Index> first;
      for (Index row = 0; row < rows; ++row) {
        if (chance(random, 0.2)) {  // another job has the row from now on
          held.forget(row);
          now[row] = before[row] = {0, 0};
        }
        if (chance(random, 0.5)) now[row] = {integer(random, 0, 2), integer(random, 0, 1)};
        if (chance(random, 0.3)) {
          first.push_back(row);
          if (chance(random, 0.3)) first.push_back(row);
        } else if (now[row] != before[row]) {
          held.note(row);
        }
      }
      std::set<Index> named;
      const auto tell = [&](Index row, const std::array<std::int64_t, 2>& slots, bool changed) {
        CHECK(named.insert(row).second);
        CHECK(slots == now[row]);
        CHECK_EQUAL(changed, now[row] != before[row]);
      };
      if (chance(random, 0.2)) {  // a copy goes on as the original would
        State out;
        held.state(out);
        const std::string bytes = out.take();
        State in(bytes);
        held = {};
        held.state(in);
      }
      held.begin();
      for (const Index row : first) {
        if (!held.is_set(row)) tell(row, now[row], held.set(row, now[row]));
      }
      held.set_rest([&](Index row) { return now[row]; }, tell);
      const std::array<std::int64_t, 2> none = {0, 0};
      const std::set<Index> asked(first.begin(), first.end());
      for (Index row = 0; row < rows; ++row) {
        const bool expected = asked.contains(row) || now[row] != none || before[row] != none;
        CHECK_EQUAL(named.contains(row), expected);
      }
      before = now;
    }
  });
}

}  // namespace malleable::check::test_assigned_slots
