// Slotted policies for a scheduler's own loop: who runs now, and on how many machines.
//
// Time is real and cut into slots of a given length from the first call on; the first decision of a
// slot moves the policy's virtual schedule on, further ones in the same slot only hand out what is
// idle. Work is estimated in machine seconds. A machine that a job is said to run on is not idle:
// report no running machines if every task may be stopped, and all of them otherwise. Ids are
// handles that stay until removed. O(log n) a change with n live jobs; decide as the policy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "malleable/model/named_rows.hpp"
#include "malleable/policy/slotted_policy.hpp"

namespace malleable {

class SlottedEpoch {
 public:
  // A policy by name, of those that need no preemption.
  SlottedEpoch(std::int64_t machines, double slot_seconds, const std::string& policy);

  // A job's state; equally long columns. Waiting reduce tasks count only once they may start.
  struct Columns {
    std::span<const std::int64_t> maps, reduces, running;
    // Machine seconds, estimated. Without map_left a waiting map task counts as the last map_left
    // said of each that waited then, or else as a slot.
    std::span<const double> map_left, reduce_left;
  };

  // New jobs at `now`; fills `ids`. Throws before anything changes.
  void add(double now, const Columns& columns, std::span<std::int64_t> ids);
  // Overwrites what is given (the others empty). Throws before anything changes.
  void update(std::span<const std::int64_t> ids, const Columns& columns);
  // `cancelled`: not done; the virtual schedule forgets them too.
  void remove(std::span<const std::int64_t> ids, bool cancelled);

  struct Grant {
    std::int64_t id, maps, reduces;
  };
  // Times must not fall. `machines`, if given, holds from now on; throws before anything changes.
  // Valid until the next call.
  std::span<const Grant> decide(double now, std::optional<std::int64_t> machines = {});

  std::size_t size() const { return live_; }
  std::int64_t machines() const { return machines_; }

  void state(State& s);

 private:
  std::int64_t slot_of(double now) const;
  std::span<const Index> rows_of(std::span<const std::int64_t> ids);
  void set_map_left(Index row, double work);
  void move_to(double now);
  void tell(std::int64_t slot);
  std::int64_t id_of(Index row) const;

  std::int64_t machines_;
  double slot_seconds_;
  std::string policy_name_;
  std::unique_ptr<SlottedPolicy> policy_;
  std::vector<SlottedJob> jobs_;
  std::vector<double> map_task_;  // slots that a waiting map task counts for
  std::vector<std::int64_t> generation_;
  std::vector<Index> free_;
  std::vector<SlottedGrant> grants_;
  std::vector<Grant> shown_;
  NamedRows named_;
  double origin_ = 0.0, now_ = 0.0;
  bool began_ = false;
  std::int64_t sequence_ = 0, running_ = 0, told_ = -1;
  std::size_t live_ = 0;
};

}  // namespace malleable
