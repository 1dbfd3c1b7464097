// The decision of a scheduler's loop: the slots of each present job now, from state that is kept
// between decisions.
//
// An epoch has a table of jobs (epoch/job_table), the slots that they hold (epoch/grants), and
// rules that decide. At every decision the objective, the policy and the jobs select the rule: one
// key per job if possible (epoch/key_rule), equal shares (epoch/equal_rule), otherwise an instance
// of all jobs (epoch/instance_rule). A decision that is held for a period, or that promises ends,
// is made by a wrapper (epoch/periodic, epoch/promised). If changes of slots cost time, only those
// changes are made that gain more (epoch/costly_moves). While some jobs have a start condition, the
// rules share among the started jobs (epoch/start).
//
// A job whose work left is 0, and which goes on, has outlived its estimate: a part of the work that
// it did, by the slots that decisions gave it, counts as left. A job without work, of which nothing
// was ever done, keeps max(1, min_slots) slots, before all others and as far as minima allow, until
// it is removed; value, bound and plan count it as ending now. Jobs may have different kinds of
// penalties under one aggregate. With 0 slots no job gets any. Value, bound and pieces (which job
// holds how many slots from when to when) are computed on request only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "malleable/policy/epoch/costly_moves.hpp"
#include "malleable/policy/epoch/equal_rule.hpp"
#include "malleable/policy/epoch/instance_rule.hpp"
#include "malleable/policy/epoch/key_rule.hpp"
#include "malleable/policy/epoch/learnt_powers.hpp"
#include "malleable/policy/epoch/periodic.hpp"
#include "malleable/policy/epoch/programs.hpp"
#include "malleable/policy/epoch/promised.hpp"
#include "malleable/policy/epoch/start.hpp"
#include "malleable/policy/epoch/unknown_sizes.hpp"

namespace malleable {

class alignas(kLine) Epoch {
 public:
  static constexpr const char* kName = "Epoch";
  static Epoch blank() { return Epoch(1, {}); }  // to read a state into
  Epoch(std::int64_t slots, const EpochOptions& options);
  // The penalty of jobs of kind custom, called with their ids. It is not part of the state: set it
  // again after loading.
  void set_penalty(CustomPenalty custom) { at_.custom = custom; }
  // From now on callers say the work left; it starts from the guesses. Not part of the state.
  void know_sizes() { at_.options.unknown = false; }
  // No jobs come later; decisions with a period count on that. Not part of the state.
  void expect_none() { at_.alone = true; }

  // Adds jobs of a valid table (model/jobs.hpp) with a kind of penalty for each (empty: the
  // default); returns the first of their consecutive ids. Throws before anything changes.
  // `programs`: a number from 0 on for each job, or Programs::kNone (empty: all of them). The
  // speed-up of a program's jobs is learnt (epoch/programs). O(jobs added).
  std::int64_t add(const JobsView& jobs, std::span<const Kind> kinds = {},
                   std::span<const std::int64_t> programs = {});
  // The same for unchecked columns; optional columns may be empty.
  std::int64_t add_columns(JobsView jobs, std::span<const Kind> kinds = {},
                           std::span<const std::int64_t> programs = {});
  // The learnt rates of 1, 2, ... `most` slots of a program.
  std::vector<double> rates_of(std::int64_t program, std::int64_t most) const {
    return programs_.rates.rates(program, most);
  }

  // Overwrites the given columns of the jobs `ids` (other columns are empty). Throws before
  // anything changes.
  using Changes = JobTable::Changes;
  void update(std::span<const std::int64_t> ids, const Changes& changes);

  // The jobs have ended, or were removed.
  void finish(std::span<const std::int64_t> ids);
  void remove(std::span<const std::int64_t> ids);

  void set_slots(std::int64_t slots);
  std::int64_t slots() const { return at_.slots; }

  // Decides; `slots`, if given, is the capacity from now on (0 is allowed). The decision can then
  // be read row by row. Throws before anything changes if a job arrives after `now`, or an earlier
  // decision was made. A second decision at one moment, with nothing changed, is the first one.
  // `period`: how long the caller will hold the slots; by default the option.
  void decide(double now, std::optional<std::int64_t> slots = std::nullopt,
              std::optional<double> period = std::nullopt);
  // The same for simulated loops: any time that does not fall and at which all jobs have arrived,
  // also beyond the latest time for callers, and repeatedly at one moment.
  void decide_at(double now, double period);
  // Throws for a period too short to change a time as large as `now`.
  static void check_clock(double now, double period);
  std::span<const std::int64_t> ids() const { return at_.jobs.id; }
  // The present jobs, which other calls change.
  const JobTable& jobs() const { return at_.jobs; }
  std::span<const std::int64_t> given() const { return at_.grants.given(); }
  // The slots of a present job.
  std::int64_t slots_of(std::int64_t id) const { return at_.grants[at_.jobs.find(id)]; }
  std::span<const std::uint8_t> changed() const { return at_.grants.changed(); }
  // Whether the job would have other slots if changes did not cost it time.
  bool keeps(std::size_t row) const { return moves_.keeps(row); }
  // The rule that made the last decision.
  const char* rule() const { return rule_.c_str(); }

  // [s] The time of the last decision, and for how long it is held.
  double now() const { return at_.now; }
  double period() const { return at_.period; }
  const EpochOptions& options() const { return at_.options; }
  CustomPenalty penalty() const { return at_.custom; }
  // Whether the arriving jobs need more whole slot-periods than there are.
  bool overloaded() const { return periodic_.overloaded(at_); }
  // Ids of jobs that wait for more slots than there are; each is returned once.
  std::vector<std::int64_t> take_oversized() {
    return start_ ? start_->take_oversized() : std::vector<std::int64_t>();
  }
  // Ids of the jobs that could use more slots than the last decision gave them, in the order in
  // which they should get slots that become free before the next decision: up to max_slots each,
  // first the jobs that will still be present then. Empty without a period. The state must not have
  // changed since. O(J log J).
  std::vector<std::int64_t> order();

  // [s] By row, absolute: the ends promised when a job was first decided on; infinite: none. O(J).
  std::vector<double> promised() const { return promised_.ends(at_.jobs); }

  // The plan behind the last decision, with the same rows; the state must not have changed since.
  // std::invalid_argument if what follows depends on later calls: with a period, with promised
  // ends, if jobs wait to start, and if changes cost time (sim/periodic_plan). Without `detail` it
  // may have no pieces and, for sums, has the quick bound, so that a loop can ask for its value
  // after every decision.
  Plan plan(bool detail = true);
  // Sets planned_jobs() and planned_penalties() to those of the last decision, as plan() does.
  void recall();
  // Whether slots are held for a period; epoch/periodic then estimates the work left.
  bool held() const { return at_.period > 0.0 && at_.slots > 0; }
  // Whether the schedule after the last decision is what a loop of decisions makes.
  bool looped() const {
    const bool loops = start_ || at_.options.predictable || !at_.jobs.restart.empty();
    return held() || (loops && at_.slots > 0);
  }
  // [s] By row: until when a change of slots keeps a job from working; empty: no change costs time.
  std::span<const double> ready() const { return at_.jobs.ready; }
  // Whether some jobs have a start condition.
  bool starts() const { return start_ != nullptr; }
  // The jobs that plan() saw.
  JobsView planned_jobs() const {
    return instance_.of.jobs(at_, held() ? periodic_.left() : std::span(at_.jobs.work));
  }
  // Kinds of planned_jobs(); one entry if all are equal.
  std::span<const Kind> planned_kinds() const { return instance_.of.kinds(at_); }
  const Penalties& planned_penalties() const { return instance_.of.penalties; }

  std::size_t size() const { return at_.jobs.rows(); }
  // The sum of the minima of started jobs with a start condition: these slots cannot be taken back.
  double started() const { return start_ ? start_->started(at_) : 0.0; }
  // The id of the next job. It only rises, so that together with size() it shows whether the set of
  // jobs changed.
  std::int64_t next_id() const { return at_.jobs.next_id(); }
  // Changes with every call that may change a decision, and with every decision that is made.
  std::uint64_t version() const { return version_; }

  void state(State& s);

 private:
  // What the options and the present jobs ask for, as bits (kAsks...); not all go together.
  // `restarts`: changes of slots will cost some job time.
  unsigned asked(bool restarts = false) const;
  unsigned asked_by(Kind kind, std::size_t j, const JobsView& jobs) const;
  // Notes the properties of the policy.
  void look_up();
  // Throws if some job arrives after `now`.
  void check_come(double now) const;
  // Jobs have start conditions from now on.
  void begin_start();
  // Updates the data derived from a row's columns.
  void refresh(std::size_t row);
  // Lets the first rule that can decide give slots.
  void choose();

  Scene at_;  // the jobs, slots, options and time that all rules read
  std::uint64_t version_ = 0, decided_ = 0;  // at present, and at the last decision
  std::unique_ptr<KeyRule> keys_;            // null: no key can decide
  std::unique_ptr<Start> start_;             // null: no job has a start condition
  EqualRule equal_;
  InstanceRule instance_;
  Periodic periodic_;
  Promised promised_;
  Programs programs_;
  LearntPowers powers_;
  CostlyMoves moves_;
  UnknownSizes unknown_;
  std::string rule_ = "none";
  bool by_key_ = false;               // keys_ made the last decision, and has its order
  LineVector<std::int64_t> resized_;  // ids whose slots the last decision changed
  TermColumns left_out_;              // defaults of new jobs
  std::vector<std::int64_t> all_slots_;
};

}  // namespace malleable
