#include <algorithm>
#include <vector>

#include "malleable/kernel/set_exchange.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_set_exchange {

// Tardy jobs: a target or none.
struct Weights {
  Doubles weight, due;
  double lost(std::span<const double> target) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < weight.size(); ++j) sum += target[j] == kInfinity ? weight[j] : 0.0;
    return sum;
  }
};

Problem one_slot_each(const Doubles& work, double slots) {
  Problem problem;
  problem.slots = slots;
  problem.work = work;
  problem.low.assign(work.size(), 0.0);
  problem.high.assign(work.size(), slots);
  problem.idle_end.assign(work.size(), 0.0);
  return problem;
}

// Adds jobs in the order of the asks, exchanges, and checks that the set still fits.
Doubles exchanged(const Problem& problem, const Weights& jobs, std::span<const Index> order,
                  double& before) {
  const std::size_t n = problem.size();
  std::vector<DueAsk> asks;
  std::vector<Index> by_key;
  for (const Index j : order) {
    by_key.push_back(static_cast<Index>(asks.size()));
    asks.push_back({0.0, jobs.due[j], j});
  }
  OnTimeSet set;
  set.begin(problem, jobs.due, 64);
  Doubles target(n, kInfinity);
  for (const Index j : order) {
    if (set.add(j, jobs.due[j])) target[j] = jobs.due[j];
  }
  before = jobs.lost(target);
  SetExchange().improve(
      {asks, by_key, [&](Index j, double t) { return t > jobs.due[j] ? jobs.weight[j] : 0.0; },
       [](Index, double) { return kInfinity; }},
      set, target);
  OnTimeSet again;
  again.begin(problem, jobs.due, 64);
  for (std::size_t j = 0; j < n; ++j) {
    if (target[j] < kInfinity) CHECK(again.add(static_cast<Index>(j), target[j]));
  }
  return target;
}

// The first job fills the time that two others could share.
TEST(two_for_one) {
  const Problem problem = one_slot_each({10.0, 5.0, 5.0}, 1.0);
  const Weights jobs{{3.0, 2.0, 2.0}, {10.0, 10.0, 10.0}};
  const std::vector<Index> order{0, 1, 2};
  double before = 0.0;
  const Doubles target = exchanged(problem, jobs, order, before);
  CHECK(before == 4.0);
  CHECK(jobs.lost(target) == 3.0);
  CHECK(target[0] == kInfinity);
}

// Never worse, often better, and mostly as good as the best of all sets.
TEST(near_the_best_set) {
  std::size_t better = 0, best = 0, tried = 0;
  trials(1, 300, [&](Random& random) {
    const auto n = static_cast<std::size_t>(integer(random, 2, 7));
    Weights jobs;
    Doubles work;
    for (std::size_t j = 0; j < n; ++j) {
      work.push_back(real(random, 1.0, 10.0));
      jobs.weight.push_back(real(random, 1.0, 5.0));
      jobs.due.push_back(work.back() + real(random, 0.0, 10.0));
    }
    const Problem problem = one_slot_each(work, 1.0);
    const std::vector<Index> order = shuffled(random, n);
    double before = 0.0;
    const double found = jobs.lost(exchanged(problem, jobs, order, before));
    double least = kInfinity;
    for (std::size_t chosen = 0; chosen < (std::size_t{1} << n); ++chosen) {
      OnTimeSet set;
      set.begin(problem, jobs.due, 64);
      double lost = 0.0;
      for (std::size_t j = 0; j < n && lost < kInfinity; ++j) {
        const bool in = (chosen >> j & 1) != 0;
        if (!in) lost += jobs.weight[j];
        if (in && !set.add(static_cast<Index>(j), jobs.due[j])) lost = kInfinity;
      }
      least = std::min(least, lost);
    }
    CHECK_AT_MOST(found, before, 1e-12);
    CHECK_AT_MOST(least, found, 1e-12);
    ++tried;
    better += found < before - 1e-9;
    best += found < least + 1e-9;
  });
  CHECK(4 * better > tried);
  CHECK(2 * best > tried);
}

// A member that asks for an earlier step gets the room of another.
TEST(a_member_moves_to_an_earlier_step) {
  const Problem problem = one_slot_each({6.0, 6.0}, 1.0);
  // Job 0 has the early time, job 1 a later step; job 1 would save more by being early.
  const std::vector<DueAsk> asks{{0.0, 6.0, 0}, {0.1, 12.0, 1}, {0.2, 6.0, 1}};
  const std::vector<Index> by_key{0, 1, 2};
  OnTimeSet set;
  const Doubles due{6.0, 12.0};
  set.begin(problem, due, 64);
  Doubles target{6.0, 12.0};
  CHECK(set.add(0, 6.0));
  CHECK(set.add(1, 12.0));
  SetExchange().improve({asks, by_key,
                         [](Index j, double t) {
                           const double early = j == 0 ? 1.0 : 5.0;
                           return t <= 6.0 ? 0.0 : t <= 12.0 ? early : early + 3.0;
                         },
                         [](Index, double t) { return t < 12.0 ? 12.0 : kInfinity; }},
                        set, target);
  CHECK(target[0] == 12.0);
  CHECK(target[1] == 6.0);
}

}  // namespace test_set_exchange
}  // namespace malleable::check
