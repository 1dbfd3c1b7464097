// Plans and epochs over the whole domain of numbers that are accepted, corners above all: valid
// schedules, no more slots than there are, bounds below values. Meant for builds with assertions.

#include "domain_instances.hpp"
#include "malleable/kernel/water_filling.hpp"
#include "malleable/model/domain.hpp"
#include "malleable/policy/baseline.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/flex.hpp"
#include "plan_check.hpp"

namespace malleable::check {
namespace test_domain {

constexpr Aggregate kAggregates[] = {Aggregate::kSum, Aggregate::kMax};

// Plans of one instance: what one schedule reaches no bound of another may deny.
struct Floor {
  double best = kInfinity, bound = -kInfinity, noise = 0.0;
  void take(const Penalties& penalties, const Plan& plan) {
    best = std::min(best, plan.value);
    bound = std::max(bound, plan.lower_bound);
    if (!std::isfinite(plan.value)) return;
    // To the precision of penalties: that of the clock at the completions.
    double sum = 0.0;
    for (std::size_t j = 0; j < plan.completion.size(); ++j) {
      const double end = plan.completion[j], blur = 1e-15 * std::fabs(end);
      sum +=
          penalties(j, end + blur) - penalties(j, end - blur) + 1e-9 * std::fabs(penalties(j, end));
    }
    noise = std::max(noise, sum);
  }
};

TEST(plans_over_the_whole_domain) {
  trials(11, 2'000, [](Random& random) {
    const std::int64_t slots = corner_slots(random);
    const double now = corner_now(random);
    Table table = domain_table(random, domain_count(random), slots, now);
    const Kind kind = kKinds[random() % std::size(kKinds)];
    if (kind == Kind::kLateness) {
      for (double& due : table.deadline) due = std::min(due, kLatestTime);
    }
    validate(table.view());
    const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(slots, now, mode);
    const Penalties penalties = table.penalties(kind);
    const Aggregate aggregate = kAggregates[random() % 2];
    Flex flex;
    Baseline baseline;
    Plan plan;
    Floor floor;
    const FlexOptions options{static_cast<std::uint64_t>(integer(random, 0, 1) * 40), kInfinity};
    const auto check = [&] {
      check_plan(problem, penalties, aggregate, plan);
      floor.take(penalties, plan);
    };
    flex.plan(problem, penalties, aggregate, options, plan);
    check();
    const Order order = shuffled(random, table.size());
    flex.plan_order(problem, penalties, aggregate, order, true, plan);
    check();
    flex.plan_order(problem, penalties, aggregate, order, false, plan);  // the quick bound
    floor.take(penalties, plan);
    baseline.water_filling(problem, penalties, aggregate, {}, plan);
    check();
    baseline.water_filling(problem, penalties, aggregate, table.weight, plan);
    check();
    CHECK_AT_MOST(floor.bound, floor.best, floor.noise + 1e-8 * std::fabs(floor.best));
    baseline.fifo(problem, penalties, aggregate, table.arrival, plan);
    Problem free = problem;
    free.drop_minima();
    check_plan(free, penalties, aggregate, plan);
  });
}

TEST(epochs_over_the_whole_domain) {
  trials(12, 600, [](Random& random) {
    EpochOptions options;
    options.kind = kKinds[random() % std::size(kKinds)];
    options.aggregate = kAggregates[random() % 2];
    options.policy = static_cast<EpochPolicy>(integer(random, 0, 3));
    if (chance(random, 0.3)) options.min_mode = MinMode::kGang;
    if (options.policy == EpochPolicy::kFlex && chance(random, 0.2)) {
      options.hysteresis = log_uniform(random, kWeightRange.least, kWeightRange.most);
    }
    if (options.policy == EpochPolicy::kFlex && chance(random, 0.2)) options.effort = 10;
    Epoch epoch(corner_slots(random), options);
    double now = corner_now(random);
    for (int step = 0; step < 6; ++step) {
      if (chance(random, 0.6)) {
        Table table = domain_table(random, domain_count(random) / 2, epoch.slots(), now);
        for (double& due : table.deadline) due = std::min(due, kLatestTime);
        epoch.add(table.jobs());
      }
      std::vector<std::int64_t> ids;
      for (const std::int64_t id : epoch.ids()) {
        if (chance(random, 0.4)) ids.push_back(id);
      }
      if (chance(random, 0.3)) {
        epoch.remove(ids);
      } else {
        const Column work(random, kWorkRange), weight(random, kWeightRange);
        Doubles left(ids.size()), weights(ids.size());
        for (double& w : left) w = work.draw(random);
        for (double& w : weights) w = weight.draw(random);
        epoch.update(ids, {left, weights, {}, {}, {}});
      }
      if (chance(random, 0.3)) epoch.set_slots(corner_slots(random));
      epoch.decide(now);
      const Plan found = epoch.plan(/*detail=*/false);
      CHECK(found.lower_bound <= found.value);
      const Plan plan = epoch.plan();
      const JobsView jobs = epoch.planned_jobs();
      const Doubles ended(jobs.size(), now);
      Problem problem;
      problem.build(jobs.work, ended, jobs.min_slots, jobs.max_slots, epoch.slots(), now,
                    options.min_mode);
      if (options.policy == EpochPolicy::kFifo) problem.drop_minima();
      Penalties penalties;
      penalties.build(jobs, {&options.kind, 1});
      check_plan(problem, penalties, options.aggregate, plan, epoch.given());
      now = std::min(kLatestTime, now + log_uniform(random, 1e-12, 1e9));
    }
  });
}

// clamp(level w, m, M) for some level, up to whole slots.
TEST(water_fillings_over_the_whole_domain) {
  trials(13, 3'000, [](Random& random) {
    const std::int64_t slots = corner_slots(random);
    const Table table = domain_table(random, domain_count(random) + 1, slots, 0.0);
    Problem problem;
    const Doubles work(table.size(), 1.0);
    problem.build(work, table.arrival, table.min_slots, table.max_slots, slots, 0.0,
                  MinMode::kGuarantee);
    Doubles given(table.size());
    WaterFilling().allocate(problem, table.weight, given);
    double used = 0.0, most = 0.0;
    for (std::size_t j = 0; j < table.size(); ++j) {
      CHECK(given[j] >= problem.low[j] && given[j] <= problem.high[j]);
      CHECK_EQUAL(given[j], std::floor(given[j]));
      used += given[j];
      most += problem.high[j];
    }
    CHECK_EQUAL(used, std::min(most, problem.slots));
    for (std::size_t j = 0; j < table.size(); ++j) {
      // Whole slots, and the level's own precision.
      const double blur = 2.0 + 1e-11 * problem.slots;
      if (given[j] - blur <= problem.low[j]) continue;
      // Somebody below its maximum has as much for its weight.
      for (std::size_t k = 0; k < table.size(); ++k) {
        if (given[k] >= problem.high[k] || table.weight[k] == 0.0) continue;
        CHECK(table.weight[j] > 0.0);
        if (table.weight[j] == 0.0) continue;
        CHECK_AT_MOST((given[j] - blur) / table.weight[j], (given[k] + blur) / table.weight[k],
                      1e-9 * (given[j] / table.weight[j]));
      }
    }
  });
}

TEST(numbers_beyond_the_domain_are_refused) {
  const auto rejects = [](auto change) {
    Table table;
    for (int j = 0; j < 3; ++j) table.add(1.0, 1, 2, 1.0, 5.0);
    table.step(1.0, 1.0);
    change(table);
    validate(table.view());
  };
  CHECK_THROWS(rejects([](Table& t) { t.work[1] = 1e300; }), "work[1] = 1e+300: must be 0 or from");
  CHECK_THROWS(rejects([](Table& t) { t.work[1] = 5e-324; }),
               "work[1] = 5e-324: must be 0 or from");
  CHECK_THROWS(rejects([](Table& t) { t.weight[2] = 1e13; }), "weight[2] = 1e+13: must be 0 or");
  CHECK_THROWS(rejects([](Table& t) { t.arrival[0] = -2e12; }),
               "arrival[0] = -2e+12: must be from");
  CHECK_THROWS(rejects([](Table& t) { t.deadline[0] = 2e12; }),
               "deadline[0] = 2e+12: must be from");
  CHECK_THROWS(rejects([](Table& t) { t.sla.time[0] = 2e12; }), "sla[2] = 2e+12: a step's time");
  CHECK_THROWS(rejects([](Table& t) { t.sla.penalty[0] = 1e-13; }), "sla[2] = 1e-13: a step's pen");
  CHECK_THROWS(rejects([](Table& t) { t.min_slots[0] = t.max_slots[0] = kMostSlots + 1; }),
               "min_slots[0] = 1125899906842625: must be at least 0 and at most 2^50");
  rejects([](Table& t) {
    t.work = {0.0, kWorkRange.least, kWorkRange.most};
    t.weight = {0.0, kWeightRange.least, kWeightRange.most};
    t.arrival = {-kLatestTime, 0.0, kLatestTime};
    t.deadline = {-kLatestTime, kInfinity, kLatestTime};
    t.max_slots[0] = kAllSlots;
  });
  CHECK_THROWS(validate_slots(0), "slots = 0: must be at least 1");
  CHECK_THROWS(validate_slots(kMostSlots + 1), "at most 2^50");
  CHECK_THROWS(rejects([](Table& t) { t.sla.offset[1] = std::int64_t{1} << 40; }), "decrease");
}

}  // namespace test_domain
}  // namespace malleable::check
