// Flows that come, change and leave, and their jobs: the table behind an epoch over flows.
//
// Columns of flows and of jobs stand in the order in which flows came, so that ids, which are never
// used twice, rise along them and a row is found by bisection. A flow's jobs, their parents and its
// SLA steps are consecutive. Rows of flows that have left stay until they are half of all and then
// go at once: adding costs the flow alone, O(1) for each of its rows, amortised.
//
// The work of a job may be a guess, so many tasks times the work that a task is taken to need
// (FlowFlex, section 5.2), until an update says better.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "malleable/model/flows.hpp"
#include "malleable/model/held_steps.hpp"
#include "malleable/model/named_rows.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

enum class JobStage : std::uint8_t { kOpen, kFinished, kRemoved };

class FlowTable {
 public:
  struct Flow {
    std::int64_t id, first_id;  // of its first job; the others follow
    double arrival, weight, deadline, size;
    std::size_t first;  // row of its first job
    HeldSteps::Range sla;
    Index jobs, open;  // how many: all, those that have not ended
    Kind kind;
    bool there;

    std::size_t end() const { return first + jobs; }
    void state(State& s) {
      s(id, first_id, arrival, weight, deadline, size, first, sla, jobs, open, kind);
      s(there);
    }
  };

  // What is added beside the valid table `flows` (model/flows.hpp). Per flow: `kind`, one or one
  // for all. Per job, or empty: `tasks`, 0 where the work is known; `continues`, the row of the job
  // whose second phase it is, or -1; `name`.
  struct Additions {
    FlowsView flows;
    std::span<const Kind> kind;
    std::span<const std::int64_t> tasks, continues;
    std::vector<std::string> name;
    bool dated = true;  // else the flows arrive at the last decision, or at the first one
  };

  // Empty columns: as it was. One entry per id otherwise.
  struct Changes {
    std::span<const double> work;
    std::span<const std::int64_t> tasks, max_slots;
    std::span<const double> weight, deadline;  // of flows, as are the steps
    SlaView sla;

    template <typename Self, typename Visit>
    static void each(Self& self, std::size_t jobs, std::size_t flows, Visit&& visit) {
      visit("work", self.work, jobs, true);
      visit("tasks", self.tasks, jobs, true);
      visit("max_slots", self.max_slots, jobs, true);
      visit("weight", self.weight, flows, true);
      visit("deadline", self.deadline, flows, true);
      SlaColumns::each(self.sla, flows + 1, visit);
    }
  };

  // Each of these throws std::invalid_argument before anything changes. `touched` (flow rows) grows
  // by those that are no longer what they were; add() appends, and tells the row of the first flow.
  // `now`: of the last decision, or -infinity.
  std::size_t add(Additions&& added, bool custom, double now);
  // At the first decision: flows whose arrival nobody told.
  void arrive(double now);
  void update(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
              const Changes& changes, std::vector<Index>& touched);
  void finish(std::span<const std::int64_t> jobs, std::vector<Index>& touched);
  // Jobs with all that wait for them, and whole flows.
  void remove(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
              std::vector<Index>& touched);
  void set_task_work(double task_work, std::vector<Index>& touched);

  // A flow of which nothing is left to do leaves. Rows keep their places until tidy().
  void drop(std::size_t flow);
  // Drops the rows of those that have left if they are half of all: true, and rows have moved.
  bool tidy();

  std::size_t flows_there() const { return there_; }
  std::size_t open_jobs() const { return open_; }
  std::int64_t next_flow() const { return next_flow_; }
  std::int64_t next_job() const { return next_job_; }
  double task_work() const { return task_work_; }

  std::span<const Flow> rows() const { return flows_; }
  Index find_flow(std::int64_t id) const;  // its row, or kNone
  // Per job, by row.
  std::vector<double> work, whole, tasks, first_tasks;  // whole: when it came
  std::vector<double> attained;                         // slot-seconds, by decisions
  std::vector<std::int64_t> max_slots, given;           // given: the caller's, 0 at first
  std::vector<Index> follows;                           // in its flow, or kNone
  std::vector<Index> topological;         // flow by flow, places in the flow: parents first
  std::vector<std::size_t> parent_first;  // into `parent`
  std::vector<Index> parents;             // how many
  std::vector<JobStage> stage;
  std::vector<std::string> name;
  std::vector<Index> parent;  // places in the flow
  HeldSteps steps;

  void state(State& s);

 private:
  template <typename Visit>
  void each_column(Visit&& visit);  // of jobs
  void change(Flow& flow, const Changes& changes, std::size_t k);
  void check_additions(const Additions& added, bool custom) const;
  Index find_job(std::int64_t id) const;
  Index flow_of(std::size_t row) const;
  std::span<const Index> open_rows(std::span<const std::int64_t> ids);
  void end(std::size_t row, JobStage how, std::vector<Index>& touched);
  void sort_topologically(const Flow& flow);

  double task_work_ = 1.0;
  std::vector<Flow> flows_;
  std::size_t there_ = 0, open_ = 0;
  std::size_t gone_ = 0;  // rows of jobs and flows that have left
  std::int64_t next_flow_ = 0, next_job_ = 0;
  NamedRows named_jobs_, named_flows_;
  std::vector<Index> pending_, child_offset_, next_, child_;
};

}  // namespace malleable
