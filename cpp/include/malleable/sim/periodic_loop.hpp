// A caller's loop: jobs arrive, an epoch (policy/epoch.hpp: the object that decides the slots of
// present jobs) decides every P seconds, and its decision is held until the next call, that is, all
// jobs keep their slots. With period 0 it decides whenever a job comes or ends.
//
// Between two calls jobs only end, each at its exact time; their slots idle until the next call. At
// a call the epoch gets all changes: jobs that came, jobs that ended, and the work left of the
// others, by its own estimates. Only this loop knows true work. Calls without a job in the system
// are left out. After a change of its slots a job does nothing for its restart (model/restarts).
//
// A loop that has looked at many jobs may go on more quickly (`exact`): it calls only after jobs
// have ended, or leaves the rest to the epoch's plan without a period.
//
// O(present jobs) a call beside the epoch's decision. Allocates nothing once warm, except for
// pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "malleable/model/jobs.hpp"
#include "malleable/model/plan.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {

struct PeriodicLoopOptions {
  double period = 0.0;       // [s]
  bool knows_period = true;  // whether the epoch knows the period
  double start = 0.0;        // time of the first call; the others follow at multiples of the period
  bool pieces = false;       // keep the schedule
  // Number of jobs looked at, over all calls, before calls are left out before which no job ends.
  // Only if all jobs come at once.
  double exact = kInfinity;
  // From then on the ends of jobs are those of the epoch's plan without a period, which counts work
  // in whole slot-periods. Only if the epoch has such a plan (Epoch::looped).
  bool ahead = false;
};

class PeriodicLoop {
 public:
  // The epoch must have no jobs, unless you call adopt().
  PeriodicLoop(Epoch epoch, const PeriodicLoopOptions& options);

  // Gives the loop its jobs, once: valid, by arrival, with the work that the epoch sees (empty: the
  // true work) and the kinds of their penalties (empty: the epoch's). Rows are their places here.
  // The columns of jobs must outlive the loop.
  void feed(const JobsView& jobs, std::vector<double> believed, std::vector<Kind> kinds);

  // The same for the jobs that the epoch has. It must have decided at options.start; rows are its
  // rows then, and `jobs` has the work left.
  void adopt(const JobsView& jobs);

  // Makes all calls before `until`; true once no call is left, because all jobs have ended or
  // nothing more can happen.
  bool advance(double until);
  // Called every few thousand calls; may throw, and the loop can go on afterwards.
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }

  const Epoch& epoch() const { return epoch_; }
  // By row, as far as it has come: times, infinite if the job has not started, or ended, yet; slots
  // of the first call; the order of first slots. Its value is not computed.
  const Plan& plan() const { return plan_; }
  // [s] Ends promised at arrival, if the epoch promises ends; infinite: none.
  std::span<const double> promised() const { return promised_; }
  struct Totals {
    std::int64_t calls = 0, overloaded = 0;
    double held = 0.0;  // slot-seconds held, idle ones included
    double idle = 0.0;  // slot-seconds held after the job had ended
  };
  const Totals& totals() const { return totals_; }

 private:
  // Rows with slots of the decision that is held.
  struct Running {
    std::size_t row;
    std::int64_t id, slots;
    double from, end;  // time since which it has the slots, with left_ then, and its end
    double works;      // time since which it works
  };

  // Clears all state for these jobs.
  void begin(const JobsView& jobs);
  std::size_t row_of(std::int64_t id) const {
    return adopted_.empty() ? rows_[static_cast<std::size_t>(id)] : adopted_.at(id);
  }
  void plan_call();    // the time of the next call at which a job is in the system
  void report_left();  // tells the epoch the work left: seen_ of ran_
  void report_changes(double now);
  void list_running(double now);  // rows with slots from now on, and their ends
  void pass_period();             // holds the slots until the next call
  bool rare() const { return options_.period > 0.0 && jobs_looked_at_ > options_.exact; }
  void run_ahead(double now);
  double time_of(double call) const { return options_.start + call * options_.period; }
  // Records that the job held its slots until `to` (a piece of the schedule).
  void keep_piece(const Running& job, double to);

  Epoch epoch_;
  PeriodicLoopOptions options_;
  JobsView jobs_;
  std::vector<double> believed_;  // work that the epoch sees
  std::vector<Kind> kinds_;
  std::function<void()> poll_;

  std::size_t arrived_ = 0, ended_count_ = 0;
  double jobs_looked_at_ = 0.0;    // sum over all calls of the jobs looked at
  double call_ = 0.0;              // number of the next call, or of an earlier one; whole
  double next_ = kInfinity;        // time of the next call
  bool decided_ = false;           // the decision of the next call has been made
  std::vector<std::size_t> rows_;  // rows of the epoch's ids
  std::unordered_map<std::int64_t, std::size_t> adopted_;  // the same for adopted ids
  std::vector<double> left_, promised_;                    // by row
  std::vector<std::size_t> last_piece_;                    // by row: its last piece in the plan
  Plan plan_;
  Totals totals_;
  // Since the last call: ids that ended, ids that ran, and their work left as the epoch sees it.
  std::vector<std::int64_t> gone_, ran_;
  std::vector<double> seen_;
  std::vector<Running> running_;
};

}  // namespace malleable
