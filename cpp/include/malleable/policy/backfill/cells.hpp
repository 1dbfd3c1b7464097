// The room that nodes have for tasks of a backfill queue. Nodes of the same partitions form a cell,
// or one node if memory or GPUs are given; cells are in order, first the ones that fewest jobs
// could use.
//
// O(C) a question for C cells.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/cluster.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class Cells {
 public:
  struct Room {  // free slots, memory and GPUs
    std::vector<NodeRoom> cell;
    std::int64_t free = 0;  // slots of all cells
  };
  struct Reserved {              // by cell
    std::vector<double> from;    // when its reservation begins; infinite: there is none
    std::vector<NodeRoom> room;  // beside the reservation, from then on
  };
  struct Taken {  // so many tasks of a place in the queue, on nodes of a cell
    Index place, cell;
    std::int64_t tasks;

    friend auto operator<=>(const Taken&, const Taken&) = default;
  };

  void make(const ClusterView& cluster);
  std::size_t size() const { return cells_.size(); }
  // Nodes differ, so it matters on which node a job runs.
  bool apart() const { return apart_; }
  Index of(Index node) const { return of_[node]; }
  std::span<const Index> nodes(std::size_t cell) const { return cells_[cell].nodes; }

  bool may_run_in(std::size_t cell, const TaskNeeds& needs) const {
    return needs.may_run_in(cells_[cell].partitions);
  }
  // The number of tasks with these needs that the room of a cell, or of all cells, holds.
  std::int64_t fit(const NodeRoom& room, std::size_t cell, const TaskNeeds& needs) const {
    return may_run_in(cell, needs) ? room.fit(needs) : 0;
  }
  std::int64_t most(std::span<const NodeRoom> room, const TaskNeeds& needs) const;
  // The number of tasks with room until `end`, also beside reservations that begin before.
  std::int64_t most(const Room& room, const Reserved& later, const TaskNeeds& needs,
                    double end) const;
  // Takes room for `tasks`, cell by cell, and lists it in `taken`; with `later`, until `end`.
  void take(Room& room, Reserved* later, Index place, const TaskNeeds& needs, double end,
            std::int64_t tasks, std::vector<Taken>& taken) const;

 private:
  struct Cell {
    std::uint64_t partitions;
    std::vector<Index> nodes;
  };
  std::vector<Cell> cells_;
  std::vector<Index> of_;  // by node
  bool apart_ = false;
};

}  // namespace malleable
