// Slots of started jobs, if some speed-ups are below linear: starting from the slots that jobs
// hold, slots move one by one to the job that gains most, as long as another job loses less.
//
// If the objective is a sum: the gain of a slot is what it adds to the job's rate, times the value
// of a unit of its work: what the unit costs now, (stake + price s) / rate(s) on s slots, at one
// price of slots for all jobs. For penalties that rise at deadlines the stake grows as these come
// near, and short jobs come first. For a maximum: the job with the worst end comes first, and slots
// come from jobs that stay better off without them. A step is one slot, or 1/32 of what a job has.
// A job's rates are computed again only when its slots change: O(J) a decision, and O(log J) for
// each change of slots.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "malleable/kernel/indexed_heap.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

// The stake of a job: its penalty for a second, or for being late once, if it ends after `left`
// seconds, and after `soonest` at the earliest. A penalty at a later time counts e times less for
// every `ahead` seconds until then.
inline double stake(const Scene& at, std::size_t row, double left, double soonest, double ahead) {
  const JobTable& jobs = at.jobs;
  const Kind kind = jobs.kind[row];
  const double value = jobs.value_of_second(row);
  if (info(kind).steady) return value;
  const auto near = [&](double due) {
    return std::exp(-std::max(0.0, due - at.now - left) / std::max(ahead, kTiny));
  };
  if (kind == Kind::kTardiness) return value * near(jobs.deadline[row]);
  const auto jump = [&](double due) { return at.now + soonest > due ? 0.0 : value * near(due); };
  if (!info(kind).uses_sla) return jump(jobs.deadline[row]);
  double sum = 0.0, before = 0.0;
  const SlaView::Steps steps = jobs.steps_of(row);
  for (std::size_t k = 0; k < steps.time.size(); ++k) {
    sum += (steps.penalty[k] - std::exchange(before, steps.penalty[k])) * jump(steps.time[k]);
  }
  return sum;
}

// Its penalty if it ends then, of kinds that are lines; negative if it is early.
inline double lateness_at(const Scene& at, std::size_t row, double end) {
  const JobTable& jobs = at.jobs;
  const Kind kind = jobs.kind[row];
  const double value = jobs.value_of_second(row);
  if (kind == Kind::kCompletion || !(value > 0.0)) return value * end;
  const bool waits = kind == Kind::kResponse || kind == Kind::kStretch || kind == Kind::kSla;
  return value * (end - (waits ? jobs.arrival[row] : jobs.deadline[row]));
}

// Whether jobs start and share as for a sum. This holds for a maximum of stretches, too, because
// many jobs soon have nearly the worst stretch, and the sum's rule keeps the queue short.
inline bool as_sum(const Scene& at) { return at.sums() || at.jobs.all(Kind::kStretch); }

class StartShares {
 public:
  // Whether it can share for these jobs and options.
  static bool applies(const Scene& at) {
    const EpochOptions& options = at.options;
    const JobTable& jobs = at.jobs;
    if (!at.flex() || at.period > 0.0 || options.effort || options.hysteresis > 0.0) return false;
    if (jobs.endless() > 0 || !jobs.concave()) return false;
    return as_sum(at) || jobs.stepped() == 0;
  }

  // All jobs have their minima, which fit. False: some table is not concave, so that one step does
  // not say what the next one gains.
  bool decide(Scene& at) {
    if (!begin(at)) return false;
    weigh(at);
    ups_.clear();
    downs_.clear();
    for (const Index row : rows_) offer(at, row);
    climb(at);
    at.grants.give_all([&](std::size_t row) { return slots_[row]; });
    return true;
  }

  // Forgets data derived from the speed-up of a row, which may have changed.
  void forget(std::size_t row) {
    if (row < known_.size()) known_[row] = {};
  }

 private:
  // The part of a job's slots that changes in one step.
  static constexpr double kPartMoved = 1.0 / 32.0;
  // How much the price of slots rises with each present job (policy/concave).
  static constexpr double kPriceRise = 1.5;
  // So many steps are moved between jobs at one decision; the next one goes on. All take 36 ms
  // where 10,000 jobs have exponents, and no time that matters for fewer than 1,000 jobs.
  static constexpr int kMostMoved = 500;
  // A job without a stake counts as this part of the mean stake.
  static constexpr double kNoStake = 1e-9;
  // Jobs with deadlines look ahead by this many mean times to end.
  static constexpr double kDueAhead = 2.0;

  static double slots_moved(double slots) { return std::max(1.0, std::floor(slots * kPartMoved)); }

  // Whether no slot adds more than the one before.
  static bool concave(std::span<const double> rates) {
    double last = kInfinity, before = 0.0;
    for (const double rate : rates) {
      if (rate - before > last * (1.0 + kAmple)) return false;
      last = rate - std::exchange(before, rate);
    }
    return true;
  }

  // Kept for a row on `slots`, from `low` to `most`: its rate, and the change of the rate per slot
  // by the next step of slots (up) and by the last one (down). These steps are
  // `more` and `less` slots.
  struct Known {
    std::int64_t id = -1;
    double slots = 0.0, low = 0.0, most = 0.0;
    double rate = 0.0, up = 0.0, down = 0.0, more = 0.0, less = 0.0;
    double fastest = 0.0;  // rate on `most`
    bool rough = false;    // its table is not concave
  };
  // Sets slots_ to what jobs hold, within their limits; false: some table is not concave.
  bool begin(const Scene& at) {
    const JobTable& jobs = at.jobs;
    slots_.resize(jobs.rows());
    value_.resize(jobs.rows());
    known_.resize(jobs.rows());
    rows_.clear();
    free_ = at.capacity();
    for (const double low : jobs.low) free_ -= low;
    for (std::size_t r = 0; r < jobs.rows(); ++r) {
      const auto row = static_cast<Index>(r);
      slots_[row] = 0.0;
      if (at.waits(row)) continue;
      const bool works = jobs.work[row] > 0.0;
      const double low = jobs.low[row];
      const double held = works ? static_cast<double>(at.grants[row]) : low + std::max(0.0, free_);
      slots_[row] = std::clamp(held, low, low + jobs.room[row]);
      free_ -= slots_[row] - low;
      look(at, row);
      if (known_[row].rough) return false;
      if (works) rows_.push_back(row);
    }
    return true;
  }

  // Computes the Known of a row on its slots.
  void look(const Scene& at, Index row) {
    const JobTable& jobs = at.jobs;
    Known& own = known_[row];
    const double has = slots_[row], low = jobs.low[row], most = low + jobs.room[row];
    const bool new_limits = own.id != jobs.id[row] || own.low != low || own.most != most;
    if (!new_limits && own.slots == has) return;
    if (new_limits) {
      own.id = jobs.id[row];
      own.low = low;
      own.most = most;
      own.fastest = jobs.rate(row, own.most);
      own.rough = jobs.curved(row) && !concave(jobs.rates[row]);
    }
    own.slots = has;
    own.rate = jobs.rate(row, has);
    own.more = std::min(most - has, slots_moved(has));
    own.less = std::min(has - low, slots_moved(has));
    own.up = own.more > 0.0 ? (jobs.rate(row, has + own.more) - own.rate) / own.more : 0.0;
    own.down = own.less > 0.0 ? (own.rate - jobs.rate(row, has - own.less)) / own.less : 0.0;
  }

  // Computes value_.
  void weigh(const Scene& at) {
    const JobTable& jobs = at.jobs;
    const bool steady = jobs.all_steady();
    const auto left = [&](Index row) { return jobs.work[row] / std::max(known_[row].rate, kTiny); };
    const auto count = static_cast<double>(rows_.size());
    double ahead = 0.0, all = 0.0;
    for (const Index row : rows_) {
      if (!steady) ahead += kDueAhead * left(row) / count;
    }
    for (const Index row : rows_) {
      double& value = value_[row];
      value = jobs.value_of_second(row);
      if (!info(jobs.kind[row]).steady) {
        const bool jumps = jobs.kind[row] != Kind::kTardiness;
        const double soonest = jobs.work[row] / std::max(known_[row].fastest, kTiny);
        value = stake(at, row, left(row), soonest, ahead);
        if (jumps) value /= std::max(left(row), kTiny);
      }
      all += value;
    }
    const double mean = all > 0.0 ? all / count : 1.0;
    const double price = kPriceRise * mean * (count / 2.0) / std::max(1.0, at.capacity());
    for (const Index row : rows_) {
      const double cost = std::max(value_[row], kNoStake * mean) + price * slots_[row];
      value_[row] = cost / std::max(known_[row].rate, kTiny);
      if (!info(jobs.kind[row]).steady) value_[row] /= std::sqrt(jobs.work[row]);
    }
  }

  // Offers a step more and a step less of the job: for sums what its rate gains and loses, for a
  // maximum its penalty now and after the step.
  void offer(const Scene& at, Index row) {
    const Known& own = known_[row];
    const bool sum = as_sum(at);
    const auto worth = [&](double by, double rate) {
      return sum ? value_[row] * by
                 : lateness_at(at, row, at.now + at.jobs.work[row] / std::max(rate, kTiny));
    };
    ups_.erase(row);
    downs_.erase(row);
    if (own.up > 0.0) ups_.set(row, {-worth(own.up, own.rate), row});
    if (own.less > 0.0) {
      downs_.set(row, {worth(own.down, own.rate - own.down * own.less), row});
    }
  }

  // The job holds so many slots from now on.
  void move(const Scene& at, Index row, double slots) {
    free_ -= slots - slots_[row];
    slots_[row] = slots;
    look(at, row);
    offer(at, row);
  }

  // Takes slots back until jobs hold no more than there are, then moves them while a job gains more
  // than another loses.
  void climb(const Scene& at) {
    for (int moved = 0;;) {
      const bool takes = free_ >= 0.0 && !ups_.empty();
      if (takes && free_ > 0.0) {
        const Index row = ups_.top();
        move(at, row, slots_[row] + std::min(known_[row].more, free_));
        continue;
      }
      if (downs_.empty()) return;
      const Index row = downs_.top();
      const double loss = downs_.top_key().key;
      const bool gains = moved < kMostMoved && takes && ups_.top() != row &&
                         -ups_.top_key().key > loss + kAmple * std::fabs(loss);
      if (!gains && free_ >= 0.0) return;
      moved += gains ? 1 : 0;
      const double step = known_[row].less;
      move(at, row, slots_[row] - (gains ? step : std::min(step, -free_)));
    }
  }

  std::vector<Known> known_;           // by row
  std::vector<double> slots_, value_;  // by row: slots, and the value of a unit of work
  std::vector<Index> rows_;
  double free_ = 0.0;  // slots
  // The job that a slot helps most, and the job that loses least, are first.
  KeyedHeap<RankedKey> ups_, downs_;
};

}  // namespace malleable
