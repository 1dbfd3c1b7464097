// Jobs whose speed-up is below linear: rates, shares, plans, bounds and epochs.
#include <cmath>
#include <string>

#include "instances.hpp"
#include "malleable/kernel/shared_packing.hpp"
#include "malleable/model/state.hpp"
#include "malleable/policy/concave.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/planner.hpp"
#include "schedule_check.hpp"

namespace malleable::check {
namespace test_concave {

constexpr EpochPolicy kPolicies[] = {EpochPolicy::kFlex, EpochPolicy::kFair, EpochPolicy::kFifo,
                                     EpochPolicy::kWdeq, EpochPolicy::kHeSrpt};

// Concave, or anything that does not fall.
Doubles random_rates(Random& random) {
  Doubles rates = {1.0};
  const bool concave = chance(random, 0.5);
  double gain = 1.0;
  for (std::int64_t more = integer(random, 0, 9); more > 0; --more) {
    gain = concave ? gain * real(random, 0.0, 1.0)
                   : (chance(random, 0.4) ? 0.0 : real(random, 0.0, 2.0));
    rates.push_back(rates.back() + gain);
  }
  return rates;
}

Table curved_table(Random& random, std::size_t jobs, const Shape& shape) {
  Table table = random_table(random, jobs, shape);
  for (std::size_t j = 0; j < jobs; ++j) {
    const bool own = chance(random, 0.3);
    table.speedup.add(own || chance(random, 0.1) ? 1.0 : real(random, 0.0, 1.0),
                      own ? random_rates(random) : Doubles{});
  }
  return table;
}

void check_promises(const Table& table, const JobPromises& promises, const Plan& plan) {
  const Pieces& p = plan.pieces;
  check_schedule(table.view(), promises, {p.job, p.slots, p.start, p.end}, plan.completion);
  CHECK_AT_MOST(plan.lower_bound, plan.value, 0.0);
}

TEST(rates_and_their_inverse) {
  SpeedupColumns columns;
  columns.add(0.5, {});
  columns.add(1.0, Doubles{1.0, 1.5, 1.75, 1.75});
  columns.add(0.0, {});
  const SpeedupView speedup = columns.view();
  CHECK_NEAR(speedup.at(0, 9.0), 3.0, 1e-12);
  CHECK_NEAR(speedup.at(1, 2.0), 1.5, 0.0);
  CHECK_NEAR(speedup.at(1, 99.0), 1.75, 0.0);
  CHECK_NEAR(speedup.at(2, 99.0), 1.0, 0.0);
  CHECK_EQUAL(speedup.at(1, 0.0), 0.0);
  CHECK_EQUAL(speedup.useful(0, 8.0), 8.0);
  CHECK_EQUAL(speedup.useful(1, 8.0), 3.0);
  CHECK_EQUAL(speedup.useful(2, 8.0), 1.0);
  SpeedupHulls hulls;
  hulls.build(speedup, Doubles(3, 0.0), Doubles(3, 8.0));
  CHECK_EQUAL(hulls.best(speedup, 1, 0.3, 8.0), 2.0);
  CHECK_EQUAL(hulls.best(speedup, 1, 0.2, 8.0), 3.0);
  CHECK_NEAR(hulls.best(speedup, 0, 0.25, 8.0), 4.0, 1e-12);
  CHECK(!hulls.rough());
  CHECK_EQUAL(speedup.largest_exponent(0), 0.5);
  CHECK_NEAR(speedup.largest_exponent(1), std::log2(1.5), 1e-12);
  CHECK(speedup.curved() && !SpeedupView{}.curved());
}

// Corners by definition: whole numbers at which no line between two others is higher.
TEST(hulls_meet_their_tables_at_corners) {
  Random random(9);
  for (int round = 0; round < 500; ++round) {
    const double low = static_cast<double>(integer(random, 0, 3));
    const double high = low + static_cast<double>(integer(random, 0, 8));
    const bool gang = chance(random, 0.3);
    SpeedupColumns columns;
    columns.add(1.0, random_rates(random));
    const SpeedupView speedup = columns.view();
    SpeedupHulls hulls;
    hulls.build(speedup, Doubles{low}, Doubles{high}, gang);
    const SpeedupHulls::Corners own = hulls.of(0);
    Doubles counts = {gang ? 0.0 : low};
    for (double s = std::max({1.0, low, counts[0] + 1.0}); s <= high; s += 1.0) counts.push_back(s);
    CHECK_EQUAL(own.slots[0], counts[0]);
    double after = kInfinity;
    for (std::size_t k = 1; k < own.slots.size(); ++k) {
      const double gain = (own.rate[k] - own.rate[k - 1]) / (own.slots[k] - own.slots[k - 1]);
      CHECK_AT_MOST(gain, after, 1e-9);
      CHECK(gain > 0.0);
      after = gain;
      CHECK_EQUAL(own.rate[k], speedup.at(0, own.slots[k]));
    }
    for (const double s : counts) {
      const double rate = speedup.at(0, s);
      const auto next = std::upper_bound(own.slots.begin(), own.slots.end(), s);
      if (next == own.slots.end()) {
        CHECK_EQUAL(rate, own.rate.back());
        continue;
      }
      const auto k = static_cast<std::size_t>(next - own.slots.begin());
      const double gain = (own.rate[k] - own.rate[k - 1]) / (own.slots[k] - own.slots[k - 1]);
      CHECK_AT_MOST(rate, own.rate[k - 1] + gain * (s - own.slots[k - 1]), 1e-9);
    }
  }
}

// Against the best of all ways to give the slots, by value times rate.
TEST(gains_do_the_most) {
  Random random(10);
  double lost = 0.0;
  for (int round = 0; round < 400; ++round) {
    const std::int64_t slots = integer(random, 1, 8);
    const Table table = curved_table(random, 3, {.slots = slots, .idle = false});
    const Problem problem = table.problem(slots);
    const SpeedupView speedup = table.speedup.view();
    const Doubles value = {real(random, 0.1, 2.0), real(random, 0.1, 2.0), real(random, 0.1, 2.0)};
    MarginalGains gains;
    gains.prepare(problem, speedup);
    Doubles given(3);
    gains.allocate(problem, {}, value, given);
    double used = 0.0, found = 0.0, best = 0.0;
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(given[j] == std::floor(given[j]) && given[j] <= problem.high[j]);
      CHECK(given[j] >= problem.low[j]);
      used += given[j];
      found += value[j] * speedup.at(j, given[j]);
    }
    CHECK_AT_MOST(used, problem.slots, 0.0);
    for (double a = problem.low[0]; a <= problem.high[0]; ++a) {
      for (double b = problem.low[1]; b <= problem.high[1]; ++b) {
        for (double c = problem.low[2]; c <= problem.high[2] && a + b + c <= problem.slots; ++c) {
          best = std::max(best, value[0] * speedup.at(0, a) + value[1] * speedup.at(1, b) +
                                    value[2] * speedup.at(2, c));
        }
      }
    }
    CHECK_AT_MOST(found, best, 1e-9 * best);
    lost += 1.0 - found / best;
  }
  CHECK_AT_MOST(lost / 400.0, 0.02, 0.0);
}

// With many slots most are given at one price at once: the same as step by step.
TEST(gains_of_many_slots) {
  Random random(11);
  for (int round = 0; round < 50; ++round) {
    const std::int64_t slots = integer(random, 200, 5000);
    Table table = curved_table(random, 6, {.slots = slots, .idle = false});
    for (std::size_t j = 0; j < 6; ++j) table.max_slots[j] = slots;
    const Problem problem = table.problem(slots);
    const SpeedupView speedup = table.speedup.view();
    const Doubles value = {1.0, 2.0, 0.5, 1.3, 0.1, 3.0};
    MarginalGains gains;
    gains.prepare(problem, speedup);
    Doubles given(6);
    gains.allocate(problem, {}, value, given);
    double used = 0.0;
    for (const double a : given) used += a;
    double dearest_next = 0.0, cheapest_last = kInfinity;
    for (std::size_t j = 0; j < 6; ++j) {
      const auto own = gains.hulls().of(j);
      if (!own.slots.empty() || speedup.power(j) == 1.0) continue;
      const double s = given[j];
      if (s < problem.high[j]) {
        dearest_next = std::max(dearest_next, value[j] * (speedup.at(j, s + 1) - speedup.at(j, s)));
      }
      if (s > problem.low[j] && s > 1.0) {
        cheapest_last =
            std::min(cheapest_last, value[j] * (speedup.at(j, s) - speedup.at(j, s - 1)));
      }
    }
    CHECK_AT_MOST(used, problem.slots, 0.0);
    CHECK_AT_MOST(dearest_next, 1.1 * cheapest_last, 0.0);
  }
}

TEST(what_all_slots_do_together) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const Table table = curved_table(random, 3, {.slots = integer(random, 1, 8), .idle = false});
    const std::int64_t slots = integer(random, 1, 8);
    const Problem problem = table.problem(slots);
    const double most = most_together(problem, table.speedup.view());
    double best = 0.0;
    for (double a = 0.0; a <= problem.high[0]; ++a) {
      for (double b = 0.0; b <= problem.high[1]; ++b) {
        const double c = std::min(problem.high[2], problem.slots - a - b);
        if (c < 0.0) continue;
        const SpeedupView s = table.speedup.view();
        best = std::max(best, s.at(0, a) + s.at(1, b) + s.at(2, c));
      }
    }
    CHECK_AT_MOST(best, most, 1e-9 * best);
  }
}

TEST(shares_by_order) {
  Table table;
  for (int j = 0; j < 4; ++j) table.add(1.0 + j);
  SharedPacking packing;
  Doubles slots(4);
  const Order order = identity(4);
  packing.allocate(table.problem(160), {.order = order, .power = 2.0}, slots);
  CHECK(slots == (Doubles{70, 50, 30, 10}));  // 7, 5, 3, 1 of 16
  packing.allocate(table.problem(160), {.order = order, .power = 1.0}, slots);
  CHECK(slots == (Doubles{40, 40, 40, 40}));
  packing.allocate(table.problem(160), {.order = order}, slots);
  CHECK(slots == (Doubles{160, 0, 0, 0}));
  const Doubles weight = {2.0, 1.0, 1.0, 0.0};
  packing.allocate(table.problem(160), {.order = order, .power = 2.0, .weight = weight}, slots);
  CHECK(slots == (Doubles{120, 30, 10, 0}));  // 12, 3, 1, 0 of 16
}

// Ends that are five steps of the clock apart are no common end.
TEST(the_clock_tells_ends_apart) {
  Table table;
  table.add(1e-12, 0, 2);
  table.add(1e-12 + 1.9e-15, 0, 1);
  for (std::size_t j = 0; j < table.size(); ++j) table.speedup.add(0.0, {});
  for (const double now : {0.0, 1.0, 1.99, 2.0, 3.9}) {
    context = text("now ", now);
    Plan plan;
    Planner().plan(table.view(), table.penalties(Kind::kResponse),
                   {EpochPolicy::kFair, Aggregate::kSum, MinMode::kGuarantee, 3, now, {}}, plan);
    check_promises(table, {3, now, MinMode::kGuarantee, false}, plan);
  }
  context.clear();
}

TEST(plans_keep_their_promises) {
  Random random(2);
  Planner planner;
  for (int round = 0; round < 1500; ++round) {
    const Shape shape{.slots = integer(random, 1, 12), .overcommit = chance(random, 0.3)};
    const Table table =
        curved_table(random, static_cast<std::size_t>(integer(random, 0, 9)), shape);
    const Kind kind = kKinds[integer(random, 0, std::size(kKinds) - 1)];
    const Penalties penalties = table.penalties(kind);
    for (const EpochPolicy policy : kPolicies) {
      const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
      const Aggregate aggregate = chance(random, 0.5) ? Aggregate::kSum : Aggregate::kMax;
      Plan plan;
      planner.plan(table.view(), penalties,
                   {policy, aggregate, mode, shape.slots, 0.0, {.effort = 6}}, plan);
      check_promises(table, {shape.slots, 0.0, mode, policy == EpochPolicy::kFifo}, plan);
      CHECK(plan.candidates <= 6);
    }
  }
}

TEST(the_domain_s_corners) {
  Planner planner;
  const double works[] = {1e-12, 1.0, 1e15}, exponents[] = {0.0, 1e-9, 0.5, 0.989, 0.9999999, 1.0};
  for (const std::int64_t slots : {std::int64_t{1}, std::int64_t{7}, kMostSlots}) {
    for (const double p : exponents) {
      Table table;
      for (const double work : works) {
        for (const double q : {p, 0.7}) {
          table.add(work);
          table.speedup.add(q, {});
        }
      }
      for (const EpochPolicy policy : kPolicies) {
        for (const Aggregate aggregate : {Aggregate::kSum, Aggregate::kMax}) {
          Plan plan;
          planner.plan(table.view(), table.penalties(Kind::kResponse),
                       {policy, aggregate, MinMode::kGuarantee, slots, 0.0, {.effort = 20}}, plan);
          check_promises(table, {slots, 0.0}, plan);
        }
      }
    }
  }
}

// A life of an epoch and of one that is loaded from its bytes before every call.
TEST(epochs) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t slots = integer(random, 1, 12);
    EpochOptions options;
    options.policy = kPolicies[integer(random, 0, 4)];
    options.aggregate = chance(random, 0.5) ? Aggregate::kSum : Aggregate::kMax;
    options.min_mode = chance(random, 0.2) ? MinMode::kGang : MinMode::kGuarantee;
    options.stable = chance(random, 0.3);
    if (options.policy == EpochPolicy::kFlex && chance(random, 0.4)) options.effort = 5;
    Epoch epoch(slots, options);
    std::vector<std::int64_t> ids;
    for (int step = 0; step < 12; ++step) {
      if (ids.empty() || chance(random, 0.5)) {
        Table more = chance(random, 0.6) ? curved_table(random, 3, {.slots = slots})
                                         : random_table(random, 3, {.slots = slots});
        for (double& arrival : more.arrival) arrival = 0.0;
        const std::int64_t first = epoch.add(more.jobs());
        for (std::int64_t k = 0; k < 3; ++k) ids.push_back(first + k);
      } else {
        const auto gone =
            static_cast<std::size_t>(integer(random, 0, static_cast<std::int64_t>(ids.size()) - 1));
        epoch.remove({&ids[gone], 1});
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(gone));
      }
      epoch.decide(step);
      State written, read_again;
      epoch.state(written);
      const std::string bytes = written.take();
      Epoch copy(1, {});
      State reading(bytes);
      copy.state(reading);
      copy.state(read_again);
      CHECK(read_again.take() == bytes);
      const Plan plan = epoch.plan(), same = copy.plan();
      CHECK(plan.completion == same.completion && plan.value == same.value);
      CHECK_AT_MOST(epoch.plan(/*detail=*/false).lower_bound, plan.value, 0.0);
      std::int64_t used = 0;
      for (const std::int64_t given : epoch.given()) used += given;
      CHECK(used <= slots);
      const Pieces& p = plan.pieces;
      check_schedule(epoch.planned_jobs(),
                     {slots, static_cast<double>(step), options.min_mode,
                      options.policy == EpochPolicy::kFifo},
                     {p.job, p.slots, p.start, p.end}, plan.completion);
    }
  }
}

}  // namespace test_concave
}  // namespace malleable::check
