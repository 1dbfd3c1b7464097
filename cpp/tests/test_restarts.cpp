// Costs of changes of slots: seconds in which a job does no work.
#include <vector>

#include "check.hpp"
#include "malleable/model/restarts.hpp"

namespace malleable::check {
namespace test_restarts {

TEST(what_a_change_costs) {
  const Restart own{.grow = 3.0, .shrink = 1.0, .slot = 0.5};
  CHECK_EQUAL(own.cost(2, 2), 0.0);
  CHECK_EQUAL(own.cost(2, 0), 0.0);
  CHECK_EQUAL(own.cost(0, 4), 5.0);
  CHECK_EQUAL(own.cost(4, 2), 2.0);
}

TEST(columns_say_what_others_do_not) {
  RestartColumns columns;
  columns.any = {30.0, 7.0};
  CHECK(columns.view().of(1) == (Restart{7.0, 7.0, 0.0}));
  columns.shrink = {5.0, 0.0};
  CHECK(columns.view().of(0) == (Restart{30.0, 5.0, 0.0}));
  RestartView slots;
  const std::vector<double> each{2.0};
  slots.slot = each;
  CHECK(slots.of(0, {1.0, 4.0, 0.0}) == (Restart{1.0, 4.0, 2.0}));
  RestartColumns taken;
  taken.add(columns.view(), 1);
  CHECK(taken.view().of(0) == columns.view().of(1));
  CHECK(!RestartView{}.given() && slots.given());
}

TEST(wrong_numbers) {
  RestartColumns columns;
  columns.slot = {1.0, -1.0};
  CHECK_THROWS(validate(columns.view(), 2, "work"), "restart_slot[1] = -1");
  CHECK_THROWS(validate(columns.view(), 3, "work"), "restart_slot has 2 entries");
}

}  // namespace test_restarts
}  // namespace malleable::check
