// FlowFlex on a cluster with generic slots: whole flows, epoch by epoch (FlowFlex, section 5.2).
//
// When the first job of a flow comes, all of the flow's jobs count. Map and reduce phase are jobs
// of their own, reduces after maps, each with the work left, as estimated, and as many slots at
// most as it has unfinished tasks; a cluster job has the slots of its first unfinished phase, for
// tasks of both. Jobs that have not come have the work that they are believed to have. Coalesced as
// soon as slow start lets reduces in, as the paper has it, a long reduce phase would seem to have
// as many slots as the maps beside it (docs/deviations.md).
//
// A decision puts the flows in order as flow_epoch.hpp does: while there are few jobs, the orders
// of flow_order are compared by the lists that they make (flow_lists), the last decision's order
// among them; with an effort, however many there are, a whole plan's order, too. Many flows are put
// in order as malleable jobs. Jobs are ranked flow by flow in that order, within a flow the longest
// path first, those too that wait for others or have not come: a job that becomes ready between two
// decisions takes free slots by its rank at once. Where what flows pay rises in straight lines,
// prices are kept and worked out for flows that changed alone (flow_front.hpp).
//
// The literal policy begins a whole plan in every decision and has the plan's slots as targets.
// With `targets` ranks are told by way of precedence, beside targets of what the order comes to,
// for a policy that has targets at other times (policy/cluster_auto). With `by_user` users share
// the slots first (policy/user_shares); then each user's flows share what the user has, down the
// order; a flow belongs to its first job's user. A flow counts by its earliest arrival, largest
// weight and latest deadline. O(jobs log jobs) for each order that is compared or planned; of many
// jobs O(flows log flows) an order and O(jobs) of flows that changed. Policies: flowflex,
// flow_lists, flow_order, flow_front, user_shares.
#pragma once

#include <cstdint>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/flow_front.hpp"
#include "malleable/policy/flow_order.hpp"
#include "malleable/policy/flowflex.hpp"
#include "malleable/policy/user_shares.hpp"

namespace malleable {

struct ClusterFlowOptions {
  FlowMethod method = FlowMethod::kBest;
  Aggregate aggregate = Aggregate::kSum;
  Kind kind = Kind::kResponse;
  std::uint64_t effort = 0;
  bool by_user = false;
  bool targets = false;  // beside ranks, by which slots are filled: what the order comes to
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
  bool fills_in_order() const override { return options_.targets; }
  bool order_decides() const override { return options_.targets && !options_.by_user; }
  double precedence(const ClusterState& state, Index job, int pool,
                    std::int64_t running) const override;
  void begin(const ClusterState& state) override;
  // In the middle: of these jobs, in the order in which they were added, those that are present are
  // here, `done` (of flows that are not) are done, and the others will come.
  void begin(const ClusterState& state, std::span<const Index> jobs, std::span<const Index> done);
  // A flow's jobs are all added at once.
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void keep(const ClusterState& state, State& s) override;
  void job_arrived(const ClusterState& state, Index job) override;
  void job_finished(const ClusterState& state, Index job) override;
  void user_changed(const ClusterState& state, Index job, std::size_t before) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;

 private:
  struct Flow {
    double size = 0.0;            // work when it came
    std::vector<Index> jobs;      // in the order of the table
    std::int64_t unfinished = 0;  // of them
    bool here = false;
    std::size_t user = 0;
    // As it was last looked at: jobs that are not done, the longest path first.
    std::vector<Index> line;
    bool touched = false;  // not looked at since something changed
    bool guessed = false;  // what other jobs showed stands in for what nobody said

    void state(State& s) { s(size, jobs, unfinished, here, user); }
  };
  static constexpr double kNoExponent = -1.0;  // ranks are places in the order
  // Of a user, or of all.
  struct Side {
    std::vector<Index> flows, order;  // not done: as they came, and as the last plan has them
    std::int64_t jobs = 0;            // unfinished
    double most = 0.0;                // slots that they can use
    bool stale = false;               // some flow is done, or another side's
    std::vector<Index> touched;
    std::int64_t slots = 0;         // that they were looked at with
    double exponent = kNoExponent;  // of the prices that ranks are
    double cheapest = kNoExponent;  // the one of this decision
    FlowFront front;                // by place in `flows`
    FlowFlex flowflex;
    FlowPlan plan;

    void state(State& s) { s(flows, order, jobs); }
  };
  enum class Place : std::uint8_t { kOutside, kHere, kDone };

  // Flows that are planned or looked at, each phase of a job a row.
  class Rows {
   public:
    FlowProblem problem;
    Penalties penalties;

    void grow(std::size_t jobs);
    // What people pay for these flows; and with their jobs.
    void study(const ClusterFlow& all, const ClusterState& state, std::span<const Index> flows);
    void build(const ClusterFlow& all, const ClusterState& state, std::span<const Index> flows,
               std::int64_t slots);
    // Of the job's first unfinished phase.
    std::size_t of(Index job) const { return static_cast<std::size_t>(first_[job]); }

   private:
    void add(const ClusterState& state, Index job, Place place);
    void add_parents(const ClusterState& state, Index job);

    FlowColumns columns_;
    std::vector<Kind> kind_;
    std::vector<std::int64_t> first_, last_;  // by job: rows of its first and its last phase
  };

  static Index flow_of(const ClusterState& state, Index job) {
    return state.jobs.flow.empty() ? job : static_cast<Index>(state.jobs.flow[job]);
  }
  std::size_t side_of(const Flow& flow) const { return options_.by_user ? flow.user : 0; }
  void clear(const ClusterState& state);
  void come(Index number);
  void touch(Index number);
  void touch_all(Side& side);
  void tidy(Side& side);
  void look_at_kinds(const ClusterState& state);
  void look_at_demand(const ClusterState& state, Index job, int pool);
  bool literal() const { return options_.method == FlowMethod::kLiteral; }
  bool priced(const Side& side) const;
  double rank_now(const ClusterState& state, Index job) const;
  double usable(Index job) const;
  void order_flows(const ClusterState& state, Side& side, std::int64_t slots);
  void make_plan(Side& side);
  void choose_order(Side& side, bool listed);
  void begin_plan(const ClusterState& state, Side& side, std::int64_t slots);
  void places_before(const Side& side);
  void set_order(Side& side, std::span<const Index> places);
  void compare_lists(const ClusterState& state, Side& side, std::int64_t slots);
  void relaxed_order(const ClusterState& state, Side& side, std::int64_t slots);
  void line_up(Flow& flow);
  void look_at_touched(const ClusterState& state, Side& side, std::int64_t slots);
  void look_at_guesses(const ClusterState& state);
  bool look(const ClusterState& state, Side& side, std::int64_t slots);
  void rank(Side& side, Answer& answer);
  void put(Index job, double rank, Answer& answer);
  void serve(Side& side, std::int64_t slots);
  void serve(Index job, double slots);
  double serve(const Flow& flow, double slots);

  ClusterFlowOptions options_;
  bool steady_ = false;  // what flows pay rises in straight lines
  UserShares between_;
  std::vector<double> usable_;
  std::vector<Side> sides_;
  std::vector<Flow> flows_;
  std::vector<Place> place_;  // by job
  // By job: slots that it can use, those of its first phase, what it has in this decision, its
  // rank. Filled in order: the first one of a job that came between decisions stands there, too,
  // once somebody looked.
  std::vector<double> most_, room_, given_;
  mutable std::vector<double> rank_;
  std::vector<Index> served_, before_;  // jobs with slots, in this decision and the last one
  std::vector<Side*> seen_;             // sides that are ranked in this decision
  double guess_[2] = {0.0, 0.0};        // of tasks of which nobody said anything
  Rows rows_;
  std::vector<Index> at_;             // by flow: its place among the side's
  std::vector<Index> warm_, placed_;  // places: of the last order, and of the new one
  std::vector<Index> looked_at_;      // flows, in this decision
  std::vector<std::vector<Index>> planned_orders_;
  FlowOrder flow_order_;
  FlowsAsJobs as_jobs_;
};

}  // namespace malleable
