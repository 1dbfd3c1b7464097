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
#include <span>
#include <vector>

#include "malleable/policy/slotted_policy.hpp"

namespace malleable {

class SlottedEpoch {
 public:
  SlottedEpoch(std::int64_t machines, double slot_seconds, std::unique_ptr<SlottedPolicy> policy);

  // A job's state; equally long columns. Waiting reduce tasks count only once they may start.
  struct Columns {
    std::span<const std::int64_t> maps, reduces, running;
    std::span<const double> map_left, reduce_left;  // machine seconds, estimated
  };

  // New jobs at `now`; fills `ids`. Throws before anything changes.
  void add(double now, const Columns& columns, std::span<std::int64_t> ids);
  // Overwrites what is given (the others empty). Throws before anything changes.
  void update(std::span<const std::int64_t> ids, const Columns& columns);
  // `cancelled`: not done; the virtual schedule forgets them too.
  void remove(std::span<const std::int64_t> ids, bool cancelled);
  void set_machines(std::int64_t machines);

  struct Grant {
    std::int64_t id, maps, reduces;
  };
  // Times must not fall. Valid until the next call.
  std::span<const Grant> decide(double now);

  std::size_t size() const { return live_; }
  std::int64_t machines() const { return machines_; }

 private:
  std::int64_t slot_of(double now) const;
  Index row_of(std::span<const std::int64_t> ids, std::size_t k) const;
  void move_to(double now);
  void tell(std::int64_t slot);
  std::int64_t id_of(Index row) const;

  std::int64_t machines_;
  double slot_seconds_;
  std::unique_ptr<SlottedPolicy> policy_;
  std::vector<SlottedJob> jobs_;
  std::vector<std::int64_t> generation_;
  std::vector<Index> free_;
  std::vector<SlottedGrant> grants_;
  std::vector<Grant> shown_;
  std::vector<Index> named_;  // rows that a call names, to find one named twice
  double origin_ = 0.0, now_ = 0.0;
  bool began_ = false;
  std::int64_t sequence_ = 0, running_ = 0, told_ = -1;
  std::size_t live_ = 0;
};

}  // namespace malleable
