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
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/fetch.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/model/length.hpp"
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
              MinMode mode = MinMode::kGuarantee) {
    const auto add = [](auto& column, const auto& values) {
      column.insert(column.end(), values.begin(), values.end());
    };
    const std::size_t before = rows();
    const bool curves = concave() || jobs.speedup.curved();
    const bool restarts = !restart.empty() || jobs.restart.given();
    add(work, jobs.work);
    if (curves) {
      exponent.resize(work.size(), 1.0);
      rates.resize(work.size());
    }
    if (restarts) {
      restart.resize(work.size());
      ready.resize(work.size(), -kInfinity);
    }
    add(size, jobs.original);
    add(arrival, jobs.arrival);
    add(weight, jobs.weight);
    add(deadline, jobs.deadline);
    add(min_slots, jobs.min_slots);
    add(max_slots, jobs.max_slots);
    outliving_.reserve(work.capacity());  // so that no decision allocates
    arrival.resize(work.size(), now);     // if left out
    const auto add_if_used = [&](auto& column, const auto& values, std::int64_t spare) {
      if (column.empty() && values.empty()) return;
      column.resize(before, spare);
      add(column, values);
      column.resize(work.size(), spare);
    };
    add_if_used(min_mode, jobs.min_mode, static_cast<std::int64_t>(mode));
    add_if_used(preferred, jobs.preferred, 0);
    if (!sla.empty() || !jobs.sla.time.empty()) sla.resize(work.size());
    for (auto* column : {&low, &room}) column->resize(work.size(), 0.0);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      kind.push_back(kinds.empty() ? otherwise : kinds[j]);
      ++of_kind_[static_cast<std::size_t>(kind.back())];
      const std::size_t row = before + j;
      if (!sla.empty()) sla[row].set(jobs.sla.of(j));
      if (restarts) restart[row] = jobs.restart.of(j);
      if (curves) change_speedup(row, jobs.speedup, j);
      latest_arrival = std::max(latest_arrival, arrival[row]);
      id.push_back(next_id_++);
      enter(id[row], row);
      done.push_back(std::max(0.0, size[row] - work[row]));
      since.push_back(now);
      outlived.push_back(0);
      work[row] = stated_left(row, work[row]);
      all_work += work[row];
      all_work_error_ += all_work;
    }
  }

  // Called at the first decision: sets the arrival if it was left out, and returns whether it was.
  bool arrive(std::size_t row, double now) {
    if (arrival[row] > -kInfinity) return false;
    arrival[row] = latest_arrival = now;
    return true;
  }

  // Throws before anything changes; the rows, valid until the next call.
  std::span<const Index> check(std::span<const std::int64_t> ids, const Changes& changes) {
    check_lengths(changes, ids.size());
    const std::span<const Index> found = rows_of(ids);
    check_amounts("work", changes.work, kLeftRange);
    check_amounts("weight", changes.weight, kWeightRange);
    check_deadlines(changes.deadline);
    if (changes.sla.given()) validate(changes.sla, ids.size(), "ids");
    validate(changes.speedup, ids.size(), "ids");
    validate(changes.restart, ids.size(), "ids");
    check_counts("max_slots", changes.max_slots, 1, kAllSlots, "must be at least 1");
    check_counts("min_slots", changes.min_slots, 0, kMostSlots,
                 "must be at least 0 and at most 2^50");
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const std::size_t row = found[k];
      if (!changes.deadline.empty() && info(kind[row]).needs_deadline) {
        check_needed_deadline(kind[row], k, changes.deadline[k]);
      }
      const bool by_min = !changes.min_slots.empty();
      if (!by_min && changes.max_slots.empty()) continue;
      const long long least = by_min ? changes.min_slots[k] : min_slots[row];
      const long long most = changes.max_slots.empty() ? max_slots[row] : changes.max_slots[k];
      if (least <= most) continue;
      if (by_min) {
        throw FieldError("min_slots", k, least,
                         "must be at most max_slots = " + std::to_string(most));
      }
      throw FieldError("max_slots", k, most,
                       "must be at least min_slots = " + std::to_string(least));
    }
    return found;
  }

  // Applies the k-th entries to a row; returns whether anything except SLA steps differs.
  bool change(std::size_t row, const Changes& changes, std::size_t k) {
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
    if (changes.restart.given()) {
      restart.resize(id.size());
      ready.resize(id.size(), -kInfinity);
      set(restart[row], changes.restart.of(k, restart[row]));
    }
    return changed;
  }
  // Removes rows; gone(RowsGone) is called so that other classes remove them, too.
  template <typename Gone>
  void remove(std::span<const std::int64_t> ids, bool stable, const Gone& gone) {
    rows_of(ids);
    for (const std::int64_t of : ids) {
      const Index row = find(of);  // found again each time, because rows move as others leave
      leave(of, row);
      if (stable) {
        gaps_.push_back(row);
        continue;
      }
      if (row != id.size() - 1) place(id.back(), row);
      each_column(RowsGone(row));
      gone(RowsGone(row));
    }
    if (!gaps_.empty()) {
      std::sort(gaps_.begin(), gaps_.end());
      each_column(RowsGone(gaps_));
      gone(RowsGone(gaps_));
      for (std::size_t row = gaps_.front(); row < id.size(); ++row) place(id[row], row);
      gaps_.clear();
    }
    if (id.empty()) latest_arrival = -kInfinity;
    tidy();
  }
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
  void tidy() {
    if (curved_ == 0) {
      exponent.clear();
      rates.clear();
    }
  }

  // Updates low, to `least`, and room; returns whether the minimum has changed.
  bool limit(std::size_t row, std::int64_t slots, double least) {
    const double before = low[row];
    if (least != before) {
      minima += least - before;
      minima_stale_ |= std::max(least, before) > 4e9 || minima > 4e15;
      low[row] = least;
    }
    const std::int64_t most = work[row] > 0.0 ? max_slots[row] : kept_by(row);
    room[row] = std::max(0.0, static_cast<double>(std::min(most, slots)) - least);
    return least != before;
  }

  // Adds up again, after rounding has grown.
  void sum_up() {
    // The relative error that the sum may have, and that of one addition.
    constexpr double kDigits = 1e-9, kUnit = 0x1p-53;
    if (kUnit * all_work_error_ > kDigits * all_work) {
      all_work = sum_of(work);
      all_work_error_ = 0.0;
    }
    if (!minima_stale_) return;
    minima = 0.0;
    for (const double least : low) minima += least;
    minima_stale_ = minima > 4e15;
  }

  std::size_t rows() const { return id.size(); }
  std::int64_t next_id() const { return next_id_; }
  Index find(std::int64_t of) const {  // its row, or kNone
    const Index* place = place_of(of);
    return place == nullptr ? kNone : *place;
  }
  MALLEABLE_INLINE void fetch_place(std::int64_t of) const {
    if (const Index* place = place_of(of)) fetch(place);
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
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < std::size(kKinds); ++k) sum += kKinds[k].steady ? of_kind_[k] : 0;
    return sum;
  }
  std::uint64_t stepped() const { return count(Kind::kTardy) + count(Kind::kSla); }
  std::uint64_t endless() const { return count(Kind::kStrict) + count(Kind::kCustom); }
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
  double rate(std::size_t row, double slots) const {
    if (exponent.empty()) return slots;
    const std::int64_t offset[] = {0, static_cast<std::int64_t>(rates[row].size())};
    return SpeedupView{{&exponent[row], 1}, offset, rates[row]}.at(0, slots);
  }

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

  void state(State& s) {
    each_column(s);
    s(next_id_, outliving_, of_kind_, curved_, minima, minima_stale_, latest_arrival);
    s(all_work, all_work_error_);
    if (!s.reading()) return;
    pages_.clear();
    pages_.resize((static_cast<std::size_t>(next_id_) + kPage - 1) / kPage);
    for (std::size_t row = 0; row < id.size(); ++row) enter(id[row], row);
  }

 private:
  static constexpr std::size_t kPage = 4096;  // ids
  struct Page {                               // rows of kPage ids, and how many ids have one
    std::vector<Index> rows;
    std::size_t live = 0;
  };

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
  // Where the row of an id is noted; null: nowhere.
  const Index* place_of(std::int64_t of) const {
    if (of < 0 || of >= next_id_) return nullptr;
    const Page& page = pages_[static_cast<std::size_t>(of) / kPage];
    return page.rows.empty() ? nullptr : &page.rows[static_cast<std::size_t>(of) % kPage];
  }
  void place(std::int64_t of, std::size_t row) {
    const auto k = static_cast<std::size_t>(of);
    pages_[k / kPage].rows[k % kPage] = static_cast<Index>(row);
  }
  // What the work done suggests to be left of a job that has outlived its estimate.
  double believed_left(std::size_t row) const {
    return std::min(still_left(std::max(done[row], size[row])), kLeftRange.most);
  }

  // Notes whether the job has outlived its estimate (`stated` is 0, but it has done work); then
  // believed_left(), else `stated`.
  double left_now(std::size_t row, double stated) {
    const double believed = believed_left(row);
    const bool outlives = stated == 0.0 && believed >= kWorkRange.least;
    if (outlives && !outlived[row]) outliving_.push_back(id[row]);
    outlived[row] = outlives ? 1 : 0;
    return outlives ? believed : stated;
  }

  // The work left that counts if a caller says that `stated` is left.
  double stated_left(std::size_t row, double stated) {
    return stated > 0.0 && !outlived[row] ? stated : left_now(row, stated);
  }
  void set_work(std::size_t row, double left) {
    all_work_error_ += all_work + left;
    all_work += left - work[row];
    work[row] = left;
  }

  bool change_speedup(std::size_t row, const SpeedupView& to, std::size_t k) {
    const auto own = to.table(k);
    if (exponent.empty()) {
      if (!to.curved(k)) return false;
      exponent.assign(id.size(), 1.0);
      rates.resize(id.size());
    }
    if (exponent[row] == to.power(k) && std::ranges::equal(rates[row], own)) return false;
    curved_ -= curved(row) ? 1 : 0;
    exponent[row] = to.power(k);
    rates[row].assign(own.begin(), own.end());
    curved_ += curved(row) ? 1 : 0;
    return true;
  }

  // Notes the row of an id; takes the row out of the pages and of all sums.
  void enter(std::int64_t of, std::size_t row) {
    const auto at = static_cast<std::size_t>(of) / kPage;
    if (at >= pages_.size()) pages_.resize(at + 1);
    if (pages_[at].rows.empty()) pages_[at].rows.assign(kPage, kNone);
    ++pages_[at].live;
    place(of, row);
  }

  void leave(std::int64_t of, std::size_t row) {
    place(of, kNone);
    Page& page = pages_[static_cast<std::size_t>(of) / kPage];
    const std::size_t next_page = (static_cast<std::size_t>(of) / kPage + 1) * kPage;
    if (--page.live == 0 && next_page <= static_cast<std::size_t>(next_id_)) page.rows = {};
    minima -= low[row];
    minima_stale_ |= low[row] > 4e9;
    all_work_error_ += all_work;
    all_work -= work[row];
    curved_ -= curved(row) ? 1 : 0;
    --of_kind_[static_cast<std::size_t>(kind[row])];
  }

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

}  // namespace malleable
