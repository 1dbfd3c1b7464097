// Jobs with a start condition (MinMode::kStart): they wait without slots until they get their
// minimum, and never have less after that. A wrapper of any rule that shares.
//
// A running job keeps its minimum; jobs above it may shrink to it. Waiting jobs start in an order
// that ages (start_line); at this decision a job gets its preferred slots, if no job's minimum
// needs them. After that the rule that shares sees what each job may have: waiting jobs nothing,
// running jobs at least their minima. If the slots become fewer than the minima of the running
// jobs, the job that started last stops, keeps the work done, and waits again; guarantees
// (MinMode::kGuarantee: slots from arrival on) get the slots that the minima of started jobs leave.
//
// The order: by the seconds that a job takes on its minimum over its weight (sums, and maxima of
// stretch); for deadlines and SLA steps by the later of its end and the deadline (due_key); by
// penalties (other maxima); by arrival (policies that do not follow the objective). If penalties
// rise with each second, it ages by 1 / (1 + wait / D)^4. For each job j, D_j is the time that all
// slots would need for the work present when it came; D is the longest D_j of the waiting jobs, and
// so about the longest wait of first come, first served. Ageing alone lets wide jobs wait too long,
// because narrow jobs fit before them. So such a job may have a reservation after a wait of D;
// later if much of the work can shrink, because then slots are found anyway. Jobs that have waited
// 1.4 times as long go first, the oldest before the others, with a reservation. In the other orders
// a job may have a reservation at once, unless it has nothing to gain.
//
// O(J); O(J log J) if many jobs start at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch/scene.hpp"
#include "malleable/policy/epoch/start_line.hpp"

namespace malleable {

class Start {
 public:
  // There are `rows` rows; rows that leave.
  void grow(std::size_t rows) {
    turn_.resize(rows, 0);
    ahead_.resize(rows, -1.0);
    told_.resize(rows, 0);
  }

  void close(const RowsGone& gone) {
    gone(turn_);
    gone(ahead_);
    gone(told_);
  }

  // Starts and stops jobs, and sets what each job may have. Returns the rows for which this
  // changed.
  std::span<const Index> decide(Scene& at) {
    look(at);
    stop_beyond(at);
    meet(at);
    double free = at.capacity() - minima_ - guaranteed_;
    line_.clear();
    if (free > 0.0) line_up(at);
    const std::vector<Index>& started = line_.start(free);
    for (const Index row : started) {
      turn_[row] = ++turns_;
      minima_ += least(at, row);
      free -= least(at, row);
    }
    low_.resize(at.jobs.rows());
    for (std::size_t row = 0; row < low_.size(); ++row) {
      low_[row] = runs(row) ? least(at, row) : 0.0;
    }
    scale_guarantees(at);
    prefer(at, started, free);
    return limit(at);
  }

  // The sum of the minima of started jobs.
  double started(const Scene& at) const {
    double sum = 0.0;
    for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
      if (runs(row) && starts(at, row)) sum += least(at, row);
    }
    return sum;
  }

  // Ids of jobs whose minimum is more than the slots; each is returned once.
  std::vector<std::int64_t> take_oversized() { return std::exchange(oversized_, {}); }

  void state(State& s) { s(turn_, ahead_, told_, turns_, oversized_); }

 private:
  // A job may have a reservation after a wait of D / (1 - kSlack x share that can shrink), at most
  // kEndless D. On windows of lublin (hpc_jobs, seeds 0, 500 .. 8500) the longest wait of rigid
  // jobs is 1.31 times EASY's, and their mean response 0.92 of the better of EASY and first fit;
  // after 1.4 D the two would be 1.52 and 0.86. From 2.5 to 4 kSlack hardly matters.
  static constexpr double kSlack = 3.0, kEndless = 200.0;
  // If penalties rise with each second, jobs go first after so many times that wait. Without this
  // the longest wait of rigid jobs is up to 1.9 times EASY's (lognormal sizes), with it 1.7, and at
  // most 1.5 on average over each family; the mean response of windows of lublin is 1 % longer.
  // With 1.25 it would be 10 % longer, because D is less than the longest wait of first come, first
  // served.
  static constexpr double kOverdue = 1.4;
  // A stretch counts long waits of short jobs itself. Its mean would double with 1.
  static constexpr double kStretchPatience = 5.0;

  // Whether the job has a start condition.
  bool starts(const Scene& at, std::size_t row) const {
    if (at.jobs.min_mode.empty()) return at.options.min_mode == MinMode::kStart;
    return at.jobs.min_mode[row] == static_cast<std::int64_t>(MinMode::kStart);
  }

  // The slots that the job has at least while it runs; the slots that it can use.
  double least(const Scene& at, std::size_t row) const {
    if (at.ignores_minima && !starts(at, row)) return 0.0;
    return static_cast<double>(at.jobs.min_slots[row]);
  }

  double most(const Scene& at, std::size_t row) const {
    return static_cast<double>(std::min(at.jobs.max_slots[row], at.slots));
  }

  // The work left; if the job has outlived its estimate, a part of the estimate.
  double left(const Scene& at, std::size_t row) const {
    const double told = at.jobs.work[row];
    return told > 0.0 ? told : still_left(at.jobs.size[row]);
  }

  bool runs(std::size_t row) const { return turn_[row] > 0; }

  // Stops the jobs that started last until the minima of the others fit.
  void stop_beyond(const Scene& at) {
    if (minima_ <= at.capacity()) return;
    rows_.clear();
    for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
      if (runs(row) && starts(at, row) && least(at, row) > 0.0) {
        rows_.push_back(static_cast<Index>(row));
      }
    }
    std::sort(rows_.begin(), rows_.end(), [&](Index a, Index b) { return turn_[a] > turn_[b]; });
    for (std::size_t k = 0; minima_ > at.capacity(); ++k) {
      minima_ -= least(at, rows_[k]);
      turn_[rows_[k]] = 0;
    }
  }

  // Adds the work of a job on its minimum to the sums.
  void count_area(const Scene& at, std::size_t row) {
    const double need = least(at, row), area = seconds_[row] * std::max(1.0, need);
    area_ += area;
    if (static_cast<double>(at.jobs.max_slots[row]) > need) shrinks_ += area;
  }

  // Sums over present jobs. Jobs with a negative D_j (ahead_) have come since the last decision.
  void look(const Scene& at) {
    area_ = shrinks_ = minima_ = guaranteed_ = mean_ = longest_ = 0.0;
    waiting_ = 0;
    seconds_.resize(at.jobs.rows());
    fastest_.resize(at.jobs.rows());
    for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
      const double need = least(at, row);
      const double time = left(at, row) / at.jobs.rate(row, std::max(1.0, need));
      seconds_[row] = time;
      fastest_[row] = at.jobs.rate(row, most(at, row));
      if (runs(row)) (starts(at, row) ? minima_ : guaranteed_) += need;
      mean_ += time / static_cast<double>(at.jobs.rows());
      if (!runs(row)) {
        ++waiting_;
        longest_ = std::max(longest_, ahead_[row]);
      }
      if (ahead_[row] >= 0.0) count_area(at, row);
    }
  }

  // Sets D_j of jobs that have come since the last decision: the time that all slots need for the
  // work present before it.
  void meet(const Scene& at) {
    for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
      const double need = least(at, row);
      if (ahead_[row] < 0.0) {
        ahead_[row] = area_ / std::max(1.0, at.capacity());
        longest_ = std::max(longest_, ahead_[row]);
        count_area(at, row);
        if (!starts(at, row) || need == 0.0) {  // it need not wait
          turn_[row] = ++turns_;
          if (!starts(at, row)) guaranteed_ += need;
        }
      }
      if (starts(at, row) && need > at.capacity() && !told_[row]) {
        told_[row] = 1;
        oversized_.push_back(at.jobs.id[row]);
      }
    }
  }

  // Tells line_ which jobs wait, which run, and which running jobs could use more slots.
  void line_up(const Scene& at) {
    const bool first_come = !at.flex() && at.options.policy != EpochPolicy::kHeSrpt;
    const bool sums = as_sum(at) && !first_come;
    const double patience = patience_of(at, sums);
    const bool steady = sums && at.jobs.all_steady();
    for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
      const double need = least(at, row), time = seconds_[row];
      if (runs(row)) {
        line_.run({need, time});
        if (sums && waiting_ > 0) line_up_growth(at, row);
      } else if (need <= at.capacity()) {
        const double arrival = at.jobs.arrival[row], wait = at.now - arrival;
        const double gain = cost_of_second(at, row) / std::max(time, kTiny);
        const bool overdue = steady && wait > kOverdue * patience;
        const double place = first_come ? arrival : overdue ? -wait : key(at, row, wait);
        const bool patient = wait < patience;
        const bool due = sums && !info(at.jobs.kind[row]).steady;
        const bool reserves = !patient || (due && place < kInfinity);
        line_.wait({static_cast<Index>(row), reserves, patient, place, need, time, gain});
      }
    }
  }

  // [s] After such a wait a job may have a reservation.
  double patience_of(const Scene& at, bool sums) const {
    const double share = area_ > 0.0 ? shrinks_ / area_ : 0.0;
    const double waits = !sums ? 0.0 : at.jobs.all(Kind::kStretch) ? kStretchPatience : 1.0;
    return waits * longest_ / std::max(1.0 / kEndless, 1.0 - kSlack * share);
  }

  // How a running job would use free slots, by the gain over its work left.
  void line_up_growth(const Scene& at, std::size_t row) {
    const double need = least(at, row), more = most(at, row) - need, work = at.jobs.work[row];
    if (!(more > 0.0 && work > 0.0)) return;
    const double faster = fastest_[row] - (need > 0.0 ? at.jobs.rate(row, need) : 0.0);
    line_.grow(cost_of_second(at, row) * faster / (more * work), more);
  }

  // Its penalty if it ends then, of kinds that are lines; negative if it is early.
  static double lateness_at(const Scene& at, std::size_t row, double end) {
    const JobTable& jobs = at.jobs;
    const Kind kind = jobs.kind[row];
    const double value = jobs.value_of_second(row);
    if (kind == Kind::kCompletion || !(value > 0.0)) return value * end;
    const bool waits = kind == Kind::kResponse || kind == Kind::kStretch || kind == Kind::kSla;
    return value * (end - (waits ? jobs.arrival[row] : jobs.deadline[row]));
  }

  // Whether jobs start as for a sum. This holds for a maximum of stretches, too, because
  // many jobs soon have nearly the worst stretch, and the sum's rule keeps the queue short.
  static bool as_sum(const Scene& at) { return at.sums() || at.jobs.all(Kind::kStretch); }

  // The place in the order of starting; the least is first.
  double key(const Scene& at, std::size_t row, double wait) const {
    const JobTable& jobs = at.jobs;
    const double time = seconds_[row];
    const KindInfo& kind = info(jobs.kind[row]);
    if (!as_sum(at) && at.flex()) return -lateness_at(at, row, at.now + time);
    if (at.flex() && !kind.steady) return due_key(at, row);
    const double value = at.flex() ? jobs.value_of_second(row) : 1.0;
    if (!(value > 0.0)) return kInfinity;
    // Its fourth power: with the third the longest wait is longer, with the fifth the mean.
    const double age = 1.0 + wait / std::max(longest_, kTiny);
    return time / (value * (age * age) * (age * age));
  }

  // The same for penalties that rise at deadlines or SLA steps. Weighted modified due date (Kanet
  // and Li 2004): the time until the end on the minimum, or until the deadline if that is longer,
  // over the penalty. A job that is late once counts by its slots, too, and comes last if it cannot
  // be on time; of SLA steps the one that comes first counts.
  double due_key(const Scene& at, std::size_t row) const {
    const JobTable& jobs = at.jobs;
    const double value = jobs.value_of_second(row), time = seconds_[row];
    const double soonest = left(at, row) / fastest_[row];
    const auto by = [&](double due, double penalty) {
      return penalty > 0.0 ? std::max(time, due - at.now) / penalty : kInfinity;
    };
    const auto jump = [&](double due, double penalty) {
      return at.now + soonest > due ? kInfinity : std::max(1.0, least(at, row)) * by(due, penalty);
    };
    if (jobs.kind[row] == Kind::kTardiness) return by(jobs.deadline[row], value);
    if (!info(jobs.kind[row]).uses_sla) return jump(jobs.deadline[row], value);
    double first = kInfinity, before = 0.0;
    const SlaView::Steps steps = jobs.steps_of(row);
    for (std::size_t k = 0; k < steps.time.size(); ++k) {
      const double more = steps.penalty[k] - std::exchange(before, steps.penalty[k]);
      first = std::min(first, jump(steps.time[k], value * more));
    }
    return first;
  }

  // What each second until its end costs, if it runs on its minimum: its penalty for a second, or
  // for being late once. A penalty at a later time counts e times less for every mean time until
  // then.
  double cost_of_second(const Scene& at, std::size_t row) const {
    const JobTable& jobs = at.jobs;
    const Kind kind = jobs.kind[row];
    const double value = jobs.value_of_second(row);
    if (info(kind).steady) return value;
    const double soonest = left(at, row) / fastest_[row];
    const auto near = [&](double due) {
      return std::exp(-std::max(0.0, due - at.now - seconds_[row]) / std::max(mean_, kTiny));
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

  // Scales guarantees to the slots that the minima of started jobs leave.
  void scale_guarantees(const Scene& at) {
    const double room = at.capacity() - minima_;
    if (guaranteed_ <= room) return;
    std::vector<double> low;
    rows_.clear();
    for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
      if (starts(at, row)) continue;
      rows_.push_back(static_cast<Index>(row));
      low.push_back(low_[row]);
    }
    scale_minima(low, room);
    for (std::size_t k = 0; k < low.size(); ++k) low_[rows_[k]] = low[k];
  }

  // Gives jobs that start now their preferred slots, while some are free.
  void prefer(const Scene& at, std::span<const Index> started, double free) {
    if (at.jobs.preferred.empty()) return;
    for (const Index row : started) {
      const double wanted = std::min(static_cast<double>(at.jobs.preferred[row]), most(at, row));
      const double more = std::clamp(wanted - low_[row], 0.0, std::max(0.0, free));
      low_[row] += more;
      free -= more;
    }
  }

  // Writes the limits of all jobs into the table; the rows whose limits changed.
  std::span<const Index> limit(Scene& at) {
    rows_.clear();
    for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
      const double room = at.jobs.room[row];
      const bool other = at.jobs.limit(row, runs(row) ? at.slots : 0, low_[row]);
      if (other) at.grants.touch(at.jobs.id[row]);
      if (other || room != at.jobs.room[row]) rows_.push_back(static_cast<Index>(row));
    }
    at.jobs.sum_up();
    return rows_;
  }

  // By row: when the job started in the order of starts, or 0; D_j [s], negative before the first
  // decision; whether it was told that it does not fit.
  std::vector<std::int64_t> turn_;
  std::vector<double> ahead_;
  std::vector<std::uint8_t> told_;
  std::int64_t turns_ = 0;
  std::vector<std::int64_t> oversized_;
  // Sums of one decision, on minima; the mean seconds of all jobs; D and count of waiting jobs.
  double area_ = 0.0, shrinks_ = 0.0, minima_ = 0.0, guaranteed_ = 0.0;
  double mean_ = 0.0, longest_ = 0.0;
  std::size_t waiting_ = 0;
  // By row: the time on the minimum, the rate on the maximum, and the slots that the job has at
  // least.
  std::vector<double> seconds_, fastest_, low_;
  StartLine line_;
  std::vector<Index> rows_;
};

}  // namespace malleable
