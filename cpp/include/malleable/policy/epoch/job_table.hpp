// The table behind an Epoch: malleable jobs in dense columns that callers fill and change.
// A row is a job's place in every column.
//
// Ids rise and are never used twice; the last row moves to where one is removed, or, in a stable
// table, the rows behind it close up. Other classes that keep columns by row apply the same
// `RowsGone`. A row is found by its id through pages, which are dropped when all their ids are
// gone. O(1) a job, except that removals of a stable table of J jobs take O(J); allocates nothing
// once warm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "malleable/model/fetch.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/model/named_rows.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// Rows that leave a column: either one row, whose place the last row takes, or several in order,
// after which the others close up.
class RowsGone {
 public:
  explicit RowsGone(std::size_t row) : row_(row) {}
  explicit RowsGone(std::span<const std::size_t> gaps) : gaps_(gaps) {}

  // An empty column is not in use.
  template <typename Column>
  void operator()(Column& column) const {
    if (column.empty()) return;
    if (gaps_.empty()) {
      column[row_] = std::move(column.back());
      column.pop_back();
      return;
    }
    auto kept = column.begin() + static_cast<std::ptrdiff_t>(gaps_.front());
    for (std::size_t k = 0; k < gaps_.size(); ++k) {
      const std::size_t end = k + 1 < gaps_.size() ? gaps_[k + 1] : column.size();
      kept = std::move(column.begin() + static_cast<std::ptrdiff_t>(gaps_[k] + 1),
                       column.begin() + static_cast<std::ptrdiff_t>(end), kept);
    }
    column.erase(kept, column.end());
  }

  std::size_t count() const { return gaps_.empty() ? 1 : gaps_.size(); }

 private:
  std::size_t row_ = 0;
  std::span<const std::size_t> gaps_;
};

class JobTable {
 public:
  // Columns, by row.
  std::vector<std::int64_t> id, min_slots, max_slots;
  std::vector<double> work, size, arrival, weight, deadline;
  std::vector<Kind> kind;
  std::vector<SlaSteps> sla;            // empty: no job has steps
  std::vector<std::int64_t> min_mode;   // MinMode; empty: no job has its own
  std::vector<std::int64_t> preferred;  // preferred slots at the start; empty: none
  // What changes of slots cost, and until when the last change keeps the job from working [s];
  // empty: no change costs time.
  std::vector<Restart> restart;
  std::vector<double> ready;
  // Speed-ups of all jobs; empty while all are linear.
  std::vector<double> exponent;
  std::vector<std::vector<double>> rates;
  // The work done by time `since`, which is updated when the slots of the job change: in
  // slot-seconds, or what one slot does in as many seconds if the speed-up is below linear.
  std::vector<double> done, since;
  // The job has outlived its estimate: `work` is then estimated from the work done.
  std::vector<std::uint8_t> outlived;
  // Derived: the minimum (0 if the policy ignores it), and the slots that a job may get beyond it.
  // Both are 0 for a job that waits to start.
  std::vector<double> low, room;

  double minima = 0.0;    // sum of low; exact while it is at most 2^53, useless beyond kMostSlots
  double all_work = 0.0;  // sum of work; at decisions to nine digits
  double latest_arrival = -kInfinity;

  // Columns that a change may overwrite; empty columns change nothing.
  struct Changes {
    std::span<const double> work, weight, deadline;
    std::span<const std::int64_t> min_slots, max_slots;
    SlaView sla = {};
    SpeedupView speedup = {};
    RestartView restart = {};

    template <typename Self, typename Visit>
    static void each(Self& self, std::size_t rows, Visit&& visit) {
      visit("work", self.work, rows, true);
      visit("min_slots", self.min_slots, rows, true);
      visit("max_slots", self.max_slots, rows, true);
      visit("weight", self.weight, rows, true);
      visit("deadline", self.deadline, rows, true);
      SlaColumns::each(self.sla, rows + 1, visit);
      SpeedupColumns::each(self.speedup, rows, visit);
      RestartColumns::each(self.restart, rows, visit);
    }
  };

  // Appends valid jobs, with a kind each (empty: `otherwise`). If the column of arrivals is empty,
  // they arrive `now`, at the last decision (-infinity: there was none). If only some jobs have
  // their own MinMode, the others have `mode`.
  void append(const JobsView& jobs, std::span<const Kind> kinds, Kind otherwise, double now,
              MinMode mode = MinMode::kGuarantee);
  // Called at the first decision: sets the arrival if it was left out, and returns whether it was.
  bool arrive(std::size_t row, double now);
  // Throws before anything changes; the rows, valid until the next call.
  std::span<const Index> check(std::span<const std::int64_t> ids, const Changes& changes);
  // Applies the k-th entries to a row; returns whether anything except SLA steps differs.
  bool change(std::size_t row, const Changes& changes, std::size_t k);
  // Removes rows; gone(RowsGone) is called so that other classes remove them, too.
  template <typename Gone>
  void remove(std::span<const std::int64_t> ids, bool stable, const Gone& gone);
  // Whether the job has no work left by its estimate.
  bool ran_out(std::size_t row) const { return outlived[row] || !(work[row] > 0.0); }
  // Work that a job has done by `now`, with `given` slots since it was counted last.
  double done_by(std::size_t row, double now, std::int64_t given) const {
    if (given == 0) return done[row];
    return done[row] + seconds_of(row, since[row], now) * rate(row, static_cast<double>(given));
  }
  // Seconds between the two times in which the job works if it has slots.
  double seconds_of(std::size_t row, double from, double now) const {
    return ready.empty() ? now - from : std::max(0.0, now - std::max(from, ready[row]));
  }
  // Its slots change now.
  void move(std::size_t row, double now, std::int64_t from, std::int64_t to) {
    if (!restart.empty()) ready[row] = now + restart[row].cost(from, to);
  }
  // Counts the work done until now with `given` slots.
  void serve(std::size_t row, double now, std::int64_t given) {
    done[row] = done_by(row, now, given);
    since[row] = now;
  }
  // Updates the work left of jobs that have outlived their estimates: calls count(row) for each,
  // which adds the work done, then seen(row).
  template <typename Count, typename Seen>
  void believe(const Count& count, const Seen& seen) {
    std::erase_if(outliving_, [&](std::int64_t of) {
      const Index row = find(of);
      if (row == kNone || !outlived[row]) return true;
      count(row);
      set_work(row, believed_left(row));
      seen(row);
      return false;
    });
  }
  // Sets the work left of a job whose size is unknown.
  void guess(std::size_t row, double left) { set_work(row, left); }
  // Sets the exponent of a job without a table of rates, once some job had a speed-up.
  void set_power(std::size_t row, double p) {
    curved_ += (p < 1.0 ? 1U : 0U) - (curved(row) ? 1U : 0U);
    exponent[row] = p;
  }
  // Empties the columns of speed-ups if all jobs are linear. Call it after speed-ups came or went.
  void tidy();

  // Updates low, to `least`, and room; returns whether the minimum has changed.
  bool limit(std::size_t row, std::int64_t slots, double least);
  void sum_up();  // adds up again, after rounding has grown

  std::size_t rows() const { return id.size(); }
  std::int64_t next_id() const { return next_id_; }
  Index find(std::int64_t of) const {  // its row, or kNone
    if (of < 0 || of >= next_id_) return kNone;
    const Page& page = pages_[static_cast<std::size_t>(of) / kPage];
    return page.rows.empty() ? kNone : page.rows[static_cast<std::size_t>(of) % kPage];
  }
  MALLEABLE_INLINE void fetch_place(std::int64_t of) const {
    if (of < 0 || of >= next_id_) return;
    const Page& page = pages_[static_cast<std::size_t>(of) / kPage];
    if (!page.rows.empty()) fetch(&page.rows[static_cast<std::size_t>(of) % kPage]);
  }
  // Rows of ids, which must be known and named once; FieldError otherwise.
  std::span<const Index> rows_of(std::span<const std::int64_t> ids) {
    return named_.of(ids, id.size(), [this](std::int64_t of) { return find(of); });
  }

  // How many jobs are of a kind, and whether all are.
  std::uint64_t count(Kind of) const { return of_kind_[static_cast<std::size_t>(of)]; }
  bool all(Kind of) const { return count(of) == id.size(); }
  // How many jobs have penalties that are lines for all times; have only steps; may be infinite.
  std::uint64_t steady() const {
    return count_if([](const KindInfo& of) { return of.steady; });
  }
  std::uint64_t stepped() const { return count(Kind::kTardy) + count(Kind::kSla); }
  std::uint64_t endless() const {
    return count_if([](const KindInfo& of) { return of.endless; });
  }
  bool all_steady() const { return steady() == rows(); }
  bool all_lines() const { return steady() + count(Kind::kTardiness) == rows(); }
  // Whether some speed-up is not linear.
  bool concave() const { return curved_ > 0; }
  bool curved(std::size_t row) const {
    return !exponent.empty() && (exponent[row] < 1.0 || !rates[row].empty());
  }
  SlaView::Steps steps_of(std::size_t row) const {
    return sla.empty() ? SlaView::Steps{} : sla[row].view();
  }
  // The rate of a job on `slots`.
  double rate(std::size_t row, double slots) const;
  // The slots that a job without work keeps until it is removed, because a job does not stop when
  // its estimate runs out.
  std::int64_t kept_by(std::size_t row) const { return std::max<std::int64_t>(1, min_slots[row]); }
  // The penalty of each second of a job.
  double value_of_second(std::size_t row) const {
    return info(kind[row]).per_size && size[row] > 0.0 ? weight[row] / size[row] : weight[row];
  }
  // Work left over the rate at which the penalty rises; infinite if it does not rise.
  double smith_ratio(std::size_t row) const {
    const double per = info(kind[row]).per_size ? size[row] : 1.0;
    return weight[row] > 0.0 && per > 0.0 ? work[row] * (per / weight[row]) : kInfinity;
  }

  void state(State& s);

 private:
  static constexpr std::size_t kPage = 4096;  // ids
  struct Page {                               // rows of kPage ids, and how many ids have one
    std::vector<Index> rows;
    std::size_t live = 0;
  };

  template <typename Holds>
  std::uint64_t count_if(const Holds& holds) const {
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < std::size(kKinds); ++k) sum += holds(kKinds[k]) ? of_kind_[k] : 0;
    return sum;
  }
  template <typename Visit>
  void each_column(Visit&& visit) {
    for (auto* column : {&work, &size, &arrival, &weight, &deadline, &done, &since, &low, &room,
                         &ready, &exponent}) {
      visit(*column);
    }
    for (auto* column : {&id, &min_slots, &max_slots, &min_mode, &preferred}) visit(*column);
    visit(kind);
    visit(sla);
    visit(outlived);
    visit(restart);
    visit(rates);
  }
  Index& place_of(std::int64_t of) {
    return pages_[static_cast<std::size_t>(of) / kPage].rows[static_cast<std::size_t>(of) % kPage];
  }
  // What the work done suggests to be left of a job that has outlived its estimate.
  double believed_left(std::size_t row) const;
  // Notes whether the job has outlived its estimate (`stated` is 0, but it has done work); then
  // believed_left(), else `stated`.
  double left_now(std::size_t row, double stated);
  // The work left that counts if a caller says that `stated` is left.
  double stated_left(std::size_t row, double stated) {
    return stated > 0.0 && !outlived[row] ? stated : left_now(row, stated);
  }
  void set_work(std::size_t row, double left) {
    all_work_error_ += all_work + left;
    all_work += left - work[row];
    work[row] = left;
  }
  void append_speedups(const JobsView& jobs);
  void append_restarts(const JobsView& jobs);
  bool change_restart(std::size_t row, const RestartView& to, std::size_t k);
  bool change_speedup(std::size_t row, const SpeedupView& to, std::size_t k);
  // Notes the row of an id; takes the row out of the pages and of all sums.
  void enter(std::int64_t of, std::size_t row);
  void leave(std::int64_t of, std::size_t row);

  std::uint64_t of_kind_[std::size(kKinds)] = {};
  std::size_t curved_ = 0;  // jobs
  bool minima_stale_ = false;
  double all_work_error_ = 0.0;  // largest possible error of all_work, in units of rounding
  // ids of jobs that outlived their estimates, and perhaps others
  std::vector<std::int64_t> outliving_;
  std::vector<Page> pages_;
  std::int64_t next_id_ = 0;
  NamedRows named_;
  std::vector<std::size_t> gaps_;
};

// In the header, so that it is inlined: it is called for every row that changes.
inline bool JobTable::change(std::size_t row, const Changes& changes, std::size_t k) {
  bool changed = false;
  const auto set = [&](auto& own, auto value) {
    changed |= own != value;
    own = value;
  };
  if (!changes.work.empty()) {
    // left_of: less than the least work counts as 0.
    const double left = stated_left(row, left_of(changes.work[k]));
    changed |= work[row] != left;
    set_work(row, left);
  }
  if (!changes.min_slots.empty()) set(min_slots[row], changes.min_slots[k]);
  if (!changes.max_slots.empty()) set(max_slots[row], changes.max_slots[k]);
  if (!changes.deadline.empty()) set(deadline[row], changes.deadline[k]);
  if (!changes.weight.empty()) set(weight[row], changes.weight[k]);
  if (changes.sla.given()) {
    sla.resize(id.size());
    sla[row].set(changes.sla.of(k));
  }
  if (changes.speedup.given()) changed |= change_speedup(row, changes.speedup, k);
  if (changes.restart.given()) changed |= change_restart(row, changes.restart, k);
  return changed;
}

template <typename Gone>
void JobTable::remove(std::span<const std::int64_t> ids, bool stable, const Gone& gone) {
  rows_of(ids);
  for (const std::int64_t of : ids) {
    const Index row = find(of);  // found again each time, because rows move as others leave
    leave(of, row);
    if (stable) {
      gaps_.push_back(row);
      continue;
    }
    if (row != id.size() - 1) place_of(id.back()) = row;
    each_column(RowsGone(row));
    gone(RowsGone(row));
  }
  if (!gaps_.empty()) {
    std::sort(gaps_.begin(), gaps_.end());
    each_column(RowsGone(gaps_));
    gone(RowsGone(gaps_));
    for (std::size_t row = gaps_.front(); row < id.size(); ++row) {
      place_of(id[row]) = static_cast<Index>(row);
    }
    gaps_.clear();
  }
  if (id.empty()) latest_arrival = -kInfinity;
  tidy();
}

}  // namespace malleable
