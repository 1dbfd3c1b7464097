// FlowFlex on a cluster with generic slots: plans of whole flows, epoch by epoch (FlowFlex, section
// 5.2).
//
// When the first job of a flow comes, all of the flow's jobs enter the plans. Map and reduce phase
// are jobs of the plan, reduces after maps, each with the work left, as estimated, and as many
// slots at most as it has unfinished tasks; a cluster job has the slots of its first unfinished
// phase, for tasks of both. Jobs that have not come have the work that they are believed to have.
// Coalesced as soon as slow start lets reduces in, as the paper has it, a long reduce phase would
// seem to have as many slots as the maps beside it (docs/deviations.md). A decision is the first
// layer of a plan of all flows that are not done, in which the last decision's order of flows is
// tried among the first. With `by_user` users share the slots first (policy/user_shares), and each
// user's flows are planned on what the user has; a flow belongs to its first job's user. A flow
// counts by its earliest arrival, largest weight and latest deadline. O(jobs log jobs) for each
// order that a plan tries. Policies: flowflex, user_shares.
#pragma once

#include <cstdint>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/flowflex.hpp"
#include "malleable/policy/user_shares.hpp"

namespace malleable {

struct ClusterFlowOptions {
  FlowMethod method = FlowMethod::kBest;
  Aggregate aggregate = Aggregate::kSum;
  Kind kind = Kind::kResponse;
  std::uint64_t effort = 0;
  bool by_user = false;
};

class ClusterFlow final : public ClusterPolicy {
 public:
  explicit ClusterFlow(const ClusterFlowOptions& options) : options_(options) {}

  Style style() const override { return Style::kTargets; }
  void begin(const ClusterState& state) override;
  // A flow's jobs are all added at once.
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void keep(const ClusterState& state, State& s) override;
  void job_arrived(const ClusterState& state, Index job) override;
  void job_finished(const ClusterState& state, Index job) override;
  void user_changed(const ClusterState& state, Index job, std::size_t before) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;

 private:
  struct Flow {
    double arrival = kInfinity, weight = 0.0, deadline = -kInfinity;
    double size = 0.0;            // work when it came
    Index steps = kNone;          // its first job with an SLA, whose steps are the flow's
    std::vector<Index> jobs;      // in the order of the table
    std::int64_t unfinished = 0;  // of them
    bool here = false;
    std::size_t user = 0;

    void state(State& s) {
      s(arrival, weight, deadline, size, steps, jobs, unfinished, here, user);
    }
  };
  // Of a user, or of all.
  struct Side {
    std::vector<Index> flows, order;  // not done: as they came, and as the last plan has them
    FlowFlex flowflex;
    FlowPlan plan;

    void state(State& s) { s(flows, order); }
  };
  enum class Place : std::uint8_t { kOutside, kHere, kDone };

  Index flow_of(const ClusterState& state, Index job) const {
    return state.jobs.flow.empty() ? job : static_cast<Index>(state.jobs.flow[job]);
  }
  std::size_t side_of(const Flow& flow) const { return options_.by_user ? flow.user : 0; }
  void add_rows(const ClusterState& state, Index job);
  void add_parents(const ClusterState& state, Index job);
  void plan(const ClusterState& state, Side& side, std::int64_t slots, Answer& answer);

  ClusterFlowOptions options_;
  UserShares between_;
  std::vector<double> usable_;
  std::vector<Side> sides_;
  std::vector<Flow> flows_;
  std::vector<Place> place_;         // by job
  std::vector<std::uint8_t> wants_;  // by job: it could use slots in this decision
  // One plan's columns; by job the rows of its ready tasks and of its last ones.
  FlowProblem problem_;
  Penalties penalties_;
  std::vector<double> arrival_, weight_, deadline_, size_, row_work_;
  std::vector<std::int64_t> job_offset_, row_most_, parent_offset_, parent_, first_row_, last_row_;
  SlaColumns steps_;
  std::vector<Kind> kind_;
  std::vector<Index> warm_, at_;
};

}  // namespace malleable
