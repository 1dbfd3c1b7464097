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

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class LearntPowers {
 public:
  // The last `count` jobs have come.
  void come(JobTable& jobs, std::size_t count);
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
    if (noted_.empty()) return;
    news_.clear();
    learn(at, now);
    for (const auto& [row, p] : news_) changed(row, p);
  }
  // A decision has changed the slots of a row; and a decision was made. A job that had no slots has
  // done nothing, so its work left is known.
  void moved(std::int64_t id, std::size_t row, std::int64_t before) {
    if (rows_.empty()) return;
    rows_[row].since = -kInfinity;
    if (before == 0) note(id, rows_[row]);
  }
  void decided(const Scene& at);

  void state(State& s) { s(rows_, noted_, line_, applied_, seen_, impossible_, trusted_); }

 private:
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
    void add(double stated, double by);
    double at(double stated) const;
    void state(State& s) { s(jobs, x, xx, off, x_off); }
  };
  struct News {
    std::size_t row;
    double p;
  };

  void note(std::int64_t id, Row& row) {
    if (row.stated == kKnown || row.noted) return;
    row.noted = true;
    noted_.push_back(id);
  }
  void learn(const Scene& at, double now);
  double seen(const Scene& at, std::size_t r, double now);
  bool see(const Scene& at, std::size_t r, double now);
  double power(const JobTable& jobs, std::size_t r) const;

  std::vector<Row> rows_;                 // empty until a speed-up was below linear
  std::vector<std::int64_t> noted_;       // ids of jobs that started or whose work changed
  Line line_, applied_;                   // as learnt, and as the unseen jobs have it
  double seen_ = 0.0, impossible_ = 0.0;  // rates, and how many of them no job can have
  bool trusted_ = true;                   // few were impossible
  std::vector<News> news_;
};

}  // namespace malleable
