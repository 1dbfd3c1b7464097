#include "check.hpp"
#include "malleable/kernel/multiple_choice_knapsack.hpp"

namespace malleable::check {
namespace test_multiple_choice_knapsack {

using Knapsack = MultipleChoiceKnapsack;
using Classes = std::vector<std::vector<Knapsack::Option>>;

constexpr double kInf = HUGE_VAL;
constexpr std::size_t kPlenty = 1'000'000;

// Least cost for every capacity, class by class.
double least_cost(const Classes& classes, std::int64_t capacity) {
  const auto size = static_cast<std::size_t>(capacity) + 1;
  std::vector<double> best(size, 0.0);
  for (const auto& options : classes) {
    std::vector<double> next(size, kInf);
    for (std::size_t c = 0; c < size; ++c) {
      for (const auto& option : options) {
        const auto s = static_cast<std::size_t>(option.size);
        if (s <= c) next[c] = std::min(next[c], best[c - s] + option.cost);
      }
    }
    best = next;
  }
  return best[size - 1];
}

Knapsack::Result solve(Knapsack& knapsack, const Classes& classes, double capacity,
                       std::size_t effort, std::vector<double>& choice) {
  knapsack.clear();
  for (const auto& options : classes) {
    knapsack.begin_class();
    for (const auto& option : options) knapsack.add(option.size, option.cost);
  }
  choice.assign(classes.size(), -1.0);
  return knapsack.solve(capacity, effort, choice);
}

void check_solution(const Classes& classes, std::int64_t capacity, std::size_t effort) {
  static Knapsack knapsack;
  std::vector<double> choice;
  const auto result = solve(knapsack, classes, static_cast<double>(capacity), effort, choice);
  double used = 0.0, cost = 0.0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    double chosen = kInf;
    for (const auto& option : classes[c]) {
      if (option.size == choice[c]) chosen = option.cost;
    }
    used += choice[c];
    cost += chosen;
  }
  const double best = least_cost(classes, capacity);
  const double margin = 1e-9 * std::max(1.0, std::fabs(best));
  CHECK_AT_MOST(used, static_cast<double>(capacity), 0.0);
  CHECK_NEAR(result.value, cost, margin);
  CHECK_AT_MOST(best, result.value, margin);
  CHECK_AT_MOST(result.lower_bound, best, margin);
  if (result.exact) {
    CHECK_NEAR(result.value, best, margin);
    CHECK_EQUAL(result.lower_bound, result.value);
  }
  if (effort == kPlenty) CHECK(result.exact);
}

// Costs fall along a class: in steps of any height, or in equal ones, which tie.
Classes random_classes(Random& random, std::size_t count, std::int64_t most_options,
                       std::int64_t most_size) {
  Classes classes(count);
  const bool ties = chance(random, 0.3);
  for (auto& options : classes) {
    double size = static_cast<double>(integer(random, 0, 2));
    double cost = real(random, -5.0, 40.0);
    if (ties) cost = std::floor(cost);
    const std::int64_t number = integer(random, 1, most_options);
    for (std::int64_t k = 0; k < number; ++k) {
      options.push_back({size, cost});
      size += static_cast<double>(integer(random, 1, most_size));
      cost -= ties ? static_cast<double>(integer(random, 1, 3)) : real(random, 1e-3, 9.0);
    }
  }
  return classes;
}

std::int64_t least_size(const Classes& classes) {
  double sum = 0.0;
  for (const auto& options : classes) sum += options.front().size;
  return static_cast<std::int64_t>(sum);
}

TEST(no_class_and_one) {
  check_solution({}, 0, kPlenty);
  check_solution({}, 5, kPlenty);
  for (std::int64_t capacity = 1; capacity < 8; ++capacity) {
    check_solution({{{1.0, 5.0}, {3.0, 4.0}, {4.0, -2.0}, {6.0, -2.5}}}, capacity, kPlenty);
    check_solution({{{0.0, 5.0}}, {{1.0, 2.0}}}, capacity, kPlenty);
  }
}

// The envelope prefers the first class; only the two others together fill the capacity.
TEST(greedy_is_not_enough) {
  const Classes classes{
      {{0.0, 10.0}, {6.0, 0.0}}, {{0.0, 7.0}, {5.0, 0.0}}, {{0.0, 7.0}, {5.0, 0.0}}};
  CHECK_EQUAL(least_cost(classes, 10), 10.0);
  check_solution(classes, 10, kPlenty);
}

TEST(small_instances) {
  trials(1, 4000, [](Random& random) {
    const auto count = static_cast<std::size_t>(integer(random, 1, 6));
    const Classes classes = random_classes(random, count, 5, 4);
    const std::int64_t least = least_size(classes);
    check_solution(classes, least + integer(random, 0, 25), kPlenty);
  });
}

TEST(many_classes) {
  trials(2, 100, [](Random& random) {
    const auto count = static_cast<std::size_t>(integer(random, 20, 60));
    const Classes classes = random_classes(random, count, 4, 9);
    check_solution(classes, least_size(classes) + integer(random, 0, 400), kPlenty);
  });
}

// Cost falls by as much as size grows: the bound separates nothing.
TEST(gains_that_follow_sizes) {
  trials(3, 100, [](Random& random) {
    Classes classes(static_cast<std::size_t>(integer(random, 2, 18)));
    for (auto& options : classes) {
      const auto size = static_cast<double>(integer(random, 50, 90));
      options = {{0.0, 100.0}, {size, 100.0 - size}};
    }
    check_solution(classes, integer(random, 40, 900), kPlenty);
  });
}

TEST(little_effort_leaves_a_bound) {
  trials(4, 1000, [](Random& random) {
    const auto count = static_cast<std::size_t>(integer(random, 1, 25));
    const Classes classes = random_classes(random, count, 5, 7);
    const auto effort = static_cast<std::size_t>(integer(random, 0, 40));
    check_solution(classes, least_size(classes) + integer(random, 0, 100), effort);
  });
}

TEST(everything_fits) {
  trials(5, 100, [](Random& random) {
    const Classes classes = random_classes(random, 10, 5, 5);
    check_solution(classes, 1000, 0);
  });
}

TEST(exactly_the_first_options_fit) {
  trials(6, 100, [](Random& random) {
    const Classes classes = random_classes(random, 10, 5, 5);
    check_solution(classes, least_size(classes), kPlenty);
  });
}

}  // namespace test_multiple_choice_knapsack
}  // namespace malleable::check
