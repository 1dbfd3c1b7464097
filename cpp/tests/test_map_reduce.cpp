// Tables of jobs in steps, and the checks of their numbers.
#include "malleable/model/map_reduce.hpp"
#include "slotted_instances.hpp"

namespace malleable::check::test_map_reduce {

TEST(map_reduce_valid) {
  trials(1, 100, [](Random& random) { validate(random_slotted(random).view()); });
  validate(SlottedTable().view());
  validate_machines(1);
  validate_machines(kMostUnits);
}

TEST(map_reduce_names_field_row_and_value) {
  SlottedTable good;
  good.add(1, 2, {3, 4});
  good.add(2, 0, {});
  const auto with = [&](auto change) {
    SlottedTable bad = good;
    change(bad);
    validate(bad.view());
  };
  CHECK_THROWS(with([](auto& t) { t.arrival[1] = 0; }), "arrival[1] = 0");
  CHECK_THROWS(with([](auto& t) { t.arrival[0] = kLastStep + 1; }), "arrival[0]");
  CHECK_THROWS(with([](auto& t) { t.map[1] = -3; }), "map[1] = -3");
  CHECK_THROWS(with([](auto& t) { t.map[0] = kMostUnits + 1; }), "map[0]");
  CHECK_THROWS(with([](auto& t) { t.task[1] = 0; }), "reduce[0] = 0");
  CHECK_THROWS(with([](auto& t) { t.task = {kMostUnits, 1}; }), "reduce[0]");
  CHECK_THROWS(with([](auto& t) { t.arrival.pop_back(); }), "arrival has 1 entry but map has 2");
  CHECK_THROWS(with([](auto& t) { t.offset.pop_back(); }), "reduce has 1 entry but map has 2");
  CHECK_THROWS(with([](auto& t) {
                 t.offset[1] = 1;
                 t.offset[2] = 0;
               }),
               "offsets");
  CHECK_THROWS(with([](auto& t) { t.offset[2] = 1; }), "offsets do not match");
  CHECK_THROWS(validate_machines(0), "machines = 0");
  CHECK_THROWS(validate_machines(kMostUnits + 1), "machines");
}

TEST(map_reduce_limits_the_work_of_a_table) {
  SlottedTable table;
  for (std::int64_t k = 0; k < kMostWork / kMostUnits; ++k) table.add(1, kMostUnits, {});
  validate(table.view());
  table.add(1, 1, {});
  CHECK_THROWS(validate(table.view()), "2^52");
}

}  // namespace malleable::check::test_map_reduce
