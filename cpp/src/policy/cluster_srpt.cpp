#include "malleable/policy/cluster_srpt.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/policy/overlap.hpp"

namespace malleable {
namespace {

// Ranks of jobs that the virtual machine has completed: below all work left, the first lowest.
constexpr double kDone = -1e15;

}  // namespace

// Seconds that all slots of the phase would take; where any slot does, slot-seconds, so that equal
// work is not told apart by rounding.
double ClusterSrpt::left(const ClusterState& state, Index job, Phase p) const {
  const double work = state.phase(job, p).remaining();
  if (state.cluster.generic) return work;
  return work / static_cast<double>(std::max<std::int64_t>(state.slots[p], 1));
}

void ClusterSrpt::begin(const ClusterState& state) {
  const std::size_t n = state.jobs.size();
  virtual_left_.assign(n, 0.0);
  virtual_.clear();
  virtual_now_ = 0.0;
  done_there_ = 0.0;
  speed_ = static_cast<double>(state.slots[0] + state.slots[1]);
  map_heavy_.assign(n, 0);
  imbalance_.assign(n, 1.0);
}

void ClusterSrpt::job_arrived(const ClusterState& state, Index job) {
  const double map = left(state, job, kMap), reduce = left(state, job, kReduce);
  map_heavy_[job] = map >= reduce;
  const double less = std::min(map, reduce), more = std::max(map, reduce);
  imbalance_[job] = more > 0.0 ? more / less : 1.0;
  if (kind_ != SrptKind::kAsrpt) return;
  advance(state.now);
  virtual_left_[job] = state.size[job];
  virtual_.push_back(job);
}

void ClusterSrpt::job_finished(const ClusterState& state, Index job) {
  if (kind_ != SrptKind::kAsrpt) return;
  advance(state.now);
  std::erase(virtual_, job);
}

// Runs the virtual machine: the least work left first, ties to the earlier arrival.
void ClusterSrpt::advance(double now) {
  double work = (now - virtual_now_) * speed_;
  virtual_now_ = now;
  while (!virtual_.empty()) {
    const auto first = std::min_element(virtual_.begin(), virtual_.end(), [&](Index a, Index b) {
      return virtual_left_[a] < virtual_left_[b];
    });
    const Index job = *first;
    if (virtual_left_[job] > work) {
      virtual_left_[job] -= work;
      return;
    }
    work -= virtual_left_[job];
    virtual_left_[job] = kDone + done_there_++;
    virtual_.erase(first);
  }
}

void ClusterSrpt::decide(const ClusterState& state, int pool, Answer& answer) {
  if (kind_ == SrptKind::kSplitSrpt) {
    split(state, pool, answer);
    return;
  }
  if (kind_ == SrptKind::kHeSrpt) {
    share(state, pool, answer);
    return;
  }
  if (kind_ == SrptKind::kAsrpt) advance(state.now);
  for (const Index job : state.present) {
    if (kind_ == SrptKind::kAsrpt) {
      answer.set(job, virtual_left_[job]);
      continue;
    }
    const double map = left(state, job, kMap), reduce = left(state, job, kReduce);
    answer.set(job, kind_ == SrptKind::kSrpt ? map + reduce : std::max(map, reduce));
  }
}

// Whoever can use slots of this pool, with `key(job)`; jobs that cannot any more get none.
template <typename Key>
void ClusterSrpt::collect(const ClusterState& state, int pool, Answer& answer, Key key) {
  for (const Index job : state.changed[pool]) {
    if (state.demand(job, pool).most == 0) answer.set(job, 0.0);
  }
  rows_.clear();
  for (const Index job : state.present) {
    const double most = static_cast<double>(state.demand(job, pool).most);
    if (most > 0.0) rows_.push_back({key(job), most, 0.0, job});
  }
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const Row& a, const Row& b) { return a.key < b.key; });
}

// Each class by its own SRPT within its part of the slots, then within what the other leaves.
void ClusterSrpt::split(const ClusterState& state, int pool, Answer& answer) {
  collect(state, pool, answer,
          [&](Index job) { return left(state, job, map_heavy_[job] ? kMap : kReduce); });
  double beta = kInfinity;
  for (const Index job : state.present) beta = std::min(beta, imbalance_[job]);
  bool has[2] = {false, false};
  for (const Row& row : rows_) has[map_heavy_[row.job]] = true;
  // The class whose heavy side this is gets beta / (1 + beta).
  const double part = std::isfinite(beta) ? split_share(beta) : 1.0;
  const auto slots = static_cast<double>(state.slots[pool]);
  const double split_at = std::floor(slots * (pool == 0 ? part : 1.0 - part) + 0.5);
  double free[2];
  free[1] = !has[1] ? 0.0 : !has[0] ? slots : split_at;
  free[0] = slots - free[1];
  for (const bool again : {false, true}) {
    for (Row& row : rows_) {
      double& own = free[map_heavy_[row.job] == (again ? 0 : 1) ? 1 : 0];
      const double more = std::min(row.most - row.given, own);
      row.given += more;
      own -= more;
    }
  }
  for (const Row& row : rows_) answer.set(row.job, row.given);
}

// heSRPT's parts, cut to what jobs can use; what is left over goes to the smallest jobs first.
void ClusterSrpt::share(const ClusterState& state, int pool, Answer& answer) {
  collect(state, pool, answer, [&](Index job) { return state.demand(job, pool).work; });
  const auto count = static_cast<double>(rows_.size());
  const auto slots = static_cast<double>(state.slots[pool]);
  const auto height = [&](double i) {
    if (speedup_ >= 1.0) return i >= count ? 1.0 : 0.0;
    return std::pow(i / count, 1.0 / (1.0 - speedup_));
  };
  // Smallest first: the k-th smallest of m, k from 0, is the (m - k)-th largest. Fractions, and
  // what a job cannot use, go on to the next.
  double free = slots, owed = 0.0, largest = count;
  for (Row& row : rows_) {
    owed += slots * (height(largest) - height(largest - 1.0));
    row.given = std::min({row.most, free, std::floor(owed + 0.5)});
    owed -= row.given;
    free -= row.given;
    largest -= 1.0;
  }
  for (Row& row : rows_) {
    const double more = std::min(free, row.most - row.given);
    row.given += more;
    free -= more;
  }
  for (const Row& row : rows_) answer.set(row.job, row.given);
}

}  // namespace malleable
