// Jobs on nodes of unlike kinds: minimum shares first, then the objective's order, and a job leaves
// a slot of a kind to others if waiting for a better kind ends its task earlier.
//
// Nodes of one type, rate and storage are a kind. A task of t seconds takes t / r on a kind whose
// rate for its job and phase is r. A job looks at the kind k that is fastest for it among the kinds
// with a free slot. While slots are free:
//   1. if some users with a waiting task have fewer slots than their minimum shares, the user with
//      the largest (minimum - running) x priority gets a slot, for the first of the user's jobs;
//   2. otherwise the first job in the order gets one for which t / r_k <= t / r_k' + (W_k' + t /
//      r_k') / 2 c_k' for every other kind k' that has slots. Here c_k' are the slots of kind k',
//      and W_k' is the work on it of tasks of earlier jobs that refused a slot, each on the kind
//      where it would end first. Jobs below a minimum of their own come first, on any kind. A job
//      whose blocks are elsewhere lets others go first for 10 s (delay scheduling) from the time at
//      which it could first have had a slot.
// Maps and reduces with separate slots are decided separately. If all jobs refuse, slots idle until
// the next event. If nodes offer slots at heartbeats, only slots of that node count as free. The
// order: work left at the best rates over weight for response, times the size for stretch, each
// times (seconds on this kind / on the best kind); deadlines if the objective has them; arrivals
// for the largest response.
//
// Copies of a block go to the nodes that would be done with it first if they had to run all tasks
// whose blocks they have: O(kinds + log nodes) each.
//
// Nodes that leave or come, and slots that change, count at once: no job waits for a kind without
// slots. A change of a job takes O(kinds + log jobs), a choice O(nodes + users + kinds x jobs that
// refuse); nodes are looked at only if several have free slots. Source: Rasooli and Down 2011 (the
// adaptive scheduler), sections 6.1 and 6.2, without their linear programs.
#pragma once

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "malleable/model/penalties.hpp"
#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

class ClusterFinish final : public ClusterPolicy {
 public:
  ClusterFinish(bool is_max, Kind kind)
      : kind_(kind),
        of_deadlines_(kind == Kind::kTardy || kind == Kind::kTardiness || kind == Kind::kLateness ||
                      kind == Kind::kStrict),
        by_work_(!of_deadlines_ && (!is_max || kind == Kind::kStretch)) {}

  Style style() const override { return Style::kNode; }
  void begin(const ClusterState& state) override;
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void job_finished(const ClusterState& state, Index job) override;
  void check_node_rates(const ClusterState&, std::span<const double>) const override {}
  void user_changed(const ClusterState& state, Index job, std::size_t before) override;
  void counts_changed(const ClusterState& state, Index job, int pool) override;
  void slots_changed(const ClusterState& state, Index node, int pool, std::int64_t more) override;
  // For display only (choose() decides): the slots that each job would get beside its running tasks
  // if the free slots were given down the order.
  void decide(const ClusterState& state, int pool, Answer& answer) override;
  // A choice looks at all free slots, and may take another node's. reconsiders(): then a job that
  // waits for a node with its blocks takes any node.
  bool knows_all_slots() const override { return true; }
  Choice choose(const ClusterState& state, Index node, int pool) override;
  bool place(const ClusterState& state, Index job, Index task, std::span<Index> node) override;
  double reconsiders(int pool) const override { return pool == 0 ? again_ : kInfinity; }
  void keep(const ClusterState& state, State& s) override;

 private:
  using Place = std::pair<double, Index>;  // (key, job), in order
  using Places = std::set<Place>;

  // Seconds of a task on this kind of node.
  double seconds(const ClusterState& state, Index job, Phase p, Index kind) const;
  // Its place in the order, the least first.
  double key(const ClusterState& state, Index job) const;
  // The phase that can use a slot of the pool; whether the job has such a task.
  Phase next_phase(const ClusterState& state, Index job, int pool) const;
  bool waits(const ClusterState& state, Index job, int pool) const;
  // Puts it at its place, or takes it out.
  void put(const ClusterState& state, Index job, int pool);
  void take_out(Index job, int pool);
  // Builds the order again, with all jobs.
  void put_all(const ClusterState& state);
  // Sorts the nodes of each kind by load (load_).
  void sort_loads();
  // Seconds of a task on the fastest kind that has slots.
  double best_seconds(const ClusterState& state, Index job, Phase p) const;
  // The jobs of the user that lacks most of its minimum share; null: no user lacks any.
  const Places* below_minimum(const ClusterState& state, int pool) const;
  // Sets free_, with the given node for its own kind.
  void list_free(const ClusterState& state, Index node, int pool);
  // The free node on which a task of the job would end first.
  Index fastest_free(const ClusterState& state, Index job, Phase p) const;
  // Delay scheduling: a node like the given one with a block of the job; kNone: the job waits.
  Index near_block(const ClusterState& state, Index job, Index like, int pool);
  // The first of these jobs that takes a slot, and where.
  Choice best_of(const ClusterState& state, const Places& jobs, int pool, bool needy);
  // Whether a task ends earlier if it waits for another kind of node.
  bool refuses(const ClusterState& state, Index job, Phase p, Index kind, int pool);

  Kind kind_;  // of penalty
  // the order is by deadlines, or by work; otherwise by arrivals
  bool of_deadlines_, by_work_;
  std::vector<Index> of_;               // by node: its kind
  std::vector<Index> example_;          // by kind: one node of it
  std::vector<std::int64_t> slots_[2];  // by kind
  Places order_[2];
  std::vector<Places> own_[2];  // by user
  // By pool and job: its key in the order, and its user there.
  std::vector<double> key_[2];
  std::vector<std::size_t> user_[2];
  std::vector<std::uint8_t> inside_[2];  // whether it is in the order
  std::vector<Index> free_;              // by kind: a node with a free slot in the present choice
  std::vector<double> ahead_;            // by kind: W in the present choice
  // by job: the time since which it waits for a node with its blocks; -1: it does not
  std::vector<double> skipped_;
  double again_ = kInfinity;  // the time at which the first of those takes any node
  // By node: seconds that a slot takes for the blocks there; by kind: its nodes in that order.
  std::vector<double> load_;
  std::vector<Places> least_;
  std::vector<Index> given_[2];  // by pool: jobs to which the last decision gave free slots
};

}  // namespace malleable
