// Which unstarted tasks of a job have their block on a given node?
//
// Each job's replicas are sorted by node once, O(r log r) for r replicas; a cursor for each node
// skips tasks that were taken elsewhere, so all questions about a job together cost O(r) besides a
// binary search each. Memory: 8 bytes a replica of the jobs that are present.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

class LocalTasks {
 public:
  // Forgets everything, and makes room for jobs 0 .. count - 1.
  void reset(std::size_t count);
  // Makes room for jobs 0 .. count - 1, and keeps what is known.
  void grow(std::size_t count) { rows_.resize(count); }
  // `node[t * copies + c]` holds copy c of the block of task t. A job may have no blocks at all:
  // then nothing is local to it anywhere.
  void add(Index job, std::size_t tasks, std::size_t copies, std::span<const Index> node);
  void remove(Index job);

  bool has_blocks(Index job) const { return !rows_[job].taken.empty(); }
  // The lowest unstarted task with a block on `node`; kNone if there is none.
  Index find(Index job, Index node);
  // The lowest unstarted task; kNone if there is none.
  Index first(Index job);
  // The task starts.
  void take(Index job, Index task);
  bool taken(Index job, Index task) const { return rows_[job].taken[task] != 0; }
  // A failed or killed task waits again.
  void put_back(Index job, Index task);
  // Where the copies of a task's block are.
  std::span<const Index> replicas(Index job, Index task) const;
  bool on_node(Index job, Index task, Index node) const;

  void state(State& s) { s(rows_); }

 private:
  struct Row {
    std::vector<std::uint8_t> taken;
    std::vector<Index> replica;  // by task
    // distinct nodes, and the range of `task` of each
    std::vector<Index> node, begin, cursor, task;
    std::size_t copies = 0;
    Index next = 0;  // all tasks below have started

    void state(State& s) { s(taken, replica, node, begin, cursor, task, copies, next); }
  };
  std::vector<Row> rows_;
};

}  // namespace malleable
