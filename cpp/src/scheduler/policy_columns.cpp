#include "malleable/scheduler/policy_columns.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/error.hpp"

namespace malleable {
namespace {

// Variance of a phase's work left.
double variance(const ClusterState& state, Index job, Phase p) {
  const auto left = static_cast<double>(state.phase(job, p).unfinished());
  if (left <= 0.0) return 0.0;
  const auto [mean, task] = state.variance(job, p);
  return task * left + mean * left * left;
}

}  // namespace

// Fills one row for each present job. A pool is the slots of one kind (0: maps, 1: reduces; generic
// slots: all in pool 0).
void PolicyColumns::gather(const ClusterState& state) {
  for (auto* column :
       {&ids, &user, &waiting, &running, &finished, &ready, &min_slots, &max_slots}) {
    column->clear();
  }
  for (auto* column : {&arrival, &weight, &deadline, &size, &attained, &speedup, &work, &spread}) {
    column->clear();
  }
  const bool generic = state.cluster.generic;
  for (const Index job : state.present) {
    ids.push_back(state.jobs.id_of(job));
    user.push_back(static_cast<std::int64_t>(state.jobs.user_of(job)));
    arrival.push_back(state.jobs.arrival[job]);
    weight.push_back(state.jobs.weight_of(job));
    deadline.push_back(state.jobs.deadline_of(job));
    size.push_back(state.size[job]);
    attained.push_back(state.phase(job, kMap).measured + state.phase(job, kReduce).measured);
    speedup.push_back(state.jobs.exponent_of(job));
    for (const Phase p : {kMap, kReduce}) {
      const PhaseState& s = state.phase(job, p);
      waiting.push_back(s.waiting);
      running.push_back(s.running);
      finished.push_back(s.finished);
      ready.push_back(s.ready);
    }
    for (int pool = 0; pool < (generic ? 1 : 2); ++pool) {
      const auto demand = state.demand(job, pool);
      min_slots.push_back(std::min(demand.minimum, demand.most));
      max_slots.push_back(demand.most);
      double left = 0.0, squares = 0.0;
      for (const Phase p : {kMap, kReduce}) {
        if (!generic && p != pool) continue;
        left += state.phase(job, p).remaining();
        squares += variance(state, job, p);
      }
      work.push_back(left);
      spread.push_back(std::sqrt(squares));
    }
  }
}

// Calls the compiled function with all present jobs and checks its answer: slots by job and pool.
void CompiledPolicy::decide(const ClusterState& state, int pool, Answer& answer) {
  for (const Index job : state.changed[pool]) {
    if (state.demand(job, pool).most == 0) answer.set(job, 0.0);
  }
  const std::size_t count = state.present.size(), pools = state.cluster.generic ? 1 : 2;
  if (count == 0) return;
  columns_.gather(state);
  slots_.assign(count * pools, 0.0);
  const PolicyColumns& c = columns_;
  const malleable_policy_state shown = {
      state.now,
      static_cast<std::int64_t>(count),
      static_cast<std::int64_t>(pools),
      c.ids.data(),
      c.arrival.data(),
      c.weight.data(),
      c.deadline.data(),
      c.user.data(),
      c.size.data(),
      c.attained.data(),
      c.speedup.data(),
      c.waiting.data(),
      c.running.data(),
      c.finished.data(),
      c.ready.data(),
      c.work.data(),
      c.spread.data(),
      c.min_slots.data(),
      c.max_slots.data(),
      state.slots,
      state.free,
  };
  function_(&shown, slots_.data());
  for (std::size_t k = 0; k < slots_.size(); ++k) {
    if (!(slots_[k] >= 0.0 && slots_[k] < 1e300)) {
      throw FieldError("policy's answer", k / pools, slots_[k], "must be finite and at least 0");
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    const Index job = state.present[k];
    if (state.demand(job, pool).most == 0) continue;
    answer.set(job, slots_[pools * k + static_cast<std::size_t>(pool)]);
  }
}

}  // namespace malleable
