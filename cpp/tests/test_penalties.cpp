// Penalties of completions: lines and steps, their inverses, and functions of the caller.
#include "instances.hpp"
#include "malleable/model/penalties.hpp"

namespace malleable::check {
namespace test_penalties {

bool meets(double t, double due) { return t <= due + 1e-9 * scale_of(due); }

// The metrics by their definitions.
double by_definition(Kind kind, const Table& table, std::size_t j, double t) {
  const double w = table.weight[j], due = table.deadline[j], since = t - table.arrival[j];
  switch (kind) {
    case Kind::kResponse:
      return w * since;
    case Kind::kCompletion:
      return w * t;
    case Kind::kStretch:
      return table.work[j] > 0.0 ? w * since / table.work[j] : 0.0;
    case Kind::kTardy:
      return meets(t, due) ? 0.0 : w;
    case Kind::kStrict:
      return meets(t, due) ? 0.0 : kInfinity;
    case Kind::kTardiness:
      return meets(t, due) ? 0.0 : w * (t - due);
    case Kind::kLateness:
      return w * (t - due);
    case Kind::kSla: {
      double paid = 0.0;
      for (auto k = table.sla.offset[j]; k < table.sla.offset[j + 1]; ++k) {
        const auto step = static_cast<std::size_t>(k);
        if (!meets(t, table.sla.time[step])) paid = table.sla.penalty[step];
      }
      return w * paid;
    }
    case Kind::kCustom:
      break;
  }
  return 0.0;
}

double cube(std::int64_t job, double t) { return t * t * t + static_cast<double>(job); }
double stairs(std::int64_t, double t) { return std::floor(t); }
double flat(std::int64_t, double) { return 2.0; }

// Times that matter: break points and just beside them, and others.
Doubles interesting_times(const Table& table, std::size_t j, Random& random) {
  Doubles times{-1e6, -1.0, 0.0, 1e6, real(random, -5.0, 20.0), real(random, -5.0, 20.0)};
  Doubles points{table.arrival[j], table.deadline[j]};
  for (auto k = table.sla.offset[j]; k < table.sla.offset[j + 1]; ++k) {
    points.push_back(table.sla.time[static_cast<std::size_t>(k)]);
  }
  for (const double point : points) {
    const double margin = 1e-9 * scale_of(point);
    for (const double off : {0.0, 0.5 * margin, 1.5 * margin, -margin, 0.1}) {
      times.push_back(point + off);
    }
  }
  return times;
}

TEST(every_kind_is_its_definition) {
  trials(1, 300, [](Random& random) {
    Table table = random_table(random, 4, {});
    if (chance(random, 0.3)) table.deadline[0] = 1e7;  // a wide tolerance
    for (const Kind kind : kKinds) {
      const Penalties penalties = table.penalties(kind);
      CHECK_EQUAL(penalties.size(), table.size());
      for (std::size_t j = 0; j < table.size(); ++j) {
        for (const double t : interesting_times(table, j, random)) {
          const double expected = by_definition(kind, table, j, t);
          CHECK_NEAR(penalties(j, t), expected, 1e-9 * scale_of(expected));
        }
      }
    }
  });
}

TEST(never_falls) {
  trials(2, 200, [](Random& random) {
    const Table table = random_table(random, 3, {});
    for (const Kind kind : kKinds) {
      const Penalties penalties = table.penalties(kind);
      for (std::size_t j = 0; j < table.size(); ++j) {
        Doubles times = interesting_times(table, j, random);
        std::sort(times.begin(), times.end());
        for (std::size_t k = 1; k < times.size(); ++k) {
          CHECK_AT_MOST(penalties(j, times[k - 1]), penalties(j, times[k]), 0.0);
        }
      }
    }
  });
}

TEST(latest_is_the_inverse) {
  trials(3, 300, [](Random& random) {
    const Table table = random_table(random, 3, {});
    for (const Kind kind : kKinds) {
      const Penalties penalties = table.penalties(kind);
      for (std::size_t j = 0; j < table.size(); ++j) {
        const double reached = penalties(j, real(random, -3.0, 15.0));
        for (const double level : {reached, reached + 0.3, reached - 0.3, 0.0, 1.0}) {
          const double t = penalties.latest(j, level);
          const double rounding = 1e-9 * scale_of(level);
          if (t == -kInfinity) {
            CHECK(penalties(j, -1e12) > level);
          } else if (t == kInfinity) {
            CHECK_AT_MOST(penalties(j, 1e12), level, rounding);
          } else {
            CHECK_AT_MOST(penalties(j, t), level, rounding);
            const double after = t + 2.0 * tolerance(t) + 1e-6 * scale_of(t);
            CHECK(penalties(j, after) > level);
          }
        }
      }
    }
  });
}

TEST(next_value_is_the_limit_from_the_right) {
  trials(4, 300, [](Random& random) {
    const Table table = random_table(random, 3, {});
    for (const Kind kind : kKinds) {
      const Penalties penalties = table.penalties(kind);
      for (std::size_t j = 0; j < table.size(); ++j) {
        const double level = penalties(j, real(random, -3.0, 15.0)) + real(random, 0.0, 0.5);
        const double next = penalties.next_value(j, level), t = penalties.latest(j, level);
        CHECK(next >= level);
        if (t == kInfinity) {
          CHECK_EQUAL(next, kInfinity);
        } else {
          const double after = penalties(j, t + 2.0 * tolerance(t));
          CHECK_NEAR(next, std::max(after, level), 1e-6 * scale_of(next));
        }
      }
    }
  });
}

TEST(custom_inverse) {
  Table table;
  for (int j = 0; j < 3; ++j) table.add(1.0);
  const Penalties penalties = table.penalties(Kind::kCustom, cube);
  CHECK(penalties.is_custom(2));
  CHECK(!penalties.linear() && !penalties.steps(0) && !penalties.convex(0, 0.0, 1.0));
  CHECK_EQUAL(penalties(2, 3.0), 29.0);
  for (const double level : {-1000.0, -1.0, 0.0, 1e-6, 1.0, 64.0, 1e30}) {
    const double t = penalties.latest(0, level);
    CHECK_NEAR(t, std::cbrt(level), 1e-12 * scale_of(t));
    CHECK_AT_MOST(penalties(0, t), level, 0.0);
  }
  const Penalties step = table.penalties(Kind::kCustom, stairs);
  CHECK_NEAR(step.latest(0, 4.5), 5.0, 1e-12);
  CHECK_NEAR(step.latest(0, -4.5), -4.0, 1e-12);
  CHECK_EQUAL(step.next_value(0, 4.0), 5.0);
  const Penalties same = table.penalties(Kind::kCustom, flat);
  CHECK_EQUAL(same.latest(0, 2.0), kInfinity);
  CHECK_EQUAL(same.latest(0, 1.0), -kInfinity);
  CHECK_EQUAL(same.next_value(0, 2.0), kInfinity);
}

// The same inverse from wherever the search begins, and nearly it where that will do.
double bent(std::int64_t, double t) { return t <= 7.0 ? 0.0 : t <= 11.0 ? 0.37 * (t - 7.0) : 5e3; }

TEST(custom_inverse_from_a_time_nearby) {
  Table table;
  table.add(1.0);
  const Penalties penalties = table.penalties(Kind::kCustom, bent);
  for (const double level : {0.0, 1e-9, 0.5, 1.2, 1.48, 2.0, 4e3}) {
    const double t = penalties.latest(0, level);
    CHECK(penalties(0, t) <= level && penalties(0, std::nextafter(t, kInfinity)) > level);
    for (const double near : {-kInfinity, -1e6, 0.0, 6.9, t, 11.5, 1e12}) {
      CHECK_EQUAL(penalties.latest(0, level, near), t);
    }
  }
}

TEST(shapes) {
  Table table;
  table.add(2.0, 0, kAllSlots, 3.0, 5.0);
  table.step(4.0, 1.0);
  table.step(6.0, 2.0);
  CHECK(table.penalties(Kind::kResponse).linear());
  CHECK(table.penalties(Kind::kLateness).linear());
  CHECK(!table.penalties(Kind::kTardiness).linear());
  CHECK(table.penalties(Kind::kTardy).steps(0));
  CHECK(table.penalties(Kind::kSla).steps(0));
  CHECK(!table.penalties(Kind::kTardiness).steps(0));
  CHECK(table.penalties(Kind::kTardiness).convex(0, -kInfinity, kInfinity));
  CHECK(!table.penalties(Kind::kTardy).convex(0, 0.0, 10.0));
  CHECK(table.penalties(Kind::kTardy).convex(0, 0.0, 5.0));
  CHECK(table.penalties(Kind::kTardy).convex(0, 5.1, 10.0));
  CHECK(!table.penalties(Kind::kSla).convex(0, 5.0, 7.0));
}

TEST(kinds_mix) {
  Table table;
  for (int j = 0; j < 4; ++j) table.add(2.0, 0, kAllSlots, 1.0 + j, 3.0, -1.0);
  table.step(1.0, 7.0);
  const Kind kinds[] = {Kind::kStretch, Kind::kTardy, Kind::kCustom, Kind::kSla};
  Penalties penalties;
  penalties.build(table.view(), kinds, cube);
  for (std::size_t j = 0; j < 4; ++j) {
    const double expected = j == 2 ? cube(2, 2.5) : by_definition(kinds[j], table, j, 2.5);
    CHECK_NEAR(penalties(j, 2.5), expected, 1e-12);
  }
  CHECK(!penalties.linear() && penalties.is_custom(2) && !penalties.is_custom(0));
  // Built again, for fewer jobs and one kind, nothing of the old rows is left.
  Table other;
  other.add(5.0);
  penalties.build(other.view(), {kinds, 1});
  CHECK_EQUAL(penalties.size(), 1u);
  CHECK(penalties.linear());
  CHECK_NEAR(penalties(0, 10.0), 2.0, 1e-12);
}

TEST(stretch_divides_by_the_original_work) {
  Table table;
  table.add(1.0);
  const Doubles size{4.0};
  const Kind kind = Kind::kStretch;
  Penalties penalties;
  JobsView jobs = table.view();
  jobs.original = size;
  penalties.build(jobs, {&kind, 1});
  CHECK_NEAR(penalties(0, 8.0), 2.0, 1e-12);
}

TEST(what_cannot_be_built) {
  Table table;
  table.add(1.0, 0, 1, 1.0, 2.0);
  table.add(1.0);
  CHECK_THROWS(table.penalties(Kind::kLateness), "deadline[1] = inf: lateness needs a deadline");
  CHECK_THROWS(table.penalties(Kind::kCustom), "custom needs a penalty function");
  const Kind three[] = {Kind::kTardy, Kind::kTardy, Kind::kTardy};
  Penalties penalties;
  CHECK_THROWS(penalties.build(table.view(), three), "3 kinds for 2 jobs");
  CHECK_THROWS(penalties.build(table.view(), {}), "0 kinds");
}

TEST(objectives_add_up_or_take_the_worst) {
  trials(5, 300, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 11));
    const Table table = random_table(random, jobs, {});
    Doubles times(jobs);
    for (double& t : times) t = real(random, 0.0, 30.0);
    for (const Kind kind : kKinds) {
      const Penalties penalties = table.penalties(kind);
      double sum = 0.0, worst = jobs > 0 ? -kInfinity : 0.0, magnitude = 1.0;
      for (std::size_t j = 0; j < jobs; ++j) {
        const double paid = by_definition(kind, table, j, times[j]);
        sum += paid;
        worst = std::max(worst, paid);
        magnitude += std::fabs(paid);
      }
      CHECK_NEAR(evaluate(penalties, Aggregate::kSum, times), sum, 1e-12 * magnitude);
      CHECK_NEAR(evaluate(penalties, Aggregate::kMax, times), worst, 1e-12 * magnitude);
    }
  });
}

double ramp(std::int64_t job, double t) { return std::max(0.0, t - static_cast<double>(job)); }
double wall(std::int64_t job, double t) { return t <= static_cast<double>(job) ? 1.0 : kInfinity; }

// A search with memory gives the same as one without, after any earlier questions.
TEST(what_is_remembered_is_right) {
  for (const CustomPenalty own : {cube, stairs, flat, ramp, wall}) {
    trials(21, 20, [&](Random& random) {
      const Table table = random_table(random, 6, {});
      const std::size_t n = table.size();
      std::vector<std::int64_t> names(n);
      for (std::size_t j = 0; j < n; ++j) names[j] = static_cast<std::int64_t>(7 * j);
      const Kind kinds[] = {Kind::kCustom};
      Penalties plain, keen;
      plain.build(table.view(), kinds, own, names);
      keen.build(table.view(), kinds, own, names);
      std::vector<Penalties::Seen> seen(n);
      keen.remember(seen);
      double now = 0.0;
      for (int step = 0; step < 30; ++step) {
        if (chance(random, 0.5)) now += real(random, 0.0, 3.0);
        for (std::size_t j = 0; j < n; ++j) {
          const double level = plain(j, now);
          CHECK_EQUAL(keen(j, now), own(names[j], now));
          CHECK_EQUAL(keen.latest(j, level, now), plain.latest(j, level));
          CHECK_EQUAL(keen.latest(j, level + 0.5), plain.latest(j, level + 0.5));
          CHECK_EQUAL(keen.last_finite(j), plain.last_finite(j));
        }
      }
    });
  }
}

TEST(codes_of_kinds) {
  for (std::size_t k = 0; k < std::size(malleable::kKinds); ++k) {
    const Kind kind = kind_of(static_cast<std::int64_t>(k));
    CHECK_EQUAL(static_cast<std::size_t>(kind), k);
    CHECK(info(kind).name == malleable::kKinds[k].name);
  }
  CHECK_THROWS(kind_of(-1), "kind = -1: must be from 0 to");
  CHECK_THROWS(kind_of(static_cast<std::int64_t>(std::size(malleable::kKinds))), "strict, custom");
}

TEST(jobs_that_never_end) {
  Table table;
  table.add(1.0, 0, kAllSlots, 0.0, 1.0);
  table.add(1.0, 0, kAllSlots, 2.0, 1.0);
  table.step(1.0, 4.0);
  const Doubles first_never{kInfinity, 1.0}, second_never{1.0, kInfinity};
  for (const Kind kind : kKinds) {
    const Penalties penalties = table.penalties(kind);
    // Without weight even never costs nothing.
    CHECK_EQUAL(evaluate(penalties, Aggregate::kSum, first_never), penalties(1, 1.0));
    const bool bounded = kind == Kind::kTardy || kind == Kind::kSla;
    const double expected = kind == Kind::kTardy ? 2.0 : bounded ? 8.0 : kInfinity;
    CHECK_EQUAL(evaluate(penalties, Aggregate::kSum, second_never), expected);
    CHECK_EQUAL(evaluate(penalties, Aggregate::kMax, second_never), expected);
  }
}

}  // namespace test_penalties
}  // namespace malleable::check
