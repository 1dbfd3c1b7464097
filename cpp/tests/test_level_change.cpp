// Changes of a level against what is known of the values.
#include <cmath>
#include <random>

#include "check.hpp"
#include "malleable/kernel/level_change.hpp"

namespace malleable::check {
namespace {

struct Values {
  TaskSums all;
  LatestTasks latest;

  void add(double y, double x = 0.0, double slope = 0.0) {
    const TaskSums one = TaskSums::of(1.0, std::exp(y), x, y, draw_near(all, x, y, slope, 0.2));
    all.add(one);
    latest.add(one);
  }
  LevelChange change(double slope = 0.0) const { return find_change(all, latest, slope, 0.2); }
};

TEST(a_jump_is_found_where_it_was) {
  for (const double jump : {1.6, -1.6}) {
    Values values;
    for (int k = 0; k < 100; ++k) values.add(2.0);
    CHECK(values.change().chance < 0.01);
    values.add(2.0 + jump);
    CHECK(!values.change().likely());
    for (int k = 1; k < 30; ++k) values.add(2.0 + jump);
    const LevelChange found = values.change();
    CHECK(found.chance > 0.999);
    CHECK(found.late.count >= 20.0 && found.late.count <= 30.0);
    CHECK_NEAR(found.late.level(0.0), 2.0 + jump, 1e-9);
  }
}

// Times that follow the number of tasks beside them are one level, if p is what it is.
TEST(tasks_that_slow_each_other_down_are_no_change) {
  Values values;
  for (int k = 0; k < 60; ++k) values.add(k < 30 ? 1.0 : 2.5, k < 30 ? 0.0 : 3.0, 0.5);
  CHECK(values.change(0.5).chance < 0.01);
  CHECK(values.change(0.0).chance > 0.9);
}

TEST(scatter_is_no_change) {
  int likely = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    Values values;
    for (int k = 0; k < 100; ++k) values.add(normal(random));
    likely += values.change().likely() ? 1 : 0;
  }
  CHECK(likely <= 10);
}

// However many values there are, few parts are kept, and the latest ones are the smallest.
TEST(parts_grow_with_their_age) {
  Values values;
  for (int k = 0; k < 1000; ++k) values.add(1.0);
  CHECK(values.latest.size() <= LatestTasks::kParts);
  CHECK_EQUAL(values.latest.back(0).count, 1.0);
  CHECK(values.latest.back(values.latest.size() - 1).count > 4.0);
  values.latest.keep(2);
  CHECK_EQUAL(values.latest.size(), std::size_t{2});
}

}  // namespace
}  // namespace malleable::check
