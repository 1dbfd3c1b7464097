// Flows that come, change and leave, and their jobs: the table behind an epoch over flows.
//
// Flows stand in the order in which they came, each with its jobs, so that ids, which are never
// used twice, rise along them and a flow or a job is found by bisection. A flow that has left is
// removed at once. Derived data of a flow (epoch/flow_study) stand beside the data of callers, and
// changed flows are marked. O(1) for each added row; a call that makes flows leave moves the
// others, O(flows).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "malleable/model/flow_problem.hpp"
#include "malleable/model/named_rows.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

enum class JobStage : std::uint8_t { kOpen, kFinished, kRemoved };

class FlowTable {
 public:
  struct Job {
    // Members that every decision reads stand together.
    double share = 0.0;      // slots, while a decision is made
    std::int64_t given = 0;  // slots
    JobStage stage = JobStage::kOpen;
    bool ready = false;  // derived, like the members at the end
    Index rank = 0;      // among the jobs of its flow in the last decision
    double work, whole;  // whole: work at arrival
    std::int64_t max_slots;
    Index first_parent, parents;  // in Flow::parent: the first parent, and how many
    double attained = 0.0;        // slot-seconds that decisions gave
    double then = 0.0;            // work at the last decision, if that gave it slots
    // Work left, maximum, the longest path from its start.
    double left = 0.0, high = 0.0, path = 0.0;

    bool open() const { return stage == JobStage::kOpen; }
    void state(State& s) {
      s(work, whole, max_slots, first_parent, parents, stage, given, attained, then);
    }
  };
  struct Flow {
    std::int64_t id, first_id;  // first_id: id of its first job; the others follow
    std::size_t first;          // row of its first job among those of all flows
    double arrival, weight, deadline, size;
    Kind kind;
    Index open = 0;                       // jobs that have not ended
    bool leaves = false, touched = true;  // touched: derived data must be computed again
    bool fresh = true;                    // changed since the last decision
    // The last decision shows the flow as it is, from `row` on; some job may have slots, since then
    // or in the present decision.
    bool shown = false, holds = true;
    // Derived: empty jobs (epoch/flow_shares); all work left; the larger of the critical path and
    // the work on all slots [s]; jobs that can run, longest path first.
    Index empty = 0;
    std::size_t row = 0;
    double volume = 0.0, alone = 0.0;
    std::vector<Index> queue = {};
    std::vector<Job> jobs = {};
    std::vector<Index> parent = {}, topological = {};  // places; parents first
    std::vector<std::string> name = {};                // of jobs, or empty
    SlaSteps sla = {};
    SpeedupColumns speedup = {};             // of jobs; empty: all are linear
    std::vector<std::int64_t> program = {};  // of jobs, or empty; -1: none

    std::span<const Index> parents_of(const Job& job) const {
      return std::span(parent).subspan(job.first_parent, job.parents);
    }
    std::int64_t id_of(const Job& job) const { return first_id + place_of(job); }
    std::size_t place_of(const Job& job) const {
      return static_cast<std::size_t>(&job - jobs.data());
    }
    std::size_t place_of(std::int64_t job) const {
      return static_cast<std::size_t>(job - first_id);
    }
    std::int64_t program_of(std::size_t place) const {
      return program.empty() ? -1 : program[place];
    }
    bool curved() const { return !speedup.exponent.empty(); }
    // The cost of a second if the penalty is a line; otherwise its weight.
    double value_of_second() const {
      return info(kind).per_size && size > 0.0 ? weight / size : weight;
    }
    void state(State& s) {
      s(id, first_id, first, arrival, weight, deadline, size, kind, open, jobs, parent,
        topological);
      s(name, sla, speedup, program);
    }
  };

  // New flows: the valid table `flows` (model/flows.hpp) and more columns. Per flow: `kind`, one
  // entry or one for all. Per job, or empty: `name`; `program`, or -1.
  struct Additions {
    FlowsView flows;
    std::span<const Kind> kind;
    std::vector<std::string> name = {};
    bool dated = true;  // false: the flows arrive at the last decision, or at the first one
    std::span<const std::int64_t> program = {};

    Kind kind_of(std::size_t flow) const { return kind[kind.size() == 1 ? 0 : flow]; }
  };

  // Columns are empty, which changes nothing, or have one entry per id.
  struct Changes {
    std::span<const double> work;
    std::span<const std::int64_t> max_slots;
    std::span<const double> weight, deadline;  // of flows, as are the steps
    SlaView sla;
    SpeedupView speedup = {};  // of jobs

    template <typename Self, typename Visit>
    static void each(Self& self, std::size_t jobs, std::size_t flows, Visit&& visit) {
      visit("work", self.work, jobs, true);
      visit("max_slots", self.max_slots, jobs, true);
      visit("weight", self.weight, flows, true);
      visit("deadline", self.deadline, flows, true);
      SlaColumns::each(self.sla, flows + 1, visit);
      SpeedupColumns::each(self.speedup, jobs, visit);
    }
  };

  // Each of these throws std::invalid_argument before anything changes. `now`: of the last
  // decision, or -infinity.
  void add(Additions&& added, bool custom, double now);
  void update(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
              const Changes& changes);
  void finish(std::span<const std::int64_t> jobs);
  // Removes jobs with all jobs that wait for them, and whole flows.
  void remove(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows);

  // At the first decision: sets the arrival of flows that were added without one.
  void arrive(double now);
  // Removes flows whose jobs have all ended; returns their ids.
  void drop_ended(std::vector<std::int64_t>& ended);
  void touch_all() {
    for (Flow& flow : flows_) flow.touched = true;
  }
  // Replaces speed-ups of a flow: other(job, columns) adds that of the job, or returns false.
  template <typename Other>
  static void change_speedups(Flow& flow, const Other& other) {
    const SpeedupColumns before = std::exchange(flow.speedup, {});
    for (const Job& job : flow.jobs) {
      if (!other(job, flow.speedup)) flow.speedup.add(before.view(), flow.place_of(job));
    }
    if (!flow.speedup.view().curved()) flow.speedup.clear();
    flow.touched = true;
  }

  std::span<Flow> flows() { return flows_; }
  std::span<const Flow> flows() const { return flows_; }
  std::size_t size() const { return flows_.size(); }
  std::size_t open_jobs() const { return open_; }
  bool curved() const {
    return std::any_of(flows_.begin(), flows_.end(), [](const Flow& f) { return f.curved(); });
  }
  std::int64_t next_flow() const { return next_flow_; }
  std::int64_t next_job() const { return next_job_; }
  Index find_flow(std::int64_t id) const;  // row of the flow, or kNone

  void state(State& s) {
    s(flows_, open_, next_flow_, next_job_);
    if (s.reading()) count_rows();
  }

 private:
  void check_additions(const Additions& added, bool custom) const;
  void check_changes(std::size_t jobs, std::span<const Index> flows, const Changes& changes) const;
  // Row of the flow whose jobs have ids from this one or a lower one on, or kNone.
  Index flow_of_job(std::int64_t id) const;
  // Row of a job that has not ended, or kNone.
  Index find_job(std::int64_t id) const;
  // Throws if one of these jobs is unknown or has ended.
  void check_open(std::span<const std::int64_t> ids);
  // Rows of flows; throws if an id is unknown.
  std::span<const Index> flow_rows(std::span<const std::int64_t> ids);
  // Marks the flow of a job as changed, and returns it.
  Flow& touch(std::int64_t id);
  // The open job leaves, finished or removed.
  void end(std::int64_t id, JobStage how);
  // Removes jobs that wait for removed ones.
  void remove_behind(Flow& flow);
  // Removes the flows that are marked as leaving.
  void drop_leaving();
  // Sets rows of jobs, and first_ids_.
  void count_rows();

  std::vector<Flow> flows_;
  std::vector<std::int64_t> first_ids_;  // by flow, for a quick search
  std::size_t open_ = 0, rows_ = 0;      // jobs
  std::int64_t next_flow_ = 0, next_job_ = 0;
  NamedRows named_jobs_, named_flows_;
  FlowProblem sorted_;
};

}  // namespace malleable
