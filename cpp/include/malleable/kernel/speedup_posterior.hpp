// What do all phases together say of p, if s tasks of a program do s^p together?
//
// A phase says how likely each p of a grid makes its tasks' times (kernel/task_samples). Programs
// may differ in p. What a program's own phases say is judged by what is believed of the others: the
// mean over them, one more being what was believed before anything was said. A program of which
// nothing is known is one of these.
//
// Where programs differ, one p for all costs 8 % of the mean response.
//
// O(grid) for a phase that says something. Memory: O(programs x grid). Source: empirical Bayes on a
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
  // Jobs without a program are one program, too.
  static constexpr std::int64_t kNoProgram = -1;

  explicit SpeedupPosterior(SpeedupPrior prior = SpeedupPrior::kUnknown) { begin_with(prior); }
  // What was believed before anything was said, in place of what it was.
  void begin_with(SpeedupPrior prior);
  // Of a program's phase: what it says beyond what it had said; `tasks` of a phase that has ended.
  void say(std::int64_t program, const SpeedupCurve& more, double tasks);

  // Chances of each p: of any program, and of one; and the mean of one's.
  const SpeedupCurve& chances() const { return any_; }
  const SpeedupCurve& chances(std::int64_t program) const;
  double mean(std::int64_t program) const;

  // For histories: by program, the one of jobs without one first, how many tasks of phases that
  // have ended said something, and what was said.
  struct Said {
    double told = 0.0;
    SpeedupCurve logs{};
  };
  std::size_t programs() const { return programs_.size(); }
  Said of(std::size_t row) const { return {programs_[row].told, programs_[row].said}; }
  void recall(std::span<const Said> programs);

  void state(State& s) { s(prior_, programs_, sum_, shown_, weighted_, weight_, other_, any_); }

 private:
  struct Program {
    SpeedupCurve said{};  // logarithms
    double told = 0.0, weight = 0.0, mean = 1.0;
    SpeedupCurve own{};  // chances; known if the weight is above 0

    void state(State& s) { s(said, told, weight, mean, own); }
  };
  const Program* find(std::int64_t program) const;
  void look_at(Program& program);
  void look_at_all();
  void settle();

  SpeedupCurve prior_{};
  std::vector<Program> programs_;  // the first one: jobs without a program
  // Over programs that have said something: sums of their chances, and by how much each told.
  SpeedupCurve sum_{}, weighted_{};
  double shown_ = 0.0, weight_ = 0.0;
  SpeedupCurve other_{}, any_{};  // of a program that has shown nothing; of any
};

}  // namespace malleable
