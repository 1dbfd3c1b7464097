// Random flows, and a check of their schedules that knows the definitions only.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "check.hpp"
#include "malleable/model/flow_problem.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/plan.hpp"

namespace malleable::check {

struct FlowTable : FlowColumns {
  FlowTable() { clear(); }

  FlowProblem problem(std::int64_t slots, double now = 0.0) const {
    FlowProblem made;
    made.build(view(), slots, now);
    return made;
  }
  std::vector<double> volume() const {
    std::vector<double> sums(arrival.size(), 0.0);
    for (std::size_t j = 0; j < sums.size(); ++j) {
      for (auto i = static_cast<std::size_t>(job_offset[j]);
           i < static_cast<std::size_t>(job_offset[j + 1]); ++i) {
        sums[j] += work[i];
      }
    }
    return sums;
  }
  Penalties penalties(Kind kind) const { return penalties(std::vector<Kind>{kind}); }
  Penalties penalties(const std::vector<Kind>& kinds) const {
    Penalties made;
    const std::vector<double> sizes = volume();
    TermsView flows = terms();
    flows.original = sizes;
    made.build(flows, kinds);
    return made;
  }
  void add_flow(double comes, double w, double due) {
    arrival.push_back(comes);
    weight.push_back(w);
    deadline.push_back(due);
    original.push_back(0.0);
    sla.add({});
    job_offset.push_back(static_cast<std::int64_t>(work.size()));
  }
  // Appends a job to the last flow; parents are rows.
  void add_job(double amount, std::int64_t most, const std::vector<std::int64_t>& parents = {}) {
    work.push_back(amount);
    original.back() += amount;
    max_slots.push_back(most);
    parent.insert(parent.end(), parents.begin(), parents.end());
    parent_offset.push_back(static_cast<std::int64_t>(parent.size()));
    job_offset.back() = static_cast<std::int64_t>(work.size());
  }
};

inline FlowTable random_flows(Random& random, std::size_t most_flows, std::size_t most_jobs,
                              bool arrivals = false) {
  FlowTable table;
  const auto flows =
      static_cast<std::size_t>(integer(random, 0, static_cast<std::int64_t>(most_flows)));
  for (std::size_t j = 0; j < flows; ++j) {
    const double comes = arrivals && chance(random, 0.5) ? real(random, 0.0, 8.0) : 0.0;
    table.add_flow(comes, static_cast<double>(integer(random, 0, 5)), real(random, 0.0, 15.0));
    double at = 0.0, paid = 0.0;
    for (std::int64_t k = integer(random, 0, 3); k > 0; --k) {
      table.sla.time.push_back(at += real(random, 0.5, 6.0));
      table.sla.penalty.push_back(paid += real(random, 0.0, 3.0));
    }
    table.sla.offset.back() = static_cast<std::int64_t>(table.sla.time.size());
    const auto base = static_cast<std::int64_t>(table.work.size());
    const std::int64_t jobs = integer(random, 0, static_cast<std::int64_t>(most_jobs));
    for (std::int64_t i = 0; i < jobs; ++i) {
      std::vector<std::int64_t> parents;
      for (std::int64_t p = 0; p < i; ++p) {
        if (chance(random, 0.35)) parents.push_back(base + p);
      }
      const double amount = chance(random, 0.1)   ? 0.0
                            : chance(random, 0.5) ? static_cast<double>(integer(random, 1, 6))
                                                  : real(random, 0.1, 6.0);
      table.add_job(amount, integer(random, 1, 7), parents);
    }
  }
  return table;
}

// Weights over eight decades, works over ten; at `corners` also the ends of what is accepted.
inline FlowTable wide_flows(Random& random, std::size_t most_flows, std::size_t most_jobs,
                            bool corners) {
  const auto decades = [&](double low, double high) {
    return std::pow(10.0, real(random, low, high));
  };
  const auto corner = [&](double least, double most, double usual) {
    if (!corners || chance(random, 0.6)) return usual;
    return chance(random, 0.3) ? 0.0 : chance(random, 0.5) ? least : most;
  };
  FlowTable table;
  const auto flows = integer(random, 1, static_cast<std::int64_t>(most_flows));
  for (std::int64_t j = 0; j < flows; ++j) {
    const double weight = corner(1e-12, 1e12, decades(-4.0, 4.0));
    const double comes = chance(random, 0.2) ? decades(-2.0, 3.0) : 0.0;
    table.add_flow(comes, weight, corner(-1e12, 1e12, decades(-3.0, 5.0)));
    double at = 0.0, paid = 0.0;
    for (std::int64_t k = integer(random, 0, 3); k > 0; --k) {
      table.sla.time.push_back(at += decades(-2.0, 4.0));
      table.sla.penalty.push_back(paid += decades(-3.0, 3.0));
    }
    table.sla.offset.back() = static_cast<std::int64_t>(table.sla.time.size());
    const auto base = static_cast<std::int64_t>(table.work.size());
    const std::int64_t jobs = integer(random, 1, static_cast<std::int64_t>(most_jobs));
    for (std::int64_t i = 0; i < jobs; ++i) {
      std::vector<std::int64_t> parents;
      for (std::int64_t p = 0; p < i; ++p) {
        if (chance(random, 0.35)) parents.push_back(base + p);
      }
      const std::int64_t most =
          corners && chance(random, 0.2) ? kMostSlots : integer(random, 1, 25);
      table.add_job(corner(1e-12, 1e15, decades(-5.0, 5.0)), most, parents);
    }
  }
  return table;
}

// Pieces (absolute times) keep capacity, maxima, work, arrivals and precedence: slots without
// tolerance, times as they are.
inline void check_pieces(const FlowTable& table, const FlowProblem& problem, const Pieces& pieces,
                         const std::vector<double>& completion) {
  const std::size_t n = problem.jobs();
  std::vector<double> done(n, 0.0), first(n, kInfinity), last(n, -kInfinity);
  std::map<double, std::int64_t> change;
  std::vector<std::map<double, std::int64_t>> own(n);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const auto i = static_cast<std::size_t>(pieces.job[k]);
    CHECK(pieces.slots[k] > 0 && pieces.end[k] > pieces.start[k]);
    done[i] += static_cast<double>(pieces.slots[k]) * (pieces.end[k] - pieces.start[k]);
    first[i] = std::min(first[i], pieces.start[k]);
    last[i] = std::max(last[i], pieces.end[k]);
    change[pieces.start[k]] += pieces.slots[k];
    change[pieces.end[k]] -= pieces.slots[k];
    own[i][pieces.start[k]] += pieces.slots[k];
    own[i][pieces.end[k]] -= pieces.slots[k];
  }
  std::int64_t used = 0;
  for (const auto& [time, slots] : change) {
    used += slots;
    CHECK(used <= static_cast<std::int64_t>(problem.slots));
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t held = 0;
    for (const auto& [time, slots] : own[i]) {
      held += slots;
      CHECK(held <= table.max_slots[i]);
    }
    CHECK_NEAR(done[i], problem.work[i], 1e-9 * (1.0 + problem.work[i]));
    if (problem.work[i] == 0.0) continue;
    CHECK_EQUAL(last[i], completion[i]);
    CHECK(first[i] >= std::max(problem.now, table.arrival[problem.flow[i]]));
    for (std::size_t e = problem.child_offset[i]; e < problem.child_offset[i + 1]; ++e) {
      CHECK(first[problem.child[e]] >= last[i]);
    }
  }
}

}  // namespace malleable::check
