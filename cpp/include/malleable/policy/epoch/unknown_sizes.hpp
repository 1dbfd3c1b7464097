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
#include "malleable/policy/epoch/programs.hpp"

namespace malleable {

class UnknownSizes {
 public:
  // The job ends before the next decision.
  void finish(const Scene& at, std::size_t row, std::int64_t program) {
    const JobTable& jobs = at.jobs;
    const double from =
        jobs.ready.empty() ? jobs.since[row] : std::max(jobs.since[row], jobs.ready[row]);
    ended_.push_back(
        {program, jobs.done[row], jobs.rate(row, static_cast<double>(at.grants[row])), from});
  }

  // Before a decision `now`.
  void learn(const Scene& at, double now) {
    const double end = at.period > 0.0 ? at.now + (now - at.now) / 2.0 : now;
    for (const Ended& job : ended_) {
      const double size = job.done + job.rate * std::max(0.0, end - job.from);
      Program& own = of(job.program);
      const std::size_t level = work_class(size);
      own.sizes[level] += 1.0;
      own.least = std::min(own.least, level > 0 ? work_bound(level - 1) : 0.0);
    }
    ended_.clear();
    for (Program& program : programs_) program.index.update(program.sizes);
  }

  // At a decision: what is left of every job; seen(row) follows.
  template <typename Seen>
  void guess(Scene& at, const Programs& programs, const Seen& seen) {
    for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
      at.serve(row);
      const double left = of(programs.of(row)).left(at.jobs.done[row]);
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

  Program& of(std::int64_t program) {
    const auto place =
        std::lower_bound(programs_.begin(), programs_.end(), program,
                         [](const Program& own, std::int64_t name) { return own.name < name; });
    if (place != programs_.end() && place->name == program) return *place;
    Program& made = *programs_.insert(place, Program{program, {}, {}});
    made.index.update(made.sizes);
    return made;
  }

  std::vector<Program> programs_;  // by name
  std::vector<Ended> ended_;       // since the last decision
};

}  // namespace malleable
