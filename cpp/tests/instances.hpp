// Job tables and problems for the tests: an owner of columns, and random instances that favour
// ties, tight limits and zeros.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "check.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"

namespace malleable::check {

using Doubles = std::vector<double>;
using Order = std::vector<Index>;

inline constexpr Kind kKinds[] = {Kind::kResponse,  Kind::kCompletion, Kind::kStretch, Kind::kTardy,
                                  Kind::kTardiness, Kind::kLateness,   Kind::kSla};

struct Table : JobColumns {
  Table() { clear(); }

  std::size_t size() const { return work.size(); }
  // Original sizes are the works, also works that a test changes.
  JobsView view() const {
    JobsView made = JobColumns::view();
    made.original = work;
    return made;
  }
  Jobs jobs() const { return Jobs(JobColumns::of(view())); }
  // A job without deadline or steps.
  void add(double work_of, std::int64_t low = 0, std::int64_t high = kAllSlots,
           double weight_of = 1.0, double due = kInfinity, double arrival_of = 0.0) {
    arrival.push_back(arrival_of);
    work.push_back(work_of);
    min_slots.push_back(low);
    max_slots.push_back(high);
    weight.push_back(weight_of);
    deadline.push_back(due);
    sla.add({});
  }
  // A step of the last job.
  void step(double time, double penalty) {
    sla.time.push_back(time);
    sla.penalty.push_back(penalty);
    sla.offset.back() = static_cast<std::int64_t>(sla.time.size());
  }
  Problem problem(std::int64_t slots, double now = 0.0, MinMode mode = MinMode::kGuarantee) const {
    Problem built;
    built.build(work, arrival, min_slots, max_slots, slots, now, mode);
    return built;
  }
  Penalties penalties(Kind kind, CustomPenalty custom = nullptr) const {
    Penalties built;
    built.build(view(), {&kind, 1}, custom);
    return built;
  }
};

struct Shape {
  std::int64_t slots = 4;
  bool minima = true;       // a third of the jobs, within the slots together
  bool overcommit = false;  // minima may add up to more than the slots
  bool maxima = true;
  bool idle = true;    // now and then a job without work
  bool whole = false;  // integer works and deadlines, for exact oracles
};

inline Table random_table(Random& random, std::size_t jobs, const Shape& shape) {
  Table table;
  std::int64_t left = shape.slots;
  const double per_slot = 4.0 * static_cast<double>(jobs) / static_cast<double>(shape.slots);
  const bool alike = chance(random, 0.15);  // equal works make ties
  for (std::size_t j = 0; j < jobs; ++j) {
    double work = shape.whole || alike ? static_cast<double>(integer(random, 1, alike ? 2 : 9))
                                       : real(random, 0.05, 8.0);
    if (!shape.whole && chance(random, 0.1)) work *= real(random, 0.0, 30.0);
    if (shape.idle && chance(random, 0.05)) work = 0.0;
    std::int64_t high = kAllSlots, low = 0;
    if (shape.maxima && chance(random, 0.7)) high = integer(random, 1, shape.slots + 1);
    if (shape.minima && chance(random, 0.35)) {
      const std::int64_t most = shape.overcommit ? shape.slots + 2 : left;
      low = std::min(high, integer(random, 0, std::max<std::int64_t>(0, most)));
      if (chance(random, 0.2)) high = std::max<std::int64_t>(low, 1);  // no choice at all
      if (work > 0.0 && !shape.overcommit) left -= low;
    }
    double due = shape.whole ? static_cast<double>(integer(random, 1, 8))
                             : real(random, -0.5, 1.5 * per_slot + 2.0);
    const double weight = chance(random, 0.5) ? 1.0 : static_cast<double>(integer(random, 0, 4));
    table.add(work, low, high, weight, due, -static_cast<double>(integer(random, 0, 3)));
    double time = 0.0, penalty = 0.0;
    for (std::int64_t steps = integer(random, 0, 3); steps > 0; --steps) {
      time += real(random, 0.01, per_slot + 0.5);
      penalty += static_cast<double>(integer(random, 0, 3));
      table.step(time, penalty);
    }
  }
  return table;
}

inline Order identity(std::size_t n) {
  Order order(n);
  std::iota(order.begin(), order.end(), Index{0});
  return order;
}

inline Order shuffled(Random& random, std::size_t n) {
  Order order = identity(n);
  for (std::size_t k = n; k > 1; --k) std::swap(order[k - 1], order[random() % k]);
  return order;
}

inline bool is_permutation_of_all(std::span<const Index> order) {
  Order sorted(order.begin(), order.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted == identity(order.size());
}

// visit(order) for every order of n jobs.
template <typename Visit>
void all_orders(std::size_t n, Visit visit) {
  Order order = identity(n);
  do {
    visit(order);
  } while (std::next_permutation(order.begin(), order.end()));
}

inline double scale_of(double value) { return std::max(1.0, std::fabs(value)); }

}  // namespace malleable::check
