// ASRPT and DSRPT, for the slotted model (time in steps, a machine does one unit of work a step):
// map tasks as a virtual SRPT would run them, reduce tasks as soon as possible (Zheng, Shroff,
// Sinha 2013, section VI).
//
// Both keep the virtual SRPT (the job with the least work left first, without precedence between
// map and reduce; kernel/virtual_srpt.hpp), step by step.
//
// ASRPT (algorithm 1) grants machines in four turns, each in the order of available work: the work
// left, reduce alone once the last map task has run, ties to the earlier job.
//   1  a task that runs and may not be interrupted keeps its machine
//   2  map tasks that the virtual SRPT runs in this step
//   3  reduce tasks that may start
//   4  map tasks left
// A plan is for one step: machines of earlier virtual steps that the cluster could not give are not
// made up for. O((s + g) log n) a decision with s jobs in the virtual step, g grants and n live
// jobs; O(log n) a change.
//
// DSRPT runs exactly the virtual map tasks; the reduce work of a virtual step joins a queue at its
// end, first come first served by the machines left over. Reduce tasks must be interruptible. A job
// that ends earlier than estimated leaves the virtual steps, too.
#pragma once

#include "malleable/kernel/indexed_heap.hpp"
#include "malleable/kernel/virtual_srpt.hpp"
#include "malleable/policy/slotted_policy.hpp"

namespace malleable {

// A policy that begins with the map tasks that the virtual SRPT runs in a step.
class PlannedMaps : public SlottedPolicy {
 public:
  void arrive(std::span<const SlottedJob> jobs, Index row) override;
  void leave(std::span<const SlottedJob> jobs, Index row, bool cancelled) override;
  void pass(std::int64_t machines, double steps) override;
  void state(State& s) override { s(virtual_, handle_); }

 protected:
  // Moves the virtual schedule on by one step if it is `fresh` and appends grants for its map
  // tasks, by work left; with `unlocking` only for jobs with at least twice as much reduce as map
  // work left. Returns the machines that stay idle.
  std::int64_t grant(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle,
                     bool fresh, bool unlocking, std::vector<SlottedGrant>& grants);

  // Grants what jobs can still use, in order: maps beside the planned ones, or maps and then
  // reduces. Returns the machines that stay idle.
  std::int64_t fill(std::span<const SlottedJob> jobs, IndexedHeap& order, std::int64_t idle,
                    std::vector<SlottedGrant>& grants);
  // Ends the decision.
  void forget();

 private:
  struct Planned {  // map tasks of the virtual step
    double key;
    std::int64_t sequence, tasks;
    Index row;
  };
  VirtualSrpt virtual_;
  std::vector<Index> handle_;  // by row: handle of its job in the virtual SRPT
  std::vector<Planned> planned_;
  std::vector<Index> place_;  // of a row's grant
};

class Asrpt final : public PlannedMaps {
 public:
  void update(std::span<const SlottedJob> jobs, Index row) override;
  void leave(std::span<const SlottedJob> jobs, Index row, bool cancelled) override;
  void decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle,
              bool fresh, std::vector<SlottedGrant>& grants) override;
  void state(State& s) override {
    PlannedMaps::state(s);
    s(maps_, reduces_);
  }

 private:
  IndexedHeap maps_, reduces_;
};

class Dsrpt final : public SlottedPolicy {
 public:
  void arrive(std::span<const SlottedJob> jobs, Index row) override;
  void update(std::span<const SlottedJob>, Index) override {}
  void leave(std::span<const SlottedJob> jobs, Index row, bool cancelled) override;
  void decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle,
              bool fresh, std::vector<SlottedGrant>& grants) override;
  void pass(std::int64_t machines, double steps) override;
  void state(State& s) override { s(virtual_, handle_, queue_, next_, head_); }

 private:
  struct Batch {  // reduce work of a job that a virtual step has released
    std::int64_t sequence;
    double work;  // infinite: all work that the job has left, also beyond its estimate
    Index row;

    void state(State& s) { s(sequence, work, row); }
  };
  // Drops the served front of the queue, once it is long.
  void drop_served();
  // Lets the reduce work of a virtual step join next_.
  void enqueue(const VirtualSrpt::Served& served);
  VirtualSrpt virtual_;
  std::vector<Index> handle_;        // by row: handle of its job in the virtual SRPT
  std::vector<Batch> queue_, next_;  // next_: joins the queue at the end of this step
  std::size_t head_ = 0;             // the first batch that is not served
  std::vector<Index> place_;         // of a row's grant in this decision
};

}  // namespace malleable
