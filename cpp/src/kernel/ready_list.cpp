#include "malleable/kernel/ready_list.hpp"

#include <functional>
#include <numeric>

namespace malleable {

void ReadyList::begin(const FlowProblem& problem, std::span<const Index> rank, Pieces* pieces) {
  const std::size_t f = problem.flows(), n = problem.jobs();
  problem_ = &problem;
  rank_ = rank;
  pieces_ = pieces;
  job_of_.resize(n);
  for (std::size_t i = 0; i < n; ++i) job_of_[rank[i]] = static_cast<Index>(i);
  holders_.clear();
  waiting_.clear();
  ended_flows_.clear();
  entering_.clear();
  pending_.assign(problem.parents.begin(), problem.parents.end());
  left_.assign(problem.work.begin(), problem.work.end());
  jobs_left_.resize(f);
  arrivals_.clear();
  for (std::size_t j = 0; j < f; ++j) {
    jobs_left_[j] = static_cast<Index>(problem.job_offset[j + 1] - problem.job_offset[j]);
    if (jobs_left_[j] > 0) arrivals_.push_back(static_cast<Index>(j));
  }
  if (!problem.released) {
    std::stable_sort(arrivals_.begin(), arrivals_.end(),
                     [&](Index a, Index b) { return problem.release[a] < problem.release[b]; });
  }
  arrived_ = 0;
  time_ = wanted_ = 0.0;
  next_end_ = kInfinity;
}

// A job that may start; one without work ends at once and lets others start.
void ReadyList::ready(Index job, std::span<double> end) {
  stack_.assign(1, job);
  while (!stack_.empty()) {
    const Index i = stack_.back();
    stack_.pop_back();
    if (left_[i] > 0.0) {
      entering_.push_back(rank_[i]);
      continue;
    }
    end[i] = time_;
    const Index j = problem_->flow[i];
    if (--jobs_left_[j] == 0 && problem_->volume[j] > 0.0) ended_flows_.push_back(j);
    for (std::size_t e = problem_->child_offset[i]; e < problem_->child_offset[i + 1]; ++e) {
      if (--pending_[problem_->child[e]] == 0) stack_.push_back(problem_->child[e]);
    }
  }
}

void ReadyList::record(const Holder& holder) {
  if (pieces_ == nullptr || holder.slots == 0.0) return;
  // What is too short for the resolution of absolute time has no piece.
  const double from = problem_->now + holder.since, to = problem_->now + time_;
  if (to > from) pieces_->add(holder.job, from, to, holder.slots);
}

void ReadyList::set_rate(Holder& holder, double slots) {
  if (holder.slots == slots) return;
  record(holder);
  holder.left = std::max(0.0, holder.left - holder.slots * (time_ - holder.since));
  holder.since = time_;
  holder.slots = slots;
  holder.end = slots > 0.0 ? time_ + holder.left / slots : kInfinity;
}

// Lets the jobs that have become ready in, each at its place.
void ReadyList::admit() {
  for (const Index r : entering_) {
    // Whoever waits has a larger rank than all holders: balance() serves the heap from its front.
    if (holders_.empty() || r > holders_.back().rank) {
      waiting_.push_back(r);
      std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
      continue;
    }
    const Index i = job_of_[r];
    auto at = holders_.end();
    while (at != holders_.begin() && (at - 1)->rank > r) --at;
    holders_.insert(at, {kInfinity, time_, 0.0, problem_->high[i], left_[i], r, i});
    wanted_ += problem_->high[i];
  }
  entering_.clear();
}

// The best of those that wait fill free slots, the last holders give way, rates follow.
void ReadyList::balance() {
  const double slots = problem_->slots;
  while (wanted_ < slots && !waiting_.empty()) {
    const Index r = waiting_.front();
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    waiting_.pop_back();
    const Index i = job_of_[r];
    holders_.push_back({kInfinity, time_, 0.0, problem_->high[i], left_[i], r, i});
    wanted_ += problem_->high[i];
  }
  while (!holders_.empty() && wanted_ - holders_.back().high >= slots) {
    Holder& last = holders_.back();
    set_rate(last, 0.0);
    left_[last.job] = last.left;
    wanted_ -= last.high;
    waiting_.push_back(last.rank);
    std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    holders_.pop_back();
  }
  next_end_ = kInfinity;
  if (holders_.empty()) return;
  Holder& last = holders_.back();
  set_rate(last, last.high - std::max(0.0, wanted_ - slots));
  next_end_ = last.end;
  for (std::size_t k = 0; k + 1 < holders_.size(); ++k) {
    set_rate(holders_[k], holders_[k].high);
    next_end_ = std::min(next_end_, holders_[k].end);
  }
}

// Moves on to the next event and handles it; false when there is none.
bool ReadyList::step(std::span<double> end) {
  ended_flows_.clear();
  double next = next_end_;
  if (arrived_ < arrivals_.size()) {
    next = std::min(next, std::max(time_, problem_->release[arrivals_[arrived_]]));
  }
  if (next == kInfinity) return false;
  time_ = next;
  gone_.clear();
  std::size_t kept = 0;
  while (kept < holders_.size() && holders_[kept].end > time_) ++kept;
  for (std::size_t k = kept; k < holders_.size(); ++k) {
    Holder& holder = holders_[k];
    if (holder.end > time_) {
      holders_[kept++] = holder;
      continue;
    }
    record(holder);
    wanted_ -= holder.high;
    left_[holder.job] = 0.0;
    gone_.push_back(holder.job);
  }
  holders_.resize(kept);
  for (const Index i : gone_) ready(i, end);
  arrive(end);
  admit();
  balance();
  return true;
}

void ReadyList::arrive(std::span<double> end) {
  while (arrived_ < arrivals_.size() && problem_->release[arrivals_[arrived_]] <= time_) {
    const Index j = arrivals_[arrived_++];
    for (std::size_t i = problem_->job_offset[j]; i < problem_->job_offset[j + 1]; ++i) {
      if (problem_->parents[i] == 0) ready(static_cast<Index>(i), end);
    }
  }
}

void ReadyList::fair(const FlowProblem& problem, std::span<double> end, std::span<double> flow_end,
                     Pieces& pieces) {
  std::vector<Index> rank(problem.jobs());
  std::iota(rank.begin(), rank.end(), Index{0});
  begin(problem, rank, &pieces);
  Problem now;  // the ready jobs alone
  now.slots = problem.slots;
  std::vector<double> share;
  for (;;) {
    for (const Index j : ended_flows_) flow_end[j] = time_;
    ended_flows_.clear();
    double next = arrived_ < arrivals_.size() ? problem.release[arrivals_[arrived_]] : kInfinity;
    for (const Holder& holder : holders_) next = std::min(next, holder.end);
    if (next == kInfinity) return;
    time_ = std::max(time_, next);
    gone_.clear();
    std::erase_if(holders_, [&](const Holder& holder) {
      if (holder.end > time_) return false;
      record(holder);
      left_[holder.job] = 0.0;
      gone_.push_back(holder.job);
      return true;
    });
    for (const Index i : gone_) ready(i, end);
    arrive(end);
    for (const Index i : entering_) {
      holders_.push_back({kInfinity, time_, 0.0, problem.high[i], left_[i], i, i});
    }
    entering_.clear();
    std::sort(holders_.begin(), holders_.end(),
              [](const Holder& a, const Holder& b) { return a.rank < b.rank; });
    const std::size_t ready_jobs = holders_.size();
    now.work.assign(ready_jobs, 1.0);
    now.low.assign(ready_jobs, 0.0);
    now.high.resize(ready_jobs);
    share.resize(ready_jobs);
    for (std::size_t k = 0; k < ready_jobs; ++k) now.high[k] = holders_[k].high;
    waterline_.allocate(now, {}, share);
    for (std::size_t k = 0; k < ready_jobs; ++k) set_rate(holders_[k], share[k]);
  }
}

}  // namespace malleable
