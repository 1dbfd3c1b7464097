// Which of the waiting jobs start now, each on its minimum; running jobs count with their minima.
//
// Jobs start in the order of their keys if their minima fit. The first job that does not fit and
// may have a reservation gets one: at the earliest time by which enough running jobs will
// have ended, if all stay on their minima. A later job may still start if it ends by then, or uses
// slots that are spare even then. A patient job starts only if it is worth the slots that it takes
// from jobs that would grow: if it saves at least a part, kWorth, of what these save. So a start,
// which cannot be undone, does not stop jobs that end soon from growing. O(n) to line up, O(log n)
// for each job that is looked at after that, until no slot is free. Allocates nothing once warm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

class StartLine {
 public:
  struct Waiting {
    Index row;
    bool reserves;   // it may have a reservation
    bool patient;    // it starts only if it is worth the slots
    double key;      // the least is first
    double need;     // slots
    double seconds;  // until its end on these slots
    double gain;     // gain of the objective a second, on these slots
  };
  struct Running {
    double need, seconds;
  };

  void clear() {
    waiting_.clear();
    running_.clear();
    growth_.clear();
  }

  void wait(const Waiting& job) { waiting_.push_back(job); }
  void run(const Running& job) { running_.push_back(job); }
  // A running job would grow by so many slots, each of which gains so much a second.
  void grow(double gain, double slots) { growth_.push_back({gain, slots}); }
  // The rows that start, in order.
  const std::vector<Index>& start(double free) {
    started_.clear();
    reserved_ = false;
    std::size_t skipped = 0;
    choose_growth(free);
    sift(free);
    while (free > 0.0 && !waiting_.empty()) {
      std::pop_heap(waiting_.begin(), waiting_.end(), later);
      const Waiting job = waiting_.back();
      waiting_.pop_back();
      if (!may_start(job, free)) {
        if (!job.reserves || reserved_ || job.need <= free) {
          if (++skipped % kMostSkipped == 0) sift(free);
          continue;
        }
        reserve(job.need, free);
        sift(free);
        continue;
      }
      if (delays(job)) spare_ -= job.need;
      free -= job.need;
      running_.push_back({job.need, job.seconds});
      started_.push_back(job.row);
    }
    return started_;
  }

 private:
  // A job that has not waited long enough starts if it gains at least this part of what running
  // jobs would gain by growing into its slots (gains of the objective a second). Measured on
  // workloads with 20 to 100 % malleable jobs: from 0.5 to 1 the mean response hardly differs; at 0
  // it is up to 4 % longer if most jobs are malleable.
  static constexpr double kWorth = 0.7;

  // After so many jobs that may not start any more, all such jobs are dropped at once.
  static constexpr std::size_t kMostSkipped = 64;

  static constexpr auto gains_more = [](const auto& a, const auto& b) {
    return a.gain != b.gain ? a.gain > b.gain : a.slots < b.slots;
  };
  // Comparison for heaps whose top is the first job.
  static constexpr auto later = [](const StartLine::Waiting& a, const StartLine::Waiting& b) {
    return a.key != b.key ? a.key > b.key : a.row > b.row;
  };

  // Slots that a running job would grow by, and what each of them gains a second.
  struct Growth {
    double gain, slots;
  };
  // A step of growth, and slots and gain of all steps up to it.
  struct Ranked {
    double gain, slots, all;
  };

  // Whether the job would still run when the reservation begins.
  bool delays(const Waiting& job) const {
    return reserved_ && job.seconds > until_ * (1.0 + kAmple);
  }
  // Keeps the steps of growth that gain most, as far as they use the free slots.
  void choose_growth(double free) {
    free_ = free;
    auto from = growth_.begin(), to = growth_.end();
    double used = 0.0;
    while (from != to) {  // steps before `from` leave slots free, those up to `to` do not
      const auto middle = from + (to - from) / 2;
      std::nth_element(from, middle, to, gains_more);
      double slots = used;
      for (auto step = from; step <= middle; ++step) slots += step->slots;
      if (slots < free) used = slots;
      (slots < free ? from : to) = slots < free ? middle + 1 : middle;
    }
    growth_.erase(from == growth_.end() ? from : from + 1, growth_.end());
    if (from == growth_.end()) growth_.push_back({0.0, 0.0});
    growth_.back().slots = free - used;
    std::make_heap(growth_.begin(), growth_.end(), gains_more);
    ranked_.assign(1, {0.0, 0.0, 0.0});
  }

  // The gain of the least of these slots, so many of them.
  double least_gain(double slots) {
    for (; ranked_.back().slots < slots && !growth_.empty(); growth_.pop_back()) {
      std::pop_heap(growth_.begin(), growth_.end(), gains_more);
      const auto [gain, more] = growth_.back();
      const Ranked& last = ranked_.back();
      ranked_.push_back({gain, last.slots + more, last.all + gain * more});
    }
    const auto step = std::lower_bound(ranked_.begin(), ranked_.end() - 1, slots,
                                       [](const Ranked& a, double s) { return a.slots < s; });
    return step->all - step->gain * (step->slots - slots);
  }

  // Once false, it stays false: slots only become fewer, and the remaining ones gain more.
  bool may_start(const Waiting& job, double free) {
    if (job.need > free || (delays(job) && job.need > spare_)) return false;
    if (!job.patient) return true;
    const double gone = free_ - free;
    return job.gain >= kWorth * (least_gain(gone + job.need) - least_gain(gone));
  }

  // Reserves slots for a job at the earliest time at which it fits.
  void reserve(double need, double free) {
    const auto sooner = [](const Running& a, const Running& b) { return a.seconds > b.seconds; };
    std::make_heap(running_.begin(), running_.end(), sooner);
    reserved_ = true;
    for (; !running_.empty(); running_.pop_back()) {
      const double end = running_.front().seconds;
      if (free >= need && end > until_ * (1.0 + kAmple)) break;
      std::pop_heap(running_.begin(), running_.end(), sooner);
      if (free < need) until_ = end;
      free += running_.back().need;
    }
    spare_ = free - need;
  }

  // Drops jobs that may not start, except the first one that may have a reservation.
  void sift(double free) {
    const Waiting* first = nullptr;
    for (const Waiting& job : waiting_) {
      if (reserved_ || !job.reserves || job.need <= free) continue;
      if (!first || later(*first, job)) first = &job;
    }
    const Index kept = first ? first->row : kNone;
    std::erase_if(waiting_,
                  [&](const Waiting& job) { return job.row != kept && !may_start(job, free); });
    std::make_heap(waiting_.begin(), waiting_.end(), later);
  }

  std::vector<Waiting> waiting_;
  std::vector<Running> running_;
  std::vector<Growth> growth_;  // a heap; the least gain is first
  std::vector<Ranked> ranked_;  // steps that have left the heap
  double free_ = 0.0;           // slots at first
  std::vector<Index> started_;
  bool reserved_ = false;
  double until_ = 0.0, spare_ = 0.0;  // time of the reservation, and the slots that are spare then
};

}  // namespace malleable
