// The adaptive policy: classes of jobs are matched with types of nodes by linear programs; a free
// slot asks the classes matched with its node.
#include <set>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include "malleable/policy/adaptive.hpp"

namespace malleable::check {
namespace test_adaptive {

// No slot idles, and programs are solved seldom.
AdaptiveOptions eager() {
  return {.grouped = true,
          .by_slots = true,
          .fallback = true,
          .threshold = 0.2,
          .memory = 3600.0,
          .max_wait = 3600.0,
          .patience = 10.0};
}

// Class c is suggested to the resources named for it, with equal shares.
ClassMatcher fixed(std::vector<std::vector<double>> share, int* calls = nullptr) {
  return [share, calls](std::span<const double> arrival, std::span<const double>,
                        std::span<const double> nodes) {
    std::vector<double> all;
    if (calls != nullptr) ++*calls;
    for (std::size_t c = 0; c < arrival.size(); ++c) {
      for (std::size_t r = 0; r < nodes.size(); ++r) {
        all.push_back(arrival[c] > 0.0 ? share[c][r] : 0.0);
      }
    }
    return all;
  };
}

const std::vector<double> kSeconds = {10.0, 10.0, 10.0, 10.0};
constexpr std::int64_t kTasks[2] = {5, 5};
constexpr std::int64_t kMaps[2] = {2, 2}, kReduces[2] = {1, 1};

// Two nodes with two map slots and one reduce slot each, each a resource of its own.
Adaptive two_nodes(const AdaptiveOptions& options, ClassMatcher matcher,
                   const std::vector<double>& minimum, const std::vector<double>& priority) {
  return Adaptive(kMaps, kReduces, {0, 1}, false, minimum, priority, options, std::move(matcher));
}

// A job, by any number that no other one has.
Index come(Adaptive& scheduler, Index job_class, Index user, double now,
           const std::int64_t (&tasks)[2] = kTasks, const std::vector<double>& seconds = kSeconds) {
  static Index number = 0;
  scheduler.arrived(job_class, user, now, tasks, seconds);
  scheduler.add_job(number, job_class, user);
  return number++;
}

Index job_of(Adaptive& scheduler, Index job_class, Index user, double now) {
  const Index job = come(scheduler, job_class, user, now);
  scheduler.set_counts(job, 0, 5, 0, now);
  return job;
}

TEST(stages_and_fallback) {
  AdaptiveOptions options = eager();
  // Class 0 belongs to node 0, class 1 to node 1.
  Adaptive s = two_nodes(options, fixed({{1, 0}, {0, 1}}), {0, 3, 2}, {1, 1, 2});
  s.add_class();
  s.add_class();
  const Index a = job_of(s, 0, 0, 0.0);  // no minimum
  CHECK_EQUAL(s.choose(0, 0, 0.0, nullptr), a);
  CHECK_EQUAL(s.choose(1, 0, 0.0, nullptr), a);  // fallback: nothing is suggested there
  const Index b = job_of(s, 0, 1, 1.0);
  CHECK_EQUAL(s.choose(0, 0, 1.0, nullptr), b);  // user 1 is 3 below her minimum
  const Index c = job_of(s, 0, 2, 2.0);
  CHECK_EQUAL(s.choose(0, 0, 2.0, nullptr), c);  // 2 below, but of priority 2
  s.set_counts(c, 0, 4, 1, 2.0);
  CHECK_EQUAL(s.choose(0, 0, 2.0, nullptr), b);  // 3 against 1 x 2
  s.set_counts(b, 0, 2, 3, 2.0);
  s.set_counts(c, 0, 3, 2, 2.0);
  CHECK_EQUAL(s.choose(0, 0, 2.0, nullptr), a);  // minima are met: least running / priority
  s.set_counts(a, 0, 4, 1, 2.0);
  CHECK_EQUAL(s.choose(0, 0, 2.0, nullptr), a);  // 1 / 1 and 2 / 2 tie: the lower number
  s.set_counts(a, 0, 3, 2, 2.0);
  CHECK_EQUAL(s.choose(0, 0, 2.0, nullptr), c);
  s.set_counts(c, 0, 0, 2, 2.0);
  CHECK_EQUAL(s.choose(0, 0, 2.0, nullptr), a);
  CHECK_EQUAL(s.choose(0, 1, 2.0, nullptr), kNone);  // no reduces are ready
  s.set_counts(b, 1, 1, 0, 2.0);
  CHECK_EQUAL(s.choose(0, 1, 2.0, nullptr), b);
  s.remove_job(b);
  CHECK_EQUAL(s.choose(0, 1, 2.0, nullptr), kNone);
  // A job's slots of both phases count for its user.
  s.set_counts(c, 1, 1, 0, 2.0);
  CHECK_EQUAL(s.choose(1, 1, 2.0, nullptr), c);
}

TEST(minimum_shares_come_before_suggestions) {
  AdaptiveOptions options = eager();
  // Class 0 belongs to node 0, class 1 to node 1; user 1 has a minimum and jobs of class 0 only.
  Adaptive s = two_nodes(options, fixed({{1, 0}, {0, 1}}), {0, 2}, {1, 1});
  s.add_class();
  s.add_class();
  const Index free = job_of(s, 1, 0, 0.0), owed = job_of(s, 0, 1, 0.0);
  CHECK_EQUAL(s.choose(1, 0, 0.0, nullptr), owed);  // though class 1 is what is suggested
  s.set_counts(owed, 0, 3, 2, 0.0);
  CHECK_EQUAL(s.choose(1, 0, 0.0, nullptr), free);  // her minimum is met
  options.fallback = false;
  Adaptive strict = two_nodes(options, fixed({{1, 0}, {0, 1}}), {0, 2}, {1, 1});
  strict.add_class();
  strict.add_class();
  const Index there = job_of(strict, 1, 0, 0.0);
  job_of(strict, 0, 1, 0.0);
  CHECK_EQUAL(strict.choose(1, 0, 0.0, nullptr), there);
}

TEST(suggested_classes_come_first) {
  AdaptiveOptions options = eager();
  Adaptive s = two_nodes(options, fixed({{1, 0}, {0, 1}}), {0}, {1});
  s.add_class();
  s.add_class();
  const Index a = job_of(s, 0, 0, 0.0), b = job_of(s, 1, 0, 0.0);
  CHECK_EQUAL(s.choose(0, 0, 0.0, nullptr), a);
  CHECK_EQUAL(s.choose(1, 0, 0.0, nullptr), b);
  s.set_counts(b, 0, 0, 5, 0.0);
  CHECK_EQUAL(s.choose(1, 0, 0.0, nullptr), a);
  options.fallback = false;
  Adaptive strict = two_nodes(options, fixed({{1, 0}, {0, 1}}), {0}, {1});
  strict.add_class();
  const Index only = job_of(strict, 0, 0, 0.0);
  CHECK_EQUAL(strict.choose(0, 0, 0.0, nullptr), only);
  CHECK_EQUAL(strict.choose(1, 0, 0.0, nullptr), kNone);
}

TEST(who_waits_too_long_goes_first) {
  AdaptiveOptions options = eager();
  options.max_wait = 100.0;
  Adaptive s = two_nodes(options, fixed({{1, 1}}), {0, 50}, {1, 1});
  s.add_class();
  const Index poor = job_of(s, 0, 0, 0.0);
  const Index rich = job_of(s, 0, 1, 0.0);
  CHECK_EQUAL(s.choose(0, 0, 50.0, nullptr), rich);
  s.started(rich, 0, 50.0);
  s.set_counts(rich, 0, 4, 1, 50.0);
  CHECK_EQUAL(s.choose(0, 0, 99.9, nullptr), rich);
  CHECK_EQUAL(s.choose(0, 0, 100.0, nullptr), poor);
  s.started(poor, 0, 100.0);
  s.set_counts(poor, 0, 4, 1, 100.0);
  CHECK_EQUAL(s.choose(0, 0, 100.0, nullptr), rich);
}

TEST(local_blocks_within_user_and_class) {
  AdaptiveOptions options = eager();
  Adaptive s = two_nodes(options, fixed({{1, 1}, {1, 1}}), {0, 0}, {1, 1});
  s.add_class();
  s.add_class();
  const Index first = job_of(s, 0, 0, 0.0), other_class = job_of(s, 1, 0, 0.0);
  const Index second = job_of(s, 0, 0, 0.0), other_user = job_of(s, 0, 1, 0.0);
  LocalTasks blocks;
  blocks.reset(other_user + 1);
  const std::vector<Index> on_0(5, 0), on_1(5, 1);
  blocks.add(first, 5, 1, on_0);
  blocks.add(other_class, 5, 1, on_1);
  blocks.add(second, 5, 1, on_1);
  blocks.add(other_user, 5, 1, on_1);
  CHECK_EQUAL(s.choose(0, 0, 0.0, &blocks), first);
  CHECK_EQUAL(s.choose(1, 0, 0.0, &blocks), second);
  CHECK_EQUAL(s.choose(1, 0, 9.9, &blocks), second);
  CHECK_EQUAL(s.choose(1, 0, 10.0, &blocks), first);  // patience has an end
  s.started(first, 0, 10.0);
  CHECK_EQUAL(s.choose(1, 0, 15.0, &blocks), second);
}

TEST(execution_rates) {
  AdaptiveOptions options = eager();
  Adaptive s = two_nodes(options, fixed({{1, 1}}), {0}, {1});
  s.add_class();
  come(s, 0, 0, 0.0);
  // 5 maps and 5 reduces of 10 s; two map slots and one for reduces, which is the scarcer.
  CHECK_NEAR(s.execution_rate(0, 0), 1.0 / 50.0, 1e-15);
  options.by_slots = false;
  Adaptive printed = two_nodes(options, fixed({{1, 1}}), {0}, {1});
  printed.add_class();
  come(printed, 0, 0, 0.0);
  CHECK_NEAR(printed.execution_rate(0, 0), 1.0 / 100.0, 1e-15);
  options.by_slots = true;
  const std::int64_t slots[2] = {3, 3}, none[2] = {0, 0};
  Adaptive generic(slots, none, {0, 0}, true, std::vector<double>{0}, std::vector<double>{1},
                   options, fixed({{1}}));
  generic.add_class();
  come(generic, 0, 0, 0.0, kTasks, {10.0, 10.0});
  CHECK_NEAR(generic.execution_rate(0, 0), 3.0 / 100.0, 1e-15);
}

TEST(solved_again_when_rates_moved) {
  int calls = 0;
  AdaptiveOptions options = eager();
  options.memory = kInfinity;
  Adaptive s = two_nodes(options, fixed({{1, 1}, {1, 1}}, &calls), {0}, {1});
  s.add_class();
  double now = 1.0;
  job_of(s, 0, 0, now);
  CHECK_EQUAL(calls, 1);
  for (; now < 200.0; now += 1.0) job_of(s, 0, 0, now);
  const int steady = calls;
  for (; now < 220.0; now += 1.0) job_of(s, 0, 0, now);
  CHECK_EQUAL(calls, steady);  // one job a second all the time
  CHECK(s.solves() < 10);
  for (; now < 300.0; now += 0.25) job_of(s, 0, 0, now);
  CHECK(calls > steady);
  const int before = calls;
  s.add_class();
  job_of(s, 1, 0, now);
  CHECK_EQUAL(calls, before + 1);  // a new class
  s.match(now, true);
  CHECK_EQUAL(calls, before + 2);
  options.threshold = 0.0;
  calls = 0;
  Adaptive always = two_nodes(options, fixed({{1, 1}}, &calls), {0}, {1});
  always.add_class();
  for (int k = 0; k < 7; ++k) job_of(always, 0, 0, 1.0 + k);
  CHECK_EQUAL(calls, 7);
}

// A row that is used again does not show which job came first.
TEST(jobs_go_in_the_order_in_which_they_came) {
  Adaptive s = two_nodes({}, fixed({{1, 1}}), {0}, {1});
  s.add_class();
  const Index first = job_of(s, 0, 0, 0.0), second = job_of(s, 0, 0, 0.0);
  s.remove_job(first);
  s.arrived(0, 0, 0.0, kTasks, kSeconds);
  s.add_job(first, 0, 0);
  s.set_counts(first, 0, 5, 0, 0.0);
  CHECK_EQUAL(s.choose(0, 0, 0.0, nullptr), second);
  s.set_counts(second, 0, 0, 5, 0.0);
  CHECK_EQUAL(s.choose(0, 0, 0.0, nullptr), first);
}

TEST(a_matcher_that_throws_leaves_the_matching_as_it_was) {
  int left = 1;  // calls that succeed
  const ClassMatcher solve = fixed({{1, 0}, {0, 1}});
  const ClassMatcher failing = [&left, solve](auto arrival, auto execution, auto nodes) {
    if (left-- == 0) throw std::runtime_error("no solution");
    return solve(arrival, execution, nodes);
  };
  AdaptiveOptions options = eager();
  options.threshold = 0.0;
  Adaptive s = two_nodes(options, failing, {0, 1}, {1, 1});
  s.add_class();
  const Index first = job_of(s, 0, 0, 0.0);  // no user has a minimum: one call
  const std::string before = save_state("Adaptive", s);
  left = 0;
  CHECK_THROWS(s.match(3.0, true), "no solution");
  CHECK(save_state("Adaptive", s) == before);

  // A job that comes then is there; its class belongs to no node until the programs are solved.
  s.add_class();
  left = 0;
  CHECK_THROWS(s.arrived(1, 0, 4.0, kTasks, kSeconds), "no solution");
  s.add_job(first + 1, 1, 0);
  s.set_counts(first + 1, 0, 5, 0, 4.0);
  CHECK_EQUAL(s.share(1, 0, 0), 1.0);
  CHECK(!s.suggested(1, 1, 1));
  CHECK_EQUAL(s.choose(0, 0, 4.0, nullptr), first);
  CHECK_EQUAL(s.choose(1, 0, 4.0, nullptr), first);  // by fallback, the earliest job
  left = 9;
  s.match(5.0, true);
  CHECK(s.suggested(1, 1, 1));
  CHECK_EQUAL(s.choose(1, 0, 5.0, nullptr), static_cast<Index>(first + 1));
}

TEST(nodes_without_slots_are_no_part_of_the_programs) {
  std::vector<double> nodes, rates;
  const ClassMatcher noted = [&](std::span<const double>, std::span<const double> execution,
                                 std::span<const double> count) {
    rates.assign(execution.begin(), execution.end());
    nodes.assign(count.begin(), count.end());
    return std::vector<double>(execution.size(), 1.0);
  };
  Adaptive s = two_nodes(eager(), noted, {0}, {1});
  s.add_class();
  come(s, 0, 0, 0.0);
  CHECK(nodes == (std::vector<double>{1.0, 1.0}));
  for (const int pool : {0, 1}) s.add_slots(1, pool, pool == 0 ? -2 : -1);
  CHECK_EQUAL(s.share(1, 0, 1), 0.0);
  s.match(1.0, false);
  CHECK(nodes == (std::vector<double>{1.0, 0.0}));
  CHECK_EQUAL(rates[1], 0.0);
  s.add_slots(1, 0, 4);
  s.match(1.0, false);
  CHECK(nodes == (std::vector<double>{1.0, 1.0}));
}

TEST(places_by_share_and_slots) {
  AdaptiveOptions options = eager();
  // Three resources: a node with 4 slots, two with 1 each, one that the class is not meant for.
  const std::int64_t map_slots[4] = {4, 1, 1, 9}, reduce_slots[4] = {0, 0, 0, 0};
  Adaptive s(map_slots, reduce_slots, {0, 1, 1, 2}, false, std::vector<double>{0},
             std::vector<double>{1}, options, fixed({{1, 1, 0}}));
  s.add_class();
  const std::int64_t maps[2] = {8, 0};
  come(s, 0, 0, 0.0, maps, std::vector<double>(6, 1.0));
  std::vector<int> count(4, 0);
  std::vector<Index> node(1);
  for (int k = 0; k < 120; ++k) {
    s.place(0, node);
    ++count[node[0]];
  }
  CHECK_EQUAL(count[3], 0);
  CHECK_EQUAL(count[0], 80);
  CHECK_EQUAL(count[1], 20);
  CHECK_EQUAL(count[2], 20);
  node.resize(4);  // more copies than suggested nodes: all nodes, each once
  for (int k = 0; k < 5; ++k) {
    s.place(0, node);
    CHECK_EQUAL(std::set<Index>(node.begin(), node.end()).size(), std::size_t{4});
  }
}

}  // namespace test_adaptive
}  // namespace malleable::check
