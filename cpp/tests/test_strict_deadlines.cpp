// Strict deadlines: infinite penalties made finite for solvers.
#include <cmath>
#include <vector>

#include "instances.hpp"
#include "malleable/kernel/strict_deadlines.hpp"

namespace malleable::check {
namespace test_strict_deadlines {

Penalties mixed(const Table& table, const std::vector<Kind>& kinds) {
  Penalties made;
  made.build(table.view(), kinds);
  return made;
}

struct Case {
  Table table;
  Penalties penalties;
  StrictDeadlines strict;
  bool any = false;

  explicit Case(Table made, const std::vector<Kind>& kinds, double horizon = 20.0)
      : table(std::move(made)), penalties(mixed(table, kinds)) {
    const Problem problem = table.problem(2);
    any = strict.study(penalties, 0.0, horizon, problem.work, problem.idle_end);
  }
};

TEST(without_strict_deadlines_there_is_nothing_to_do) {
  Table table;
  table.add(4.0, 0, 2, 1.0, 3.0);
  CHECK(!Case(table, {Kind::kTardy}).any);
  table.deadline[0] = kInfinity;
  table.add(4.0, 0, 2, 1.0, 3.0);
  CHECK(!Case(table, {Kind::kResponse, Kind::kTardiness}).any);
  CHECK(Case(table, {Kind::kResponse, Kind::kStrict}).any);
}

// A miss costs more than everything else together, and the heavier one more.
TEST(misses_come_first_and_by_weight) {
  trials(1, 300, [](Random& random) {
    Table table;
    std::vector<Kind> kinds;
    const std::int64_t jobs = integer(random, 2, 6);
    for (std::int64_t j = 0; j < jobs; ++j) {
      const bool strict = j < 2 || chance(random, 0.5);
      const auto weight = static_cast<double>(integer(random, 1, 5));
      table.add(real(random, 1.0, 5.0), 0, 2, weight, real(random, 1.0, 15.0));
      kinds.push_back(strict ? Kind::kStrict : Kind::kResponse);
    }
    const Case made(table, kinds);
    CHECK(made.any && !made.strict.lost());
    const Penalties& finite = made.strict.finite();
    double rest = 0.0, least = kInfinity;
    for (std::size_t j = 0; j < kinds.size(); ++j) {
      if (kinds[j] != Kind::kStrict) {
        rest += finite(j, 20.0);
        CHECK_EQUAL(finite(j, 20.0), made.penalties(j, 20.0));
        continue;
      }
      CHECK_EQUAL(finite(j, table.deadline[j]), 0.0);
      CHECK_EQUAL(made.penalties(j, table.deadline[j] + 1.0), kInfinity);
      const double miss = finite(j, table.deadline[j] + 1.0);
      CHECK(miss < kInfinity);
      least = std::min(least, miss);
      CHECK_NEAR(miss / finite(0, table.deadline[0] + 1.0), table.weight[j] / table.weight[0],
                 1e-9 * table.weight[j]);
    }
    CHECK(least > rest);
    CHECK_EQUAL(made.strict.pure(), rest == 0.0);
    // Deadlines from now, within their tolerance.
    std::vector<double> exact(kinds.size()), stretched(kinds.size());
    made.strict.due(0.0, exact);
    made.strict.due(1.0, stretched);
    for (std::size_t j = 0; j < kinds.size(); ++j) {
      if (kinds[j] != Kind::kStrict) {  // as far as doubles go
        CHECK(exact[j] > 1e300);
        continue;
      }
      const double due = table.deadline[j];
      CHECK_EQUAL(exact[j], due);
      CHECK(stretched[j] >= due);
      CHECK_NEAR(stretched[j], due, 1e-6);
    }
  });
}

TEST(what_a_schedule_is_worth) {
  Table table;
  table.add(4.0, 0, 2, 1.0, 3.0);
  table.add(4.0, 0, 2, 1.0, 5.0);
  const Case made(table, {Kind::kStrict, Kind::kStrict});
  CHECK(made.strict.pure());
  const auto settle = [&](const Doubles& completion, bool impossible, double bound) {
    double value = 0.0;
    Status status = Status::kOk;
    made.strict.settle(made.penalties, Aggregate::kSum, completion, impossible, value, bound,
                       status);
    CHECK(bound <= value);
    return std::pair{value, status};
  };
  CHECK(settle({2.0, 4.0}, false, 0.0) == (std::pair{0.0, Status::kOk}));
  CHECK(settle({4.0, 2.0}, false, 0.0) == (std::pair{kInfinity, Status::kUnmet}));
  CHECK(settle({4.0, 2.0}, true, 0.0) == (std::pair{kInfinity, Status::kInfeasible}));
  // A bound of the finite penalties that is above 0 is a proof, too.
  const double miss = made.strict.finite()(0, 4.0);
  CHECK(settle({4.0, 2.0}, false, miss) == (std::pair{kInfinity, Status::kInfeasible}));
}

TEST(a_job_without_work_may_be_lost) {
  Table table;
  table.add(0.0, 0, 2, 1.0, -1.0);  // ends at 0
  table.add(4.0, 0, 2, 1.0, 9.0);
  CHECK(Case(table, {Kind::kStrict}).strict.lost());
  table.deadline[0] = 1.0;
  CHECK(!Case(table, {Kind::kStrict}).strict.lost());
}

}  // namespace test_strict_deadlines
}  // namespace malleable::check
