// Ends promised at arrival: they hold without newcomers, and with them up to the error of the
// option.
#include <cmath>

#include "instances.hpp"
#include "malleable/model/state.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/sim/periodic_loop.hpp"
#include "schedule_check.hpp"

namespace malleable::check {
namespace test_epoch_promised {

Doubles random_rates(Random& random) {
  Doubles rates = {1.0};
  for (std::int64_t more = integer(random, 0, 9); more > 0; --more) {
    rates.push_back(rates.back() + (chance(random, 0.3) ? 0.0 : real(random, 0.0, 1.5)));
  }
  return rates;
}

// By arrival; `apart`: [s] between two of them, on the average.
Table stream(Random& random, std::size_t jobs, const Shape& shape, double apart) {
  Table table = random_table(random, jobs, shape);
  double time = 0.0;
  for (std::size_t j = 0; j < jobs; ++j) {
    const bool own = chance(random, 0.5);
    table.speedup.add(own || chance(random, 0.3) ? 1.0 : real(random, 0.2, 1.0),
                      own ? random_rates(random) : Doubles{});
    table.arrival[j] = time;
    if (chance(random, 0.7)) time += real(random, 0.0, 2.0 * apart);
  }
  return table;
}

EpochOptions telling(double predictable, MinMode mode = MinMode::kGuarantee) {
  EpochOptions options;
  options.predictable = predictable;
  options.min_mode = mode;
  return options;
}

PeriodicLoop ran(const Table& table, std::int64_t slots, const EpochOptions& options) {
  PeriodicLoop loop(Epoch(slots, options), {.pieces = true});
  loop.feed(table.view(), {}, {});
  loop.advance(kInfinity);
  return loop;
}

struct Figures {
  double response = 0.0, error = 0.0;
};

Figures figures_of(const Table& table, const PeriodicLoop& loop) {
  Figures figures;
  const auto n = static_cast<double>(table.work.size());
  for (std::size_t j = 0; j < table.work.size(); ++j) {
    const double asked = loop.promised()[j] - table.arrival[j];
    figures.response += (loop.plan().completion[j] - table.arrival[j]) / n;
    if (asked > 0.0)
      figures.error += std::fabs(loop.plan().completion[j] - loop.promised()[j]) / asked / n;
  }
  return figures;
}

// A job that no other job follows ends as promised. No job is brought forward if an error costs
// this much.
TEST(a_batch_ends_as_told) {
  for (int round = 0; round < 60; ++round) {
    Random random(static_cast<std::uint64_t>(round));
    const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    Shape shape{.slots = integer(random, 1, 12)};
    Table table = stream(random, static_cast<std::size_t>(integer(random, 1, 20)), shape, 1.0);
    std::fill(table.arrival.begin(), table.arrival.end(), 0.0);
    const PeriodicLoop loop = ran(table, shape.slots, telling(1e12, mode));
    for (std::size_t j = 0; j < table.work.size(); ++j) {
      if (table.work[j] == 0.0 || table.weight[j] == 0.0) continue;
      CHECK_NEAR(loop.plan().completion[j], loop.promised()[j],
                 1e-9 * scale_of(loop.promised()[j]));
    }
    const Pieces& p = loop.plan().pieces;
    check_schedule(table.view(), {shape.slots, 0.0, mode, false}, {p.job, p.slots, p.start, p.end},
                   loop.plan().completion);
  }
}

// New jobs pass no other job if errors cost this much; minima would still take slots.
TEST(ends_hold_where_errors_cost_most) {
  for (int round = 0; round < 40; ++round) {
    Random random(static_cast<std::uint64_t>(round) + 1000);
    Shape shape{.slots = integer(random, 2, 12), .minima = false, .idle = false};
    Table table = stream(random, 30, shape, 1.0);
    std::fill(table.weight.begin(), table.weight.end(), 1.0);
    const PeriodicLoop loop = ran(table, shape.slots, telling(1e-12));
    for (std::size_t j = 0; j < table.work.size(); ++j) {
      CHECK_NEAR(loop.plan().completion[j], loop.promised()[j],
                 1e-6 * scale_of(loop.promised()[j]));
    }
  }
}

TEST(schedules_keep_limits) {
  for (int round = 0; round < 60; ++round) {
    Random random(static_cast<std::uint64_t>(round) + 2000);
    const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    Shape shape{.slots = integer(random, 1, 12)};
    const Table table = stream(random, 20, shape, real(random, 0.2, 3.0));
    const double predictable = std::pow(10.0, real(random, -3.0, 3.0));
    const PeriodicLoop loop = ran(table, shape.slots, telling(predictable, mode));
    double all = 0.0;
    std::vector<double> done(table.work.size(), 0.0);
    const Pieces& p = loop.plan().pieces;
    for (std::size_t k = 0; k < p.size(); ++k) {
      const auto j = static_cast<std::size_t>(p.job[k]);
      const auto slots = static_cast<double>(p.slots[k]);
      CHECK_AT_MOST(slots, static_cast<double>(std::min(table.max_slots[j], shape.slots)), 0.0);
      CHECK_AT_MOST(table.arrival[j], p.start[k], 0.0);
      done[j] += table.speedup.view().at(j, slots) * (p.end[k] - p.start[k]);
      all += slots * (p.end[k] - p.start[k]);
    }
    for (std::size_t j = 0; j < done.size(); ++j) {
      CHECK_NEAR(done[j], table.work[j], 1e-6 * scale_of(table.work[j]));
    }
    double end = 0.0;
    for (const double completion : loop.plan().completion) end = std::max(end, completion);
    CHECK_AT_MOST(all, end * static_cast<double>(shape.slots), 1e-9);
  }
}

// Ends hold better the smaller the error that is accepted, and jobs take longer for it.
TEST(a_curve) {
  Random random(5);
  Shape shape{.slots = 16, .minima = false, .idle = false};
  Table table = stream(random, 600, shape, 0.5);
  std::fill(table.weight.begin(), table.weight.end(), 1.0);
  std::vector<Figures> curve;
  for (const double predictable : {1e6, 0.05, 0.005}) {
    curve.push_back(figures_of(table, ran(table, shape.slots, telling(predictable))));
  }
  CHECK_AT_MOST(curve[1].error, 0.6 * curve[0].error, 0.0);
  CHECK_AT_MOST(curve[2].error, 0.3 * curve[1].error, 0.0);
  CHECK_AT_MOST(curve[0].response, curve[2].response, 0.0);
  EpochOptions fifo;
  fifo.policy = EpochPolicy::kFifo;
  CHECK_AT_MOST(curve[2].response, figures_of(table, ran(table, shape.slots, fifo)).response, 0.0);
}

// A life of an epoch and of one that is loaded from its bytes before every call.
TEST(told_once) {
  for (int round = 0; round < 20; ++round) {
    Random random(static_cast<std::uint64_t>(round) + 3000);
    Shape shape{.slots = integer(random, 1, 9), .idle = false};
    Epoch epoch(shape.slots, telling(real(random, 0.01, 20.0)));
    std::vector<std::int64_t> ids;
    std::vector<double> first;  // by id
    for (int step = 0; step < 12; ++step) {
      Table more = stream(random, 4, shape, 0.0);
      std::fill(more.arrival.begin(), more.arrival.end(), static_cast<double>(step));
      const std::int64_t id = epoch.add(more.view());
      for (std::int64_t k = id; k < id + 4; ++k) ids.push_back(k);
      first.resize(static_cast<std::size_t>(id) + 4, kInfinity);
      if (ids.size() > 6) {
        const std::size_t gone = random() % ids.size();
        const std::int64_t which = ids[gone];
        if (chance(random, 0.5)) {
          epoch.finish({&which, 1});
        } else {
          epoch.remove({&which, 1});
        }
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(gone));
      }
      const auto bytes = save_state("Epoch", epoch);
      Epoch copy(1, {});
      load_state("Epoch", bytes, copy);
      const auto capacity = chance(random, 0.1) ? std::int64_t{0} : shape.slots;
      epoch.decide(step, capacity);
      copy.decide(step, capacity);
      CHECK(std::equal(epoch.given().begin(), epoch.given().end(), copy.given().begin()));
      CHECK(epoch.promised() == copy.promised());
      const auto told = epoch.promised();
      for (std::size_t k = 0; k < told.size(); ++k) {
        double& before = first[static_cast<std::size_t>(epoch.ids()[k])];
        if (before < kInfinity) CHECK_EQUAL(told[k], before);
        if (capacity > 0) CHECK(told[k] < kInfinity);
        before = told[k];
      }
    }
  }
}

TEST(what_it_does_not_go_with) {
  EpochOptions options = telling(1.0);
  for (const double wrong : {-1.0, 0.0, std::nan(""), kInfinity}) {
    CHECK_THROWS(Epoch(4, telling(wrong)), "predictable");
  }
  options.policy = EpochPolicy::kFair;
  CHECK_THROWS(Epoch(4, options), "needs the policy flex");
  options = telling(1.0);
  options.aggregate = Aggregate::kMax;
  CHECK_THROWS(Epoch(4, options), "a sum of response");
  options = telling(1.0);
  options.kind = Kind::kTardiness;
  CHECK_THROWS(Epoch(4, options), "a sum of response");
  options = telling(1.0);
  options.effort = 3;
  CHECK_THROWS(Epoch(4, options), "without effort");
  options = telling(1.0);
  options.period = 3.0;
  CHECK_THROWS(Epoch(4, options), "without effort");
  Epoch epoch(4, telling(1.0));
  Table table;
  table.add(3.0, 0, 2, 1.0, 5.0, 0.0);
  const Kind late = Kind::kTardy;
  CHECK_THROWS(epoch.add(table.view(), {&late, 1}), "kind[0] = tardy");
  CHECK_EQUAL(epoch.size(), std::size_t{0});
  epoch.add(table.view());
  CHECK_THROWS(epoch.decide(0.0, std::nullopt, 2.0), "period = 2");
  CHECK_EQUAL(epoch.promised()[0], kInfinity);
  epoch.decide(0.0);
  CHECK_NEAR(epoch.promised()[0], 1.5, 1e-12);
  CHECK_THROWS(epoch.plan(), "depends on its loop");
}

}  // namespace test_epoch_promised
}  // namespace malleable::check
