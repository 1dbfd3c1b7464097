// What do all phases together say of p, if s tasks of a program do s^p together?
//
// Each phase says it by kernel/speedup_likelihood, whose models of the level are weighed by how
// well they did in phases that ended. Programs may differ in p. A program's own phases count, and
// before these counts what the other programs are: the mean of what is believed of each, one more
// being what was believed at first. If programs are alike, that mean soon says so. A program of
// which nothing is known is one of these.
//
// A phase that says something costs O(grid of p). After the first phases, and then whenever there
// are a tenth more, all programs that have said something are looked at anew: O(programs x grid).
// Memory: O(programs x grid). Source: empirical Bayes on a grid (Laird 1978), each program judged
// by the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "malleable/kernel/speedup_likelihood.hpp"
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

  explicit SpeedupPosterior(SpeedupPrior prior = SpeedupPrior::kUnknown);
  // What was believed before anything was said, in place of what it was.
  void begin_with(SpeedupPrior prior);

  // A phase's tasks so far, in place of what it had said; `said` is what this phase says from now
  // on, empty before it said anything.
  void say(const ModelCurves& curves, std::vector<double>& said, std::int64_t program = kNoProgram);
  // The phase, of so many tasks, says no more: the models' weights learn from it, and `said` is
  // empty again.
  void close(const ModelCurves& curves, double tasks, std::vector<double>& said,
             std::int64_t program = kNoProgram);
  // A phase of the program ended. Whether the next one is to be looked at: when phases of many
  // tasks have shown p, what is believed hardly moves, and not all are.
  void ended(std::int64_t program) { row(program).phases += 1.0; }
  bool looks(std::int64_t program) const;

  // With all that was said, and another logarithm of a likelihood beside.
  void believe(const SpeedupCurve& beside);
  // Chances of each p: of any program, and of one.
  const SpeedupCurve& chances() const { return everybody_; }
  const SpeedupCurve& chances_if_alike() const { return pooled_; }
  SpeedupCurve chances(std::int64_t program) const;
  // Their means.
  double mean(std::int64_t program) const;

  // For histories: of all phases, and of those of programs from 0 on.
  double& told() { return told_; }
  double told() const { return told_; }
  SpeedupCurve& said() { return said_; }
  const SpeedupCurve& said() const { return said_; }
  ModelCurves& weights() { return weight_; }
  const ModelCurves& weights() const { return weight_; }
  std::size_t programs() const { return programs_.size(); }
  struct Said {
    double told = 0.0;    // tasks of phases that have ended and said something
    SpeedupCurve logs{};  // what phases said of each p
  };
  Said of(std::int64_t program) const;
  // In place of what was said of programs; what is said of all is given already.
  void recall(const std::vector<Said>& programs);

  void state(State& s) {
    s(prior_, first_, told_, said_, weight_, programs_, spoke_, touched_, news_, looked_, pooled_,
      sum_, shown_, other_, everybody_, other_mean_);
  }

 private:
  struct Program {
    SpeedupCurve said{};              // logarithms
    double told = 0.0, phases = 0.0;  // tasks and phases that have ended
    bool shown = false;               // it is in sum_
    SpeedupCurve own{};               // chances
    double mean = 1.0;

    void state(State& s) { s(said, told, phases, shown, own, mean); }
  };
  SpeedupCurve mixed(const ModelCurves& curves) const;
  Program& row(std::int64_t program);
  const Program* find(std::int64_t program) const;
  void look_at(Program& program, const SpeedupCurve& first);
  void look_at_all(const SpeedupCurve& first);
  const SpeedupCurve& of_one(const Program& program) const {
    return shown_ == 1.0 ? pooled_ : program.own;  // without programs all phases are one's
  }
  void settle(Program& program) { program.mean = mean_speedup(of_one(program)); }

  SpeedupCurve prior_, first_;  // logarithms; with what is said beside
  double told_ = 0.0;
  SpeedupCurve said_{};             // by all
  ModelCurves weight_{};            // phases each model stands for, by p
  std::vector<Program> programs_;   // the first one: jobs without a program
  std::vector<std::size_t> spoke_;  // places of those that have said something, by place
  std::int64_t touched_ = kNoProgram;
  double news_ = 0.0, looked_ = 0.0;    // how often something was said; at the last look at all
  SpeedupCurve pooled_{};               // chances if they are
  SpeedupCurve sum_{};                  // of `own` of programs that have said something,
  double shown_ = 0.0;                  // of so many
  SpeedupCurve other_{}, everybody_{};  // of a program that has shown nothing; of any
  double other_mean_ = 1.0;
};

}  // namespace malleable
