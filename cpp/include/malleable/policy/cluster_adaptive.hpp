// The adaptive scheduler on a cluster (Rasooli and Down 2011: linear programs match classes of jobs
// with resources, that is, types of nodes): passes events to policy/adaptive, which has the rules,
// and chooses jobs for nodes with a free slot.
//
// Resources are groups of nodes with equal slots, rate, storage and link, or single nodes. Jobs are
// of one class if their users have equal priority and they are runs of one program. If programs are
// unknown, jobs of one class have users of equal priority, and equal numbers of tasks and estimated
// seconds of both phases, each to the next power of four. The first estimate of a task's seconds on
// a resource is its estimate over the node's rate, plus its block over the node's storage. Jobs may
// have rates of their own for types of nodes. A simulation knows these rates at first, and types of
// nodes are then resources of their own. A scheduler hears of the rates when jobs come: rates that
// differ between nodes of one resource are refused.
//
// Nodes that come or leave, and slots that change, count from the next decision or choice on.
//
// If the matcher (the caller's function that solves the programs) throws, the next decision or
// choice throws it on, and the one after that solves the programs again.
//
// A decision gives free slots by the same rule, as if they were spread over the nodes like all
// slots: O(jobs + nodes), plus a choice for each free slot while tasks wait. Policies:
// adaptive-literal.
#pragma once

#include <array>
#include <exception>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "malleable/policy/adaptive.hpp"
#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

class ClusterAdaptive final : public ClusterPolicy {
 public:
  ClusterAdaptive(const AdaptiveOptions& options, ClassMatcher matcher);

  Style style() const override { return Style::kNode; }
  bool listens() const override { return true; }  // ends of tasks correct the estimates of classes
  // The answer changes with time alone, because jobs that wait become overdue.
  bool depends_on_time() const override { return true; }
  void begin(const ClusterState& state) override;
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void keep(const ClusterState& state, State& s) override;
  void job_arrived(const ClusterState& state, Index job) override;
  void job_finished(const ClusterState& state, Index job) override;
  void stated_time_changed(const ClusterState& state, Index job, Phase p, double before) override;
  void check_node_rates(const ClusterState& state, std::span<const double> rates) const override;
  // The job's class stays, because its arrival was counted there.
  void user_changed(const ClusterState& state, Index job, std::size_t before) override;
  void counts_changed(const ClusterState& state, Index job, int pool) override;
  void slots_changed(const ClusterState& state, Index node, int pool, std::int64_t more) override;
  void task_finished(const ClusterState& state, Index job, Phase p, Index node,
                     double seconds) override;
  bool place(const ClusterState& state, Index job, Index task, std::span<Index> node) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;
  Choice choose(const ClusterState& state, Index node, int pool) override;
  // From then on a node with a free slot gets a job in any case.
  double reconsiders(int pool) const override { return scheduler_->overdue(pool); }

  // What the jobs of a class have in common.
  struct Key {
    double priority = 1.0;
    std::int64_t program = -1;   // none
    std::array<int, 4> shape{};  // else tasks and seconds of both phases, as powers of four

    auto operator<=>(const Key&) const = default;
    void state(State& s) { s(priority, program, shape); }
  };
  // Call it after begin() only.
  const Adaptive& scheduler() const { return *scheduler_; }
  std::vector<Key> classes() const;

 private:
  Key key_of(const ClusterState& state, Index job) const;
  // Puts a job into its class.
  void add(const ClusterState& state, Index job);
  // Rethrows the matcher's exception, once; in the next call solves the programs.
  void solve_what_failed(double now);
  // Sets free_: the free slots by resource, spread like all slots.
  void spread_free(const ClusterState& state, int pool);

  AdaptiveOptions options_;
  ClassMatcher matcher_;
  std::unique_ptr<Adaptive> scheduler_;
  std::map<Key, Index> classes_;
  std::vector<std::uint8_t> known_;  // jobs that scheduler_ knows
  std::exception_ptr failed_;        // exception of the matcher, until it is rethrown
  bool unsolved_ = false;            // the programs are unsolved since the exception
  std::vector<Index> example_;       // one node of each resource
  std::vector<double> seconds_;
  std::vector<std::int64_t> free_;
  std::vector<Index> given_[2];  // by pool: jobs to which the last decision gave free slots
  // Workspace of a decision: by job the slots that it gives, and the free slots left.
  std::vector<double> more_;
  std::vector<Index> before_;
  std::unique_ptr<Adaptive> trial_;
};

}  // namespace malleable
