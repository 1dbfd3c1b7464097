// The policy that decides which tasks run in a step of the slotted map-and-reduce model (Zheng,
// Shroff, Sinha 2013: in a step a machine does one unit of work). It gets only what changed.
//
// The simulator and a scheduler's own loop call the same object: arrive, update and leave as jobs
// change, decide at the beginning of a step. Policies see estimates of work and true counts of
// waiting tasks. They grant machines only to waiting tasks; a task that runs and may not be
// interrupted keeps its machine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// A live job at the beginning of a step.
struct SlottedJob {
  std::int64_t sequence = -1;  // order by arrival, then place in the table; breaks all ties
  std::int64_t maps = 0;       // map tasks that may start
  std::int64_t ready = 0;      // reduce tasks (units, if they may be interrupted) that may start
  std::int64_t running = 0;    // machines that it holds and keeps
  double map_left = 0.0;       // work left as estimated [units]; at arrival: the estimate
  double reduce_left = 0.0;

  double left() const { return map_left + reduce_left; }

  void state(State& s) { s(sequence, maps, ready, running, map_left, reduce_left); }
};

struct SlottedGrant {
  Index row;
  std::int64_t maps;
  std::int64_t reduces;
};

class SlottedPolicy {
 public:
  virtual ~SlottedPolicy() = default;

  // Row `row` of `jobs` is new, has changed, or leaves because it is done (or `cancelled`). A row
  // may be used again after it has left.
  virtual void arrive(std::span<const SlottedJob> jobs, Index row) = 0;
  virtual void update(std::span<const SlottedJob> jobs, Index row) = 0;
  virtual void leave(std::span<const SlottedJob> jobs, Index row, bool cancelled) = 0;

  // Grants at most `idle` of the `machines`, at most one grant a row. `fresh`: this is the first
  // decision of the step.
  virtual void decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle,
                      bool fresh, std::vector<SlottedGrant>& grants) = 0;

  // `steps` steps passed in which no job could have been granted a machine.
  virtual void pass(std::int64_t machines, double steps) = 0;

  // The state that it keeps between decisions.
  virtual void state(State& s) = 0;
};

// Makes a policy by its name in the registry. Throws std::invalid_argument.
std::unique_ptr<SlottedPolicy> make_slotted_policy(const std::string& name, bool preemptive);

}  // namespace malleable
