// A loop as a host runs it: jobs arrive, an epoch is asked every P seconds, and what it says is
// held until the next call. With period 0 it is asked whenever a job comes or ends.
//
// Between two calls nothing changes but that jobs end, each at its exact time; their slots idle
// until the next call. At a call the epoch is told of all that happened since: jobs that came, jobs
// that ended, and what is left of those that ran, by its own estimates. What a job truly needs is
// known here alone. Calls without a job in the system are left out.
//
// A loop that has looked at many jobs may go on with rarer calls (`exact`): a fourth of the time
// since the start apart. Between them, slots that become free go at each multiple of the period to
// the next jobs in the order that the epoch tells. So a loop of any length ends after some dozens
// of calls more, O(J log J) each, and every schedule is still one that a host could hold.
//
// O(present jobs) a call beside the epoch's decision. Allocates nothing once warm, but for pieces.
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
  double start = 0.0;   // time of the first call; the others come at multiples of the period after
  bool pieces = false;  // keep the schedule
  // Jobs looked at, call by call, before calls become rarer. Only where all jobs are there at once.
  double exact = kInfinity;
};

class PeriodicLoop {
 public:
  // The epoch must have no jobs, but for adopt().
  PeriodicLoop(Epoch epoch, const PeriodicLoopOptions& options);

  // Valid jobs by arrival, once, with the work that the epoch is told of each (empty: the truth)
  // and the kinds of their penalties (empty: the epoch's). Rows are their places here. The columns
  // must outlive the loop.
  void feed(const JobsView& jobs, std::span<const double> believed, std::span<const Kind> kinds);

  // The same with the jobs of the epoch, which has decided at options.start; rows are those of its
  // ids then, and `jobs` says what is left of them.
  void adopt(const JobsView& jobs);

  // Makes all calls before `until`; true once no call is left, be it that all jobs have ended or
  // that nothing more can happen.
  bool advance(double until);
  // Called every few thousand calls; may throw, and the loop can go on afterwards.
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }

  std::span<const double> start() const { return start_; }
  std::span<const double> completion() const { return completion_; }  // infinite: not yet
  // [s] Ends promised at arrival, by an epoch that promises them; infinite where none was.
  std::span<const double> promised() const { return promised_; }
  const Pieces& pieces() const { return pieces_; }
  std::span<const std::int64_t> allocation() const { return allocation_; }  // by the first call
  std::span<const Index> order() const { return order_; }                   // by first slot
  std::size_t ended() const { return ended_count_; }
  struct Totals {
    std::int64_t calls = 0, overloaded = 0;
    double held = 0.0;  // slot-seconds, idle ones and all
    double idle = 0.0;  // of these, behind jobs that had ended
  };
  const Totals& totals() const { return totals_; }

 private:
  void begin(const JobsView& jobs, std::span<const double> believed);
  std::size_t row_of(std::int64_t id) const {
    return adopted_.empty() ? rows_[static_cast<std::size_t>(id)] : adopted_.at(id);
  }
  void plan_call();
  void tell(double now);
  void list_running(double now);
  void note_told();
  void hold();
  bool rare() const { return options_.period > 0.0 && looked_ > options_.exact; }
  double call_after(double time) const;
  void hand_on();
  void hand_out(std::span<const std::int64_t> line, double call, double& free);
  bool give(std::int64_t id, double call, double& free);
  double time_of(double call) const { return options_.start + call * options_.period; }
  void keep_piece(std::size_t row, std::int64_t slots, double from, double to);

  Epoch epoch_;
  PeriodicLoopOptions options_;
  JobsView jobs_;
  std::span<const double> believed_;
  std::span<const Kind> kinds_;
  std::function<void()> poll_;

  std::size_t arrived_ = 0, ended_count_ = 0;
  double looked_ = 0.0;            // at so many jobs, by all calls
  double call_ = 0.0;              // number of the next one, or of one before it; whole
  double next_ = kInfinity;        // time of the next one that is to be made
  bool decided_ = false;           // the decision of the next call has been made
  std::vector<std::size_t> rows_;  // of the epoch's ids
  std::unordered_map<std::int64_t, std::size_t> adopted_;  // the same
  std::vector<double> left_, start_, completion_, promised_;
  std::vector<std::size_t> last_piece_;
  std::vector<std::int64_t> allocation_;
  std::vector<Index> order_;
  Pieces pieces_;
  Totals totals_;
  // Since the last call: ids that ended, ids that ran and what is left of them as the epoch sees
  // it.
  std::vector<std::int64_t> gone_, ran_;
  std::vector<double> seen_;
  // Of the decision that is held: rows with slots.
  struct Running {
    std::size_t row;
    std::int64_t id, slots;
    double from, end;  // since when it has them, with left_ to go then, and when it would end
  };
  double left_after(const Running& job, double time) const;
  double end_before(Running& job, double call);
  std::vector<Running> running_;
  // Between rare calls: what is to come, the place of each row in running_, and how far the line of
  // those that want slots is served.
  struct Event {
    double time;
    std::size_t place;
    double end;  // of the job, as it was then; before it, the last call at which it needs less
  };
  void expect(std::size_t place);
  double trim(Running& job, double call);
  std::vector<Event> events_;
  std::vector<std::size_t> place_;
  std::size_t served_ = 0;
};

}  // namespace malleable
