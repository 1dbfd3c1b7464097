// Times the scheduler from C++: 1,000 events and a decision among 10,000 jobs with 200,000 running
// tasks, the instance of benchmarks/instances (`busy_scheduler`) drawn by the standard library.
// Usage: bench_scheduler [policy ...]: medians of so many turns, and the best one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "malleable/policy/cluster_epoch.hpp"
#include "malleable/policy/cluster_flow.hpp"
#include "malleable/policy/cluster_srpt.hpp"
#include "malleable/scheduler/scheduler.hpp"

namespace {

using namespace malleable;

constexpr std::size_t kJobs = 10'000, kNodes = 2'000, kEvents = 500;
constexpr std::int64_t kRunning = 200'000;

std::unique_ptr<ClusterPolicy> policy_of(const std::string& name) {
  EpochOptions epoch;
  const auto shared = [&](EpochPolicy policy) {
    epoch.policy = policy;
    return std::make_unique<ClusterEpoch>(epoch, false, false);
  };
  if (name == "flex") return shared(EpochPolicy::kFlex);
  if (name == "fair") return shared(EpochPolicy::kFair);
  if (name == "auto") return std::make_unique<ClusterEpoch>(epoch, false, false, 0.0, true);
  if (name == "wdeq") return shared(EpochPolicy::kWdeq);
  if (name == "fifo") return std::make_unique<ClusterFifo>();
  if (name == "srpt") return std::make_unique<ClusterSrpt>(SrptKind::kSrpt, 1.0);
  if (name == "max-srpt") return std::make_unique<ClusterSrpt>(SrptKind::kMaxSrpt, 1.0);
  if (name == "asrpt") return std::make_unique<ClusterSrpt>(SrptKind::kAsrpt, 1.0);
  if (name == "hesrpt") return std::make_unique<ClusterSrpt>(SrptKind::kHeSrpt, 0.5);
  ClusterFlowOptions flow;
  if (name == "flowflex-fast") flow.method = FlowMethod::kFast;
  if (name.rfind("flowflex", 0) == 0) return std::make_unique<ClusterFlow>(flow);
  return nullptr;
}

struct Engine {
  explicit Engine(ClusterPolicy& policy) : scheduler(nodes(), {}, options(), policy) {
    std::mt19937_64 random(1);
    std::uniform_int_distribution<std::int64_t> tasks(1'000, 1'999);
    std::uniform_real_distribution<double> seconds(1.0, 100.0);
    std::vector<double> arrival, each, none(kJobs, 0.0), weight(kJobs, 1.0),
        deadline(kJobs, kInfinity);
    std::vector<std::int64_t> maps, zero(kJobs, 0), group(kJobs, -1), flow, offset(kJobs + 1, 0);
    for (std::size_t j = 0; j < kJobs; ++j) {
      arrival.push_back(static_cast<double>(j) / kJobs);
      each.push_back(seconds(random));
      maps.push_back(tasks(random));
      flow.push_back(static_cast<std::int64_t>(j));
    }
    Scheduler::Additions jobs;
    jobs.arrival = arrival;
    jobs.weight = weight;
    jobs.deadline = deadline;
    jobs.seconds[kMap] = each;
    jobs.seconds[kReduce] = none;
    jobs.tasks[kMap] = maps;
    jobs.tasks[kReduce] = jobs.min_slots[kMap] = jobs.min_slots[kReduce] = zero;
    jobs.user = zero;
    jobs.group = group;
    jobs.flow = flow;
    jobs.after_offset = offset;
    const auto made = scheduler.add(jobs, 1.0);
    ids.assign(made.begin(), made.end());
    const std::vector<std::int64_t> running(kJobs, kRunning / static_cast<std::int64_t>(kJobs));
    scheduler.started({ids, zero, running}, 1.0);
    scheduler.decide(1.0);
    some.resize(50);
    for (auto& turn : some)
      std::sample(ids.begin(), ids.end(), std::back_inserter(turn), kEvents, random);
    phase.assign(kEvents, 0);
    for (std::size_t k = 0; k < kEvents; ++k) took.push_back(seconds(random));
  }
  static ClusterNodes nodes() {
    ClusterNodes all;
    all.slots[0].assign(kNodes, kRunning / static_cast<std::int64_t>(kNodes));
    for (auto* column : {&all.slots[1], &all.type}) column->assign(kNodes, 0);
    all.rate.assign(kNodes, 1.0);
    for (auto* column : {&all.storage, &all.link}) column->assign(kNodes, kInfinity);
    all.generic = true;
    return all;
  }
  static SchedulerOptions options() {
    SchedulerOptions own;
    own.learn = true;
    return own;
  }
  void turn(std::size_t k) {
    const double now = 2.0 + static_cast<double>(k);
    scheduler.ended({some[k % 50], phase, {}, {}, {}, took}, now);
    scheduler.started({some[(k + 1) % 50], phase}, now);
    scheduler.decide(now);
  }

  Scheduler scheduler;
  std::vector<std::int64_t> ids, phase;
  std::vector<std::vector<std::int64_t>> some;
  std::vector<double> took;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) {
    names = {"flex",     "fair",  "fifo",   "wdeq",          "auto",    "srpt",
             "max-srpt", "asrpt", "hesrpt", "flowflex-fast", "flowflex"};
  }
  for (const std::string& name : names) {
    const auto policy = policy_of(name);
    if (!policy) {
      std::fprintf(stderr, "no policy %s\n", name.c_str());
      return 2;
    }
    Engine engine(*policy);
    const int turns = name.rfind("flowflex", 0) == 0 ? 7 : 101;
    std::vector<double> times;
    for (int k = 0; k < turns + 5; ++k) {
      const auto start = std::chrono::steady_clock::now();
      engine.turn(static_cast<std::size_t>(k));
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      if (k >= 5) times.push_back(took.count());
    }
    std::sort(times.begin(), times.end());
    std::printf("%-14s %8.3f ms  best %8.3f ms\n", name.c_str(), times[times.size() / 2], times[0]);
    std::fflush(stdout);
  }
  return 0;
}
