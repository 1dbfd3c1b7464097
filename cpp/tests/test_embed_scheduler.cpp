// The scheduler of the C interface: every option and column that Python has, what is learnt, and
// maps that are lost.
#include <cmath>
#include <type_traits>

#include "embed_calls.hpp"
#include "malleable/model/cluster.hpp"
#include "malleable/scheduler/scheduler_options.hpp"

namespace malleable::check {
namespace test_embed_scheduler {

TEST(schedulers_take_every_option_by_name) {
  const Wholes slots{2, 2};
  malleable_cluster cluster = generic_nodes(slots);
  malleable_scheduler* scheduler = nullptr;
  const auto made = [&](const char* options) {
    return new_scheduler(cluster, "flex", options, &scheduler);
  };
  // The text of a row is checked like the row of the table.
  SchedulerOptions known;
  SchedulerOptions::each(known, [&]<typename T>(const Option& option, const T&) {
    const std::string name = std::string(option.name) + "=";
    CHECK(refused(made((name + "x").c_str()), option.name));
    const bool number = std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>;
    if (number) CHECK(refused(made((name + "-3").c_str()), "must be"));
    std::string high = std::to_string(option.high);
    if (number && std::isfinite(option.high)) {
      CHECK(refused(made((name + high.insert(0, "9")).c_str()), option.name));
    }
    const char* text = option.words.empty() ? "1" : option.words.back();
    OK(made((name + text).c_str()));
    malleable_scheduler_free(scheduler);
  });
  CHECK(refused(made("nonsense=1"), "nonsense: unknown option, expected one of hysteresis"));
  CHECK(refused(made("prior"), "prior = : write name=value"));
  CHECK(refused(made("speedup=1;0.5"), "more tasks must not do less"));
  CHECK(refused(made("processors=wide"), "processors = wide: expected one of own, unknown"));
  OK(made(" prior=2.5  speedup=1;1.5;1.8 effort=none\tlearn=false"));
  malleable_scheduler_free(scheduler);
  OK(made(nullptr));
  malleable_scheduler_free(scheduler);
}

TEST(what_schedulers_learn_goes_on_in_another_and_lost_maps_run_again) {
  const Wholes slots{4};
  malleable_cluster cluster = generic_nodes(slots);
  const Wholes maps{4}, program{0}, phase{kMap}, four{4}, one{1};
  const Reals seconds{9.0}, said{1.0};
  malleable_cluster_jobs jobs{};
  jobs.count = 1;
  jobs.maps = maps.data();
  jobs.map_seconds = said.data();
  jobs.program = program.data();
  const auto fresh = [&] { return scheduler_of(cluster, "auto", "learn=true"); };
  const auto believed = [&](malleable_scheduler* scheduler) {
    Wholes ids(1);
    OK(malleable_scheduler_add(scheduler, 100.0, &jobs, ids.data()));
    Reals estimate(2);
    OK(malleable_scheduler_counts(scheduler, 1, ids.data(), nullptr, nullptr, nullptr,
                                  estimate.data()));
    return estimate[0];
  };
  malleable_scheduler* first = fresh();
  Wholes ids(1), counts(2);
  OK(malleable_scheduler_add(first, 0.0, &jobs, ids.data()));
  CHECK_EQUAL(tell(first, 0.0, "started", events_of(ids, phase, four)), 0);
  CHECK_EQUAL(tell(first, 9.0, "ended", events_of(ids, phase, four, seconds)), 0);
  CHECK_EQUAL(tell(first, 9.0, "lost", events_of(ids, phase, one)), 0);
  OK(malleable_scheduler_counts(first, 1, ids.data(), counts.data(), nullptr, nullptr, nullptr));
  CHECK_EQUAL(counts[0], 1);
  CHECK_EQUAL(tell(first, 9.0, "lost", events_of(ids, phase, four)), 1);  // three had finished
  auto nothing = sized<malleable_events>();
  CHECK(refused(malleable_scheduler_tell(first, 9.0, "begun", &nothing), "what = 'begun'"));
  OK(malleable_scheduler_finish(first, 9.0, 1, ids.data()));
  std::int64_t count = 0;
  OK(malleable_scheduler_history(first, nullptr, 0, &count));
  Reals numbers(static_cast<std::size_t>(count));
  CHECK(refused(malleable_scheduler_history(first, numbers.data(), count - 1, &count), "room"));
  OK(malleable_scheduler_history(first, numbers.data(), count, &count));
  malleable_scheduler* second = fresh();
  for (const std::int64_t few : {std::int64_t{0}, std::int64_t{1}, count - 1}) {
    CHECK(refused(malleable_scheduler_recall(second, few, numbers.data()), "history: "));
  }
  OK(malleable_scheduler_recall(second, count, numbers.data()));
  malleable_scheduler* third = fresh();
  const double known = believed(first), recalled = believed(second), unknown = believed(third);
  CHECK_EQUAL(recalled, known);
  CHECK(recalled > 1.5 * unknown);
  CHECK(refused(malleable_scheduler_recall(second, count, numbers.data()),
                "history: jobs were here"));
  for (malleable_scheduler* scheduler : {first, second, third}) malleable_scheduler_free(scheduler);
}

TEST(slots_stay_where_a_change_costs_more_than_it_gains) {
  const Wholes slots{4}, maps{100}, few{60}, phase{kMap}, four{4};
  const Reals seconds{10.0}, restart{300.0};
  malleable_cluster cluster = generic_nodes(slots);
  for (const char* policy : {"flex", "auto"}) {
    for (const std::string told : {"not", "when it comes", "later"}) {
      malleable_scheduler* scheduler = scheduler_of(cluster, policy, "learn=false");
      malleable_cluster_jobs jobs{};
      jobs.count = 1;
      jobs.map_seconds = seconds.data();
      malleable_column column{"restart", restart.data(), nullptr};
      jobs.columns = told == "when it comes" ? 1 : 0;
      jobs.more = &column;
      Wholes ids(1), given(4);
      Bytes bound(4);
      jobs.maps = maps.data();
      OK(malleable_scheduler_add(scheduler, 0.0, &jobs, ids.data()));
      malleable_decision decision = decision_of(2, nullptr, given.data());
      decision.bound = bound.data();
      OK(malleable_scheduler_decide(scheduler, 0.0, &decision));
      CHECK_EQUAL(tell(scheduler, 0.0, "started", events_of(ids, phase, four)), 0);
      const double* const later = told == "later" ? restart.data() : nullptr;
      OK(malleable_scheduler_update(scheduler, 0.5, 1, ids.data(), nullptr, nullptr, nullptr,
                                    nullptr, nullptr, nullptr, later));
      jobs.maps = few.data();
      OK(malleable_scheduler_add(scheduler, 1.0, &jobs, ids.data()));
      OK(malleable_scheduler_decide(scheduler, 1.0, &decision));
      const bool costs = told != "not";
      CHECK_EQUAL(given[0], costs ? 4 : 0);
      CHECK_EQUAL(
          std::string(malleable_bound_text(bound[0])) == "a change costs more than it gains",
          costs);
      malleable_scheduler_free(scheduler);
    }
  }
}

TEST(jobs_come_with_columns_by_name) {
  const Wholes slots{8}, maps{6, 6}, most{2, 5}, zero{0, 1};
  const Reals seconds{5.0, 5.0}, part{0.5, 1.5};
  malleable_cluster cluster = generic_nodes(slots);
  malleable_scheduler* scheduler = scheduler_of(cluster, "fair");
  malleable_cluster_jobs jobs{};
  jobs.count = 2;
  jobs.maps = maps.data();
  jobs.map_seconds = seconds.data();
  Wholes ids(2), given(4);
  const auto added = [&](malleable_column column) {
    jobs.columns = 1;
    jobs.more = &column;
    return malleable_scheduler_add(scheduler, 0.0, &jobs, ids.data());
  };
  CHECK(refused(added({"max_slots", nullptr, nullptr}), "max_slots: missing (null)"));
  CHECK(refused(added({"max_slots", nullptr, zero.data()}), "max_slots[0] = 0: must be from 1"));
  CHECK(refused(added({"speedup", part.data(), nullptr}), "speedup[1] = 1.5: must be from 0 to 1"));
  CHECK(
      refused(added({"colour", part.data(), nullptr}), "colour: unknown column, expected one of"));
  CHECK(refused(added({nullptr, part.data(), nullptr}), "column: missing (null)"));
  OK(added({"max_slots", nullptr, most.data()}));
  malleable_decision decision = decision_of(2, ids.data(), given.data());
  OK(malleable_scheduler_decide(scheduler, 0.0, &decision));
  CHECK_EQUAL(given[0], 2);
  CHECK_EQUAL(given[2], 5);
  malleable_scheduler_free(scheduler);
}

// One node with so many slots of any kind.
struct OneNode {
  Wholes slots;
  malleable_cluster cluster{};

  explicit OneNode(std::int64_t count) : slots{count} {
    cluster.nodes = 1;
    cluster.generic = 1;
    cluster.map_slots = slots.data();
  }
};

TEST(a_prior_is_what_is_believed_before_anything_is_known) {
  const OneNode node(4);
  const Wholes maps{3};
  malleable_cluster_jobs jobs{};
  jobs.count = 1;
  jobs.maps = maps.data();
  for (const double prior : {0.25, 30.0}) {
    const std::string options = "learn=true prior=" + std::to_string(prior);
    malleable_scheduler* scheduler = scheduler_of(node.cluster, "flex", options.c_str());
    Wholes ids(1);
    OK(malleable_scheduler_add(scheduler, 0.0, &jobs, ids.data()));
    Reals estimate(2);
    OK(malleable_scheduler_counts(scheduler, 1, ids.data(), nullptr, nullptr, nullptr,
                                  estimate.data()));
    CHECK_NEAR(estimate[0], prior, 0.1 * prior);  // the mean of what is spread around it
    malleable_scheduler_free(scheduler);
  }
}

// Three slots, and a job of four maps and two reduce tasks whose last map began at 10 s. Maps take
// some 10 s, reduce tasks copy for 6 s.
struct Copying {
  explicit Copying(const char* options) {
    scheduler = scheduler_of(node.cluster, "fifo", options);
    for (int earlier = 0; earlier < 4; ++earlier) {
      add(4, 1);
      end(kMap, 0.0, {8.0, 10.0, 12.0, 10.0});
      const Reals nine{9.0}, six{6.0};
      tell(scheduler, 0.0, "ended", events_of(ids, reduce, {}, nine, six));
      OK(malleable_scheduler_finish(scheduler, 0.0, 1, ids.data()));
    }
    job = add(4, 2);
    decide(0.0);
    CHECK_EQUAL(assign(0.0, 3), 3);
    end(kMap, 10.0, {10.0, 10.0});
    decide(10.0);
    CHECK_EQUAL(assign(10.0, 2), 1);
    end(kMap, 11.0, {11.0});
  }
  Copying(const Copying&) = delete;
  ~Copying() { malleable_scheduler_free(scheduler); }

  std::int64_t add(std::int64_t maps, std::int64_t reduces, double now = 0.0) {
    const Wholes of_maps{maps}, of_reduces{reduces};
    const Reals arrival{0.0};
    malleable_cluster_jobs jobs{};
    jobs.count = 1;
    jobs.arrival = arrival.data();
    jobs.maps = of_maps.data();
    jobs.reduces = of_reduces.data();
    OK(malleable_scheduler_add(scheduler, now, &jobs, ids.data()));
    return ids[0];
  }
  void end(std::int64_t phase, double now, const Reals& seconds) {
    const Wholes each(seconds.size(), ids[0]), phases(seconds.size(), phase);
    tell(scheduler, now, "ended", events_of(each, phases, {}, seconds));
  }
  void decide(double now) {
    malleable_decision decision = decision_of(8);
    OK(malleable_scheduler_decide(scheduler, now, &decision));
  }
  // How many tasks start; their jobs are in `started`.
  std::int64_t assign(double now, std::int64_t free) {
    auto starts = sized<malleable_starts>();
    starts.room = 3;
    starts.ids = started.data();
    OK(malleable_scheduler_assign(scheduler, now, &free, nullptr, &starts));
    return starts.rows;
  }
  Wholes take_back(double now, std::int64_t free) {
    Wholes taken(3);
    std::int64_t rows = 0;
    OK(malleable_scheduler_take_back(scheduler, now, &free, nullptr, taken.data(), 3, &rows));
    taken.resize(static_cast<std::size_t>(rows));
    return taken;
  }

  OneNode node{3};
  malleable_scheduler* scheduler = nullptr;
  Wholes ids = Wholes(1), started = Wholes(3), reduce = {kReduce};
  std::int64_t job = 0;
};

TEST(reduces_that_wait_for_maps_are_taken_back_if_tasks_can_be_ended) {
  Copying able("take_back=true");
  CHECK_EQUAL(able.assign(11.0, 2), 0);  // the last map has just begun
  CHECK_EQUAL(able.assign(14.6, 2), 2);
  CHECK(able.take_back(14.7, 0).empty());  // no task wants their slots
  const std::int64_t late = able.add(1, 0, 14.7), none = 0;
  std::int64_t rows = 0;
  CHECK(refused(
      malleable_scheduler_take_back(able.scheduler, 14.7, &none, nullptr, nullptr, 2, &rows),
      "room = 2: must be at least 3"));
  able.decide(14.7);
  CHECK(able.take_back(14.7, 1).empty());  // it has a slot
  CHECK(able.take_back(14.7, 0) == Wholes{able.job});
  CHECK_EQUAL(able.assign(14.7, 1), 1);
  CHECK_EQUAL(able.started[0], late);
  // A scheduler without that option starts none that it would have to take back.
  Copying unable(nullptr);
  CHECK_EQUAL(unable.assign(14.6, 2), 0);
  CHECK(unable.take_back(14.7, 0).empty());
}

TEST(backup_gains_say_for_which_tasks_a_second_attempt_is_worth_while) {
  const OneNode node(4);
  malleable_scheduler* scheduler = scheduler_of(node.cluster, nullptr);
  const Wholes maps{4}, free{4}, map{kMap, kMap};
  malleable_cluster_jobs jobs{};
  jobs.count = 1;
  jobs.maps = maps.data();
  Wholes ids(2);
  malleable_decision decision = decision_of(1);
  auto starts = sized<malleable_starts>();
  starts.room = 4;
  OK(malleable_scheduler_add(scheduler, 0.0, &jobs, ids.data()));
  ids[1] = ids[0];
  OK(malleable_scheduler_decide(scheduler, 0.0, &decision));
  OK(malleable_scheduler_assign(scheduler, 0.0, free.data(), nullptr, &starts));
  Reals gain{-1.0, -1.0};
  const Reals ages{1.0, 60.0}, unknown{1.0, NAN};
  OK(malleable_scheduler_backup_gains(scheduler, 2, ids.data(), map.data(), ages.data(),
                                      gain.data()));
  CHECK((gain == Reals{0.0, 0.0}));  // none has ended
  const Wholes ended{ids[0], ids[0], ids[0]}, phase{kMap, kMap, kMap};
  const Reals seconds{9.0, 10.0, 11.0};
  tell(scheduler, 60.0, "ended", events_of(ended, phase, {}, seconds));
  OK(malleable_scheduler_backup_gains(scheduler, 2, ids.data(), map.data(), ages.data(),
                                      gain.data()));
  CHECK(gain[1] > 1.0 && gain[0] > 0.0 && gain[0] < 0.22);
  const Reals before = gain;
  CHECK(refused(malleable_scheduler_backup_gains(scheduler, 2, ids.data(), map.data(),
                                                 unknown.data(), gain.data()),
                "seconds[1] = nan"));
  CHECK(refused(
      malleable_scheduler_backup_gains(scheduler, 2, ids.data(), map.data(), nullptr, gain.data()),
      "seconds"));
  CHECK(refused(
      malleable_scheduler_backup_gains(scheduler, 2, ids.data(), map.data(), ages.data(), nullptr),
      "gain"));
  CHECK(gain == before);
  malleable_scheduler_free(scheduler);
}

}  // namespace test_embed_scheduler
}  // namespace malleable::check
