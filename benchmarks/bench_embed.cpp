// What the C interface costs beyond the call behind it, how two epochs in two threads scale, and
// the tail of decisions: each as a ratio or a difference within one run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "malleable/malleable.h"
#include "malleable/policy/epoch.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds(const auto& run) {
  const auto began = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - began).count();
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

  Loop(std::int64_t jobs, std::int64_t slots) {
    malleable_epoch_new(slots, "sum:response", "flex", "guarantee", 0.0, -1, &epoch);
    for (std::int64_t k = 0; k < jobs; ++k) {
      work.push_back(1.0 + static_cast<double>(k * 7919 % 1009));
      most.push_back(1 + k % 40);
    }
    ids.resize(work.size());
    given.resize(work.size());
    malleable_jobs table{};
    table.count = jobs;
    table.work = work.data();
    table.max_slots = most.data();
    malleable_epoch_add(epoch, &table, ids.data());
  }
  ~Loop() { malleable_epoch_free(epoch); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // One in a hundred jobs changes; then slots are decided.
  void step(std::int64_t k) {
    const std::int64_t count = std::max<std::int64_t>(1, std::ssize(work) / 100);
    const std::int64_t first = k * count % (std::ssize(work) - count + 1);
    for (std::int64_t j = first; j < first + count; ++j) work[j] = 1.0 + (work[j] + 17.0) / 2.0;
    std::vector<std::int64_t>& who = changed_;
    who.resize(static_cast<std::size_t>(count));
    for (std::int64_t j = 0; j < count; ++j) who[j] = first + j;
    malleable_job_changes changes{};
    changes.work = work.data() + first;
    malleable_epoch_update(epoch, count, who.data(), &changes);
    std::int64_t rows = 0;
    malleable_epoch_decide(epoch, now += 1.0, -1, ids.data(), given.data(), nullptr,
                           std::ssize(work), &rows);
  }

 private:
  std::vector<std::int64_t> changed_;
};

void overhead() {
  constexpr int kCalls = 100000, kRounds = 31;
  Loop loop(1, 10);
  malleable::Epoch own(10, {});
  malleable::JobColumns columns;
  columns.work = {5.0};
  columns.arrival = {0.0};
  columns.weight = {1.0};
  columns.min_slots = {0};
  own.add(malleable::Jobs(std::move(columns)));
  std::vector<double> beyond;
  double now = 0.0;
  std::int64_t ids = 0, given = 0, rows = 0;
  for (int round = 0; round < kRounds; ++round) {
    now += 1.0;
    const double behind = seconds([&] {
      for (int k = 0; k < kCalls; ++k) {
        own.decide(now);
        ids = own.ids()[0];
        given = own.given()[0];
        rows = std::ssize(own.ids());
      }
    });
    const double through = seconds([&] {
      for (int k = 0; k < kCalls; ++k) {
        malleable_epoch_decide(loop.epoch, now, -1, &ids, &given, nullptr, 1, &rows);
      }
    });
    beyond.push_back((through - behind) / kCalls * 1e9);
  }
  std::printf("decide of 1 job through C, beyond the C++ call [ns]: %.1f (rows %lld, slots %lld)\n",
              quantile(beyond, 0.5), static_cast<long long>(rows), static_cast<long long>(given));
}

void threads() {
  constexpr int kSteps = 1000, kRounds = 9;
  Loop first(10000, 2000), second(10000, 2000);
  const auto run = [](Loop& loop) {
    for (int k = 0; k < kSteps; ++k) loop.step(k);
  };
  std::vector<double> ratio;
  for (int round = 0; round < kRounds; ++round) {
    const double alone = seconds([&] { run(first); });
    const double both = seconds([&] {
      std::thread other([&] { run(second); });
      run(first);
      other.join();
    });
    ratio.push_back(2.0 * alone / both);
  }
  std::printf("two epochs of 10,000 jobs in two threads, throughput over one: %.2f (best %.2f)\n",
              quantile(ratio, 0.5), quantile(ratio, 1.0));
}

void tail() {
  Loop loop(10000, 2000);
  std::vector<double> took;
  for (int k = 0; k < 10000; ++k) took.push_back(seconds([&] { loop.step(k); }));
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
