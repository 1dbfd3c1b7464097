// The adaptive scheduler on a cluster: what happens there is told to it, and it chooses jobs for
// nodes with a free slot (policy/adaptive has the rules).
//
// Resources are groups of nodes with equal slots, rate, storage and link, or single nodes. Jobs are
// of one class that have equal priority of their user and are runs of one program; where programs
// are unknown, equal priority and equal numbers of tasks and estimated seconds of both phases, each
// to the next power of four. A task's seconds on a resource are first taken to be its estimate by
// the node's rate, and its block by the node's storage. Jobs may have rates of their own for types
// of nodes. A simulation knows these rates at first, and types of nodes are then resources of their
// own. A scheduler hears of the rates when jobs come: rates that differ between nodes of one
// resource are refused.
//
// If the matcher throws, the next decision or choice throws it on, and the one after that solves
// the programs again.
//
// A decision says which jobs the free slots would go to by the same rule, taking them to be spread
// over the nodes as all slots are: O(jobs + nodes), and a choice for each free slot while tasks
// wait. Policies: adaptive-literal.
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
  bool listens() const override { return true; }
  // Slots become free though nothing else changes, and who waits becomes overdue.
  bool depends_on_time() const override { return true; }
  void begin(const ClusterState& state) override;
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void keep(const ClusterState& state, State& s) override;
  void job_arrived(const ClusterState& state, Index job) override;
  void job_finished(const ClusterState& state, Index job) override;
  void estimate_said(const ClusterState& state, Index job, Phase p, double before) override;
  void check_node_rates(const ClusterState& state, std::span<const double> rates) const override;
  // Its class stays: it came as what it was.
  void user_changed(const ClusterState& state, Index job, std::size_t before) override;
  void counts_changed(const ClusterState& state, Index job, int pool) override;
  void task_finished(const ClusterState& state, Index job, Phase p, Index node,
                     double seconds) override;
  bool place(const ClusterState& state, Index job, Index task, std::span<Index> node) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;
  Choice choose(const ClusterState& state, Index node, int pool) override;
  double reconsiders(int pool) const override { return scheduler_->overdue(pool); }

  // What the jobs of a class have in common.
  struct Key {
    double priority = 1.0;
    std::int64_t program = -1;   // none
    std::array<int, 4> shape{};  // else magnitudes of tasks and seconds of both phases

    auto operator<=>(const Key&) const = default;
    void state(State& s) { s(priority, program, shape); }
  };
  // After begin().
  const Adaptive& scheduler() const { return *scheduler_; }
  std::vector<Key> classes() const;

 private:
  Key key_of(const ClusterState& state, Index job) const;
  void add(const ClusterState& state, Index job);
  void solve_what_failed(double now);
  void spread_free(const ClusterState& state, int pool);

  AdaptiveOptions options_;
  ClassMatcher matcher_;
  std::unique_ptr<Adaptive> scheduler_;
  std::map<Key, Index> classes_;
  std::vector<std::uint8_t> known_;  // jobs that the scheduler has
  std::exception_ptr failed_;        // what the matcher threw, until it is thrown on
  bool unsolved_ = false;            // the programs, since then
  std::vector<Index> example_;       // a node of each resource
  std::vector<double> seconds_;
  std::vector<std::int64_t> free_;
  std::vector<Index> told_[2];  // by pool: jobs to which the last decision gave free slots
  // Of the decision at hand: by job the slots that it gives, and what is chosen from.
  std::vector<double> more_;
  std::vector<Index> before_;
  std::unique_ptr<Adaptive> trial_;
};

}  // namespace malleable
