#include "malleable/policy/cluster_gittins.hpp"

#include <algorithm>
#include <utility>

namespace malleable {
namespace {

// Attained service of a phase: seconds of finished tasks; tasks without a report count as
// estimated.
double attained(const PhaseState& s) {
  return s.measured + s.estimate * static_cast<double>(s.finished - s.timed);
}

}  // namespace

void ClusterGittins::begin(const ClusterState& state) {
  for (int pool = 0; pool < 2; ++pool) {
    index_[pool] = GittinsIndex{};
    stale_[pool] = false;
    rank_[pool].clear();
  }
  added(state, {});
}

void ClusterGittins::added(const ClusterState& state, std::span<const Index>) {
  if (!by_user_) return;
  for (auto& rank : rank_) rank.resize(state.jobs.size(), 0.0);
  between_.begin(state);
}

void ClusterGittins::keep(const ClusterState&, State& s) { s(index_, stale_, rank_); }

// The larger the index of a job's present phase, the earlier its place. A pool is the slots of one
// kind (0: maps, 1: reduces; generic slots: all in pool 0).
double ClusterGittins::rank_of(const ClusterState& state, Index job, int pool) const {
  const PhaseState& maps = state.phase(job, kMap);
  const PhaseState& reduces = state.phase(job, kReduce);
  const bool first = state.cluster.generic ? maps.unfinished() > 0 : pool == kMap;
  return -index_[first ? kMap : kReduce].of(attained(first ? maps : reduces));
}

void ClusterGittins::update_indices(const ClusterState& state) {
  bool changed = false;
  for (const Phase p : {kMap, kReduce}) changed |= index_[p].update(state.learned.work[p]);
  if (changed) stale_[0] = stale_[1] = true;
}

// Calls set(job, rank) for all jobs whose ranks may have changed.
template <typename Set>
void ClusterGittins::rank(const ClusterState& state, int pool, const Set& set) {
  update_indices(state);
  if (std::exchange(stale_[pool], false)) {
    for (const Index job : state.present) set(job, rank_of(state, job, pool));
    return;
  }
  // Service in either pool counts for both.
  for (const auto& changed : state.changed) {
    for (const Index job : changed) set(job, rank_of(state, job, pool));
  }
}

void ClusterGittins::decide(const ClusterState& state, int pool, Answer& answer) {
  if (!by_user_) {
    rank(state, pool, [&](Index job, double rank) { answer.set(job, rank); });
    return;
  }
  rank(state, pool, [&](Index job, double rank) { rank_[pool][job] = rank; });
  share(state, pool, answer);
}

// Gives each user's slots to the user's jobs by rank.
void ClusterGittins::share(const ClusterState& state, int pool, Answer& answer) {
  rows_.clear();
  usable_.assign(between_.users(), 0.0);
  for (const Index job : state.present) {
    const auto most = static_cast<double>(state.demand(job, pool).most);
    const std::size_t user = state.jobs.user_of(job);
    usable_[user] += most;
    if (most > 0.0) {
      rows_.push_back({user, rank_[pool][job], most, state.rank[job], job});
    } else {
      answer.set(job, 0.0);
    }
  }
  std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
    if (a.user != b.user) return a.user < b.user;
    return a.rank != b.rank ? a.rank < b.rank : a.place < b.place;
  });
  const std::span<const double> parts = between_.of(state, pool, usable_);
  double free = 0.0;
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const Row& row = rows_[k];
    if (k == 0 || row.user != rows_[k - 1].user) free = parts[row.user];
    const double given = std::min(row.most, free);
    answer.set(row.job, given);
    free -= given;
  }
}

}  // namespace malleable
