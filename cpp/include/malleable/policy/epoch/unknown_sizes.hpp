// Unknown sizes: guesses the work left of a job from the work that it has done, for any rule.
//
// Work done has levels that double (kernel/gittins.hpp). The work left is the inverse of the
// Gittins index of the level (the largest ratio, over times to stop, of the chance to end by then
// to the work until then): the work that it takes, for each job that ends, to serve jobs of this
// level as long as that pays. The index is learnt from ended jobs, separately for each program, and
// for all jobs without a program. Before any job has ended, the index halves from level to level,
// so jobs with the least work done come first, and jobs of one level in the order of arrival. All
// levels below the smallest size so far are one level. So slots move if jobs come, end, or reach
// another level, and hardly at other times. O(J) a decision for J jobs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "malleable/kernel/gittins.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class UnknownSizes {
 public:
  // The job ends before the next decision.
  void finish(const Scene& at, std::size_t row, std::int64_t program);
  // Before a decision `now`.
  void learn(const Scene& at, double now);
  // At a decision: what is left of every job; program_of(row) is its number, seen(row) follows.
  template <typename ProgramOf, typename Seen>
  void guess(Scene& at, const ProgramOf& program_of, const Seen& seen) {
    for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
      at.serve(row);
      const double left = of(program_of(row)).left(at.jobs.done[row]);
      if (left == at.jobs.work[row]) continue;
      at.jobs.guess(row, left);
      seen(row);
    }
  }

  void state(State& s) { s(programs_, ended_); }

 private:
  struct Program {
    std::int64_t name;
    WorkCounts sizes{};
    GittinsIndex index;        // by work done
    double least = kInfinity;  // no job has ended with less; infinite if none has ended
    double left(double done) const {
      return 1.0 / index.of(least < kInfinity ? std::max(done, least) : done);
    }
    void state(State& s) { s(name, sizes, index, least); }
  };
  struct Ended {
    std::int64_t program;
    double done, rate, from;  // work done by `from`, and the rate at which it went on from then
    void state(State& s) { s(program, done, rate, from); }
  };
  Program& of(std::int64_t program);

  std::vector<Program> programs_;  // by name
  std::vector<Ended> ended_;       // since the last decision
};

}  // namespace malleable
