// Times the kernels of one epoch from C++, each as a ratio to std::sort of as many random doubles.
// Usage: bench_core [jobs] [repeats]. Work is log-normal. Instance (a): two slots a job, minima of
// 1 and maxima of 1 to 64; (b): a tenth of a slot a job, without minima and maxima. These are the
// distributions of benchmarks/instances, drawn by the standard library's generator.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "malleable/kernel/priority_selection.hpp"
#include "malleable/kernel/water_filling.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/policy/flex.hpp"

namespace {

using namespace malleable;

double median_ms(int repeats, const std::function<void()>& work) {
  std::vector<double> times;
  for (int k = 0; k < repeats; ++k) {
    const auto start = std::chrono::steady_clock::now();
    work();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

struct Instance : JobColumns {
  std::int64_t slots = 0;
};

Instance make(std::size_t n, bool tight) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> work(3.0, 1.5);
  std::uniform_int_distribution<std::int64_t> cap(1, 64);
  Instance instance;
  instance.slots = static_cast<std::int64_t>(tight ? 2 * n : n / 10);
  for (std::size_t j = 0; j < n; ++j) {
    instance.work.push_back(work(random));
    instance.min_slots.push_back(tight ? 1 : 0);
    instance.max_slots.push_back(tight ? cap(random) : kAllSlots);
  }
  instance.arrival.assign(n, 0.0);
  instance.weight.assign(n, 1.0);
  instance.original = instance.work;
  instance.complete(n);
  return instance;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 21;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform;
  std::vector<double> numbers(n), copy;
  for (double& x : numbers) x = uniform(random);
  const double sort = median_ms(repeats, [&] {
    copy = numbers;
    std::sort(copy.begin(), copy.end());
  });
  std::printf("%zu jobs; std::sort of %zu doubles %.3f ms\n", n, n, sort);
  for (const bool tight : {true, false}) {
    const Instance data = make(n, tight);
    const JobsView view = data.view();
    Penalties penalties;
    const Kind kind = Kind::kResponse;
    penalties.build(view, {&kind, 1});
    Problem problem;
    ResourceAllocation allocation;
    KeySort sorter;
    MalleablePacking packing;
    LowerBound bound;
    Flex flex;
    Plan plan;
    std::vector<double> slots(n), completion(n);
    std::vector<Index> order(n), waiting(n);
    const auto report = [&](const char* name, double ms) {
      std::printf("  (%c) %-32s %8.3f ms  %6.3f x std::sort\n", tight ? 'a' : 'b', name, ms,
                  ms / sort);
    };
    report("instance", median_ms(repeats, [&] {
             problem.build(data.work, data.arrival, data.min_slots, data.max_slots, data.slots, 0.0,
                           MinMode::kGuarantee);
           }));
    sorter.sort(data.work, waiting);
    report("resource allocation", median_ms(repeats, [&] {
             allocation.run(problem, penalties, Aggregate::kSum, waiting, slots);
           }));
    report("order (sort by key)", median_ms(repeats, [&] { sorter.sort(data.work, order); }));
    report("packing", median_ms(repeats, [&] { packing.run(problem, order, completion); }));
    sorter.sort(data.work, order);
    const double value = evaluate(penalties, Aggregate::kSum, completion);
    report("quick lower bound", median_ms(repeats, [&] {
             bound.run(problem, penalties, Aggregate::kSum, completion, value, true);
           }));
    report("lower bound", median_ms(repeats, [&] {
             bound.run(problem, penalties, Aggregate::kSum, completion, value);
           }));
    // Due dates that a fifth of the time is missing for.
    Instance dated = data;
    for (std::size_t j = 0; j < n; ++j) dated.deadline[j] = 0.8 * completion[j];
    Penalties tardiness;
    const Kind tardy = Kind::kTardiness;
    tardiness.build(dated.view(), {&tardy, 1});
    const double late = evaluate(tardiness, Aggregate::kSum, completion);
    report("quick lower bound of tardiness", median_ms(repeats, [&] {
             bound.run(problem, tardiness, Aggregate::kSum, completion, late, true);
           }));
    WaterFilling water_filling;
    report("water_filling",
           median_ms(repeats, [&] { water_filling.allocate(problem, {}, slots); }));
    const std::vector<double> same(n, 1.0);
    for (const bool ties : {false, true}) {
      PrioritySelection selection;
      report(ties ? "selection by key, all equal" : "selection by key", median_ms(repeats, [&] {
               double given = 0.0;
               selection.run(ties ? same : problem.work, problem.high, problem.slots / 2.0,
                             [&](Index, double s) { given += s; });
             }));
    }
    Penalties stretch;
    const Kind stretched = Kind::kStretch;
    stretch.build(view, {&stretched, 1});
    DemandBound forced;
    const double high = evaluate(stretch, Aggregate::kMax, completion);
    double level = 0.0;
    report("optimal level of max:stretch",
           median_ms(repeats, [&] { level = forced.level(problem, stretch, 0.0, high, 1.0); }));
    if (n <= kMostDeadlinePacked) {
      DeadlinePacking deadlines;
      std::vector<double> due(n);
      DemandBound::deadlines(problem, stretch, level * (1.0 + 1e-9), 1.0, due);
      report("water-filling for that level",
             median_ms(repeats, [&] { deadlines.run(problem, due, order, completion, plan); }));
    }
    report("fixed orders, quick bound", median_ms(repeats, [&] {
             flex.plan(problem, penalties, Aggregate::kSum, {.effort = 0}, plan);
           }));
    std::printf("      value %.8g, bound %.8g, gap %.2f %%\n", plan.value, plan.lower_bound,
                100.0 * (plan.value / plan.lower_bound - 1.0));
  }
  return 0;
}
