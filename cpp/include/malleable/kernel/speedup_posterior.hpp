// The posterior of p from all phases, if s tasks of a program together do s^p.
//
// A program is the group of jobs that run it. Each phase gives the likelihood of its tasks' times
// for each p of a grid (kernel/task_samples). Programs may differ in p. The prior of a program is
// the mean of the posteriors of all programs, with the initial prior as one more; a program without
// samples has this prior as its posterior.
//
// If programs differ, one p for all costs 8 % of the mean response.
//
// O(grid) for each phase with samples. Memory: O(programs x grid). Source: empirical Bayes on a
// grid (Laird 1978).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/speedup_curve.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

SpeedupCurve speedup_prior(SpeedupPrior prior);  // sums to 1
double mean_speedup(const SpeedupCurve& chances);
double speedup_variance(const SpeedupCurve& chances);

class SpeedupPosterior {
 public:
  // Jobs without a program count as one program.
  static constexpr std::int64_t kNoProgram = -1;

  explicit SpeedupPosterior(SpeedupPrior prior = SpeedupPrior::kUnknown) { begin_with(prior); }
  // Sets the initial prior.
  void begin_with(SpeedupPrior prior);
  // Adds to the log-likelihood of a program what a phase shows beyond its last report. `tasks`: the
  // tasks of the phase if it has ended.
  void add(std::int64_t program, const SpeedupCurve& more, double tasks);

  // Chances of each p over all programs, by their tasks, and for one program; the mean p of one
  // program.
  const SpeedupCurve& chances() const { return any_; }
  const SpeedupCurve& chances(std::int64_t program) const;
  double mean(std::int64_t program) const;

  // For histories: by program (first: jobs without a program), the number of tasks in ended phases
  // that had samples, and the log-likelihood.
  struct Likelihood {
    double tasks = 0.0;
    SpeedupCurve logs{};
  };
  std::size_t programs() const { return programs_.size(); }
  Likelihood of(std::size_t row) const { return {programs_[row].tasks, programs_[row].logs}; }
  void recall(std::span<const Likelihood> programs);

  void state(State& s) { s(prior_, programs_, sum_, shown_, weighted_, weight_, other_, any_); }

 private:
  struct Program {
    SpeedupCurve logs{};  // logarithms
    double tasks = 0.0, weight = 0.0, mean = 1.0;
    SpeedupCurve own{};  // chances; known if the weight is above 0

    void state(State& s) { s(logs, tasks, weight, mean, own); }
  };
  // Null if the program has shown nothing.
  const Program* find(std::int64_t program) const;
  // The posterior of the program from the other programs and its own phases.
  void update(Program& program);
  void update_all();
  void settle();  // computes other_ and any_

  SpeedupCurve prior_{};
  std::vector<Program> programs_;  // the first one: jobs without a program
  // Sums over programs with samples: of their chances, and of their chances by weight.
  SpeedupCurve sum_{}, weighted_{};
  double shown_ = 0.0, weight_ = 0.0;  // programs with samples, and the sum of their weights
  SpeedupCurve other_{}, any_{};       // chances of a program without samples, and of any program
};

}  // namespace malleable
