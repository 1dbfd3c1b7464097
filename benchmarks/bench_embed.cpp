// What the C interface costs beyond the call behind it, how two epochs in two threads scale, and
// the tail of decisions: each as a ratio or a difference within one run. Where the clock of a
// thread can be read, time is the processor's, so that other programs meet it by caches alone.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <thread>
#include <vector>

#include "malleable/malleable.h"
#include "malleable/policy/epoch.hpp"

namespace {

double clock_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Of this thread.
double processor_seconds() {
#ifdef CLOCK_THREAD_CPUTIME_ID
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
#else
  return clock_seconds();
#endif
}

double seconds(const auto& run, double (*clock)() = processor_seconds) {
  const double began = clock();
  run();
  return clock() - began;
}

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

// An epoch with so many jobs, as the benchmarks in Python have them.
struct Loop {
  malleable_epoch* epoch = nullptr;
  std::vector<double> work;
  std::vector<std::int64_t> ids, given, most;
  double now = 0.0;
  malleable_decision decision{};

  Loop(std::int64_t jobs, std::int64_t slots) {
    malleable_epoch_new(slots, nullptr, &epoch);
    for (std::int64_t k = 0; k < jobs; ++k) {
      work.push_back(1.0 + static_cast<double>(k * 7919 % 1009));
      most.push_back(1 + k % 40);
    }
    ids.resize(work.size());
    given.resize(work.size());
    decision.bytes = sizeof decision;
    decision.room = jobs;
    malleable_jobs table{};
    table.bytes = sizeof table;
    table.count = jobs;
    table.work = work.data();
    table.max_slots = most.data();
    malleable_epoch_add(epoch, &table, ids.data(), nullptr);
  }
  ~Loop() { malleable_epoch_free(epoch); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // One in a hundred jobs changes; then slots are decided.
  void step(std::int64_t k) {
    const std::int64_t count = std::max<std::int64_t>(1, std::ssize(work) / 100);
    const std::int64_t first = k * count % (std::ssize(work) - count + 1);
    for (std::int64_t j = first; j < first + count; ++j)
      work[j] = 1.0 + std::fmod(1.7 * work[j] + 17.0, 1009.0);
    std::vector<std::int64_t>& who = changed_;
    who.resize(static_cast<std::size_t>(count));
    for (std::int64_t j = 0; j < count; ++j) who[j] = first + j;
    malleable_jobs changes{};
    changes.bytes = sizeof changes;
    changes.count = count;
    changes.work = work.data() + first;
    malleable_epoch_update(epoch, &changes, who.data(), nullptr);
    decision.ids = ids.data();
    decision.given = given.data();
    malleable_epoch_decide(epoch, now += 1.0, nullptr, 0.0, &decision);
  }

 private:
  std::vector<std::int64_t> changed_;
};

void overhead() {
  constexpr int kCalls = 10000, kRounds = 501;
  Loop loop(1, 10);
  malleable::Epoch own(10, {});
  malleable::JobColumns columns;
  columns.work = {5.0};
  columns.arrival = {0.0};
  columns.weight = {1.0};
  columns.min_slots = {0};
  own.add(malleable::Jobs(std::move(columns)));
  std::vector<double> behind, through;
  double now = 0.0;
  std::int64_t ids = 0, given = 0, rows = 0;
  malleable_decision& decision = loop.decision;
  decision.ids = &ids;
  decision.given = &given;
  for (int round = 0; round < kRounds; ++round) {
    now += 1.0;
    behind.push_back(1e9 / kCalls * seconds([&] {
                       for (int k = 0; k < kCalls; ++k) {
                         own.decide(now);
                         ids = own.ids()[0];
                         given = own.given()[0];
                         rows = std::ssize(own.ids());
                       }
                     }));
    through.push_back(1e9 / kCalls * seconds([&] {
                        for (int k = 0; k < kCalls; ++k) {
                          malleable_epoch_decide(loop.epoch, now, nullptr, 0.0, &decision);
                        }
                      }));
  }
  const double core = quantile(behind, 0.25), beyond = quantile(through, 0.25) - core;
  std::printf("decide of 1 job [ns]: %.1f, through C %.1f more (rows %lld, slots %lld)\n", core,
              beyond, static_cast<long long>(rows), static_cast<long long>(given));
}

// How many times the work of one thread two threads do. A thread that waits for memory, a cache
// line or a lock takes the processor for longer, wherever else the machine is busy.
void threads() {
  constexpr int kSteps = 1000, kRounds = 15;
  Loop first(10000, 2000), second(10000, 2000);
  const auto run = [](Loop& loop) {
    for (int k = 0; k < kSteps; ++k) loop.step(k);
  };
  std::vector<double> ratio, clock;
  for (int round = 0; round < kRounds; ++round) {
    double alone[2], beside[2], clock_alone = 0.0;
    clock_alone = seconds([&] { alone[0] = seconds([&] { run(first); }); }, clock_seconds);
    alone[1] = seconds([&] { run(second); });
    const double together = seconds(
        [&] {
          std::thread other([&] { beside[1] = seconds([&] { run(second); }); });
          beside[0] = seconds([&] { run(first); });
          other.join();
        },
        clock_seconds);
    ratio.push_back(alone[0] / beside[0] + alone[1] / beside[1]);
    clock.push_back(2.0 * clock_alone / together);
  }
  std::printf("two epochs of 10,000 jobs in two threads, throughput over one: %.2f",
              quantile(ratio, 0.5));
  std::printf(" (by the clock %.2f, best %.2f)\n", quantile(clock, 0.5), quantile(clock, 1.0));
}

void tail() {
  Loop loop(10000, 2000);
  std::vector<double> took;
  for (int k = 0; k < 10000; ++k) took.push_back(seconds([&] { loop.step(k); }, clock_seconds));
  const double median = quantile(took, 0.5), far = quantile(took, 0.999);
  std::printf("10,000 decisions of 10,000 jobs [us]: median %.1f, p99.9 %.1f, ratio %.2f\n",
              median * 1e6, far * 1e6, far / median);
}

}  // namespace

int main() {
  overhead();
  threads();
  tail();
}
