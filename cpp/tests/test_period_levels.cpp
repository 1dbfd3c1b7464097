// Slots held for a period, by deadlines; a slot-period is one slot for one period.
#include "malleable/kernel/period_levels.hpp"
#include "oracles.hpp"
#include "periodic_loops.hpp"

namespace malleable::check {
namespace test_period_levels {

// The same as a sum over periods: what a job must hold in 0 ... k, from the definition.
double must_slowly(double work, double high, double due, double period, double k) {
  const double units = work / period, edge = std::floor(due / period + 1e-9);
  const double part = std::max(0.0, due / period - edge), need = std::ceil(units - 1e-9);
  if (k < edge) {
    const double whole = std::max(0.0, std::ceil(units - high * part - 1e-9));
    return std::max(0.0, whole - high * (edge - 1.0 - k));
  }
  if (need > high * edge && part > 1e-9) {
    return high * edge + std::ceil((units - high * edge) / part - 1e-9);
  }
  return need;
}

bool fit_slowly(const Problem& problem, double period, const Doubles& due,
                const std::vector<bool>& counts) {
  double last = 1.0;
  for (std::size_t j = 0; j < due.size(); ++j) {
    if (!counts[j]) continue;
    if (problem.work[j] > problem.high[j] * due[j] * (1.0 + 1e-9)) return false;
    last = std::max(last, due[j] / period + 2.0);
  }
  for (int k = 0; k < last; ++k) {
    double total = 0.0;
    for (std::size_t j = 0; j < due.size(); ++j) {
      if (!counts[j]) continue;
      total += must_slowly(problem.work[j], problem.high[j], due[j], period, k);
    }
    if (total > problem.slots * (k + 1.0)) return false;
  }
  return true;
}

Table random_jobs(Random& random, std::size_t jobs, std::int64_t slots) {
  Table table;
  for (std::size_t j = 0; j < jobs; ++j) {
    table.add(real(random, 0.1, 30.0), 0, integer(random, 1, slots + 2),
              static_cast<double>(integer(random, 1, 9)), real(random, 0.2, 15.0));
  }
  return table;
}

TEST(what_a_job_must_hold) {
  const PeriodicNeed need =
      periodic_need(21.0, 4.0, 6.5, 1.0);  // 19 in six whole periods, 2 in the half
  CHECK_EQUAL(need.at(0.0), 0.0);
  CHECK_EQUAL(need.at(1.0), 3.0);
  CHECK_EQUAL(need.at(2.0), 7.0);
  CHECK_EQUAL(need.at(5.0), 19.0);
  CHECK_EQUAL(need.at(6.0), 21.0);
  CHECK_EQUAL(periodic_need(3.0, 4.0, 0.75, 1.0).at(0.0), 4.0);  // within the period: more slots
  trials(1, 3000, [](Random& random) {
    const double high = integer(random, 1, 9), period = std::exp(real(random, -2.0, 2.0));
    const double due = real(random, 0.1, 20.0), work = high * due * real(random, 0.01, 1.0);
    for (double k = 0.0; k < due / period + 3.0; k += 1.0) {
      CHECK_EQUAL(periodic_need(work, high, due, period).at(k),
                  must_slowly(work, high, due, period, k));
    }
  });
}

// The least level passes, a lower one does not.
TEST(least_level) {
  int raised = 0, tried = 0;
  trials(2, 400, [&](Random& random) {
    ++tried;
    const std::int64_t slots = integer(random, 1, 8);
    const Table table = random_jobs(random, static_cast<std::size_t>(integer(random, 1, 7)), slots);
    const Problem problem = table.problem(slots);
    const double period = std::exp(real(random, -1.0, 2.0));
    const Penalties penalties = table.penalties(Kind::kTardiness);
    PeriodLevels levels;
    CHECK(levels.least(problem, penalties, period));
    const std::vector<bool> all(problem.size(), true);
    Doubles slots_now(problem.size());
    levels.share({problem.slots, period, problem.work, problem.low, problem.high}, slots_now);
    Doubles due(levels.key().begin(), levels.key().end());
    CHECK(fit_slowly(problem, period, due, all));
    double level = 0.0;
    for (std::size_t j = 0; j < due.size(); ++j) {
      level = std::max(level, table.weight[j] * (due[j] - table.deadline[j]));
    }
    if (level <= 0.0) return;
    ++raised;
    for (std::size_t j = 0; j < due.size(); ++j) {
      due[j] = table.deadline[j] + 0.995 * level / table.weight[j];
    }
    CHECK(!fit_slowly(problem, period, due, all));
  });
  CHECK(4 * raised > tried);
}

// Every job gets what it must hold, no job more than its maximum, and no slot idles that a job can
// use for the whole period.
TEST(slots_by_deadlines) {
  trials(3, 1000, [](Random& random) {
    const std::int64_t slots = integer(random, 2, 12);
    const Table table = random_jobs(random, static_cast<std::size_t>(integer(random, 1, 9)), slots);
    const Problem problem = table.problem(slots);
    const std::size_t n = problem.size();
    const double period = std::exp(real(random, -1.0, 2.0));
    PeriodLevels levels;
    Doubles given(n, -1.0);
    const bool giving = chance(random, 0.5);
    if (giving) {
      levels.give_up(problem, table.penalties(Kind::kTardy), period, table.weight);
    } else {
      CHECK(levels.least(problem, table.penalties(Kind::kTardiness), period));
    }
    levels.share({problem.slots, period, problem.work, problem.low, problem.high}, given);
    double used = 0.0;
    bool lacks = false;
    std::vector<bool> kept(n);
    for (std::size_t j = 0; j < n; ++j) {
      const double due = levels.key()[j];
      kept[j] = !giving || due == table.deadline[j];
      used += given[j];
      CHECK(given[j] >= 0.0 && given[j] <= problem.high[j]);
      lacks |= given[j] < cap_at_period(problem.work[j], period, 0.0, problem.high[j]);
      if (!kept[j]) continue;
      CHECK(given[j] >= must_slowly(problem.work[j], problem.high[j], due, period, 0.0));
    }
    CHECK(used <= problem.slots);
    CHECK(!lacks || used == problem.slots);
    if (giving) CHECK(fit_slowly(problem, period, table.deadline, kept));
  });
}

// Two of three jobs fit; the one that weighs least for its slot-periods goes, and comes last.
TEST(giving_up) {
  Table table;
  table.add(4.0, 0, 4, 3.0, 2.0);
  table.add(4.0, 0, 4, 1.0, 2.0);
  table.add(4.0, 0, 4, 2.0, 2.0);
  const Problem problem = table.problem(4);
  PeriodLevels levels;
  levels.give_up(problem, table.penalties(Kind::kTardy), 1.0, table.weight);
  Doubles given(3);
  levels.share({problem.slots, 1.0, problem.work, problem.low, problem.high}, given);
  CHECK(levels.key()[0] == 2.0 && levels.key()[2] == 2.0 && levels.key()[1] > 2.0);
  CHECK_EQUAL(given[1], 0.0);
  CHECK_EQUAL(given[0] + given[2], 4.0);
}

}  // namespace test_period_levels
}  // namespace malleable::check
