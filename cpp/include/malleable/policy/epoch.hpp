// The decision that a scheduler's loop asks for: slots now, from state that is kept between epochs.
//
// An epoch is a table of jobs (epoch/job_table), what they hold (epoch/grants), and rules that
// decide. Which rule it is follows from the objective, the policy and what the table holds, again
// at every decision: a key a job where there is one (epoch/key_rule), equal shares
// (epoch/equal_rule), else an instance of all jobs (epoch/instance_rule). A decision that is held
// for a period, or that tells ends, is made by what wraps these (epoch/periodic, epoch/promised).
// While some jobs wait until they get their minimum, all this is done within, for the jobs that
// have started (epoch/start).
//
// A job that is told to have nothing left, and goes on, has outlived its estimate: a part of what
// it did, by the slots that decisions gave it, counts as left. A job without work of which nothing
// was ever done keeps max(1, min_slots) slots, before all others and as far as minima leave them,
// until it is removed; value, bound and plan count it as ending now. Jobs may have kinds of
// penalties of their own under one aggregate. Without slots nobody gets any. Value, bound and
// pieces are computed on request only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "malleable/policy/epoch/equal_rule.hpp"
#include "malleable/policy/epoch/instance_rule.hpp"
#include "malleable/policy/epoch/key_rule.hpp"
#include "malleable/policy/epoch/periodic.hpp"
#include "malleable/policy/epoch/programs.hpp"
#include "malleable/policy/epoch/promised.hpp"
#include "malleable/policy/epoch/start.hpp"

namespace malleable {

class alignas(kLine) Epoch {
 public:
  static constexpr const char* kName = "Epoch";
  static Epoch blank() { return Epoch(1, {}); }  // to read a state into
  Epoch(std::int64_t slots, const EpochOptions& options);
  // What jobs of kind custom pay, told their ids. No part of the state: whoever loads one sets it.
  void set_penalty(CustomPenalty custom) { at_.custom = custom; }
  // Decisions with a period count on jobs to come as they came before, unless told that nobody
  // will. No part of the state.
  void expect_nobody();
  // Minima count, whatever the policy. No part of the state.
  void heed_minima() { at_.ignores_minima = false; }

  // Adds jobs of a valid table (model/jobs.hpp) with a kind of penalty for each (empty: the
  // default); returns the first of their consecutive ids. Throws before anything changes.
  // `programs`: a number from 0 on for each job, or kNoProgram (empty: all of them). The speed-up
  // of a program's jobs is learnt (epoch/programs). O(jobs added).
  static constexpr std::int64_t kNoProgram = Programs::kNone;
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
  using Changes = JobTable::Changes;
  void update(std::span<const std::int64_t> ids, const Changes& changes);

  // They have ended, or will not end here.
  void finish(std::span<const std::int64_t> ids);
  void remove(std::span<const std::int64_t> ids);

  void set_slots(std::int64_t slots);
  std::int64_t slots() const { return at_.slots; }

  // Decides, from now on with `slots` (0: nobody gets any) if given. Afterwards the decision is
  // here, row by row. Throws before anything changes if a job arrives after `now`, or an earlier
  // decision was made. A second decision at one moment, with nothing changed, is the first one.
  // `period`: for how long the caller will hold the slots, the option's unless given.
  void decide(double now, std::optional<std::int64_t> slots = std::nullopt,
              std::optional<double> period = std::nullopt);
  // The same at any time that does not fall and at which all jobs have arrived, for a loop that is
  // simulated: beyond the latest time of hosts, and again at one moment.
  void decide_at(double now, double period);
  // Throws for a period by which the clock does not move at this time.
  static void check_clock(double now, double period);
  std::span<const std::int64_t> ids() const { return at_.jobs.id; }
  std::span<const std::int64_t> given() const { return at_.grants.given(); }
  // Of a job that is there.
  std::int64_t slots_of(std::int64_t id) const { return at_.grants[at_.jobs.find(id)]; }
  std::span<const std::uint8_t> changed() const { return at_.grants.changed(); }
  // Which rule made the last decision.
  const char* rule() const { return rule_.c_str(); }

  // [s] When the last decision was made, and for how long it is held.
  double now() const { return at_.now; }
  double period() const { return at_.period; }
  const EpochOptions& options() const { return at_.options; }
  CustomPenalty penalty() const { return at_.custom; }
  // Jobs keep coming that need more whole slot-periods than there are.
  bool overloaded() const { return start_ ? start_->overloaded() : periodic_.overloaded(at_); }
  // Ids of jobs that wait for more slots than there are, told once each.
  std::vector<std::int64_t> take_oversized();
  // Ids of the jobs that could use more slots than the last decision gave them, in the order in
  // which slots that become free before the next one should go to them: up to max_slots each, first
  // those that are still there at its end. Nobody without a period. The state must not have changed
  // since. O(J log J).
  std::vector<std::int64_t> order();

  // [s] By row, absolute: ends promised to jobs when they were first decided on;
  // infinite where none was. O(J).
  std::vector<double> promised() const { return promised_.ends(at_.jobs); }

  // The plan behind the last decision, with the same rows; the state must not have changed since.
  // std::invalid_argument for a decision that is held for a period or tells ends, here and in
  // assess(): what follows it depends on the calls that come (sim/periodic_plan).
  Plan plan();
  // Its value and a floor under every schedule, without pieces and, for sums, by the quick bound:
  // what a loop can afford to ask for after every decision.
  using Assessment = InstanceRule::Assessment;
  Assessment assess();
  // Makes planned_jobs() and planned_penalties() those of the last decision, as plan() does.
  void recall();
  // Whether slots are held, so that what is left of jobs is as `periodic` has it.
  bool held() const { return at_.period > 0.0 && at_.slots > 0; }
  // Whether what follows the last decision is what a loop does.
  bool looped() const { return held() || ((start_ || at_.options.predictable) && at_.slots > 0); }
  // Some jobs wait until they get their minimum.
  bool starts() const { return start_ != nullptr; }
  // The jobs that plan() saw.
  JobsView planned_jobs() const {
    return instance_.of.jobs(at_, held() ? periodic_.left() : std::span(at_.jobs.work));
  }
  // Of plan(); one entry where all are of one kind.
  std::span<const Kind> planned_kinds() const { return instance_.of.kinds(at_); }
  const Penalties& planned_penalties() const { return instance_.of.penalties; }

  std::size_t size() const { return at_.jobs.rows(); }
  // Minima of jobs that waited and run: slots that they cannot do without.
  double started() const { return start_ ? start_->started(at_) : 0.0; }
  // Of the job that comes next. It only rises, so that with size() it says who is there.
  std::int64_t next_id() const { return at_.jobs.next_id(); }
  // Changes with every call that may change a decision, and with every decision that is made.
  std::uint64_t version() const { return version_; }

  void state(State& s);

 private:
  void check_kind(Kind kind, std::size_t j, const JobsView& jobs) const;
  void check_come(double now) const;
  void check_looped() const;
  bool check_start(const JobsView& jobs, std::span<const std::int64_t> programs) const;
  void begin_start();
  void refresh(std::size_t row);
  void choose();
  void decide_nothing();

  Scene at_;
  std::uint64_t version_ = 0, decided_ = 0;  // now, and after the last decision
  std::unique_ptr<KeyRule> keys_;            // none: no key can decide
  std::unique_ptr<Start> start_;             // none: no job waits for its minimum
  EqualRule equal_;
  InstanceRule instance_;
  Periodic periodic_;
  Promised promised_;
  Programs programs_;
  std::string rule_ = "none";
  bool by_key_ = false;                 // keys_ made the last decision, and has its order
  LineVector<std::int64_t> held_anew_;  // ids whose slots the last decision changed
  TermColumns left_out_;                // of the jobs that come
  std::vector<std::int64_t> all_slots_;
};

}  // namespace malleable
