// Slots by marginal gains: the next slot goes to the job whose speed rises most.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "instances.hpp"
#include "malleable/kernel/marginal_gains.hpp"

namespace malleable::check {
namespace test_marginal_gains {

struct Case {
  Problem problem;
  SpeedupColumns speedup;
  Doubles value;

  double worth(const Doubles& slots) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < slots.size(); ++j) {
      sum += value[j] * speedup.view().at(j, slots[j]);
    }
    return sum;
  }
  Doubles allocate() const {
    MarginalGains gains;
    gains.prepare(problem, speedup.view());
    Doubles slots(problem.size());
    gains.allocate(problem, {}, value, slots);
    return slots;
  }
};

// Tables of up to six slots; `concave`: no slot adds more than the one before.
Case random_case(Random& random, bool concave) {
  Case made;
  Shape shape;
  shape.slots = integer(random, 1, 8);
  const auto jobs = static_cast<std::size_t>(integer(random, 1, 4));
  made.problem = random_table(random, jobs, shape).problem(shape.slots);
  for (std::size_t j = 0; j < jobs; ++j) {
    Doubles rates{1.0};
    double gain = 1.0;
    for (std::int64_t more = integer(random, 0, 5); more > 0; --more) {
      gain = concave ? gain * real(random, 0.2, 1.0) : real(random, 0.0, 1.5);
      rates.push_back(rates.back() + gain);
    }
    made.speedup.add(1.0, rates);
    made.value.push_back(real(random, 0.1, 5.0));
  }
  return made;
}

// The most that any allocation within the limits is worth.
double best_of_all(const Case& made) {
  Doubles slots(made.problem.size(), 0.0);
  double best = -kInfinity;
  const std::function<void(std::size_t, double)> give = [&](std::size_t j, double left) {
    if (j == slots.size()) {
      best = std::max(best, made.worth(slots));
      return;
    }
    const bool idle = made.problem.work[j] == 0.0;
    const double low = idle ? 0.0 : made.problem.low[j], high = idle ? 0.0 : made.problem.high[j];
    for (slots[j] = low; slots[j] <= std::min(high, left); slots[j] += 1.0) {
      give(j + 1, left - slots[j]);
    }
    slots[j] = 0.0;
  };
  give(0, made.problem.slots);
  return best;
}

void check_limits(const Case& made, const Doubles& slots) {
  double used = 0.0;
  for (std::size_t j = 0; j < slots.size(); ++j) {
    used += slots[j];
    CHECK_EQUAL(slots[j], std::floor(slots[j]));
    if (made.problem.work[j] == 0.0) {
      CHECK_EQUAL(slots[j], 0.0);
    } else {
      CHECK(slots[j] >= made.problem.low[j] && slots[j] <= made.problem.high[j]);
    }
  }
  CHECK(used <= made.problem.slots);
}

TEST(of_concave_tables_no_allocation_is_worth_more) {
  trials(1, 400, [](Random& random) {
    const Case made = random_case(random, true);
    const Doubles slots = made.allocate();
    check_limits(made, slots);
    const double best = best_of_all(made);
    CHECK_NEAR(made.worth(slots), best, 1e-9 * scale_of(best));
  });
}

TEST(rough_tables_keep_their_limits) {
  trials(2, 400, [](Random& random) {
    const Case made = random_case(random, false);
    const Doubles slots = made.allocate();
    check_limits(made, slots);
    CHECK_AT_MOST(made.worth(slots), best_of_all(made), 1e-9);
  });
}

// A table that gains nothing from its second slot and much from its third: a step of two.
TEST(steps_lead_from_corner_to_corner) {
  Table table;
  table.add(9.0);
  table.add(9.0);
  Case made;
  made.problem = table.problem(4);
  made.speedup.add(1.0, Doubles{1.0, 1.0, 2.8});
  made.speedup.add(1.0, Doubles{1.0, 1.5});
  made.value = {1.0, 1.0};
  CHECK(made.allocate() == (Doubles{3.0, 1.0}));
  made.value = {1.0, 2.0};  // a slot of the other one gains 1, one of the step 0.9
  CHECK_EQUAL(made.allocate()[1], 2.0);
}

TEST(what_lies_between_corners_is_given_to_others) {
  Table table;
  table.add(9.0);
  table.add(9.0);
  Case made;
  made.problem = table.problem(4);
  made.speedup.add(1.0, Doubles{1.0, 1.0, 1.0, 1.0});
  made.speedup.add(1.0, Doubles{1.0, 1.9, 2.7, 3.4});
  MarginalGains gains;
  gains.prepare(made.problem, made.speedup.view());
  Doubles slots{3.0, 1.0};
  gains.settle(made.problem, {}, {}, slots);
  CHECK(slots == (Doubles{1.0, 3.0}));
}

}  // namespace test_marginal_gains
}  // namespace malleable::check
