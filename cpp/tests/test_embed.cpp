// The C interface: the same decisions as the objects behind it, and errors that change nothing.

#include <functional>
#include <limits>

#include "embed_calls.hpp"
#include "malleable/embed/handle.hpp"
#include "malleable/kernel/schedule_check.hpp"

namespace malleable::check {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// One loop through C and beside it the object itself, told the same.
void follow(const char* objective, const char* policy, const EpochOptions& options) {
  context = text(policy, " ", objective);
  Random random(7);
  malleable_epoch* epoch = nullptr;
  OK(malleable_epoch_new(100, objective, policy, "guarantee", 0.0, -1, &epoch));
  Epoch own(100, options);
  Wholes ids(400), given(400);
  Bytes changed(400);
  for (int step = 0; step < 60; ++step) {
    const Jobs jobs(random, random() % 8, step);
    const malleable_jobs view = jobs.view();
    OK(malleable_epoch_add(epoch, &view, ids.data()));
    JobColumns columns{
        {jobs.arrival, jobs.weight, jobs.deadline, {}, {}}, jobs.work, jobs.low, jobs.high};
    const std::int64_t first = own.add(malleable::Jobs(std::move(columns)));
    if (!jobs.work.empty()) CHECK_EQUAL(ids[0], first);
    std::int64_t rows = 0;
    const std::int64_t slots = step % 10 == 9 ? 50 + step : -1;
    OK(malleable_epoch_decide(epoch, step, slots, ids.data(), given.data(), changed.data(), 400,
                              &rows));
    own.decide(step, slots == -1 ? std::nullopt : std::optional(slots));
    const auto n = static_cast<std::size_t>(rows);
    CHECK_EQUAL(n, own.size());
    CHECK(std::equal(own.ids().begin(), own.ids().end(), ids.begin()));
    CHECK(std::equal(own.given().begin(), own.given().end(), given.begin()));
    CHECK(std::equal(own.changed().begin(), own.changed().end(), changed.begin()));
    double value = 0.0, bound = 0.0;
    OK(malleable_epoch_assess(epoch, &value, &bound));
    CHECK_EQUAL(value, own.assess().value);
    CHECK_EQUAL(bound, own.assess().lower_bound);
    Reals work(n);
    Wholes gone;
    for (std::size_t k = 0; k < n; ++k) {
      work[k] = static_cast<double>(random() % 300);
      if (random() % 9 == 0) gone.push_back(ids[k]);
    }
    malleable_job_changes changes{};
    changes.work = work.data();
    OK(malleable_epoch_update(epoch, rows, ids.data(), &changes));
    own.update(std::span(ids).first(n), {work, {}, {}, {}, {}, {}});
    OK(malleable_epoch_finish(epoch, static_cast<std::int64_t>(gone.size()), gone.data()));
    own.remove(gone);
    CHECK_EQUAL(malleable_epoch_assess(epoch, &value, &bound), int{MALLEABLE_INVALID});
  }
  malleable_epoch_free(epoch);
}

TEST(jobs_are_decided_as_by_the_object) {
  EpochOptions options;
  follow("sum:response", "flex", options);
  options.kind = Kind::kTardiness;
  follow("sum:tardiness", "flex", options);
  options.aggregate = Aggregate::kMax;
  options.kind = Kind::kStretch;
  follow("max:stretch", "flex", options);
  options.policy = EpochPolicy::kFair;
  follow("max:stretch", "fair", options);
}

TEST(errors_are_told_and_change_nothing) {
  malleable_epoch* epoch = nullptr;
  const auto make = [&](std::int64_t slots, const char* goal, const char* mode, double hysteresis,
                        std::int64_t effort) {
    return malleable_epoch_new(slots, goal, "flex", mode, hysteresis, effort, &epoch);
  };
  CHECK(refused(make(-2, "sum:response", "guarantee", 0.0, -1), "slots"));
  CHECK(refused(make(4, "sum:resp", "guarantee", 0.0, -1), "objective = 'sum:resp'"));
  CHECK(refused(make(4, nullptr, "guarantee", 0.0, -1), "objective: missing"));
  CHECK(refused(make(4, "sum:response", "gangs", 0.0, -1), "min_mode = 'gangs'"));
  CHECK(refused(make(4, "sum:response", "gang", kNone, -1), "hysteresis = nan"));
  CHECK(refused(make(4, "sum:response", "gang", 0.0, -2), "effort = -2"));
  CHECK(epoch == nullptr);
  OK(make(4, "sum:response", "guarantee", 0.0, -1));

  const double work[] = {4.0, 2.0, -1.0};
  malleable_jobs jobs{};
  jobs.count = 3;
  jobs.work = work;
  std::int64_t ids[3], given[3], rows = 0, size = -1;
  CHECK(refused(malleable_epoch_add(epoch, &jobs, ids), "work[2] = -1"));
  CHECK(refused(malleable_epoch_add(epoch, nullptr, ids), "jobs: missing"));
  jobs.count = -1;
  CHECK(refused(malleable_epoch_add(epoch, &jobs, ids), "count = -1"));
  jobs.count = 2;
  const std::uint8_t kinds[] = {0, 99};
  jobs.kind = kinds;
  CHECK_EQUAL(malleable_epoch_add(epoch, &jobs, ids), int{MALLEABLE_INVALID});
  jobs.kind = nullptr;
  const std::int64_t offset[] = {0, 1, -5};
  jobs.sla_offset = offset;
  CHECK(refused(malleable_epoch_add(epoch, &jobs, ids), "sla_offset"));
  jobs.sla_offset = nullptr;
  jobs.work = nullptr;
  CHECK(refused(malleable_epoch_add(epoch, &jobs, ids), "work: missing"));
  jobs.work = work;
  OK(malleable_epoch_size(epoch, &size));
  CHECK_EQUAL(size, 0);
  OK(malleable_epoch_add(epoch, &jobs, ids));
  CHECK(refused(malleable_epoch_decide(epoch, 1.0, -1, ids, given, nullptr, 1, &rows),
                "room = 1: must be at least 2"));
  CHECK(refused(malleable_epoch_decide(epoch, kNone, -1, ids, given, nullptr, 2, &rows), "now"));
  CHECK(refused(malleable_epoch_decide(epoch, 1.0, -7, ids, given, nullptr, 2, &rows), "slots"));
  OK(malleable_epoch_decide(epoch, 1.0, -1, ids, given, nullptr, 2, &rows));
  CHECK(refused(malleable_epoch_decide(epoch, 0.5, -1, ids, given, nullptr, 2, &rows), "now"));
  const std::int64_t twice[] = {0, 0};
  CHECK_EQUAL(malleable_epoch_finish(epoch, 2, twice), int{MALLEABLE_INVALID});
  CHECK(refused(malleable_epoch_finish(epoch, 2, nullptr), "ids: missing"));
  CHECK(refused(malleable_epoch_update(epoch, 2, ids, nullptr), "changes: missing"));

  // Another kind of handle, and one that is in use.
  CHECK(refused(
      malleable_slotted_epoch_size(reinterpret_cast<malleable_slotted_epoch*>(epoch), &size),
      "handle"));
  {
    const Turn turn(*epoch->busy);
    CHECK_EQUAL(malleable_epoch_size(epoch, &size), int{MALLEABLE_BUSY});
    CHECK(std::string(malleable_message()).find("another thread") != std::string::npos);
  }
  OK(malleable_epoch_size(epoch, &size));
  CHECK_EQUAL(size, 2);
  malleable_plan* plan = nullptr;
  OK(malleable_epoch_plan(epoch, &plan));
  malleable_plan_free(plan);
  malleable_epoch_free(epoch);
  CHECK(std::string(malleable_bound_text(3)) == kBoundTexts[3]);
  CHECK(std::string(malleable_bound_text(-1)) == "unknown");
}

double late(std::int64_t job, double completion) {
  return completion > 5.0 ? static_cast<double>(job + 1) : 0.0;
}

// One epoch whose jobs pay what `late` says, and its plan.
TEST(own_penalties) {
  malleable_epoch* epoch = nullptr;
  OK(malleable_epoch_new(1, "sum:custom", "flex", "guarantee", 0.0, -1, &epoch));
  const double work[] = {4.0, 4.0};
  malleable_jobs jobs{};
  jobs.count = 2;
  jobs.work = work;
  CHECK(refused(malleable_epoch_add(epoch, &jobs, nullptr), "penalty"));
  OK(malleable_epoch_set_penalty(epoch, late));
  OK(malleable_epoch_add(epoch, &jobs, nullptr));
  std::int64_t given[2], rows = 0;
  OK(malleable_epoch_decide(epoch, 0.0, -1, nullptr, given, nullptr, 2, &rows));
  CHECK_EQUAL(given[1], 1);
  malleable_plan* plan = nullptr;
  OK(malleable_epoch_plan(epoch, &plan));
  double value = 0.0, penalty[2];
  OK(malleable_plan_value(plan, nullptr, &value, nullptr));
  OK(malleable_plan_job_columns(plan, nullptr, nullptr, nullptr, penalty, 2));
  CHECK_EQUAL(value, 1.0);
  CHECK_EQUAL(penalty[0], 1.0);
  malleable_plan_free(plan);
  malleable_epoch_free(epoch);
}

// Pieces that a plan has, to be spoilt.
struct Schedule {
  Wholes job, slots;
  Reals start, end, completion;

  explicit Schedule(malleable_plan* plan) {
    std::int64_t jobs = 0, pieces = 0;
    OK(malleable_plan_size(plan, &jobs, nullptr, &pieces));
    const auto n = static_cast<std::size_t>(pieces);
    job.resize(n), slots.resize(n), start.resize(n), end.resize(n);
    completion.resize(static_cast<std::size_t>(jobs));
    OK(malleable_plan_pieces(plan, job.data(), start.data(), end.data(), slots.data(), pieces));
    OK(malleable_plan_job_columns(plan, nullptr, nullptr, completion.data(), nullptr, jobs));
  }
  malleable_pieces view() const {
    return {static_cast<std::int64_t>(job.size()), job.data(), start.data(), end.data(),
            slots.data()};
  }
};

// What is wrong, and the word that names it.
struct Spoilt {
  const char* word;
  std::function<void(Schedule&)> spoil;
};
const Spoilt kSpoilt[] = {
    {"done of", [](Schedule& s) { s.slots[0] += s.slots[0] > 1 ? -1 : 1; }},
    {"before now", [](Schedule& s) { s.start[0] -= 1e6; }},
    {"ends before it starts", [](Schedule& s) { std::swap(s.start[0], s.end[0]); }},
    {"unknown job", [](Schedule& s) { s.job[0] = 1000; }},
    {"whole slots", [](Schedule& s) { s.slots[0] = 0; }},
    {"without a time", [](Schedule& s) { s.end[0] = kNone; }},
    {"last piece ends", [](Schedule& s) { s.completion[0] -= 1.0; }},
};

TEST(plans_of_jobs_pass_the_check_and_spoilt_ones_fail) {
  Random random(3);
  for (int round = 0; round < 40; ++round) {
    const char* mode = round % 4 == 3 ? "gang" : "guarantee";
    const char* policy = round % 5 == 4 ? "fair" : "flex";
    const double now = round % 3 == 0 ? 0.0 : 1e5;
    Jobs jobs(random, 1 + random() % 12, now);
    const malleable_jobs view = jobs.view();
    const std::int64_t slots = 3 + static_cast<std::int64_t>(random() % 30);
    malleable_plan* plan = nullptr;
    OK(malleable_plan_jobs(&view, slots, round % 2 == 0 ? "sum:response" : "max:stretch", policy,
                           mode, 20, kInfinity, now, nullptr, &plan));
    const Schedule schedule(plan);
    malleable_plan_free(plan);
    const auto check = [&](const Schedule& s) {
      const malleable_pieces pieces = s.view();
      return malleable_check_jobs(&view, slots, now, mode, 0, &pieces, s.completion.data());
    };
    context = text("round ", round);
    OK(check(schedule));
    for (const auto& [word, spoil] : kSpoilt) {
      Schedule bad = schedule;
      spoil(bad);
      context = text("round ", round, ": ", word);
      CHECK(refused(check(bad), word));
    }
    Schedule more = schedule;  // everybody at once: beyond the maximum, or the capacity
    for (std::int64_t& count : more.slots) count += 1000;
    CHECK_EQUAL(check(more), int{MALLEABLE_INVALID});
  }
}

TEST(promises_that_a_check_names) {
  const double work[] = {4.0, 4.0}, completion[] = {4.0, 4.0}, late_completion[] = {4.0, 8.0};
  const std::int64_t low[] = {0, 1}, high[] = {1, 1};
  malleable_jobs jobs{};
  jobs.count = 2;
  jobs.work = work;
  jobs.min_slots = low;
  jobs.max_slots = high;
  const std::int64_t job[] = {0, 1}, slots[] = {1, 1}, wide[] = {1, 2};
  const double start[] = {0.0, 0.0}, end[] = {4.0, 4.0}, half[] = {4.0, 2.0};
  const double after[] = {0.0, 4.0}, later[] = {4.0, 8.0}, halves[] = {4.0, 2.0};
  const auto check = [&](std::int64_t capacity, const malleable_pieces& pieces, const double* told,
                         std::int64_t ignore = 0) {
    return malleable_check_jobs(&jobs, capacity, 0.0, "guarantee", ignore, &pieces, told);
  };
  OK(check(2, {2, job, start, end, slots}, completion));
  CHECK(refused(check(1, {2, job, start, end, slots}, completion), "2 slots of 1 in use at 0"));
  CHECK(refused(check(4, {2, job, start, half, wide}, halves), "its maximum is 1"));
  CHECK(refused(check(1, {2, job, after, later, slots}, late_completion), "a minimum"));
  OK(check(1, {2, job, after, later, slots}, late_completion, 1));

  const std::int64_t job_offset[] = {0, 2}, parent_offset[] = {0, 0, 1}, parent[] = {0};
  malleable_flows flows{};
  flows.flows = 1;
  flows.job_offset = job_offset;
  flows.work = work;
  flows.parent_offset = parent_offset;
  flows.parent = parent;
  const auto check_flows = [&](const malleable_pieces& pieces, const double* told) {
    return malleable_check_flows(&flows, 2, 0.0, &pieces, told);
  };
  OK(check_flows({2, job, after, later, slots}, late_completion));
  CHECK(refused(check_flows({2, job, start, end, slots}, completion), "waits for one"));
  CHECK(refused(check_flows({2, job, after, later, slots}, completion), "last piece ends"));
  CHECK(refused(check_flows({1, job, after, later, slots}, late_completion), "never runs"));
  CHECK(refused(check_flows({2, job, after, later, wide}, late_completion), "done of"));
  const double arrival[] = {1.0};
  flows.arrival = arrival;
  CHECK(refused(check_flows({2, job, after, later, slots}, late_completion), "before 1"));
}

TEST(plans_of_flows) {
  const std::int64_t job_offset[] = {0, 2, 3}, parent_offset[] = {0, 0, 1, 1}, parent[] = {0};
  const double work[] = {8.0, 2.0, 3.0};
  malleable_flows flows{};
  flows.flows = 2;
  flows.job_offset = job_offset;
  flows.work = work;
  flows.parent_offset = parent_offset;
  flows.parent = parent;
  malleable_plan* plan = nullptr;
  for (const char* policy : {"flowflex", "flowflex-fast", "fair", "fifo"}) {
    context = policy;
    OK(malleable_plan_flows(&flows, 4, "sum:response", policy, -1, kInfinity, 0.0, nullptr, &plan));
    const Schedule schedule(plan);
    const malleable_pieces pieces = schedule.view();
    OK(malleable_check_flows(&flows, 4, 0.0, &pieces, schedule.completion.data()));
    std::int64_t first[2], order[2], rows = 0;
    double completion[2], penalty[2], value = 0.0;
    OK(malleable_plan_flow_columns(plan, nullptr, first, completion, penalty, 2));
    OK(malleable_plan_order(plan, order, 2, &rows));
    OK(malleable_plan_value(plan, nullptr, &value, nullptr));
    CHECK_EQUAL(first[1], 2);
    CHECK_EQUAL(rows, 2);
    CHECK_NEAR(value, penalty[0] + penalty[1], 1e-12);
    malleable_plan_free(plan);
  }
  const std::int64_t circle[] = {1};
  flows.parent = circle;
  CHECK_EQUAL(
      malleable_plan_flows(&flows, 4, "sum:response", "fair", -1, kInfinity, 0.0, nullptr, &plan),
      int{MALLEABLE_INVALID});
}

int no_shares(void*, std::int64_t, std::int64_t, const double*, const double*, const double*,
              double*) {
  return 3;
}

// The worked example of the adaptive paper, section 4: two nodes, two classes whose rates no rate
// of nodes could say. Node 0 is suggested to class 1 alone, node 1 to both.
TEST(an_adaptive_scheduler_matches_classes_with_nodes) {
  const Wholes slots{1, 1}, type{0, 1};
  malleable_cluster cluster = generic_nodes(slots);
  cluster.type = type.data();
  Matcher matcher;
  matcher.shares = {0.0, 0.6, 1.0, 0.4};
  malleable_adaptive_options single{0.0, 1.0, 1.0, 0.0, 0.2, 3600.0, 3600.0, 10.0};
  malleable_scheduler* scheduler = nullptr;
  OK(malleable_scheduler_new_adaptive(&cluster, &single, Matcher::answer, &matcher, "learn=false",
                                      &scheduler));
  const Wholes maps{1, 1}, program{0, 1};
  const Reals seconds{1.0, 1.0}, rates{9, 5, 9, 5, 2, 1, 2, 1};
  malleable_cluster_jobs jobs{};
  jobs.count = 2;
  jobs.maps = maps.data();
  jobs.map_seconds = seconds.data();
  jobs.program = program.data();
  const malleable_column by_type{"node_rates", rates.data(), nullptr};
  Wholes ids(2), who(2), node(2);
  OK(malleable_scheduler_add_with(scheduler, 0.0, &jobs, 1, &by_type, ids.data()));
  CHECK_EQUAL(matcher.classes, std::int64_t{2});
  CHECK(matcher.numbers == (Reals{1.0, 1.0}));
  CHECK(matcher.execution == (Reals{9.0, 5.0, 2.0, 1.0}));
  std::int64_t starts = 0, rows = 0;
  OK(malleable_scheduler_assign(scheduler, 0.0, slots.data(), nullptr, &starts));
  OK(malleable_scheduler_starts(scheduler, who.data(), nullptr, nullptr, node.data(), 2, &rows));
  CHECK(who == (Wholes{ids[1], ids[0]}));
  CHECK(node == (Wholes{0, 1}));
  malleable_scheduler_free(scheduler);

  // Nodes that are alike are one for a matcher that groups them, and other policies read no rates.
  OK(malleable_scheduler_new_adaptive(&cluster, nullptr, Matcher::answer, &matcher, nullptr,
                                      &scheduler));
  CHECK(refused(malleable_scheduler_add_with(scheduler, 0.0, &jobs, 1, &by_type, ids.data()),
                "node_rates[0] = 5: nodes 0 and 1 are alike but for this rate"));
  malleable_scheduler_free(scheduler);
  OK(malleable_scheduler_new(&cluster, "fair", "sum:response", nullptr, &scheduler));
  CHECK(refused(malleable_scheduler_add_with(scheduler, 0.0, &jobs, 1, &by_type, ids.data()),
                "node_rates: the policy learns"));
  malleable_scheduler_free(scheduler);
}

TEST(a_matcher_that_fails_is_told_by_the_next_assignment) {
  const Wholes slots{4};
  malleable_cluster cluster = generic_nodes(slots);
  malleable_scheduler* scheduler = nullptr;
  OK(malleable_scheduler_new_adaptive(&cluster, nullptr, no_shares, nullptr, nullptr, &scheduler));
  const Wholes maps{2};
  malleable_cluster_jobs jobs{};
  jobs.count = 1;
  jobs.maps = maps.data();
  std::int64_t id = -1, count = 0, starts = 0;
  OK(malleable_scheduler_add(scheduler, 0.0, &jobs, &id));
  OK(malleable_scheduler_size(scheduler, &count));
  CHECK_EQUAL(count, std::int64_t{1});
  for (int k = 0; k < 2; ++k) {
    CHECK_EQUAL(malleable_scheduler_assign(scheduler, 1.0, slots.data(), nullptr, &starts),
                int{MALLEABLE_FAILED});
    CHECK_EQUAL(std::string(malleable_message()), "matcher: status 3");
  }
  malleable_scheduler_free(scheduler);
}

TEST(huge_counts_are_refused_by_name) {
  malleable_epoch* epoch = nullptr;
  OK(malleable_epoch_new(8, "sum:response", "flex", "guarantee", 0.0, -1, &epoch));
  malleable_jobs jobs{};
  std::int64_t ids[1];
  for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{1} << 32, kHuge}) {
    jobs.count = count;
    CHECK(refused(malleable_epoch_add(epoch, &jobs, ids), "count = "));
    CHECK(std::string(malleable_message()).find("from 0 to 4294967294") != std::string::npos);
  }
  malleable_epoch_free(epoch);
  malleable_cluster cluster{};
  cluster.nodes = kHuge;
  malleable_scheduler* scheduler = nullptr;
  CHECK(refused(malleable_scheduler_new(&cluster, "flex", "sum:response", nullptr, &scheduler),
                "nodes = 9223372036854775807: must be from 0 to 4294967294"));
}

}  // namespace
}  // namespace malleable::check
