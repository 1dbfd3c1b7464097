// The C interface: the same decisions as the objects behind it, and errors that change nothing.

#include <limits>

#include "embed_calls.hpp"
#include "malleable/embed/handle.hpp"

namespace malleable::check {
namespace test_embed {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// One loop through C, and the object itself with the same calls.
void follow(const char* objective, const char* policy, const EpochOptions& options) {
  context = text(policy, " ", objective);
  Random random(7);
  malleable_epoch* epoch = epoch_of(100, objective, policy);
  Epoch own(100, options);
  Wholes ids(400), given(400);
  Bytes changed(400);
  double value = 0.0, bound = 0.0;
  malleable_decision decision = decision_of(400, ids.data(), given.data());
  decision.changed = changed.data();
  decision.value = &value;
  decision.lower_bound = &bound;
  for (int step = 0; step < 60; ++step) {
    const Jobs jobs(random, random() % 8, step);
    const malleable_jobs view = jobs.view();
    OK(malleable_epoch_add(epoch, &view, ids.data(), nullptr));
    JobColumns columns{
        {jobs.arrival, jobs.weight, jobs.deadline, {}, {}}, jobs.work, jobs.low, jobs.high};
    const std::int64_t first = own.add(malleable::Jobs(std::move(columns)));
    if (!jobs.work.empty()) CHECK_EQUAL(ids[0], first);
    const std::int64_t slots = step % 10 == 9 ? 50 + step : -1;
    OK(malleable_epoch_decide(epoch, step, slots == -1 ? nullptr : &slots, 0.0, &decision));
    own.decide(step, slots == -1 ? std::nullopt : std::optional(slots));
    const auto n = static_cast<std::size_t>(decision.rows);
    CHECK_EQUAL(n, own.size());
    CHECK(std::equal(own.ids().begin(), own.ids().end(), ids.begin()));
    CHECK(std::equal(own.given().begin(), own.given().end(), given.begin()));
    CHECK(std::equal(own.changed().begin(), own.changed().end(), changed.begin()));
    CHECK_EQUAL(value, own.plan(/*detail=*/false).value);
    CHECK_EQUAL(bound, own.plan(/*detail=*/false).lower_bound);
    Reals work(n);
    Wholes gone;
    for (std::size_t k = 0; k < n; ++k) {
      work[k] = static_cast<double>(random() % 300);
      if (random() % 9 == 0) gone.push_back(ids[k]);
    }
    auto changes = sized<malleable_jobs>();
    changes.count = decision.rows;
    changes.work = work.data();
    OK(malleable_epoch_update(epoch, &changes, ids.data(), nullptr));
    own.update(std::span(ids).first(n), {work, {}, {}, {}, {}, {}});
    OK(malleable_epoch_finish(epoch, static_cast<std::int64_t>(gone.size()), gone.data()));
    own.remove(gone);
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

// A job with a guarantee of its own, one that is too large, and one that starts.
TEST(jobs_wait_until_they_get_their_minimum) {
  auto options = sized<malleable_epoch_options>();
  options.min_mode = "start";
  malleable_epoch* epoch = nullptr;
  OK(malleable_epoch_new(10, &options, &epoch));
  const Reals work{100.0, 100.0, 100.0};
  const Wholes low{6, 12, 5}, high{8, 20, 9}, mode{0, 2, 2}, at{0, 0, 7};
  auto jobs = sized<malleable_jobs>();
  jobs.count = 3;
  jobs.work = work.data();
  jobs.min_slots = low.data();
  jobs.max_slots = high.data();
  jobs.min_mode = mode.data();
  jobs.preferred = at.data();
  Wholes ids(3), given(3), never(3);
  OK(malleable_epoch_add(epoch, &jobs, ids.data(), nullptr));
  malleable_decision decision = decision_of(3, ids.data(), given.data());
  double value = 0.0, bound = 0.0;
  decision.oversized = never.data();
  decision.value = &value;
  decision.lower_bound = &bound;
  OK(malleable_epoch_decide(epoch, 0.0, nullptr, 0.0, &decision));
  CHECK((given == Wholes{8, 0, 0}));
  CHECK_EQUAL(decision.oversized_rows, 1);
  CHECK_EQUAL(never[0], ids[1]);
  CHECK(value == kInfinity);
  OK(malleable_epoch_remove(epoch, 1, never.data(), 0, nullptr));
  const std::int64_t more = 13;
  OK(malleable_epoch_decide(epoch, 1.0, &more, 0.0, &decision));
  CHECK_EQUAL(decision.oversized_rows, 0);
  CHECK((Wholes(given.begin(), given.begin() + 2) == Wholes{6, 7}));
  CHECK(bound <= value && value < kInfinity);
  malleable_epoch_free(epoch);
}

TEST(changes_may_cost_and_sizes_may_be_unknown) {
  const Wholes most{4, 4}, first{0}, both{0, 1};
  const Reals work{400.0, 300.0}, cheap{1.0, 1.0}, dear{100.0, 100.0}, negative{-1.0, 0.0};
  auto jobs = sized<malleable_jobs>();
  jobs.work = work.data();
  jobs.max_slots = most.data();
  auto changes = sized<malleable_jobs>();
  changes.count = 2;
  Wholes ids(2), given(2);
  malleable_decision decision = decision_of(2, nullptr, given.data());
  // The slots of both once the second has come, if changes cost so much.
  const auto slots_with = [&](const Reals& restart) {
    malleable_epoch* epoch = epoch_of(4, "sum:response", "flex");
    jobs.count = 1;
    OK(malleable_epoch_add(epoch, &jobs, ids.data(), nullptr));
    OK(malleable_epoch_decide(epoch, 0.0, nullptr, 0.0, &decision));
    OK(malleable_epoch_add(epoch, &jobs, ids.data(), nullptr));
    changes.work = work.data();
    changes.restart = negative.data();
    CHECK(
        refused(malleable_epoch_update(epoch, &changes, both.data(), nullptr), "restart[0] = -1"));
    changes.restart = restart.data();
    OK(malleable_epoch_update(epoch, &changes, both.data(), nullptr));
    OK(malleable_epoch_decide(epoch, 1.0, nullptr, 0.0, &decision));
    malleable_epoch_free(epoch);
    return given;
  };
  CHECK((slots_with(cheap) == Wholes{0, 4}));
  CHECK((slots_with(dear) == Wholes{4, 0}));

  auto options = sized<malleable_epoch_options>();
  options.sizes = "unknown";
  malleable_epoch* epoch = nullptr;
  OK(malleable_epoch_new(2, &options, &epoch));
  jobs.count = 2;
  OK(malleable_epoch_add(epoch, &jobs, ids.data(), nullptr));
  OK(malleable_epoch_decide(epoch, 0.0, nullptr, 0.0, &decision));
  CHECK((given == Wholes{2, 0}));
  OK(malleable_epoch_decide(epoch, 50.0, nullptr, 0.0, &decision));
  CHECK((given == Wholes{0, 2}));  // which has done less
  changes.restart = nullptr;
  CHECK(refused(malleable_epoch_update(epoch, &changes, both.data(), nullptr), "work: "));
  OK(malleable_epoch_finish(epoch, 1, first.data()));
  malleable_epoch_free(epoch);
  options.sizes = "none";
  CHECK(refused(malleable_epoch_new(2, &options, &epoch), "sizes = 'none'"));
}

TEST(an_arrival_that_is_not_told_is_the_time_of_a_decision) {
  malleable_epoch* epoch = nullptr;
  OK(malleable_epoch_new(1, nullptr, &epoch));
  const double work[] = {4.0};
  auto jobs = sized<malleable_jobs>();
  jobs.count = 1;
  jobs.work = work;
  std::int64_t ids[2], given[2];
  double value = 0.0;
  malleable_decision decision = decision_of(2, ids, given);
  decision.value = &value;
  OK(malleable_epoch_add(epoch, &jobs, ids, nullptr));
  OK(malleable_epoch_decide(epoch, 1.7e9, nullptr, 0.0, &decision));
  CHECK_NEAR(value, 4.0, 1e-5);
  OK(malleable_epoch_add(epoch, &jobs, ids, nullptr));
  OK(malleable_epoch_decide(epoch, 1.7e9 + 3.0, nullptr, 0.0, &decision));
  CHECK_NEAR(value, 7.0 + 11.0, 1e-5);
  malleable_epoch_free(epoch);
}

TEST(a_saved_epoch_goes_on_in_another) {
  for (const char* model : {"jobs", "flows", "tandem", "slotted"}) {
    auto options = sized<malleable_epoch_options>();
    options.model = model;
    const Reals work{4.0, 2.0};
    const Wholes tasks{4, 2}, offset{0, 1, 2};
    auto jobs = sized<malleable_jobs>();
    jobs.count = jobs.flows = 2;
    jobs.work = jobs.map = jobs.shuffle = jobs.reduce_left = work.data();
    jobs.maps = tasks.data();
    jobs.job_offset = offset.data();
    malleable_epoch *first = nullptr, *second = nullptr;
    OK(malleable_epoch_new(3, &options, &first));
    OK(malleable_epoch_new(1, &options, &second));
    Wholes ids(2), flows(2), given[2]{Wholes(4), Wholes(4)};
    OK(malleable_epoch_add(first, &jobs, ids.data(), flows.data()));
    std::int64_t count = 0, known = 0;
    OK(malleable_epoch_save(first, nullptr, 0, &count));
    Bytes state(static_cast<std::size_t>(count));
    CHECK(refused(malleable_epoch_save(first, state.data(), count - 1, &count), "room"));
    OK(malleable_epoch_save(first, state.data(), count, &count));
    CHECK(refused(malleable_epoch_load(second, state.data(), count - 1), "state: "));
    OK(malleable_epoch_size(second, &known, nullptr));
    CHECK_EQUAL(known, 0);
    OK(malleable_epoch_load(second, state.data(), count));
    for (const int k : {0, 1}) {
      malleable_decision decision = decision_of(4, nullptr, given[k].data());
      OK(malleable_epoch_decide(k == 0 ? first : second, 0.0, nullptr, 0.0, &decision));
      CHECK(decision.rows > 0);
    }
    CHECK(given[0] == given[1]);
    malleable_epoch_free(first);
    malleable_epoch_free(second);
  }
}

TEST(errors_are_told_and_change_nothing) {
  malleable_epoch* epoch = nullptr;
  const auto make = [&](std::int64_t slots, const char* goal, const char* mode, double hysteresis,
                        std::int64_t effort = 0) {
    auto options = sized<malleable_epoch_options>();
    options.objective = goal;
    options.min_mode = mode;
    options.hysteresis = hysteresis;
    options.effort = &effort;
    return malleable_epoch_new(slots, &options, &epoch);
  };
  CHECK(refused(make(-2, "sum:response", "guarantee", 0.0), "slots"));
  CHECK(refused(make(4, "sum:resp", "guarantee", 0.0), "objective = 'sum:resp'"));
  CHECK(refused(make(4, "sum:response", "gangs", 0.0), "min_mode = 'gangs'"));
  CHECK(refused(make(4, "sum:response", "gang", kNone), "hysteresis = nan"));
  CHECK(refused(make(4, "sum:response", "gang", 0.0, -2), "effort = -2"));
  CHECK(epoch == nullptr);
  OK(malleable_epoch_new(4, nullptr, &epoch));

  const double work[] = {4.0, 2.0, -1.0};
  auto jobs = sized<malleable_jobs>();
  jobs.count = 3;
  jobs.work = work;
  std::int64_t ids[3], given[3], size = -1;
  CHECK(refused(malleable_epoch_add(epoch, &jobs, ids, nullptr), "work[2] = -1"));
  CHECK(refused(malleable_epoch_add(epoch, nullptr, ids, nullptr), "jobs: missing"));
  jobs.count = -1;
  CHECK(refused(malleable_epoch_add(epoch, &jobs, ids, nullptr), "count = -1"));
  jobs.count = 2;
  const std::uint8_t kinds[] = {0, 99};
  jobs.kind = kinds;
  CHECK_EQUAL(malleable_epoch_add(epoch, &jobs, ids, nullptr), int{MALLEABLE_INVALID});
  jobs.kind = nullptr;
  const std::int64_t offset[] = {0, 1, -5};
  jobs.sla_offset = offset;
  CHECK(refused(malleable_epoch_add(epoch, &jobs, ids, nullptr), "sla_offset"));
  jobs.sla_offset = nullptr;
  jobs.work = nullptr;
  CHECK(refused(malleable_epoch_add(epoch, &jobs, ids, nullptr), "work: missing"));
  jobs.work = work;
  OK(malleable_epoch_size(epoch, &size, nullptr));
  CHECK_EQUAL(size, 0);
  OK(malleable_epoch_add(epoch, &jobs, ids, nullptr));
  malleable_decision decision = decision_of(1, ids, given);
  const auto decide = [&](double now, std::int64_t slots) {
    return malleable_epoch_decide(epoch, now, slots == -1 ? nullptr : &slots, 0.0, &decision);
  };
  CHECK(refused(decide(1.0, -1), "room = 1: must be at least 2"));
  decision.room = 2;
  CHECK(refused(decide(kNone, -1), "now"));
  CHECK(refused(decide(1.0, -7), "slots"));
  OK(decide(1.0, -1));
  CHECK(refused(decide(0.5, -1), "now"));
  CHECK(refused(malleable_epoch_decide(epoch, 1.0, nullptr, 0.0, nullptr), "decision: missing"));
  CHECK(refused(malleable_epoch_decide(epoch, 1.0, nullptr, -1.0, &decision), "period = -1"));
  const std::int64_t twice[] = {0, 0};
  CHECK_EQUAL(malleable_epoch_finish(epoch, 2, twice), int{MALLEABLE_INVALID});
  CHECK(refused(malleable_epoch_finish(epoch, 2, nullptr), "ids: missing"));
  CHECK(refused(malleable_epoch_update(epoch, nullptr, ids, nullptr), "changes: missing"));

  // Another kind of handle, and one that is in use.
  CHECK(refused(malleable_scheduler_size(reinterpret_cast<malleable_scheduler*>(epoch), &size),
                "handle"));
  {
    const UseGuard turn(*epoch->busy);
    CHECK_EQUAL(malleable_epoch_size(epoch, &size, nullptr), int{MALLEABLE_BUSY});
    CHECK(std::string(malleable_message()).find("another thread") != std::string::npos);
  }
  OK(malleable_epoch_size(epoch, &size, nullptr));
  CHECK_EQUAL(size, 2);
  malleable_epoch_free(epoch);
  CHECK(std::string(malleable_bound_text(3)) == kBoundTexts[3]);
  CHECK(std::string(malleable_bound_text(-1)) == "unknown");
}

// A program that was built for a later version may say what this one does not know, if it is zero.
TEST(structures_say_their_size) {
  struct Later {
    malleable_epoch_options known;
    std::int64_t more;
  } later{};
  malleable_epoch* epoch = nullptr;
  const auto made = [&](std::size_t bytes) {
    later.known.bytes = static_cast<std::int64_t>(bytes);
    return malleable_epoch_new(4, &later.known, &epoch);
  };
  const std::string must = "options.bytes = ";
  CHECK(refused(made(0), must + "0: must be sizeof the structure"));
  CHECK(refused(made(sizeof(later.known) - 8), must));
  OK(made(sizeof later));
  malleable_epoch_free(epoch);
  later.more = 1;
  CHECK(refused(made(sizeof later), must));
  CHECK(refused(made(std::size_t{1} << 40), must));
  OK(made(sizeof later.known));
  malleable_decision decision = decision_of(0);
  decision.bytes = 8;
  CHECK(refused(malleable_epoch_decide(epoch, 0.0, nullptr, 0.0, &decision), "decision.bytes"));
  malleable_epoch_free(epoch);
}

double late(std::int64_t job, double completion) {
  return completion > 5.0 ? static_cast<double>(job + 1) : 0.0;
}

// An epoch whose jobs pay the penalty `late`.
TEST(own_penalties) {
  malleable_epoch* epoch = epoch_of(1, "sum:custom", nullptr);
  const double work[] = {4.0, 4.0};
  auto jobs = sized<malleable_jobs>();
  jobs.count = 2;
  jobs.work = work;
  CHECK(refused(malleable_epoch_add(epoch, &jobs, nullptr, nullptr), "penalty"));
  malleable_epoch_free(epoch);
  auto options = sized<malleable_epoch_options>();
  options.objective = "sum:custom";
  options.penalty = late;
  OK(malleable_epoch_new(1, &options, &epoch));
  OK(malleable_epoch_add(epoch, &jobs, nullptr, nullptr));
  double value = 0.0;
  std::int64_t given[2];
  malleable_decision decision = decision_of(2, nullptr, given);
  decision.value = &value;
  OK(malleable_epoch_decide(epoch, 0.0, nullptr, 0.0, &decision));
  CHECK_EQUAL(given[1], 1);
  CHECK_EQUAL(value, 1.0);
  malleable_epoch_free(epoch);
}

// One flow of two jobs, the second of which waits for the first.
TEST(flows_that_end_are_told_once) {
  const std::int64_t job_offset[] = {0, 2}, parent_offset[] = {0, 0, 1}, parent[] = {0};
  const double work[] = {8.0, 2.0};
  auto flows = sized<malleable_jobs>();
  flows.count = 2;
  flows.flows = 1;
  flows.job_offset = job_offset;
  flows.work = work;
  flows.parent_offset = parent_offset;
  flows.parent = parent;
  auto options = sized<malleable_epoch_options>();
  options.model = "flow";
  malleable_epoch* epoch = nullptr;
  CHECK(refused(malleable_epoch_new(4, &options, &epoch), "model = 'flow': expected jobs, flows"));
  options.model = "flows";
  OK(malleable_epoch_new(4, &options, &epoch));
  std::int64_t flow = -1, jobs[2], ids[2], ended[1];
  OK(malleable_epoch_add(epoch, &flows, jobs, &flow));
  std::uint8_t ready[2];
  malleable_decision decision = decision_of(2, ids);
  decision.ready = ready;
  decision.ended = ended;
  CHECK(refused(malleable_epoch_decide(epoch, 0.0, nullptr, 0.0, &decision), "room = 0"));
  decision.ended_room = 1;
  OK(malleable_epoch_decide(epoch, 0.0, nullptr, 0.0, &decision));
  CHECK(decision.rows == 2 && ready[0] == 1 && ready[1] == 0 && decision.ended_flows == 0);
  OK(malleable_epoch_finish(epoch, 2, jobs));
  OK(malleable_epoch_decide(epoch, 1.0, nullptr, 0.0, &decision));
  CHECK(decision.rows == 0 && decision.ended_flows == 1 && ended[0] == flow);
  OK(malleable_epoch_decide(epoch, 2.0, nullptr, 0.0, &decision));
  CHECK_EQUAL(decision.ended_flows, 0);
  malleable_epoch_free(epoch);
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
  auto options = adaptive_options(matcher);
  options.adaptive = "by_slots=true fallback=true";
  options.options = "learn=false";
  malleable_scheduler* scheduler = nullptr;
  OK(malleable_scheduler_new(&cluster, &options, &scheduler));
  const Wholes maps{1, 1}, program{0, 1};
  const Reals seconds{1.0, 1.0}, rates{9, 5, 9, 5, 2, 1, 2, 1};
  malleable_cluster_jobs jobs{};
  jobs.count = 2;
  jobs.maps = maps.data();
  jobs.map_seconds = seconds.data();
  jobs.program = program.data();
  const malleable_column by_type{"node_rates", rates.data(), nullptr};
  jobs.columns = 1;
  jobs.more = &by_type;
  Wholes ids(2), who(2), node(2);
  OK(malleable_scheduler_add(scheduler, 0.0, &jobs, ids.data()));
  CHECK_EQUAL(matcher.classes, std::int64_t{2});
  CHECK(matcher.numbers == (Reals{1.0, 1.0}));
  CHECK(matcher.execution == (Reals{9.0, 5.0, 2.0, 1.0}));
  auto starts = sized<malleable_starts>();
  starts.room = 1;
  starts.ids = who.data();
  starts.node = node.data();
  CHECK(refused(malleable_scheduler_assign(scheduler, 0.0, slots.data(), nullptr, &starts),
                "room = 1: must be at least 2"));
  starts.room = 2;
  OK(malleable_scheduler_assign(scheduler, 0.0, slots.data(), nullptr, &starts));
  CHECK(who == (Wholes{ids[1], ids[0]}));
  CHECK(node == (Wholes{0, 1}));
  malleable_scheduler_free(scheduler);

  // Nodes that are alike are one for a matcher that groups them, and other policies read no rates.
  options.adaptive = "grouped=true";
  OK(malleable_scheduler_new(&cluster, &options, &scheduler));
  CHECK(refused(malleable_scheduler_add(scheduler, 0.0, &jobs, ids.data()),
                "node_rates[0] = 5: nodes 0 and 1 are alike but for this rate"));
  malleable_scheduler_free(scheduler);
  scheduler = scheduler_of(cluster, "fair");
  CHECK(refused(malleable_scheduler_add(scheduler, 0.0, &jobs, ids.data()),
                "node_rates: the policy learns"));
  malleable_scheduler_free(scheduler);
}

TEST(a_matcher_that_fails_is_told_by_the_next_assignment) {
  const Wholes slots{4};
  malleable_cluster cluster = generic_nodes(slots);
  malleable_scheduler* scheduler = nullptr;
  auto options = sized<malleable_scheduler_options>();
  options.policy = "adaptive-literal";
  options.matcher = no_shares;
  OK(malleable_scheduler_new(&cluster, &options, &scheduler));
  const Wholes maps{2};
  malleable_cluster_jobs jobs{};
  jobs.count = 1;
  jobs.maps = maps.data();
  std::int64_t id = -1, count = 0;
  auto starts = sized<malleable_starts>();
  starts.room = 4;
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
  malleable_epoch* epoch = epoch_of(8, nullptr, nullptr);
  auto jobs = sized<malleable_jobs>();
  std::int64_t ids[1];
  for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{1} << 32, kHuge}) {
    jobs.count = count;
    CHECK(refused(malleable_epoch_add(epoch, &jobs, ids, nullptr), "count = "));
    CHECK(std::string(malleable_message()).find("from 0 to 4294967294") != std::string::npos);
  }
  malleable_epoch_free(epoch);
  malleable_cluster cluster{};
  cluster.nodes = kHuge;
  malleable_scheduler* scheduler = nullptr;
  CHECK(refused(malleable_scheduler_new(&cluster, nullptr, &scheduler),
                "nodes = 9223372036854775807: must be from 0 to 4294967294"));
}

}  // namespace test_embed
}  // namespace malleable::check
