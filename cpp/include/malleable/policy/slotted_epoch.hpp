// Policies of the slotted model (a machine does one unit of work a step) for a scheduler's own
// loop: which jobs run now, and on how many machines.
//
// Time is real and cut into steps of a given length from the first call on. The first decision of a
// step advances the policy's virtual schedule (a simulated one that some policies follow,
// policy/asrpt); later decisions in the same step only hand out idle machines. Work is estimated in
// machine seconds. A machine that a job is said to run on is not idle: report no running machines
// if every task may be stopped, and all of them otherwise. Without machines nothing starts, in the
// virtual schedule either. A decision may be held for a period of several steps: a machine then
// runs waiting tasks of its job one after the other, so a job gets no more machines than its tasks
// need that way, unless no other job can use them. O(log n) a change with n live jobs; a decision
// costs as much as the policy's, and O(1) for each job that holds machines.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/bound.hpp"
#include "malleable/model/map_reduce.hpp"
#include "malleable/model/terms.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch/period_clock.hpp"
#include "malleable/policy/epoch/table.hpp"
#include "malleable/policy/slotted_policy.hpp"

namespace malleable {

class SlottedEpoch {
 public:
  static constexpr const char* kName = "SlottedEpoch";
  static SlottedEpoch blank() { return {1, 1.0, "fifo"}; }  // to read a state into
  // `policy`: the name of a policy that needs no preemption. `period`: seconds for which decisions
  // are held; 0: until something ends.
  SlottedEpoch(std::int64_t slots, double step_seconds, const std::string& policy,
               double period = 0.0);

  // A job's state; equally long columns. Waiting reduce tasks count only once they may start.
  struct Columns {
    std::span<const std::int64_t> maps, reduces, running;
    // Estimated machine seconds. Without map_left a waiting map task counts as the mean in the last
    // map_left, or else as a step.
    std::span<const double> map_left, reduce_left;

    std::size_t size() const { return maps.size(); }
    // `rows` kAnyLength: columns of new jobs; the first column gives their number.
    template <typename Self, typename Visit>
    static void each(Self& self, std::size_t rows, Visit&& visit) {
      const bool new_jobs = rows == kAnyLength;
      visit("maps", self.maps, rows, !new_jobs);
      if (new_jobs) rows = self.size();
      visit("reduces", self.reduces, rows, !new_jobs);
      visit("running", self.running, rows, !new_jobs);
      visit("map_left", self.map_left, rows, true);
      visit("reduce_left", self.reduce_left, rows, !new_jobs);
    }
    void check(bool new_jobs) const;
  };

  using Changes = Columns;
  // Adds jobs; fills `ids`. A job that arrives after the latest known time advances time; a job
  // that arrived before counts from that time. If `arrival` is empty, jobs arrive at that time, or
  // at the first decision. Throws before anything changes.
  void add(std::span<const double> arrival, const Columns& columns, std::span<std::int64_t> ids);
  // Overwrites the given columns (others are empty). Throws before anything changes.
  void update(std::span<const std::int64_t> ids, const Columns& columns);
  void finish(std::span<const std::int64_t> ids) { leave(ids, false); }
  // Removes unfinished jobs; the virtual schedule forgets them, too.
  void remove(std::span<const std::int64_t> ids) { leave(ids, true); }

  // Tasks to start, and the machines that the job then holds.
  struct Grant {
    std::int64_t id, maps, reduces, slots;
    bool changed;  // whether the slots differ from the last decision
    Bound bound;   // why the job starts no more tasks
    void state(State& s) { s(id, maps, reduces, slots, changed, bound); }
  };
  // Grants of jobs that start tasks, in the policy's order, then of other jobs that hold machines
  // or lost all. Times must not fall. `slots`, if given, is the number of machines from now on, 0
  // or more; throws before anything changes. Valid until the next call. A second decision at one
  // moment, with nothing changed, is the first one. `period`, if given: of this decision.
  std::span<const Grant> decide(double now, std::optional<std::int64_t> slots = {},
                                std::optional<double> period = {});
  // If the last decision had a period: jobs with tasks that still wait, first the jobs that the
  // policy gave machines, then the oldest.
  std::span<const std::int64_t> order() const { return order_; }
  // Whether the arriving jobs need more machines for whole periods than there are.
  bool overloaded() const { return clock_.overloaded(slots_); }

  std::size_t size() const { return jobs_.size(); }
  std::int64_t slots() const { return slots_; }
  const char* rule() const { return policy_name_.c_str(); }

  void state(State& s);

 private:
  std::int64_t step_of(double now) const {
    return static_cast<std::int64_t>(std::floor((now - origin_) / step_seconds_ + kCount));
  }
  // Whether the number of the step is exact, because steps are counted in doubles.
  bool in_reach(double now, double first) const {
    const double origin = now_ == -kInfinity ? first : origin_;
    return (now - origin) / step_seconds_ < static_cast<double>(kLastStep);
  }
  void leave(std::span<const std::int64_t> ids, bool cancelled);
  void write(Index row, const Columns& columns, std::size_t k);
  // Notes the latest known time.
  void note_time(double now) {
    if (now_ == -kInfinity) origin_ = now;
    now_ = std::max(now_, now);
  }
  // Tells the policy that time has passed, up to the end of a step.
  void pass_steps(std::int64_t step) {
    if (step > passed_ && slots_ > 0) policy_->pass(slots_, static_cast<double>(step - passed_));
    passed_ = std::max(passed_, step);
  }
  // With a period: waiting tasks as machines that run tasks of one job one after the other.
  std::span<const SlottedJob> cap(double steps);
  // Gives left-over machines to jobs that end earlier by them; returns what stays idle.
  std::int64_t hand_out_rest(double steps, std::int64_t idle);
  // Sets line_: the grants first, then by arrival.
  void line_up();
  // Whole steps for which a decision holds.
  double period_steps() const { return std::floor(clock_.period() / step_seconds_ + kCount); }
  void write_grant(const SlottedGrant& grant, const AssignedSlots<1>::Slots& slots, bool changed,
                   std::int64_t idle);

  std::int64_t slots_;
  double step_seconds_;
  std::string policy_name_;
  std::unique_ptr<SlottedPolicy> policy_;
  EpochTable<SlottedJob, 1> jobs_;
  std::vector<double> map_task_;  // steps that a waiting map task counts for
  std::vector<SlottedGrant> grants_;
  std::vector<Grant> shown_;  // the last decision
  PeriodClock clock_;
  // For a period.
  std::vector<SlottedJob> capped_;
  std::vector<double> rest_work_, rest_high_, machines_;  // by grant
  LeftOverSlots left_over_;
  // Rows, and their ids, in the order in which they get free machines.
  std::vector<Index> line_;
  std::vector<std::int64_t> order_;
  bool stands_ = false;                     // nothing has changed since the last decision
  double origin_ = 0.0, now_ = -kInfinity;  // time of the first step; latest known time
  // jobs that came; running tasks; the last step that the policy knows of
  std::int64_t sequence_ = 0, running_ = 0, passed_ = -1;
};

}  // namespace malleable
