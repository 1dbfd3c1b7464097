// The adaptive scheduler in a loop of one's own: jobs come, tasks end, free slots get tasks.
//
// Keeps how many tasks of each phase wait, run and have ended; reduce tasks may start when all map
// tasks have ended, or when told. A decision offers each free slot once, one slot of every node in
// turn, and takes for granted that what it answers is started. Policies: adaptive.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/policy/adaptive.hpp"

namespace malleable {

struct TaskStarts {
  std::vector<std::int64_t> job, phase, task, node;  // task: -1 where tasks have no place
  std::size_t size() const { return job.size(); }
};

class AdaptiveEpoch {
 public:
  AdaptiveEpoch(Adaptive scheduler, std::vector<std::int64_t> node_slots, bool generic);

  Index add(Index job_class, Index user, double now, const std::int64_t (&tasks)[2],
            std::span<const double> seconds);
  // `node[t * copies + c]` holds copy c of the block of map task t; before any task started.
  void set_blocks(Index job, std::size_t copies, std::span<const Index> node);
  // That many tasks may start now.
  void set_waiting(Index job, Phase p, std::int64_t tasks, double now);
  // A task ended on a node, after so many seconds; false: it failed and waits again (`task`: its
  // number if it has a block).
  void finish(Index job, Phase p, Index node, Index task, double seconds, bool done, double now);
  void remove(Index job);

  // free[p][n]: slots of node n; with generic slots only free[0].
  void decide(double now, const std::span<const std::int64_t> (&free)[2], TaskStarts& starts);

  const Adaptive& scheduler() const { return scheduler_; }
  Adaptive& scheduler() { return scheduler_; }
  std::size_t nodes() const { return node_slots_.size(); }
  bool generic() const { return generic_; }
  std::int64_t total(Index job, Phase p) const { return jobs_[job].total[p]; }
  std::int64_t waiting(Index job, Phase p) const { return jobs_[job].waiting[p]; }
  std::int64_t running(Index job, Phase p) const { return jobs_[job].running[p]; }
  std::int64_t finished(Index job, Phase p) const { return jobs_[job].finished[p]; }
  bool has_blocks(Index job) const { return blocks_.has_blocks(job); }
  // Of a job with blocks: the task does not wait.
  bool started(Index job, Index task) const { return blocks_.taken(job, task); }

  // All but the matcher.
  void state(State& s) { s(scheduler_, node_slots_, generic_, blocks_, jobs_); }

 private:
  struct Counts {
    std::int64_t total[2] = {0, 0}, waiting[2] = {0, 0}, running[2] = {0, 0}, finished[2] = {0, 0};
    void state(State& s) { s(total, waiting, running, finished); }
  };
  int pool_of(Phase p) const { return generic_ ? 0 : p; }
  void tell(Index job, int pool, double now);
  bool offer(Index node, int pool, double now, TaskStarts& starts);

  Adaptive scheduler_;
  std::vector<std::int64_t> node_slots_;  // of both kinds
  bool generic_;
  LocalTasks blocks_;
  std::vector<Counts> jobs_;
  std::vector<std::int64_t> left_, by_resource_;
};

}  // namespace malleable
