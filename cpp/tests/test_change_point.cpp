// Changes of a level against what is known of the values.
#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "check.hpp"
#include "malleable/kernel/change_point.hpp"

namespace malleable::check {
namespace test_change_point {

struct Values {
  TaskSums all;
  LatestTasks latest;

  // One after the other.
  void add(double y, double x = 0.0, double slope = 0.0) { ended(all.count, y, x, slope); }
  void ended(double began, double y, double x = 0.0, double slope = 0.0) {
    const double near = draw_near(all, x, y, slope, 0.2);
    const TaskSums one = TaskSums::of(1.0, began, std::exp(y), x, y, near);
    all.add(one);
    latest.add(one);
  }
  ChangePoint change(double slope = 0.0, const RunningTasks& running = {}) const {
    return find_change(all, latest, slope, 0.2, running);
  }
};

TEST(a_jump_is_found_where_it_was) {
  for (const double jump : {1.6, -1.6}) {
    Values values;
    for (int k = 0; k < 100; ++k) values.add(2.0);
    CHECK(values.change().chance < 0.01);
    values.add(2.0 + jump);
    CHECK(!values.change().likely());
    for (int k = 1; k < 30; ++k) values.add(2.0 + jump);
    const ChangePoint found = values.change();
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

// So many tasks at a time, in the order of their ends. How often a change is seen after a task.
double seen_side_by_side(std::size_t slots, double scatter, double rise) {
  int likely = 0, looks = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::multimap<double, std::pair<double, double>> running;  // by end: begin, logarithm
    const auto begin = [&](double now) {
      const double y = scatter * normal(random) + (now > 5.0 ? rise : 0.0);
      running.emplace(now + std::exp(y), std::pair(now, y));
    };
    for (std::size_t k = 0; k < slots; ++k) begin(0.0);
    Values values;
    for (int k = 0; k < 400; ++k) {
      const auto [end, task] = *running.begin();
      running.erase(running.begin());
      values.ended(task.first, task.second);
      RunningTasks others{static_cast<double>(running.size()), 0.0};
      for (const auto& [_, other] : running) others.age += (end - other.first) / others.count;
      likely += values.change(0.0, others).likely() ? 1 : 0;
      ++looks;
      begin(end);
    }
  }
  return static_cast<double>(likely) / looks;
}

// The shortest of them end first, and the longest of those that began first last.
TEST(tasks_side_by_side_are_no_change) {
  for (const std::size_t slots : {2, 10, 100}) {
    for (const double scatter : {0.3, 1.0, 1.5}) {
      CHECK(seen_side_by_side(slots, scatter, 0.0) < 0.03);
    }
  }
  CHECK(seen_side_by_side(10, 0.3, 1.6) > 0.5);
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

}  // namespace test_change_point
}  // namespace malleable::check
