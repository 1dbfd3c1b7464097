// The fair scheduler of the slotted model, in which a machine does one unit of work a step (Zheng,
// Shroff, Sinha 2013, section VII): equal shares of all machines for the waiting jobs; machines
// that a job cannot use go to the others.
//
// Integer water-filling: a job with r running and w waiting tasks gets clamp(level, r, r + w)
// machines in all; machines left over go one each to the oldest jobs that can use one more. O(n log
// N) a decision with n jobs and N machines, O(1) a change.
#pragma once

#include "malleable/policy/slotted_policy.hpp"

namespace malleable {

class FairShare final : public SlottedPolicy {
 public:
  void arrive(std::span<const SlottedJob> jobs, Index row) override;
  void update(std::span<const SlottedJob>, Index) override {}
  void leave(std::span<const SlottedJob>, Index, bool) override {}
  void decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle,
              bool fresh, std::vector<SlottedGrant>& grants) override;
  void pass(std::int64_t, double) override {}
  void state(State& s) override { s(members_); }

 private:
  struct Member {
    std::int64_t sequence;
    Index row;

    void state(State& s) { s(sequence, row); }
  };
  struct Claim {  // a job and its range of machines
    std::int64_t low, high;
    Index row;
  };
  std::vector<Member> members_;  // oldest first; jobs that left are dropped at the next decision
  std::vector<Claim> claims_;
};

}  // namespace malleable
