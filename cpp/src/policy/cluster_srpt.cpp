#include "malleable/policy/cluster_srpt.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace malleable {
// Jobs by the work that they have left, in one of several senses (SrptKind). A pool is the slots of
// one kind (0: maps, 1: reduces; generic slots: all in pool 0); a job is stale if its key may have
// changed; virtual_ is the SRPT machine that ASRPT simulates, where reduce work does not wait for
// map work.
//
// The seconds that all slots of the phase would take; with generic slots slot-seconds, so that
// rounding does not separate equal work.
double ClusterSrpt::seconds(const ClusterState& state, double work, Phase p) const {
  if (state.cluster.generic) return work;
  return work / static_cast<double>(std::max<std::int64_t>(state.slots[p], 1));
}

// The seconds of the tasks that are left; with periods, an ended task holds its slot until the next
// decision (held()).
double ClusterSrpt::left(const ClusterState& state, Index job, Phase p) const {
  const PhaseState& s = state.phase(job, p);
  return seconds(state, state.held(s.remaining(), s.estimate), p);
}

void ClusterSrpt::begin(const ClusterState& state) {
  if (options_.kind == SrptKind::kAsrpt) virtual_.begin(state);
  for (int pool = 0; pool < 2; ++pool) {
    order_[pool].clear();
    inside_[pool].clear();
    stale_[pool].clear();
    is_stale_[pool].clear();
  }
  here_.clear();
  added(state, {});
}

void ClusterSrpt::added(const ClusterState& state, std::span<const Index>) {
  const std::size_t n = state.jobs.size();
  here_.resize(n, 0);
  for (auto* column : {&inside_[0], &inside_[1], &is_stale_[0], &is_stale_[1]})
    column->resize(n, 0);
  virtual_.grow(n);
  if (options_.by_user) between_.begin(state);
}

void ClusterSrpt::keep(const ClusterState& state, State& s) {
  s(virtual_);
  if (!s.reading()) return;
  for (const Index job : state.present) {
    here_[job] = 1;
    mark_stale(job);
  }
}

// Makes the next decision of each pool set the job's ranks again.
void ClusterSrpt::mark_stale(Index job) {
  for (int pool = 0; pool < 2; ++pool) {
    if (is_stale_[pool][job]) continue;
    is_stale_[pool][job] = 1;
    stale_[pool].push_back(job);
  }
}

void ClusterSrpt::job_arrived(const ClusterState& state, Index job) {
  here_[job] = 1;
  mark_stale(job);
  if (options_.kind == SrptKind::kAsrpt) virtual_.arrive(state, job);
}

// The work left that the policy goes by.
double ClusterSrpt::key(const ClusterState& state, Index job, int pool) const {
  if (options_.kind == SrptKind::kHeSrpt) return state.demand(job, pool).work;
  const double map = left(state, job, kMap), reduce = left(state, job, kReduce);
  if (options_.kind == SrptKind::kMaxSrpt) return std::max(map, reduce);
  if (options_.kind == SrptKind::kAsrpt && pool == kMap && map > 0.0) {
    const double left_there = state.phase(job, kReduce).estimate * virtual_.reduces(job);
    return map + seconds(state, left_there, kReduce);
  }
  return map + reduce;
}

void ClusterSrpt::decide(const ClusterState& state, int pool, Answer& answer) {
  if (options_.kind == SrptKind::kAsrpt) virtual_.advance(state);
  mark_changed(state, pool);
  if (style() == Style::kRanks) {
    rank(state, pool, answer);
    forget_stale(pool);
    return;
  }
  collect(state, pool, answer);
  forget_stale(pool);
  const auto slots = static_cast<double>(state.slots[pool]);
  std::span<Row> rows = order_[pool].entries();
  if (!options_.by_user) {
    share(pool, rows, slots);
  } else {
    rows_.assign(rows.begin(), rows.end());
    rows = rows_;
    const auto user_of = [&](const Row& row) { return state.jobs.user_of(row.job); };
    std::stable_sort(rows_.begin(), rows_.end(),
                     [&](const Row& a, const Row& b) { return user_of(a) < user_of(b); });
    usable_.assign(between_.users(), 0.0);
    for (const Row& row : rows_) usable_[user_of(row)] += row.most;
    const std::span<const double> parts = between_.of(state, pool, usable_);
    for (std::size_t first = 0, last = 0; first < rows_.size(); first = last) {
      const std::size_t user = user_of(rows_[first]);
      while (last < rows_.size() && user_of(rows_[last]) == user) ++last;
      share(pool, {rows_.data() + first, last - first}, parts[user]);
    }
  }
  for (const Row& row : rows) answer.set(row.job, row.given);
}

// Both phases of a job may count for either pool, and the number of slots, too.
void ClusterSrpt::mark_changed(const ClusterState& state, int pool) {
  for (const auto& changed : state.changed) {
    for (const Index job : changed) mark_stale(job);
  }
  for (const Index job : virtual_.moved()) mark_stale(job);
  virtual_.forget_moved();
  std::int64_t (&slots)[2] = slots_before_[pool];
  if (!std::equal(slots, slots + 2, state.slots)) {
    for (const Index job : state.present) mark_stale(job);
  }
  std::copy(state.slots, state.slots + 2, slots);
}

void ClusterSrpt::forget_stale(int pool) {
  for (const Index job : stale_[pool]) is_stale_[pool][job] = 0;
  stale_[pool].clear();
}

void ClusterSrpt::rank(const ClusterState& state, int pool, Answer& answer) {
  for (const Index job : stale_[pool]) {
    if (here_[job]) answer.set(job, key(state, job, pool));
  }
}

// Collects the jobs that can use slots of this pool, the least key first; other jobs get none.
void ClusterSrpt::collect(const ClusterState& state, int pool, Answer& answer) {
  using Place = IncrementalOrder<Row>::Place;
  const auto most_of = [&](Index job) { return static_cast<double>(state.demand(job, pool).most); };
  order_[pool].each([&](Row& row) {
    row.given = 0.0;
    if (!is_stale_[pool][row.job]) return Place::kSame;
    row.most = most_of(row.job);
    if (row.most == 0.0) {
      inside_[pool][row.job] = 0;
      return Place::kGone;
    }
    const double before = std::exchange(row.key, key(state, row.job, pool));
    return before == row.key ? Place::kSame : Place::kOther;
  });
  for (const Index job : stale_[pool]) {
    if (inside_[pool][job]) continue;
    const double most = most_of(job);
    if (most > 0.0) {
      inside_[pool][job] = 1;
      order_[pool].add({key(state, job, pool), most, 0.0, state.came[job], job});
    } else {
      answer.set(job, 0.0);
    }
  }
  order_[pool].settle();
}

// Gives slots to rows that are sorted by their keys.
void ClusterSrpt::share(int pool, std::span<Row> rows, double slots) {
  if (options_.kind == SrptKind::kHeSrpt) {
    parts(pool, rows, slots);
    return;
  }
  for (Row& row : rows) {
    row.given = std::min(row.most, slots);
    slots -= row.given;
  }
}

// The parts of heSRPT for the mean exponent p of the jobs (s slots do s^p).
void ClusterSrpt::parts(int pool, std::span<Row> rows, double slots) {
  double p = options_.speedup;
  if (!options_.exponents.empty()) {
    p = 0.0;
    for (const Row& row : rows) p += options_.exponents[row.job] / static_cast<double>(rows.size());
  }
  parts_[pool].give(p, slots, rows, [&](const Row& row) {
    if (options_.useful.empty()) return row.most;
    return std::min(row.most, static_cast<double>(options_.useful[row.job]));
  });
}

}  // namespace malleable
