// The decision that a scheduler's loop asks for: slots now, from state that is kept between epochs.
//
// A job of which nothing is left keeps max(1, min_slots) slots, before all others and as far as
// minima leave them, until it is removed; value, bound and plan count it as ending now. Jobs may
// have kinds of penalties of their own under one aggregate. Without slots nobody gets any.
//
// Jobs live in dense columns; the last row moves to where one is removed. With one fixed order (the
// objective's own), priorities are kept up to date as jobs change; a decision is one pass over them
// and a selection, O(J), rewrites only the rows that gain or lose slots, and allocates nothing once
// warm. Orders without a key per job are built by sorting, O(J log J). With an effort, FLEX plans
// in full. Value, bound and pieces are computed on request only. Kernels: priority_selection,
// waterline, gang_packing; policies: flex, baseline. Kinds may be mixed: while all are steady, keys
// decide as they do for one; with deadlines, by apparent cost, which is one pass more
// (epoch_deadlines.cpp). While some job's speed-up is not linear, the policy concave decides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "malleable/kernel/linear_level.hpp"
#include "malleable/kernel/period_levels.hpp"
#include "malleable/kernel/period_prices.hpp"
#include "malleable/kernel/priority_selection.hpp"
#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/fetch.hpp"
#include "malleable/model/held_steps.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/model/named_rows.hpp"
#include "malleable/model/own_lines.hpp"
#include "malleable/model/state.hpp"
#include "malleable/policy/baseline.hpp"
#include "malleable/policy/coming_jobs.hpp"
#include "malleable/policy/concave.hpp"
#include "malleable/policy/epoch_policy.hpp"
#include "malleable/policy/flex.hpp"
#include "malleable/policy/period_history.hpp"
#include "malleable/policy/program_rates.hpp"
#include "malleable/policy/told_ends.hpp"

namespace malleable {

struct EpochOptions {
  Aggregate aggregate = Aggregate::kSum;
  Kind kind = Kind::kResponse;  // of jobs that are added without one
  EpochPolicy policy = EpochPolicy::kFlex;
  MinMode min_mode = MinMode::kGuarantee;
  // A job that holds more than its minimum is taken for (1 + hysteresis) times as urgent.
  double hysteresis = 0.0;
  // FLEX: candidates after all fixed orders; nothing: the objective's own order alone.
  std::optional<std::uint64_t> effort;
  // [s] How long a decision is held unless it says so itself; 0: until something ends.
  double period = 0.0;
  // FLEX, sums of steady kinds: ends are told at arrival and hold; what an error of all the time
  // told costs, over what a job pays on the average (policy/told_ends). Nothing: no end is told.
  std::optional<double> predictable = std::nullopt;
  // Rows stay in the order in which jobs were added, so that ties go to the oldest; a removal then
  // costs O(J).
  bool stable = false;

  void state(State& s) {
    s(aggregate, kind, policy, min_mode, hysteresis, effort, period, predictable, stable);
  }
};

class alignas(kLine) Epoch {
 public:
  Epoch(std::int64_t slots, const EpochOptions& options);
  // What jobs of kind custom pay, told their ids. No part of the state: whoever loads one sets it.
  void set_penalty(CustomPenalty custom) { custom_ = custom; }
  // Decisions with a period count on jobs to come as they came before, unless told that nobody
  // will. No part of the state.
  void expect_nobody() { expects_ = false; }

  // Adds jobs of a valid table (model/jobs.hpp) with a kind of penalty for each (empty: the
  // default); returns the first of their consecutive ids. Throws before anything changes.
  // `programs`: a number from 0 on for each job, or kNoProgram (empty: all of them). The speed-up
  // of a program's jobs is learnt from the work that they did between decisions
  // (epoch_programs.cpp), and their own says nothing. O(jobs added).
  static constexpr std::int64_t kNoProgram = -1;
  std::int64_t add(const JobsView& jobs, std::span<const Kind> kinds = {},
                   std::span<const std::int64_t> programs = {});
  // The same of columns that nobody has checked; a table's that may be left out may be empty.
  std::int64_t add_columns(JobsView jobs, std::span<const Kind> kinds = {},
                           std::span<const std::int64_t> programs = {});
  // What 1, 2, ... `most` slots of a program are believed to do together.
  std::vector<double> rates_of(std::int64_t program, std::int64_t most) const {
    return programs_.rates(program, most);
  }

  // Overwrites what is given (the others empty) of the jobs `ids`. Throws before anything changes.
  struct Changes {
    std::span<const double> work, weight, deadline;
    std::span<const std::int64_t> min_slots, max_slots;
    SlaView sla = {};

    template <typename Self, typename Visit>
    static void each(Self& self, std::size_t rows, Visit&& visit) {
      visit("work", self.work, rows, true);
      visit("min_slots", self.min_slots, rows, true);
      visit("max_slots", self.max_slots, rows, true);
      visit("weight", self.weight, rows, true);
      visit("deadline", self.deadline, rows, true);
      SlaColumns::each(self.sla, rows + 1, visit);
    }
  };
  void update(std::span<const std::int64_t> ids, const Changes& changes);

  // They have ended, or will not end here.
  void finish(std::span<const std::int64_t> ids);
  void remove(std::span<const std::int64_t> ids);

  void set_slots(std::int64_t slots);
  std::int64_t slots() const { return slots_; }

  // Decides, from now on with `slots` (0: nobody gets any) if given. Afterwards the decision is
  // here, row by row. Throws before anything changes if a job arrives after `now`, or an earlier
  // decision was made. A second decision at one moment, with nothing changed, is the first one.
  // `period`: for how long the caller will hold the slots, the option's unless
  // given (epoch_period.cpp has how this is decided).
  void decide(double now, std::optional<std::int64_t> slots = std::nullopt,
              std::optional<double> period = std::nullopt);
  // The same at any time that does not fall and at which all jobs have arrived, for a loop that is
  // simulated: beyond the latest time of hosts, and anew at one moment.
  void decide_at(double now, double period);
  // Throws for a period by which the clock does not move at this time.
  static void check_clock(double now, double period);
  std::span<const std::int64_t> ids() const { return id_; }
  std::span<const std::int64_t> given() const { return given_; }
  std::span<const std::uint8_t> changed() const { return changed_; }

  // [s] When the last decision was made, and for how long it is held.
  double now() const { return now_; }
  double period() const { return period_; }
  const EpochOptions& options() const { return options_; }
  CustomPenalty penalty() const { return custom_; }
  // Jobs keep coming that need more whole slot-periods than there are.
  bool overloaded() const;
  // Ids of the jobs that could use more slots than the last decision gave them, in the order in
  // which slots that become free before the next one should go to them: up to max_slots each, first
  // those that are still there at its end. Nobody without a period. The state must not have changed
  // since. O(J log J).
  std::vector<std::int64_t> order();

  // [s] By row, absolute: when jobs will end as they were told when they were first decided on;
  // infinite where nothing was told. O(J).
  std::vector<double> told() const;

  // The plan behind the last decision, with the same rows; the state must not have changed since.
  // std::invalid_argument for a decision that is held for a period or tells ends, here and in
  // assess(): what follows it depends on the calls that come (sim/held_plan).
  Plan plan();
  // Its value and a floor under every schedule, without pieces and, for sums, by the quick bound:
  // what a loop can afford to ask for after every decision.
  struct Assessment {
    double value, lower_bound;
  };
  Assessment assess();
  // Makes planned_jobs() and planned_penalties() those of the last decision, as plan() does.
  void recall();
  // Whether slots are held, so that what is left of jobs is as decide_for_period() has it.
  bool held() const { return period_ > 0.0 && slots_ > 0; }
  // Whether what follows the last decision is what a loop does.
  bool looped() const { return held() || (options_.predictable && slots_ > 0); }
  // The jobs that plan() saw.
  JobsView planned_jobs() const {
    return {{arrival_, weight_, deadline_, size_, sla_columns_.view()},
            held() ? left_ : work_,
            min_slots_,
            max_slots_,
            speedup_columns_.view()};
  }
  // Of plan(); one entry where all are of one kind.
  std::span<const Kind> planned_kinds() const {
    return of_kind_[static_cast<std::size_t>(options_.kind)] == id_.size()
               ? std::span<const Kind>(&options_.kind, 1)
               : std::span<const Kind>(kind_);
  }
  const Penalties& planned_penalties() const { return penalties_; }

  std::size_t size() const { return id_.size(); }
  // Changes with every call that may change a decision, and with every decision that is made.
  std::uint64_t version() const { return version_; }

  void state(State& s);

 private:
  Index find(std::int64_t id) const {  // its row, or kNone
    if (id < 0 || id >= next_id_) return kNone;
    const Page& page = pages_[static_cast<std::size_t>(id) / kPage];
    return page.rows.empty() ? kNone : page.rows[static_cast<std::size_t>(id) % kPage];
  }
  MALLEABLE_INLINE void fetch_place(std::int64_t id) const {
    if (id < 0 || id >= next_id_) return;
    const Page& page = pages_[static_cast<std::size_t>(id) / kPage];
    if (!page.rows.empty()) fetch(&page.rows[static_cast<std::size_t>(id) % kPage]);
  }
  MALLEABLE_INLINE void fetch_row(std::size_t row) const {
    fetch(&marked_[row]);
    fetch(&given_[row]);
    fetch(&low_[row]);
  }
  void check_now(double now) const;
  std::span<const Index> check_changes(std::span<const std::int64_t> ids, const Changes& changes);
  std::span<const Index> rows_of(std::span<const std::int64_t> ids);
  Index& slot_of(std::int64_t id);
  void refresh(std::size_t row);
  double smith_key(std::size_t row) const;
  void set_key(std::size_t row);
  // epoch_deadlines.cpp
  enum class Keys : std::uint8_t { kSmith, kApparentCost, kLevel };
  struct Aim {  // the logarithm of work over what it pays, and the latest start for it
    double lead, start;
  };
  Keys keys_now() const;
  void look_up_keys();
  double latest_start(std::size_t row, double due) const;
  Aim aim(std::size_t row) const;
  void make_apparent_costs();
  std::size_t stepped() const;
  bool waits_by_key() const;
  // epoch_levels.cpp
  void set_line(std::size_t row);
  bool decide_by_level();
  bool share_by_level(const Problem& problem);
  void erase(std::size_t row);
  void close_gaps();
  void tidy_steps();
  bool keyed() const;
  bool has_strict() const;
  template <typename Close>
  void each_column(Close close);
  void decide_by_key();
  bool decide_fair();
  void decide_nothing();
  void check_told() const;  // epoch_told.cpp
  void decide_told();
  bool levelled() const;
  void plan_in_order(bool detail, Plan& plan);
  void plan_nothing(Plan& plan);
  void decide_by_instance();
  void decide_for_period();
  void share_capped();
  bool priced() const;
  HeldJobs held_jobs();
  void share_by_price();
  bool goes_by_cost() const;
  bool somebody_late() const;
  void make_cost_keys(const HeldJobs& jobs);
  void share_by_cost();
  void share_by_instance();
  bool shares_equally() const;
  void estimate_left();
  void note_size(std::size_t row);
  void count_service(double now);
  double rate_of(std::size_t row, double slots) const;
  void build_held();
  double left_of_row(std::size_t row, double spread) const;
  std::span<const double> value_of_seconds();
  double value_of_second(std::size_t row) const;
  double coming_value();
  bool find_levels();
  void add_speedups(const JobsView& jobs);
  void check_programs(const JobsView& jobs, std::span<const std::int64_t> programs) const;
  JobsView learnt(JobsView jobs, std::span<const std::int64_t> programs, SpeedupColumns& spare);
  void add_programs(std::size_t count, std::span<const std::int64_t> programs);
  void learn_programs(double now);
  void note_programs();
  void believe(std::size_t row);
  // Some job's speed-up is not linear.
  bool concave() const { return curved_ > 0; }
  Concave::Task concave_task() const;
  void decide_concave(const Problem& beside);
  void decide_by_order(const Problem& problem, std::span<const Index> order);
  const Problem& set_kept_aside();
  // What a job without work keeps until it is removed: an estimate that runs out stops nothing.
  std::int64_t kept_by(std::size_t row) const { return std::max<std::int64_t>(1, min_slots_[row]); }
  void reset(std::size_t row);
  void reset_all(std::span<const std::int64_t> ids);
  void select(std::span<const double> key);
  void give_chosen();
  void build_instance(std::span<const double> left);  // problem_ and penalties_
  void make_order();                                  // into order_
  void look_up();                                     // what the policy promises
  std::span<const double> shared_by() const;
  void find_rows();  // pages_, from the ids

  EpochOptions options_;
  bool ignores_minima_ = false;
  Shares shares_ = Shares::kByOrder;
  std::int64_t slots_;
  double now_ = -kInfinity;  // of the last decision
  double period_ = 0.0;      // of the last decision
  double latest_arrival_ = -kInfinity;
  std::uint64_t version_ = 0, decided_ = 0;  // now, and after the last decision

  std::vector<std::int64_t> id_, min_slots_, max_slots_;
  std::vector<double> work_, size_, arrival_, weight_, deadline_;
  std::vector<Kind> kind_;
  // [slot-seconds at speed 1] What the decisions for a period gave so far, and what was done
  // before.
  std::vector<double> done_;
  // Of all jobs while some are not linear, of which there are curved_.
  std::vector<double> exponent_;
  std::vector<std::vector<double>> rates_;
  std::size_t curved_ = 0;
  // Of all jobs once some had a program: its number, and what was left at the last decision.
  std::vector<std::int64_t> program_;
  std::vector<double> work_then_;
  ProgramRates programs_;
  std::uint64_t of_kind_[std::size(kKinds)] = {};  // jobs
  CustomPenalty custom_ = nullptr;
  std::vector<Penalties::Seen> seen_;  // what penalties_ remember
  std::vector<HeldSteps::Range> sla_;
  HeldSteps steps_;
  // Derived: the minimum (0 for FIFO), what it may get beyond that, its priority.
  std::vector<double> low_, room_, key_;
  // Where keys wait for deadlines: the logarithm of work over what it pays, and the latest start
  // of what it aims at. Where lines make a level: the slope, and the time at which it is 0.
  std::vector<double> lead_, start_;
  Keys keys_ = Keys::kSmith;
  double level_ = -kInfinity;  // of equal shares or of a maximum, last time
  double minima_ =
      0.0;  // sum of low_; exact while it is at most 2^53, and useless beyond kMostSlots
  bool minima_stale_ = false;
  // The last decision, the ids where that may differ from the minimum, and what it was before.
  LineVector<std::int64_t> given_;
  LineVector<std::uint8_t> changed_, marked_;
  LineVector<std::int64_t> winners_, touched_, held_anew_;
  struct Affected {
    Index row;
    std::int64_t before;
  };
  struct Chosen {
    Index row;
    double slots;
  };
  LineVector<Affected> affected_;
  LineVector<Chosen> chosen_;
  std::vector<std::size_t> gaps_;  // rows that are gone
  bool all_touched_ = true;
  bool by_key_ = false;  // how the last decision was made
  bool built_ = false;   // problem_ and penalties_ are those of the last decision
  // id -> row, in pages that are dropped when all their ids are gone.
  static constexpr std::size_t kPage = 4096;
  struct Page {
    std::vector<Index> rows;
    std::size_t live = 0;
  };
  std::vector<Page> pages_;
  std::int64_t next_id_ = 0;

  NamedRows named_;
  PrioritySelection selection_;
  LinearLevel line_level_;
  Waterline waterline_;
  Flex flex_;
  Baseline baseline_;
  Concave concave_;
  ToldEnds told_ends_;
  KeySort sorter_;
  Problem problem_;
  Penalties penalties_;
  Plan sketch_;     // without pieces
  Problem beside_;  // what is left beside those without work, while there are some
  std::vector<double> share_, rank_, kept_, rest_;
  // For a period: as estimated; of an earlier second; behind minima.
  std::vector<double> left_, value_, wanted_;
  LeftOverSlots left_over_;
  PeriodPrices prices_;
  PeriodLevels levels_;
  PeriodHistory history_;
  bool expects_ = true;
  ComingJobs coming_;
  std::vector<std::int64_t> most_;
  std::vector<Index> order_;
  SlaColumns sla_columns_;
  SpeedupColumns speedup_columns_;
  std::vector<double> ended_;
  std::optional<Plan> planned_;
};

}  // namespace malleable
