// Speed-ups s^p of an epoch's jobs, corrected by the work that they really did between decisions.
//
// A rate is seen if the work left of a job fell while it held the same slots. It counts if it lies
// between the rate of one slot and that of a linear speed-up, and if the rate that was seen before
// agrees: callers also change work because their estimates were wrong. If many rates are
// impossible, the work left is a guess, and each p is as stated. A job's own rates weigh as much as
// the work that was done by them. Jobs without such rates follow a line: how far p was off for the
// jobs seen, by the p stated. If work falls just as stated, p stays as stated to the last bit.
//
// Nothing is learnt of tables, of speed-ups that the caller updated, of programs
// (epoch/programs), and with a period, in which callers may give more slots than was decided.
// O(rows whose work or slots changed) a decision, and O(rows) when the line has moved.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class LearntPowers {
 public:
  // The last `count` jobs have come.
  void come(JobTable& jobs, std::size_t count) {
    if (rows_.empty() && !jobs.concave()) return;
    const std::size_t first = jobs.rows() - count;
    rows_.resize(jobs.rows());
    for (std::size_t r = first; r < jobs.rows() && !jobs.exponent.empty(); ++r) {
      if (!jobs.rates[r].empty()) continue;
      rows_[r].stated = jobs.exponent[r];
      jobs.set_power(r, power(jobs, r));
    }
  }

  void close(const RowsGone& gone) { gone(rows_); }
  // The caller has told the work left of a row; or its speed-up, which is then known.
  void worked(const JobTable& jobs, std::size_t row, double before) {
    if (!rows_.empty() && jobs.work[row] != before) note(jobs.id[row], rows_[row]);
  }
  void told(std::size_t row) {
    if (!rows_.empty()) rows_[row].stated = kKnown;
  }
  // Learns from the work done until `now`; calls changed(row, p) for each row whose p differs.
  template <typename Changed>
  void observe(const Scene& at, double now, const Changed& changed) {
    const JobTable& jobs = at.jobs;
    const bool learns = at.period == 0.0 && now > at.now;
    const auto offer = [&](std::size_t r) {
      if (jobs.exponent.empty()) return;
      if (const double p = power(jobs, r); p != jobs.exponent[r]) changed(r, p);
    };
    for (const std::int64_t id : noted_) {
      const Index r = jobs.find(id);
      if (r == kNone || rows_[r].stated == kKnown || !learns) continue;
      if (see(at, r, now)) offer(r);
    }
    const auto moved = [&](double x) { return std::fabs(line_.at(x) - applied_.at(x)) > kSame; };
    const bool trusts = impossible_ <= 1.0 + kDoubt * seen_;
    if (!moved(0.2) && !moved(1.0) && trusts == trusted_) return;
    trusted_ = trusts;
    applied_ = line_;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r].stated != kKnown) offer(r);
    }
  }
  // A decision has changed the slots of a row; and a decision was made. A job that had no slots has
  // done nothing, so its work left is known.
  void moved(std::int64_t id, std::size_t row, std::int64_t before) {
    if (rows_.empty()) return;
    rows_[row].since = -kInfinity;
    if (before == 0) note(id, rows_[row]);
  }

  void decided(const Scene& at) {
    for (const std::int64_t id : noted_) {
      const Index r = at.jobs.find(id);
      if (r == kNone) continue;
      rows_[r].noted = false;
      rows_[r].since = at.now;
      rows_[r].work = at.jobs.work[r];
    }
    noted_.clear();
  }

  void state(State& s) { s(rows_, noted_, line_, applied_, seen_, impossible_, trusted_); }

 private:
  // Two p seen one after the other agree if they differ by less; p that differ by less are the
  // same.
  static constexpr double kAgree = 0.05, kSame = 0.01;
  // What was known before weighs like this part of a job's size.
  static constexpr double kStated = 0.05;
  static constexpr double kLeastPower = 0.05;
  static constexpr double kFewest = 2.5;  // jobs that make a line
  // The weights of a line without slope, and of one at 0, in squares of p and in jobs.
  static constexpr double kFlat = 0.1, kStraight = 2.0;
  static constexpr double kMemory = 256.0;  // jobs that a line remembers, and rates
  // A rate is impossible if it passes its limit by more than the part kBeyond. If more than one
  // rate, and more than the part kDoubt of all rates, is impossible, the work left counts as a
  // guess.
  static constexpr double kBeyond = 0.2, kDoubt = 0.1;

  static constexpr double kKnown = -1.0, kUnseen = -1.0;

  struct Row {
    double stated = kKnown;                 // p; kKnown: nothing is learnt
    double since = -kInfinity, work = 0.0;  // the decision from which on slots and work are known
    double last = kUnseen;                  // the p seen last
    double weight = 0.0, sum = 0.0;         // of what counts: the work done, and times how far off
    bool noted = false;
    void state(State& s) { s(stated, since, work, last, weight, sum, noted); }
  };
  // How far the p of jobs was off, by the p stated.
  struct Line {
    double jobs = 0.0, x = 0.0, xx = 0.0, off = 0.0, x_off = 0.0;  // sums
    void add(double stated, double by) {
      for (double* sum : {&jobs, &x, &xx, &off, &x_off}) *sum *= 1.0 - 1.0 / kMemory;
      jobs += 1.0;
      x += stated;
      xx += stated * stated;
      off += by;
      x_off += stated * by;
    }
    double at(double stated) const {
      if (jobs < kFewest) return 0.0;
      const double mean = x / jobs, mean_off = off / jobs;
      const double slope = (x_off - mean * off) / (std::max(0.0, xx - mean * x) + kFlat);
      return (mean_off + slope * (stated - mean)) * jobs / (jobs + kStraight);
    }
    void state(State& s) { s(jobs, x, xx, off, x_off); }
  };

  void note(std::int64_t id, Row& row) {
    if (row.stated == kKnown || row.noted) return;
    row.noted = true;
    noted_.push_back(id);
  }

  // The p of the job since its slots and its work were known; kUnseen if that cannot be told.
  double seen(const Scene& at, std::size_t r, double now) {
    const Row& row = rows_[r];
    const double did = row.work - at.jobs.work[r], slots = static_cast<double>(at.grants[r]);
    if (row.since == -kInfinity || did == 0.0 || slots < 1.0 || at.jobs.ran_out(r)) return kUnseen;
    const double seconds = at.jobs.seconds_of(r, row.since, now);
    if (!(seconds > 0.0)) return kUnseen;
    const double rate = did / seconds;
    for (double* sum : {&seen_, &impossible_}) *sum *= 1.0 - 1.0 / kMemory;
    seen_ += 1.0;
    if (rate * (1.0 + kBeyond) < 1.0 || rate > slots * (1.0 + kBeyond)) impossible_ += 1.0;
    if (slots < 2.0 || !(rate > 0.0)) return kUnseen;
    const double p = std::log(rate) / std::log(slots);
    if (std::fabs(p - row.stated) < kSame) return row.stated;
    return p >= 0.0 && p <= 1.0 ? p : kUnseen;
  }

  // Returns whether what was seen of the job counts.
  bool see(const Scene& at, std::size_t r, double now) {
    Row& row = rows_[r];
    const double p = seen(at, r, now), before = std::exchange(row.last, p);
    if (p == kUnseen || before == kUnseen || std::fabs(p - before) > kAgree) return false;
    if (row.weight == 0.0) line_.add(row.stated, p - row.stated);
    const double did = row.work - at.jobs.work[r];
    row.weight += did;
    row.sum += did * (p - row.stated);
    return true;
  }

  double power(const JobTable& jobs, std::size_t r) const {
    const Row& row = rows_[r];
    if (!trusted_) return row.stated;
    const double prior = applied_.at(row.stated), weight = kStated * jobs.size[r];
    const double off =
        row.weight > 0.0 ? (row.sum + weight * prior) / (row.weight + weight) : prior;
    return off == 0.0 ? row.stated : std::clamp(row.stated + off, kLeastPower, 1.0);
  }

  std::vector<Row> rows_;                 // empty until a speed-up was below linear
  std::vector<std::int64_t> noted_;       // ids of jobs that started or whose work changed
  Line line_, applied_;                   // as learnt, and as the unseen jobs have it
  double seen_ = 0.0, impossible_ = 0.0;  // rates, and how many of them no job can have
  bool trusted_ = true;                   // few were impossible
};

}  // namespace malleable
