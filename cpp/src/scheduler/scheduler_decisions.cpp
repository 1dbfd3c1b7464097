// Decisions: the policy's answer as slots of jobs, and which rows have changed. A pool is the slots
// of one kind (0: maps, 1: reduces; generic slots: all in pool 0). Policies give targets (slots) or
// ranks (places in an order).
#include <algorithm>
#include <cmath>
#include <utility>

#include "malleable/scheduler/scheduler.hpp"

namespace malleable {

// Rows of flows that left may be used again once the policy has decided without them.
void Scheduler::release_rows() {
  for (const Index number : left_flows_) {
    for (const Index row : flows_[number].rows) ids_.remove(row);
    flows_[number].rows.clear();
    free_flows_.push_back(number);
  }
  left_flows_.clear();
}

// For policies that give ranks: updates the order of the jobs that could use slots.
void Scheduler::update_order(int pool) {
  using To = IncrementalOrder<Place>::Place;
  order_[pool].each([&](Place& place) {
    if (!core_.has_changed(place.row)) return To::kSame;
    place.most = core_.state().demand(place.row, pool).most;
    if (place.most == 0) {
      decided_[place.row].has_place[pool] = false;
      decided_[place.row].ranked[pool] = 0;
      return To::kGone;
    }
    const double before = std::exchange(place.rank, core_.value(place.row, pool));
    return before == place.rank ? To::kSame : To::kOther;
  });
  for (const Index row : core_.changed_jobs()) {
    bool& has_place = decided_[row].has_place[pool];
    const std::int64_t most = has_place ? 0 : core_.state().demand(row, pool).most;
    if (most == 0) continue;
    has_place = true;
    order_[pool].add({core_.value(row, pool), most, 0, core_.state().rank[row], row});
  }
  order_[pool].settle();
}

// Gives slots in that order.
void Scheduler::rank_targets(int pool) {
  std::int64_t left = core_.state().slots[pool];
  for (Place& place : order_[pool].entries()) {
    const std::int64_t slots = std::min(left, place.most);
    left -= slots;
    if (slots == place.slots) continue;
    place.slots = decided_[place.row].ranked[pool] = slots;
    core_.note_change(place.row);
  }
}

// The slots of a job in a pool, of which it could use `demand`. From kNode on, values of policies
// are slots beside those of running tasks.
std::int64_t Scheduler::target(Index row, int pool, const ClusterState::Demand& demand) const {
  if (core_.style() == ClusterPolicy::Style::kRanks) return decided_[row].ranked[pool];
  double value = core_.value(row, pool);
  if (core_.style() >= ClusterPolicy::Style::kNode) value += static_cast<double>(demand.running);
  const auto most = static_cast<double>(demand.most);
  return value >= most ? demand.most : static_cast<std::int64_t>(std::floor(value));
}

// Why the job gets no more slots.
Bound Scheduler::bound(Index row, int pool, const ClusterState::Demand& demand,
                       std::int64_t slots) const {
  if (demand.most == 0) {
    const PhaseState& s = core_.state().phase(row, static_cast<Phase>(pool));
    return s.unfinished() > 0 && !s.ready ? Bound::kUnready : Bound::kNothing;
  }
  if (slots == demand.most) return Bound::kMaximum;
  if (core_.keeps(row, pool)) return Bound::kRestart;
  if (slots == 0) return Bound::kNoSlots;
  return slots == demand.minimum ? Bound::kMinimum : Bound::kShare;
}

// Decides, and returns the rows of jobs that have slots, or whose slots have changed.
std::span<const Scheduler::Row> Scheduler::decide(double now) {
  check_now(now, this->now());
  advance(now);
  latency_.clear();
  core_.decide(latency_);
  release_rows();
  const int pools = nodes_.generic ? 1 : 2;
  if (core_.style() == ClusterPolicy::Style::kRanks) {
    // rank_targets() notes changes job by job, so all orders must be updated first.
    for (int pool = 0; pool < pools; ++pool) update_order(pool);
    for (int pool = 0; pool < pools; ++pool) rank_targets(pool);
  }
  rows_.clear();
  for (const Index row : core_.state().present) {
    if (core_.has_changed(row)) {
      write_row(row);
    } else if (was_listed_[row]) {
      decided_[row].row.changed = false;
    } else {
      continue;
    }
    const Row& own = decided_[row].row;
    was_listed_[row] = own.changed || (own.slots[0] | own.slots[1]) != 0;
    if (was_listed_[row]) rows_.push_back(own);
  }
  core_.forget_changes();
  return rows_;
}

// Writes a row of the decision, if it changed. `key`: the job's place in the policy's order.
void Scheduler::write_row(Index row) {
  Row& own = decided_[row].row;
  own.id = ids_.id_of(row);
  own.changed = false;
  const int pools = nodes_.generic ? 1 : 2;
  for (int pool = 0; pool < pools; ++pool) {
    const ClusterState::Demand demand = core_.state().demand(row, pool);
    const std::int64_t slots = target(row, pool, demand);
    own.changed |= std::exchange(own.slots[static_cast<std::size_t>(pool)], slots) != slots;
    own.bound[pool] = bound(row, pool, demand, slots);
  }
  own.key = core_.order(row, own.slots[0] > 0 || nodes_.generic ? 0 : 1);
}

// The worth of a second attempt at each running task: the seconds that it saves, over the seconds
// that both run (kernel/backup_gain).
void Scheduler::backup_gains(std::span<const std::int64_t> ids, std::span<const std::int64_t> phase,
                             std::span<const double> age, std::span<double> gain) {
  check(Tasks{.ids = ids, .phase = phase, .seconds = age});
  for (std::size_t k = 0; k < ids.size(); ++k) {
    if (std::isnan(age[k])) throw FieldError("seconds", k, age[k], kWorkRange.text);
  }
  std::optional<LogTimes> times;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const Index row = row_of(ids[k]);
    const auto p = static_cast<Phase>(phase[k]);
    const bool here = row != kNone && jobs_[row].here && !jobs_[row].gone;
    const bool same = k > 0 && ids[k] == ids[k - 1] && phase[k] == phase[k - 1];
    if (!same) times = here ? core_.times_for_backups(row, p) : std::nullopt;
    gain[k] = times ? core_.backup_gain(p, age[k], *times).gain : 0.0;
  }
}

}  // namespace malleable
