// The virtual FAIR run of PSBS (Friedman, Henderson 2003; Dell'Amico, Carra, Michiardi 2016) on a
// pool of a cluster: when jobs would end if all shared its slots.
//
// There a job has the work of its phases that are ready, their tasks' seconds as estimated now, and
// uses as many slots at most as it has tasks; slots are divisible. It begins with nothing done when
// it becomes ready, and stays until it has ended there. Sizes matter only for the order there, and
// a job that is too large there is passed by none for ever. One that has ended there and not here
// is late; if its estimate then rises, it goes on.
//
// O(n) for n jobs there a decision and for each that ends in the run, and O(m log m) for the m of
// them that came or can use other slots than before (kernel/kept_order).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "malleable/kernel/kept_order.hpp"
#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

class VirtualFair {
 public:
  void begin(double now);
  void grow(std::size_t jobs) { inside_.resize(jobs, 0); }
  // To state.now with the slots and jobs that there were, and from there on with those that there
  // are.
  void advance(const ClusterState& state, int pool);
  // Calls tell(job, key): when it ends if nobody else comes; for late ones a number below all
  // times, the least for the first to end.
  template <typename Tell>
  void each(double now, const Tell& tell) const {
    for (const Row& row : rows_) {
      const double ends = row.share > 0.0 ? now + row.left() / row.share : kLatestTime;
      if (row.job != kNone) tell(row.job, row.late > 0.0 ? kLate + row.late : ends);
    }
  }

  void state(State& s);

 private:
  static constexpr double kLate = -1e15;
  struct Row {
    Index job = kNone;   // none: it has left, and goes on with what was believed last
    double done = 0.0;   // slot-seconds
    double late = 0.0;   // the how manieth to end; 0: has not
    double most = 0.0;   // slots
    double work = 0.0;   // slot-seconds
    double share = 0.0;  // slots from now on

    double left() const { return work - done; }
    bool ended() const;
    void state(State& s) { s(job, done, late, most, work, share); }
  };
  void run(double now);
  void look(const ClusterState& state, int pool);
  void share();

  std::vector<Row> rows_;                      // in the order in which they became ready
  std::vector<std::uint8_t> inside_;           // by job
  KeptOrder<std::pair<double, Index>> order_;  // what it could use, and its row
  std::vector<std::uint8_t> listed_;           // by row: is in that order
  double now_ = 0.0, ended_ = 0.0;
  std::int64_t slots_ = 0;
};

}  // namespace malleable
