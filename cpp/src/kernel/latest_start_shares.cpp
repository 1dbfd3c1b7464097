#include "malleable/kernel/latest_start_shares.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/shared_packing.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

void LatestStartShares::note_ends(std::span<const Index> order) {
  first_end_.clear();
  double first = kInfinity;
  for (std::size_t p = 0; p < full_; ++p) {
    if (problem_->work[order[p]] > 0.0) {
      first = std::min(first, problem_->work[order[p]] / problem_->high[order[p]]);
    }
    first_end_.push_back(first);
  }
  least_end_ = kInfinity;
  for (std::size_t j = 0; j < problem_->size(); ++j) {
    if (problem_->work[j] > 0.0 && problem_->low[j] > 0.0) {
      least_end_ = std::min(least_end_, problem_->work[j] / problem_->low[j]);
    }
  }
}

void LatestStartShares::run_until_end(std::span<const double> start, std::span<const Index> order) {
  time_ = 0.0;
  level_ = start[order[full_]];
  last_ = full_ + 1;
  double together = room(order[full_]);
  while (true) {
    const double part = (free_ - full_room_) / together;  // of their rooms
    const auto reaches = [&](double later) {
      return later > level_ ? (later - level_) / part : 0.0;
    };
    // The job that joins next, the job that has its maximum no longer, and the next end.
    const double joins = last_ < order.size() ? reaches(start[order[last_]]) : kInfinity;
    const double meets =
        full_ > 0 ? std::max(0.0, level_ - start[order[full_ - 1]] - time_) / (1.0 - part)
                  : kInfinity;
    double end = std::min(least_end_, full_ > 0 ? first_end_[full_ - 1] : kInfinity) - time_;
    Index ends = kNone;
    for (std::size_t p = full_; p < last_; ++p) {
      const Index j = order[p];
      if (!(problem_->work[j] > 0.0)) continue;
      const double done = problem_->low[j] * time_ + room(j) * (level_ - start[j]);
      const double left = std::max(0.0, problem_->work[j] - done);
      const double own = left / (problem_->low[j] + room(j) * part);
      if (own < end) {
        end = own;
        ends = j;
      }
    }
    const double step = std::min({joins, meets, end});
    if (!(step < kInfinity)) return;
    time_ += step;
    level_ += part * step;
    if (step == end) {
      ends_ = ends;
      return;
    }
    if (step == meets) {
      --full_;
      full_room_ -= room(order[full_]);
      together += room(order[full_]);
    } else {
      together += room(order[last_++]);
    }
  }
}

void LatestStartShares::round(std::span<const double> start, std::span<const Index> order,
                              std::span<double> slots) {
  double free = free_ - full_room_;
  losses_.clear();
  const auto without_one = [&](Index j) {
    const double kept = slots[j] - problem_->low[j] - 1.0;
    return Loss{j == ends_ && slots[j] == 1.0, start[j] + kept * time_ / room(j), j};
  };
  for (std::size_t p = full_; p < last_; ++p) {
    const Index j = order[p];
    if (!(room(j) > 0.0)) continue;
    const double part = std::clamp((level_ - start[j]) / time_, 0.0, 1.0);
    const double more = std::min(room(j), std::ceil(part * room(j) * (1.0 - kAmple)));
    slots[j] = problem_->low[j] + more;
    free -= more;
    if (more > 0.0) losses_.push_back(without_one(j));
  }
  std::make_heap(losses_.begin(), losses_.end());
  while (free < 0.0 && !losses_.empty()) {
    std::pop_heap(losses_.begin(), losses_.end());
    const Index j = losses_.back().job;
    // One, unless rounding was far off, as with very many slots.
    const double many = std::max(1.0, std::floor(-free / static_cast<double>(losses_.size())));
    const double fewer = std::min(many, slots[j] - problem_->low[j]);
    losses_.pop_back();
    slots[j] -= fewer;
    free += fewer;
    if (slots[j] > problem_->low[j]) {
      losses_.push_back(without_one(j));
      std::push_heap(losses_.begin(), losses_.end());
    }
  }
  for (std::size_t p = full_; p < last_ && free > 0.0; ++p) {  // what rounding has left
    const Index j = order[p];
    const double more = std::min(free, room(j) - (slots[j] - problem_->low[j]));
    if (!(more > 0.0)) continue;
    slots[j] += more;
    free -= more;
  }
}

void LatestStartShares::run(const Problem& problem, std::span<const double> start,
                            std::span<Index> order, std::span<double> slots) {
  problem_ = &problem;
  sorter_.sort(start, order);
  share_in_order(problem, order, slots);
  free_ = problem.slots;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (problem.work[j] > 0.0) free_ -= problem.low[j];
  }
  full_ = 0;
  full_room_ = 0.0;
  const auto waits = [&](Index j) { return problem.work[j] > 0.0 && slots[j] < problem.high[j]; };
  while (full_ < order.size() && !waits(order[full_])) {
    full_room_ += room(order[full_++]);
  }
  // If the first job that waits is due at any time, or nothing is free, the order decides.
  if (full_ == order.size() || !(free_ > 0.0) || !std::isfinite(start[order[full_]])) return;
  note_ends(order);
  ends_ = kNone;
  run_until_end(start, order);
  if (time_ > 0.0) round(start, order, slots);
  const auto first = order.begin() + static_cast<std::ptrdiff_t>(full_);
  const auto found = std::find(first, order.end(), ends_);
  if (found != order.end()) std::rotate(first, found, found + 1);
}

}  // namespace malleable
