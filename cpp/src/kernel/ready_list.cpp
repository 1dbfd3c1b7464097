// List scheduling: at any time the ready jobs with the least ranks have their maxima, the last of
// them (the holders) what is left; the others wait.
#include "malleable/kernel/ready_list.hpp"

#include <functional>

namespace malleable {

void ReadyList::begin(const FlowProblem& problem, std::span<const Index> rank, Pieces* pieces) {
  const std::size_t n = problem.jobs();
  problem_ = &problem;
  rank_ = rank;
  pieces_ = pieces;
  job_of_.resize(n);
  for (std::size_t i = 0; i < n; ++i) job_of_[rank[i]] = static_cast<Index>(i);
  holders_.clear();
  waiting_.clear();
  left_.assign(problem.work.begin(), problem.work.end());
  jobs_.begin(problem);
  time_ = wanted_ = 0.0;
  next_end_ = kInfinity;
}

// Writes the piece in which a job has held its slots until now.
void ReadyList::record(const Holder& holder) {
  if (pieces_ == nullptr || holder.slots == 0.0) return;
  // A time too short for the resolution of absolute time makes no piece.
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

// Inserts the jobs that have become ready, each at its place.
void ReadyList::admit() {
  for (const Index entering : jobs_.entering) {
    const Index r = rank_[entering];
    // Waiting jobs have larger ranks than all holders: balance() serves the heap from its front.
    if (holders_.empty() || r > holders_.back().rank) {
      waiting_.push_back(r);
      std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
      continue;
    }
    const Index i = entering;
    auto at = holders_.end();
    while (at != holders_.begin() && (at - 1)->rank > r) --at;
    holders_.insert(at, {kInfinity, time_, 0.0, problem_->high[i], left_[i], r, i});
    wanted_ += problem_->high[i];
  }
  jobs_.entering.clear();
}

// Gives free slots to the best waiting jobs, takes slots from the last holders if needed, and sets
// rates.
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

// Advances to the next event and handles it; false if there is none.
bool ReadyList::step(std::span<double> end) {
  jobs_.ended_flows.clear();
  const double next = std::min(next_end_, std::max(time_, jobs_.next_arrival()));
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
  for (const Index i : gone_) jobs_.finish(i, time_, end);
  jobs_.arrive(time_, end);
  admit();
  balance();
  return true;
}

}  // namespace malleable
