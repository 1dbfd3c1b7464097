// The epoch: the object that decides the slots of present jobs in a loop.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/policy/epoch.hpp"
#include "oracles.hpp"
#include "plan_check.hpp"

namespace malleable::check {
namespace test_epoch {

struct Row {
  double work = 0.0, size = 0.0, arrival = 0.0, weight = 1.0, deadline = kInfinity;
  std::int64_t low = 0, high = kAllSlots;
  std::vector<std::pair<double, double>> steps;
  std::int64_t given = 0;
  double done = 0.0, since = -kInfinity;
  bool outlived = false;  // its estimate

  void serve(double now) {
    if (given > 0) done += (now - since) * static_cast<double>(given);
    since = now;
  }
  void tell(double left) {
    const double believed = 0.25 * std::max(done, size);
    outlived = left == 0.0 && believed >= kWorkRange.least;
    work = outlived ? believed : left;
  }
};

// The mirror knows one order for each objective.
EpochOptions one_order() {
  EpochOptions options;
  options.few = 0;
  return options;
}

// The same jobs, kept naively; every decision is made from nothing.
struct Mirror {
  EpochOptions options;
  std::int64_t slots;
  std::map<std::int64_t, Row> rows;
  double now = -kInfinity;

  void pass(double until) {
    now = until;
    for (auto& [id, row] : rows) {
      if (!row.outlived) continue;
      row.serve(now);
      row.tell(0.0);
    }
  }
  Table table(std::span<const std::int64_t> ids) const {
    Table built;
    for (const std::int64_t id : ids) {
      const Row& row = rows.at(id);
      built.add(row.work, row.low, row.high, row.weight, row.deadline, row.arrival);
      for (const auto& [time, penalty] : row.steps) built.step(time, penalty);
    }
    return built;
  }
  Problem problem(std::span<const std::int64_t> ids, double now) const {
    Table built = table(ids);
    std::fill(built.arrival.begin(), built.arrival.end(), now);  // where work ends that is done
    Problem instance = built.problem(slots, now, options.min_mode);
    if (options.policy == EpochPolicy::kFifo) instance.drop_minima();
    return instance;
  }
  Penalties penalties(std::span<const std::int64_t> ids) const {
    const Table built = table(ids);
    Doubles sizes;
    for (const std::int64_t id : ids) sizes.push_back(rows.at(id).size);
    Penalties objective;
    JobsView jobs = built.view();
    jobs.original = sizes;
    objective.build(jobs, {&options.kind, 1});
    return objective;
  }
  bool holds(std::int64_t id, double low) const {
    return static_cast<double>(rows.at(id).given) > low;
  }
  // Does every job have a priority of its own?
  bool keyed(const Problem& instance) const {
    const bool linear = options.kind == Kind::kResponse || options.kind == Kind::kCompletion ||
                        options.kind == Kind::kStretch || options.kind == Kind::kLateness;
    return linear && options.aggregate == Aggregate::kSum && !options.effort && !instance.gang &&
           !instance.minima_scaled;
  }
  // The apparent tardiness cost, in logarithms; what holds slots is so many times as urgent.
  double apparent_cost(std::int64_t id, const Problem& instance, std::size_t k) const {
    const Row& row = rows.at(id);
    if (row.work == 0.0) return -kInfinity;
    if (row.weight == 0.0 || row.deadline == kInfinity) return kInfinity;
    double total = 0.0;
    for (const double work : instance.work) total += work;
    const double patience = 2.0 * total / instance.slots / static_cast<double>(instance.size());
    const double due = row.deadline + tolerance(row.deadline) - instance.now;
    const double wait = std::max(0.0, due - row.work / instance.high[k]) / patience;
    const double held = holds(id, instance.low[k]) ? std::log1p(options.hysteresis) : 0.0;
    return rounded_key(std::log(row.work / row.weight) - held + wait);
  }
  // What those have who have nothing left: max(1, min_slots), as far as minima leave it; and the
  // instance of all others.
  std::pair<Doubles, Problem> kept(std::span<const std::int64_t> ids, double now) const {
    Table all = table(ids);
    const Doubles work = all.work;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (work[k] > 0.0) continue;
      all.work[k] = 1.0;
      all.max_slots[k] = std::max<std::int64_t>(1, all.min_slots[k]);
    }
    Problem rest = all.problem(slots, now, options.min_mode);
    if (options.policy == EpochPolicy::kFifo) rest.drop_minima();
    Order first;
    for (Index k = 0; k < ids.size(); ++k) {
      if (work[k] == 0.0) first.push_back(k);
    }
    for (Index k = 0; k < ids.size(); ++k) {
      if (work[k] > 0.0) first.push_back(k);
    }
    Doubles given = first_layer(rest, rest.work, first);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (work[k] > 0.0) {
        given[k] = 0.0;
      } else {
        rest.slots -= given[k];
        rest.work[k] = rest.low[k] = 0.0;
      }
    }
    for (double& high : rest.high) high = std::min(high, rest.slots);
    return {given, rest};
  }
  Doubles slots_now(std::span<const std::int64_t> ids, double now) const {
    const auto [own, rest] = kept(ids, now);
    Doubles given = slots_of_others(ids, now, rest);
    for (std::size_t k = 0; k < ids.size(); ++k) given[k] += own[k];
    return given;
  }
  Doubles slots_of_others(std::span<const std::int64_t> ids, double now,
                          const Problem& rest) const {
    const Problem instance = problem(ids, now);
    const Table built = table(ids);
    if (options.policy == EpochPolicy::kFair) return water_filling_slowly(rest, {});
    if (options.policy == EpochPolicy::kWdeq) return water_filling_slowly(rest, built.weight);
    const std::size_t n = ids.size();
    Doubles key(n);
    if (options.policy == EpochPolicy::kFifo) {
      key = built.arrival;
    } else if (keyed(rest)) {
      for (std::size_t k = 0; k < n; ++k) {
        const Row& row = rows.at(ids[k]);
        const double size = options.kind == Kind::kStretch ? row.size : 1.0;
        key[k] = row.weight * size > 0.0 ? row.work * (size / row.weight) : kInfinity;
        if (!options.stable && row.work > 0.0) {
          const double beside = 0.5 * sum_of(built.work) / instance.slots;
          const double most = std::min<double>(static_cast<double>(row.high), instance.slots);
          key[k] /= std::exp2(std::round(std::log2(beside) * 4.0) / 4.0) + row.work / most;
        }
        if (holds(ids[k], instance.low[k])) key[k] /= 1.0 + options.hysteresis;
      }
    } else if (options.hysteresis > 0.0 && options.kind == Kind::kTardiness &&
               options.aggregate == Aggregate::kSum && !options.effort && !instance.gang &&
               !instance.minima_scaled) {
      for (std::size_t k = 0; k < n; ++k) key[k] = apparent_cost(ids[k], instance, k);
    } else {
      Order order(n);
      if (options.effort) {
        Plan plan;
        Flex().plan(instance, penalties(ids), options.aggregate, {*options.effort, kInfinity},
                    plan);
        const bool all = std::find(built.work.begin(), built.work.end(), 0.0) == built.work.end();
        if (all && options.hysteresis == 0.0) {
          return {plan.allocation.begin(), plan.allocation.end()};
        }
        order = plan.order;
      } else if (options.aggregate == Aggregate::kMax && !instance.gang &&
                 options.kind != Kind::kStrict) {
        Doubles slots(n);
        const bool held = options.hysteresis == 0.0;
        Flex().level_shares(held ? rest : instance, penalties(ids), order, slots);
        if (held) return slots;
      } else {
        Flex().own_order(instance, penalties(ids), options.aggregate, order);
      }
      for (std::size_t p = 0; p < n; ++p) {
        const bool favoured = holds(ids[order[p]], instance.low[order[p]]);
        key[order[p]] = static_cast<double>(p + 1) / (favoured ? 1.0 + options.hysteresis : 1.0);
      }
    }
    Order order = identity(n);
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return key[a] < key[b]; });
    return first_layer(rest, rest.work, order);
  }
};

// `again`: at the moment of the decision before, with nothing new; then nothing moves.
void check_decision(Epoch& epoch, Mirror& mirror, double now, bool again = false) {
  const auto ids = epoch.ids();
  if (!again) mirror.pass(now);
  Doubles expected = mirror.slots_now(ids, now);
  if (again) {
    for (std::size_t k = 0; k < ids.size(); ++k) {
      expected[k] = static_cast<double>(mirror.rows.at(ids[k]).given);
    }
  }
  epoch.decide(now);
  CHECK_EQUAL(ids.size(), mirror.rows.size());
  CHECK_EQUAL(epoch.size(), mirror.rows.size());
  if (mirror.options.stable) CHECK(std::is_sorted(ids.begin(), ids.end()));
  for (std::size_t k = 0; k < ids.size(); ++k) {
    Row& row = mirror.rows.at(ids[k]);
    CHECK_EQUAL(static_cast<double>(epoch.given()[k]), expected[k]);
    CHECK_EQUAL(epoch.changed()[k] != 0, epoch.given()[k] != row.given);
    if (epoch.given()[k] != row.given) row.serve(now);
    row.given = epoch.given()[k];
  }
}

void check_plan_of(Epoch& epoch, const Mirror& mirror, double now) {
  const auto ids = epoch.ids();
  const Plan plan = epoch.plan();
  const Problem problem = mirror.problem(ids, now);
  check_plan(problem, mirror.penalties(ids), mirror.options.aggregate, plan, epoch.given());
  const JobsView jobs = epoch.planned_jobs();
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const Row& row = mirror.rows.at(ids[k]);
    CHECK(jobs.work[k] == row.work && jobs.arrival[k] == row.arrival);
    CHECK(jobs.weight[k] == row.weight && jobs.deadline[k] == row.deadline);
    CHECK(jobs.min_slots[k] == row.low && jobs.max_slots[k] == row.high);
    CHECK_EQUAL(jobs.original[k], row.size);
    const auto first = static_cast<std::size_t>(jobs.sla.offset[k]);
    CHECK_EQUAL(static_cast<std::size_t>(jobs.sla.offset[k + 1]) - first, row.steps.size());
    for (std::size_t s = 0; s < row.steps.size(); ++s) {
      CHECK_EQUAL(jobs.sla.time[first + s], row.steps[s].first);
      CHECK_EQUAL(jobs.sla.penalty[first + s], row.steps[s].second);
    }
  }
}

void add(Epoch& epoch, Mirror& mirror, const Table& table) {
  const std::int64_t first = epoch.add(table.jobs());
  for (std::size_t j = 0; j < table.size(); ++j) {
    Row row{table.work[j],
            table.work[j],
            table.arrival[j],
            table.weight[j],
            table.deadline[j],
            table.min_slots[j],
            table.max_slots[j],
            {},
            0};
    for (auto s = table.sla.offset[j]; s < table.sla.offset[j + 1]; ++s) {
      const auto step = static_cast<std::size_t>(s);
      row.steps.emplace_back(table.sla.time[step], table.sla.penalty[step]);
    }
    const auto id = first + static_cast<std::int64_t>(j);
    CHECK(mirror.rows.emplace(id, row).second);
  }
}

std::vector<std::int64_t> some_ids(Random& random, const Mirror& mirror, double share) {
  std::vector<std::int64_t> ids;
  for (const auto& [id, row] : mirror.rows) {
    if (chance(random, share)) ids.push_back(id);
  }
  for (std::size_t k = ids.size(); k > 1; --k) std::swap(ids[k - 1], ids[random() % k]);
  return ids;
}

void update(Random& random, Epoch& epoch, Mirror& mirror) {
  const auto ids = some_ids(random, mirror, 0.4);
  Doubles work, weight, deadline;
  std::vector<std::int64_t> low, high;
  const bool works = chance(random, 0.8), weights = chance(random, 0.2);
  const bool dates = chance(random, 0.2), limits = chance(random, 0.3);
  for (const std::int64_t id : ids) {
    Row& row = mirror.rows.at(id);
    if (works) {
      work.push_back(chance(random, 0.1)   ? 0.0
                     : chance(random, 0.1) ? real(random, 0.1, 20.0)
                                           : row.work * real(random, 0.1, 1.0));
      row.serve(mirror.now);
      row.tell(work.back());
    }
    if (weights) weight.push_back(row.weight = static_cast<double>(integer(random, 0, 4)));
    if (dates) deadline.push_back(row.deadline = real(random, 0.0, 40.0));
    if (limits) {
      high.push_back(row.high = integer(random, 1, 9));
      low.push_back(row.low = std::min(row.high, integer(random, 0, 2)));
    }
  }
  epoch.update(ids, {work, weight, deadline, low, high});
}

void remove(Random& random, Epoch& epoch, Mirror& mirror) {
  const auto ids = some_ids(random, mirror, chance(random, 0.1) ? 1.0 : 0.3);
  for (const std::int64_t id : ids) mirror.rows.erase(id);
  if (!ids.empty() && chance(random, 0.2)) {
    auto twice = ids;
    twice.push_back(ids[0]);
    CHECK_THROWS(epoch.remove(twice), "named twice");
    CHECK_THROWS(epoch.update(twice, {}), "named twice");
  }
  epoch.remove(ids);
}

void run_epochs(Random& random, const EpochOptions& options, int epochs) {
  Mirror mirror{options, integer(random, 1, 20), {}};
  Epoch epoch(mirror.slots, options);
  double now = 0.0;
  for (int k = 0; k < epochs; ++k) {
    const std::uint64_t version = epoch.version();
    if (mirror.rows.size() < 12 && chance(random, 0.6)) {
      Shape shape;
      shape.slots = mirror.slots;
      shape.overcommit = chance(random, 0.1);
      shape.whole = chance(random, 0.2);
      const auto jobs = static_cast<std::size_t>(integer(random, 0, 5));
      add(epoch, mirror, random_table(random, jobs, shape));
      CHECK((epoch.version() > version) == (jobs > 0));  // nothing added is no change
    }
    if (chance(random, 0.6)) update(random, epoch, mirror);
    if (chance(random, 0.3)) remove(random, epoch, mirror);
    if (chance(random, 0.2)) epoch.set_slots(mirror.slots = integer(random, 1, 20));
    CHECK_EQUAL(epoch.slots(), mirror.slots);
    now += real(random, 0.0, 1.0);
    check_decision(epoch, mirror, now);
    if (chance(random, 0.3)) check_plan_of(epoch, mirror, now);
    if (chance(random, 0.2)) check_decision(epoch, mirror, now, true);
  }
}

const EpochOptions kFlexSum = one_order();

TEST(flex_with_a_key_per_job) {
  for (const Kind kind : {Kind::kResponse, Kind::kCompletion, Kind::kStretch, Kind::kLateness}) {
    trials(1 + static_cast<std::uint64_t>(kind), 60, [&](Random& random) {
      EpochOptions options = one_order();
      options.kind = kind;
      run_epochs(random, options, 40);
    });
  }
}

TEST(flex_with_hysteresis) {
  trials(10, 150, [](Random& random) {
    EpochOptions options = one_order();
    options.kind = kKinds[random() % std::size(kKinds)];
    options.hysteresis = real(random, 0.0, 2.0);
    options.stable = chance(random, 0.5);
    options.aggregate = chance(random, 0.3) ? Aggregate::kMax : Aggregate::kSum;
    if (chance(random, 0.3)) options.effort = 10;
    run_epochs(random, options, 30);
  });
}

TEST(flex_by_instance) {
  trials(11, 150, [](Random& random) {
    EpochOptions options = one_order();
    options.kind = kKinds[random() % std::size(kKinds)];
    options.aggregate = chance(random, 0.5) ? Aggregate::kMax : Aggregate::kSum;
    if (chance(random, 0.3)) options.min_mode = MinMode::kGang;
    if (chance(random, 0.3)) options.effort = 20;
    run_epochs(random, options, 30);
  });
}

TEST(other_policies) {
  for (const EpochPolicy policy : {EpochPolicy::kFair, EpochPolicy::kFifo, EpochPolicy::kWdeq}) {
    trials(20 + static_cast<std::uint64_t>(policy), 80, [&](Random& random) {
      EpochOptions options = one_order();
      options.policy = policy;
      options.kind = kKinds[random() % std::size(kKinds)];
      options.aggregate = chance(random, 0.5) ? Aggregate::kMax : Aggregate::kSum;
      if (chance(random, 0.3)) options.min_mode = MinMode::kGang;
      run_epochs(random, options, 30);
    });
  }
}

// Minima that exceed the slots now and then: decisions go back and forth between keys and
// instances.
TEST(minima_come_and_go) {
  trials(30, 100, [](Random& random) {
    EpochOptions options = one_order();
    options.hysteresis = chance(random, 0.5) ? 0.5 : 0.0;
    options.stable = chance(random, 0.5);
    Mirror mirror{options, 6, {}};
    Epoch epoch(6, options);
    for (int k = 0; k < 25; ++k) {
      Table table;
      table.add(real(random, 1.0, 9.0), integer(random, 0, 3), 4);
      add(epoch, mirror, table);
      if (mirror.rows.size() > 3) remove(random, epoch, mirror);
      epoch.set_slots(mirror.slots = integer(random, 1, 9));
      check_decision(epoch, mirror, k);
    }
  });
}

// A job that lost its slots to minima holds nothing any more.
TEST(slots_lost_to_minima_are_not_held) {
  EpochOptions options = one_order();
  options.hysteresis = 1.0;
  Mirror mirror{options, 4, {}};
  Epoch epoch(4, options);
  Table first, then;
  first.add(10.0);
  add(epoch, mirror, first);
  check_decision(epoch, mirror, 0.0);
  then.add(6.0);
  then.add(1.0, 3, 3);
  then.add(1.0, 2, 2);
  add(epoch, mirror, then);
  check_decision(epoch, mirror, 0.0);
  const std::vector<std::int64_t> guaranteed{2, 3};
  for (const std::int64_t id : guaranteed) mirror.rows.erase(id);
  epoch.remove(guaranteed);
  check_decision(epoch, mirror, 0.0);
  CHECK_EQUAL(mirror.rows.at(1).given, 4);
}

TEST(ids_are_stable_and_never_used_again) {
  Random random(40);
  Mirror mirror{kFlexSum, 50, {}};
  Epoch epoch(50, kFlexSum);
  std::set<std::int64_t> used;
  for (int round = 0; round < 12; ++round) {
    Table table;
    for (int j = 0; j < 2500; ++j) table.add(real(random, 0.1, 9.0), 0, 3);
    add(epoch, mirror, table);
    for (const auto& [id, row] : mirror.rows) used.insert(id);
    remove(random, epoch, mirror);
    if (round % 4 == 3) {  // all but a few, so that whole pages fall empty
      auto ids = some_ids(random, mirror, 0.999);
      for (const std::int64_t id : ids) mirror.rows.erase(id);
      epoch.remove(ids);
    }
    check_decision(epoch, mirror, round);
  }
  CHECK_EQUAL(used.size(), 12u * 2500u);
}

TEST(steps_outlive_the_jobs_around_them) {
  Random random(41);
  EpochOptions options = one_order();
  options.kind = Kind::kSla;
  Mirror mirror{options, 9, {}};
  Epoch epoch(9, options);
  for (int round = 0; round < 8; ++round) {
    Shape shape;
    shape.slots = 9;
    add(epoch, mirror, random_table(random, 900, shape));
    const auto ids = some_ids(random, mirror, 0.95);
    for (const std::int64_t id : ids) mirror.rows.erase(id);
    epoch.remove(ids);
    check_decision(epoch, mirror, round);
    check_plan_of(epoch, mirror, round);
  }
}

TEST(wrong_input_changes_nothing) {
  Epoch epoch(4, kFlexSum);
  Table table;
  table.add(5.0, 1, 3);
  table.add(6.0);
  const std::int64_t first = epoch.add(table.jobs());
  epoch.decide(0.0);
  const std::uint64_t version = epoch.version();
  const std::vector<std::int64_t> given(epoch.given().begin(), epoch.given().end());

  Table bad = table;
  bad.work[1] = -1.0;
  CHECK_THROWS(epoch.add(bad.jobs()), "work[1] = -1");
  const Kind one = Kind::kTardy;
  CHECK_THROWS(epoch.add(table.jobs(), {&one, 1}), "kind has 1 entry but work has 2");
  const std::vector<std::int64_t> ids{first, first + 1}, unknown{first, 77}, negative{-1};
  CHECK_THROWS(epoch.remove(unknown), "ids[1] = 77: no such job");
  CHECK_THROWS(epoch.remove(negative), "ids[0] = -1");
  CHECK_THROWS(epoch.update(unknown, {Doubles{1.0, 1.0}, {}, {}, {}, {}}), "ids[1] = 77");
  CHECK_THROWS(epoch.update(ids, {Doubles{1.0, NAN}, {}, {}, {}, {}}), "work[1] = nan");
  CHECK_THROWS(epoch.update(ids, {Doubles{1.0}, {}, {}, {}, {}}), "work has 1 entry, expected 2");
  CHECK_THROWS(epoch.update(ids, {{}, Doubles{1.0, -1.0}, {}, {}, {}}), "weight[1] = -1");
  CHECK_THROWS(epoch.update(ids, {{}, {}, Doubles{NAN, 1.0}, {}, {}}), "deadline[0] = nan");
  const std::vector<std::int64_t> low{1, 5}, high{3, 2}, zero{0, 0};
  CHECK_THROWS(epoch.update(ids, {{}, {}, {}, low, high}), "min_slots[1] = 5");
  CHECK_THROWS(epoch.update(ids, {{}, {}, {}, zero, zero}), "max_slots[0] = 0");
  CHECK_THROWS(epoch.set_slots(-1), "slots = -1");
  CHECK_THROWS(epoch.decide(kInfinity), "must be finite");
  CHECK_THROWS(epoch.decide(-1.0), "times never fall");
  CHECK_THROWS(epoch.decide(0.0, -1), "slots = -1");
  CHECK_THROWS(epoch.decide(NAN, 3), "must be finite");

  CHECK_EQUAL(epoch.version(), version);
  CHECK_EQUAL(epoch.size(), 2u);
  CHECK_EQUAL(epoch.slots(), 4);
  epoch.decide(0.0);
  CHECK(std::equal(given.begin(), given.end(), epoch.given().begin()));
  CHECK(epoch.changed()[0] == 0 && epoch.changed()[1] == 0);
  const std::vector<std::int64_t> once{first};
  epoch.remove(once);
  CHECK_THROWS(epoch.remove(once), "no such job");
}

double late(std::int64_t job, double t) {
  return std::max(0.0, t - 3.0) * static_cast<double>(1 + job % 3);
}

// Jobs of one kind among others decide as by an epoch of that kind when the others are gone.
TEST(kinds_come_and_go) {
  trials(22, 40, [](Random& random) {
    const auto slots = static_cast<std::int64_t>(integer(random, 1, 12));
    for (const Kind kind : kKinds) {
      EpochOptions options = one_order();
      options.kind = kind;
      Epoch one(slots, options);
      options.kind = kind == Kind::kTardy ? Kind::kResponse : Kind::kTardy;
      Epoch mixed(slots, options);
      mixed.set_penalty(late);
      const Table table = random_table(random, 8, {}), others = random_table(random, 5, {});
      const std::vector<Kind> own(table.size(), kind);
      std::vector<Kind> strange(others.size(), Kind::kCustom);
      one.add(table.jobs());
      mixed.add(table.jobs(), own);
      const std::int64_t first = mixed.add(others.jobs(), strange);
      mixed.decide(1e3);
      std::vector<std::int64_t> gone;
      for (std::size_t k = 0; k < others.size(); ++k) {
        gone.push_back(first + static_cast<std::int64_t>(k));
      }
      mixed.remove(gone);
      one.decide(1e3);
      mixed.decide(1e3);
      CHECK(std::ranges::equal(one.given(), mixed.given()));
      CHECK_EQUAL(mixed.planned_kinds().size(), table.size() == 0 ? 1u : table.size());
    }
  });
}

// Which rule decides follows from objective, policy, options and jobs.
TEST(rules_are_chosen_by_what_is_there) {
  const auto rule = [](EpochOptions options, std::size_t jobs, double period = 0.0) {
    Epoch epoch(4, options);
    Table table;
    for (std::size_t k = 0; k < jobs; ++k) {
      table.add(std::exp(static_cast<double>(k * 7919 % 5003) / 1000.0), 0, 3);
    }
    epoch.add(table.jobs());
    epoch.decide(1.0, std::nullopt, period);
    return std::string(epoch.rule());
  };
  EpochOptions options;
  CHECK_EQUAL(rule(options, 3), "instance");
  CHECK_EQUAL(rule(options, 300), "catch up");
  CHECK_EQUAL(rule({.stable = true}, 3), "smith");
  CHECK_EQUAL(rule(options, 3, 5.0), "period");
  CHECK_EQUAL(rule({.policy = EpochPolicy::kFifo}, 3), "smith");
  CHECK_EQUAL(rule({.policy = EpochPolicy::kFair}, 3), "equal shares");
  CHECK_EQUAL(rule({.policy = EpochPolicy::kWdeq}, 3), "instance");
  CHECK_EQUAL(rule({.min_mode = MinMode::kGang}, 3), "instance");
  CHECK_EQUAL(rule({.kind = Kind::kTardiness}, 3), "instance");
  CHECK_EQUAL(rule({.kind = Kind::kTardiness}, 300), "apparent cost");
  CHECK_EQUAL(rule({.kind = Kind::kTardy}, 3), "instance");
  CHECK_EQUAL(rule({.kind = Kind::kTardy}, 5000), "apparent cost");
  CHECK_EQUAL(rule({.aggregate = Aggregate::kMax, .kind = Kind::kStretch}, 3), "instance");
  CHECK_EQUAL(rule({.aggregate = Aggregate::kMax, .kind = Kind::kStretch}, 30'000), "level");
  options.predictable = 1.0;
  CHECK_EQUAL(rule(options, 3), "promised");
}

TEST(capacity_that_is_gone) {
  Epoch epoch(0, kFlexSum);
  Table table;
  table.add(4.0, 1, 3);
  table.add(0.0, 1, 3);
  epoch.add(table.jobs());
  epoch.decide(1.0);
  CHECK(epoch.given()[0] == 0 && epoch.given()[1] == 0);
  const Plan plan = epoch.plan();
  CHECK(plan.status == Status::kInfeasible);
  CHECK_EQUAL(plan.completion[0], kInfinity);
  CHECK_EQUAL(plan.completion[1], 1.0);
  CHECK_EQUAL(epoch.plan(/*detail=*/false).value, kInfinity);
  epoch.decide(2.0, 2);
  CHECK(epoch.given()[0] == 1 && epoch.given()[1] == 1);
}

TEST(a_kind_of_its_own_needs_a_function) {
  EpochOptions options = one_order();
  options.kind = Kind::kCustom;
  Epoch epoch(3, options);
  Table table;
  table.add(1.0);
  CHECK_THROWS(epoch.add(table.jobs()), "kind[0] = custom");
  CHECK_EQUAL(epoch.size(), 0u);
  epoch.set_penalty(late);
  epoch.add(table.jobs());
  epoch.decide(0.0);
  CHECK_EQUAL(epoch.given()[0], 3);
}

TEST(options_that_make_no_sense) {
  const auto with = [](auto change) {
    EpochOptions options = one_order();
    change(options);
    Epoch epoch(1, options);
  };
  CHECK_THROWS(Epoch(-1, kFlexSum), "slots = -1");
  CHECK_THROWS(with([](auto& o) { o.hysteresis = -0.1; }), "hysteresis");
  CHECK_THROWS(with([](auto& o) { o.hysteresis = NAN; }), "hysteresis");
  const auto fair = [](auto& o) {
    o.policy = EpochPolicy::kFair;
    o.effort = 3;
  };
  CHECK_THROWS(with(fair), "flex only");
  EpochOptions lateness;
  lateness.kind = Kind::kLateness;
  Epoch epoch(1, lateness);
  Table table;
  table.add(1.0);
  CHECK_THROWS(epoch.add(table.jobs()), "deadline[0] = inf: lateness needs a deadline");
}

TEST(nothing_to_decide) {
  for (const EpochPolicy policy :
       {EpochPolicy::kFlex, EpochPolicy::kFair, EpochPolicy::kFifo, EpochPolicy::kWdeq}) {
    EpochOptions options = one_order();
    options.policy = policy;
    Epoch epoch(3, options);
    epoch.decide(5.0);
    CHECK_EQUAL(epoch.ids().size(), 0u);
    CHECK_EQUAL(epoch.plan().value, 0.0);
    Table table;
    table.add(0.0, 2, 2);
    epoch.add(table.jobs());
    epoch.decide(5.0);
    CHECK_EQUAL(epoch.given()[0], 2);  // until it is removed
    CHECK_EQUAL(epoch.plan().pieces.size(), 0u);
  }
}

TEST(huge_limits) {
  Random random(42);
  Mirror mirror{kFlexSum, kMostSlots, {}};
  Epoch epoch(kMostSlots, kFlexSum);
  for (int round = 0; round < 20; ++round) {
    Table table;
    for (int j = 0; j < 4; ++j) {
      const std::int64_t high = chance(random, 0.5) ? kAllSlots : integer(random, 1, kMostSlots);
      table.add(real(random, 1.0, 1e15), integer(random, 0, std::min(high, kMostSlots / 4)), high);
    }
    add(epoch, mirror, table);
    remove(random, epoch, mirror);
    check_decision(epoch, mirror, round);
    check_plan_of(epoch, mirror, round);
  }
}

}  // namespace test_epoch
}  // namespace malleable::check
