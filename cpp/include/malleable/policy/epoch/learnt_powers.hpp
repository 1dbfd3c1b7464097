// Speed-ups s^p of an epoch's jobs, corrected by the work that they really did between decisions.
//
// A rate is seen if the work left of a job fell while it held the same slots. It counts if it lies
// between the rate of one slot and that of a linear speed-up, and if the rate that was seen before
// agrees: callers also change work because their estimates were wrong. A job's own rates weigh as
// much as the work that was done by them. Jobs without such rates follow a line: how far p was off
// for the jobs seen, by the p stated. If work falls just as stated, p stays as stated to the last
// bit.
//
// If many rates are impossible, the work left is a guess. Then all jobs follow a line of the jobs
// that ended. The work that a job did until its work left was told last, over what s^p would have
// done in the same slots, is a rate of its whole life: estimates that change from one decision to
// the next do it little harm. The logarithms of such rates rise with those of slots, from a base
// that all jobs share, since all estimates may be too large. The more rates differ, the less this
// line counts.
//
// Nothing is learnt of tables, of speed-ups that the caller updated, and of programs
// (epoch/programs). O(rows that ended, or whose work or slots changed) a decision, and O(rows) when
// the line has moved.
#pragma once

#include <algorithm>
#include <array>
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
  // The job of a row has ended, and close() follows.
  void finish(const JobTable& jobs, std::size_t row) {
    if (rows_.empty() || rows_[row].stated == kKnown) return;
    const Row& of = rows_[row];
    const double did = jobs.size[row] - of.work;
    if (!(of.told.done > 0.0) || !(did > kMostlyDone * jobs.size[row])) return;
    ends_.add(of.stated, of.told.log_slots / of.told.done, std::log(did / of.told.done));
  }
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
    const bool learns = now > at.now;
    const auto offer = [&](std::size_t r) {
      if (jobs.exponent.empty()) return;
      if (const double p = power(jobs, r); p != jobs.exponent[r]) changed(r, p);
    };
    for (const std::int64_t id : noted_) {
      const Index r = jobs.find(id);
      if (r == kNone || rows_[r].stated == kKnown || !learns) continue;
      if (see(at, r, now)) offer(r);
    }
    const bool trusts = impossible_ <= 1.0 + kDoubt * seen_;
    const auto off = [&](double p) { return trusts ? line_.at(p) : ends_.at(p); };
    const Off is{off(kLow), off(kHigh)};
    if (trusts == trusted_ && !is.differs(off_)) return;
    trusted_ = trusts;
    off_ = is;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r].stated != kKnown) offer(r);
    }
  }
  // A decision has changed the slots of a row; and a decision was made. A job that had no slots has
  // done nothing, so its work left is known.
  void moved(const Scene& at, std::size_t row, std::int64_t before) {
    if (rows_.empty()) return;
    run(at, row, before);
    rows_[row].since = -kInfinity;
    if (before == 0) note(at.jobs.id[row], rows_[row]);
  }

  void decided(const Scene& at) {
    for (const std::int64_t id : noted_) {
      const Index r = at.jobs.find(id);
      if (r == kNone) continue;
      rows_[r].noted = false;
      rows_[r].since = at.now;
      rows_[r].work = at.jobs.work[r];
      run(at, r, at.grants[r]);
      rows_[r].told = rows_[r].life;
    }
    noted_.clear();
  }

  void state(State& s) { s(rows_, noted_, line_, ends_, off_, seen_, impossible_, trusted_); }

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
  static constexpr double kMostlyDone = 0.3;  // a job that did less of its work is not counted
  // Before any job has ended, the base, offset and slope are 0, with these variances in the
  // inverse, and rates differ as if kFew jobs had had the variance kVaried in all. Then right p
  // stay nearly right if estimates of work are very wrong.
  static constexpr std::array<double, 3> kSure = {8.0, 50.0, 8.0};
  static constexpr double kMiddle = 0.65, kFew = 3.0, kVaried = 1.5;
  static constexpr double kMemory = 256.0;  // jobs that a line remembers, and rates
  // A rate is impossible if it passes its limit by more than the part kBeyond. If more than one
  // rate, and more than the part kDoubt of all rates, is impossible, the work left counts as a
  // guess.
  static constexpr double kBeyond = 0.2, kDoubt = 0.1;

  static constexpr double kKnown = -1.0, kUnseen = -1.0;

  // What a job would have done if its p were as stated; and times the logarithm of its slots.
  struct Life {
    double done = 0.0, log_slots = 0.0;
    void state(State& s) { s(done, log_slots); }
  };
  struct Row {
    double stated = kKnown;                 // p; kKnown: nothing is learnt
    double since = -kInfinity, work = 0.0;  // the decision from which on slots and work are known
    double from = -kInfinity;               // when `life` was counted last
    Life life, told;                        // now, and when the work left was told last
    double last = kUnseen;                  // the p seen last
    double weight = 0.0, sum = 0.0;         // of what counts: the work done, and times how far off
    bool noted = false;
    void state(State& s) { s(stated, since, work, from, life, told, last, weight, sum, noted); }
  };
  // How far the p of jobs was off, by the p stated: of jobs whose own rates count.
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
  // The logarithm of a rate over that of the p stated: base + (off + slope (p - kMiddle)) log
  // slots, by least squares.
  struct LineOfEnds {
    std::array<double, 3> found{}, rates{};  // base, off, slope; sums of rates
    std::array<double, 6> squares{};         // sums
    double jobs = 0.0, errors = 0.0;
    void add(double stated, double log_slots, double rate) {
      constexpr double kKept = 1.0 - 1.0 / kMemory;
      const std::array<double, 3> by = {1.0, log_slots, log_slots * (stated - kMiddle)};
      const double error = rate - found[0] - found[1] * by[1] - found[2] * by[2];
      jobs = kKept * jobs + 1.0;
      errors = kKept * errors + error * error;
      const double variance = (errors + kVaried) / (jobs + kFew);
      std::array<std::array<double, 4>, 3> of{};  // the equations
      for (std::size_t i = 0, k = 0; i < 3; ++i) {
        for (std::size_t j = 0; j <= i; ++j, ++k) {
          squares[k] = kKept * squares[k] + by[i] * by[j];
          of[i][j] = of[j][i] = squares[k];
        }
        of[i][i] += variance * kSure[i];
        of[i][3] = rates[i] = kKept * rates[i] + rate * by[i];
      }
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
          const double factor = j == i ? 0.0 : of[j][i] / of[i][i];
          for (std::size_t k = i; k < 4; ++k) of[j][k] -= factor * of[i][k];
        }
      }
      for (std::size_t i = 0; i < 3; ++i) found[i] = of[i][3] / of[i][i];
    }
    double at(double stated) const { return found[1] + found[2] * (stated - kMiddle); }
    void state(State& s) { s(found, rates, squares, jobs, errors); }
  };

  // How far p is off at kLow and at kHigh, as rows that were not seen have it.
  static constexpr double kLow = 0.2, kHigh = 1.0;
  struct Off {
    double low = 0.0, high = 0.0;
    double at(double p) const { return low + (high - low) * (p - kLow) / (kHigh - kLow); }
    bool differs(const Off& from) const {
      return std::fabs(low - from.low) > kSame || std::fabs(high - from.high) > kSame;
    }
    void state(State& s) { s(low, high); }
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

  // Counts what the job did with these slots until the decision.
  void run(const Scene& at, std::size_t r, std::int64_t slots) {
    Row& row = rows_[r];
    const double seconds = slots > 0 ? at.jobs.seconds_of(r, row.from, at.now) : 0.0;
    row.from = at.now;
    if (!(seconds > 0.0) || row.stated == kKnown) return;
    const double log = std::log(static_cast<double>(slots));
    const double did = seconds * std::exp(row.stated * log);
    row.life.done += did;
    row.life.log_slots += did * log;
  }

  double power(const JobTable& jobs, std::size_t r) const {
    const Row& row = rows_[r];
    const double prior = off_.at(row.stated), weight = kStated * jobs.size[r];
    const bool own = trusted_ && row.weight > 0.0;
    const double off = own ? (row.sum + weight * prior) / (row.weight + weight) : prior;
    return off == 0.0 ? row.stated : std::clamp(row.stated + off, kLeastPower, 1.0);
  }

  std::vector<Row> rows_;            // empty until a speed-up was below linear
  std::vector<std::int64_t> noted_;  // ids of jobs that started or whose work changed
  Line line_;
  LineOfEnds ends_;
  Off off_;
  double seen_ = 0.0, impossible_ = 0.0;  // rates, and how many of them no job can have
  bool trusted_ = true;                   // few were impossible
};

}  // namespace malleable
