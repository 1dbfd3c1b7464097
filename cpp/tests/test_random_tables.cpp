// Plans thousands of random small tables with every policy, objective and mode, drives epoch
// objects at random, and checks every plan and decision against what it promises. Meant for
// sanitizers above all.

#include "malleable/policy/baseline.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/flex.hpp"
#include "plan_check.hpp"

namespace malleable::check {
namespace test_random_tables {

double waiting(std::int64_t job, double t) {
  return t > 0.0 ? t * std::sqrt(t) + static_cast<double>(job) : -1.0;
}
double stairs(std::int64_t, double t) { return 2.0 * std::floor(t / 3.0); }

// Now and then unusual input: work of any size, limits that clash, times of today's clocks.
Table wild_table(Random& random, std::int64_t slots, double now) {
  Shape shape;
  shape.slots = slots;
  shape.overcommit = chance(random, 0.3);
  shape.minima = chance(random, 0.8);
  shape.maxima = chance(random, 0.8);
  shape.whole = chance(random, 0.3);
  Table table = random_table(random, static_cast<std::size_t>(integer(random, 0, 8)), shape);
  const bool magnitudes = chance(random, 0.1), past = chance(random, 0.2);
  for (std::size_t j = 0; j < table.size(); ++j) {
    if (magnitudes) table.work[j] = std::pow(10.0, real(random, -9.0, 9.0));
    if (chance(random, 0.02)) table.max_slots[j] = kAllSlots;
    table.arrival[j] += now;
    table.deadline[j] = now + (past ? real(random, -9.0, 1.0) : table.deadline[j]);
  }
  for (double& time : table.sla.time) time += now;
  return table;
}

double random_now(Random& random) {
  const double some[] = {0.0, 3.0, real(random, -100.0, 100.0), 1.7e9};
  return some[random() % 4];
}

std::int64_t random_slots(Random& random) {
  return chance(random, 0.02) ? kMostSlots : chance(random, 0.1) ? 1 : integer(random, 1, 15);
}

constexpr Aggregate kAggregates[] = {Aggregate::kSum, Aggregate::kMax};

void plan_everything(const Table& table, const Problem& problem, const Penalties& penalties,
                     Aggregate aggregate, Random& random) {
  static Flex flex;
  static Baseline baseline;
  Plan plan;
  const FlexOptions options{
      static_cast<std::uint64_t>(integer(random, 0, 1) * integer(random, 0, 60)),
      chance(random, 0.1) ? 0.0 : kInfinity};
  flex.plan(problem, penalties, aggregate, options, plan);
  check_plan(problem, penalties, aggregate, plan);
  CHECK(plan.candidates <= options.effort);
  flex.plan_order(problem, penalties, aggregate, shuffled(random, table.size()), true, plan);
  check_plan(problem, penalties, aggregate, plan);
  baseline.water_filling(problem, penalties, aggregate, {}, plan);
  check_plan(problem, penalties, aggregate, plan);
  baseline.water_filling(problem, penalties, aggregate, table.weight, plan);
  check_plan(problem, penalties, aggregate, plan);
  baseline.fifo(problem, penalties, aggregate, table.arrival, plan);
  Problem free = problem;
  free.drop_minima();
  check_plan(free, penalties, aggregate, plan);
}

TEST(every_policy_on_random_tables) {
  trials(1, 10'000, [](Random& random) {
    const std::int64_t slots = random_slots(random);
    const double now = random_now(random);
    const Table table = wild_table(random, slots, now);
    const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(slots, now, mode);
    std::vector<Kind> kinds(table.size());
    const auto one = static_cast<Kind>(integer(random, 0, static_cast<int>(Kind::kCustom)));
    const bool mixed = chance(random, 0.2);
    for (Kind& kind : kinds)
      kind = mixed ? static_cast<Kind>(integer(random, 0, static_cast<int>(Kind::kCustom))) : one;
    if (kinds.empty()) kinds.push_back(one);
    Penalties penalties;
    penalties.build(table.view(), kinds, chance(random, 0.5) ? waiting : stairs);
    plan_everything(table, problem, penalties, kAggregates[random() % 2], random);
  });
}

TEST(every_objective_in_every_mode) {
  trials(2, 200, [](Random& random) {
    const std::int64_t slots = random_slots(random);
    const double now = random_now(random);
    const Table table = wild_table(random, slots, now);
    for (const MinMode mode : {MinMode::kGuarantee, MinMode::kGang}) {
      const Problem problem = table.problem(slots, now, mode);
      for (int kind = 0; kind <= static_cast<int>(Kind::kCustom); ++kind) {
        const Penalties penalties = table.penalties(static_cast<Kind>(kind), waiting);
        for (const Aggregate aggregate : kAggregates) {
          plan_everything(table, problem, penalties, aggregate, random);
        }
      }
    }
  });
}

// The decision keeps the limits of its instance, and the plan behind it does, too.
void check_epoch(Epoch& epoch, const EpochOptions& options, double now) {
  epoch.decide(now);
  const Plan plan = epoch.plan();
  const JobsView jobs = epoch.planned_jobs();
  const std::size_t n = jobs.size();
  Doubles ended(n);
  std::fill(ended.begin(), ended.end(), now);
  Problem problem;
  problem.build(jobs.work, ended, jobs.min_slots, jobs.max_slots, epoch.slots(), now,
                options.min_mode);
  if (options.policy == EpochPolicy::kFifo) problem.drop_minima();
  Penalties penalties;
  penalties.build(jobs, {&options.kind, 1});
  check_plan(problem, penalties, options.aggregate, plan, epoch.given());
  // A job without work left keeps max(1, min_slots), before all others.
  double used = 0.0, most = 0.0, minima = 0.0, free = problem.slots;
  const bool fifo = options.policy == EpochPolicy::kFifo;
  for (const std::int64_t low : jobs.min_slots) minima += fifo ? 0.0 : static_cast<double>(low);
  if (!problem.gang) free -= minima;
  for (std::size_t r = 0; r < n; ++r) {
    const auto given = static_cast<double>(epoch.given()[r]);
    const auto low = static_cast<double>(jobs.min_slots[r]);
    const double kept = std::max(1.0, low);
    const bool waits = problem.gang && given == 0.0;
    if (problem.work[r] > 0.0) {
      CHECK(given <= problem.high[r] && (waits || given >= problem.low[r] || free < 0.0));
    } else if (problem.gang) {
      const double need = fifo ? 1.0 : kept;
      const double wanted = need <= free ? std::min(kept, free) : 0.0;
      CHECK_EQUAL(given, wanted);
      free -= wanted;
    } else if (free >= 0.0) {
      const double base = fifo ? 0.0 : low, more = std::min(kept - base, free);
      CHECK_EQUAL(given, base + more);
      free -= more;
    } else {
      CHECK(given <= kept);
    }
    used += given;
    most += problem.work[r] > 0.0 ? problem.high[r] : std::min(kept, problem.slots);
  }
  CHECK_AT_MOST(used, problem.slots, 0.0);
  if (!problem.gang) CHECK_EQUAL(used, std::min(most, problem.slots));  // nothing lies idle
}

TEST(epochs_driven_at_random) {
  trials(3, 800, [](Random& random) {
    EpochOptions options;
    options.kind = kKinds[random() % std::size(kKinds)];
    options.aggregate = kAggregates[random() % 2];
    options.policy = static_cast<EpochPolicy>(integer(random, 0, 3));
    if (chance(random, 0.3)) options.min_mode = MinMode::kGang;
    if (options.policy == EpochPolicy::kFlex) {
      if (chance(random, 0.3)) options.hysteresis = real(random, 0.0, 2.0);
      if (chance(random, 0.2)) options.effort = 10;
    }
    Epoch epoch(random_slots(random), options);
    double now = random_now(random);
    for (int step = 0; step < 12; ++step) {
      if (chance(random, 0.5)) {
        const Table table = wild_table(random, epoch.slots(), now);
        epoch.add(table.jobs());
      }
      std::vector<std::int64_t> ids;
      for (const std::int64_t id : epoch.ids()) {
        if (chance(random, 0.4)) ids.push_back(id);
      }
      if (chance(random, 0.3)) {
        epoch.remove(ids);
      } else {
        Doubles work(ids.size());
        for (double& w : work) w = chance(random, 0.2) ? 0.0 : real(random, 0.0, 9.0);
        epoch.update(ids, {work, {}, {}, {}, {}});
      }
      if (chance(random, 0.2)) epoch.set_slots(random_slots(random));
      check_epoch(epoch, options, now);
      now += real(random, 0.0, 2.0);
    }
  });
}

}  // namespace test_random_tables
}  // namespace malleable::check
