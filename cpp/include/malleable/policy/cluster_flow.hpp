// FlowFlex on a cluster with generic slots (which run maps and reduces): whole flows, epoch by
// epoch (Nagarajan et al. 2013, section 5.2).
//
// An epoch of flows (policy/flow_epoch) orders the flows. This file turns cluster jobs into its
// jobs. When the first job of a flow comes, the whole flow is added. There the map phase and the
// reduce phase are separate jobs, reduces after maps, each with its estimated work left, and at
// most as many slots as it has unfinished tasks. A cluster job gets the slots of its first
// unfinished phase, for tasks of both. Jobs that have not come count with their estimated work.
// Nagarajan et al. join the phases as soon as slow start lets reduces in; then a long reduce phase
// would seem to have as many slots as the maps beside it (docs/internals/deviations.md). A flow
// counts by its earliest arrival, largest weight and latest deadline.
//
// Jobs are ranked flow by flow in the epoch's order, within a flow the longest path first. Jobs
// that wait for others or have not come are ranked, too, so that a job that becomes ready between
// two decisions takes free slots by its rank at once. If the order is one of prices (work left over
// weight), ranks are prices, so that the ranks of unchanged flows stay.
//
// The literal policy (FlowFlex as printed) uses the slots of its epoch as targets (slots that jobs
// should have). With `targets`, ranks are given as precedence, beside targets that show what the
// order leads to. That is for policy/cluster_auto, which has targets at other times and says when
// to start. It also says when tasks slow each other down (spread()). Then the epoch is told the
// speed-ups that were learnt of programs, so that a flow gets no more slots than do well
// (kernel/flow_gains), and its slots are the targets, which are filled in its order. With `by_user`
// users share the slots first (policy/user_shares); then each user has an epoch; a flow belongs to
// its first job's user. If slots need a restart, too, the targets go down the order, and a job gets
// no more than are worth it (policy/restart_slots), for any p. O(jobs + parents) a decision,
// beside the epoch's.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/flow_epoch.hpp"
#include "malleable/policy/restart_slots.hpp"
#include "malleable/policy/user_shares.hpp"

namespace malleable {

struct ClusterFlowOptions {
  FlowMethod method = FlowMethod::kBest;
  Aggregate aggregate = Aggregate::kSum;
  Kind kind = Kind::kResponse;
  std::uint64_t effort = 0;
  bool by_user = false;
  bool targets = false;  // beside ranks, which decide: targets that the order leads to
};

class ClusterFlow final : public ClusterPolicy {
 public:
  explicit ClusterFlow(const ClusterFlowOptions& options) : options_(options) {}

  Style style() const override {
    return options_.targets || options_.by_user || literal() ? Style::kTargets : Style::kRanks;
  }
  double first_rank(const ClusterState& state, Index job, int) override {
    return rank_now(state, job);
  }
  // With `targets`: they are filled by precedence; or precedence alone decides, unless users share
  // the slots first or the slots of the epoch are the targets.
  bool fills_in_order() const override { return options_.targets; }
  bool order_decides() const override {
    return options_.targets && !options_.by_user && !spreads_ && !restarts_.any();
  }
  double precedence(const ClusterState& state, Index job, int pool,
                    std::int64_t running) const override;
  void begin(const ClusterState& state) override;
  // All jobs of a flow are added in one call.
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void keep(const ClusterState& state, State& s) override;
  void job_arrived(const ClusterState& state, Index job) override;
  void job_finished(const ClusterState& state, Index job) override;
  void user_changed(const ClusterState& state, Index job, std::size_t before) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;

  // With `targets`: whether this policy decides from now on. If not, it only counts flows.
  void start(const ClusterState& state);
  void stop(const ClusterState& state);
  // With `targets`, before a decision: whether tasks slow each other down so much that a flow
  // should not get all that it can use.
  void spread(bool spreads) { spreads_ = spreads && !restarts_.any(); }
  // The number of flows of several jobs with a job that has come and a job that is not done.
  std::int64_t several() const { return several_; }
  bool is_done(Index job) const { return place_[job] == Place::kDone; }

 private:
  static constexpr std::int64_t kAbsent = -1;  // the flow has no id in the epoch
  struct Flow {
    double size = 0.0;            // work at arrival
    std::vector<Index> jobs;      // in the order of the table
    std::int64_t unfinished = 0;  // of them
    bool here = false;
    std::size_t user = 0;
    std::int64_t id = kAbsent;  // id in the epoch of its side
    std::vector<Index> line;    // unfinished jobs, longest path first, at the last decision

    void state(State& s) { s(size, jobs, unfinished, here, user, id, line); }
  };
  // The flows of one user, or of all users.
  struct Side {
    FlowEpoch epoch;
    std::vector<Index> flow;  // number, by id
    double most = 0.0;        // slots that the side's jobs can use

    void state(State& s) { s(epoch, flow, most); }
  };
  // whether map and reduce phase are in the table: those with tasks, or the only one
  using Phases = std::array<bool, 2>;
  enum class Place : std::uint8_t { kOutside, kHere, kDone };  // not come yet; come; finished
  // What is left of a phase.
  struct Left {
    double work;
    std::int64_t most;
    bool ended;
  };

  static Index flow_of(const ClusterState& state, Index job) {
    return state.jobs.flow.empty() ? job : static_cast<Index>(state.jobs.flow[job]);
  }
  static Phases phases_of(const ClusterState& state, Index job) {
    const bool reduces = state.jobs.tasks[kReduce][job] > 0;
    return {state.jobs.tasks[kMap][job] > 0 || !reduces, reduces};
  }
  Side& side_of(const Flow& flow) { return sides_[options_.by_user ? flow.user : 0]; }
  const Side& side_of(const Flow& flow) const { return sides_[options_.by_user ? flow.user : 0]; }
  // The slots of the epoch are the targets.
  bool by_epoch() const { return literal() || spreads_; }
  bool literal() const { return options_.method == FlowMethod::kLiteral; }
  template <typename Visit>
  void each_phase(const ClusterState& state, Index job, const Visit& visit) const;
  Left left_of(const ClusterState& state, Index job, Phase p) const;
  // Adds a flow to the epoch of its side.
  void come(const ClusterState& state, Index number);
  void add_parents(const ClusterState& state, const Flow& flow);
  // p of a job at a decision; that of all programs for jobs that have not come.
  double speedup_of(const ClusterState& state, Index job) const {
    if (!spreads_) return 1.0;
    return place_[job] == Place::kHere ? state.exponent_of(job) : state.learned.speedup;
  }
  void update_speedups(const ClusterState& state, Answer& answer);
  // Removes it.
  void leave(Flow& flow);
  // Tells the epoch what changed of a job and of its flow.
  void update_job(const ClusterState& state, Index job);
  // Updates jobs without a stated time, whose tasks count like those of other jobs.
  void update_guesses(const ClusterState& state);
  // Counts the slots that a job can use now.
  void count_most(const ClusterState& state, Index job);
  // With `targets`: the slots of each job that are worth a restart (policy/restart_slots).
  void count_restarts(const ClusterState& state, const Answer& answer);
  // Sets the lines of flows that changed.
  void line_up(Side& side);
  // Decides about the flows of a side.
  void serve(double now, Side& side, std::int64_t slots, Answer& answer);
  // Gives slots to flows; `rows`: of the epoch, in its order.
  void hand_out(Side& side, std::span<const Index> rows, double slots, Answer& answer);
  // Sets the ranks of jobs: prices, or places in the order.
  void rank(Side& side, const FlowEpoch::Order& order, Answer& answer);
  // Sets the rank of a job.
  void put(Index job, double rank, Answer& answer);
  // The rank; between two decisions a new flow goes before the first flow with more work left.
  double rank_now(const ClusterState& state, Index job) const;
  // The job's first unfinished phase in the table.
  const FlowTable::Job& phase_of(const FlowTable::Flow& row, Index job) const {
    const FlowTable::Job* first = &row.jobs[at_[job]];
    return first->open() || at_[job] + 1 == ends_[job] ? *first : first[1];
  }

  ClusterFlowOptions options_;
  bool serves_ = true;                     // whether flows are added to epochs
  bool spreads_ = false, spread_ = false;  // now, and at the last decision
  RestartSlots restarts_;
  std::vector<RestartSlots::Worth> worth_;  // by job, if slots need a restart
  UserShares between_;
  std::vector<double> usable_;  // by side: slots that its jobs can use (workspace)
  std::vector<Side> sides_;
  std::vector<Flow> flows_;
  std::int64_t several_ = 0;
  std::vector<Place> place_;      // by job
  std::vector<Index> at_, ends_;  // by job: the places of its phases in its flow's table
  std::vector<Phases> phases_;    // by job: the phases in its flow's table
  // by job: its place in the order of targets, computed when asked for
  mutable std::vector<double> rank_;
  std::vector<double> most_;      // by job: slots that it can use
  std::vector<double> speedup_;   // by job: p, as its epoch knows it
  double guess_[2] = {0.0, 0.0};  // seconds of a task without any estimate
  // Workspace for changes of an epoch.
  FlowColumns columns_;
  std::vector<std::int64_t> ids_, most_slots_, ended_;
  std::vector<double> work_;
  SpeedupColumns speedups_;
};

}  // namespace malleable
