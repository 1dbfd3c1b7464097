// Speed-ups that an epoch learns for each program (the code that jobs run), from the work that its
// jobs did between decisions (policy/program_rates). A job's own speed-up is then ignored.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/policy/epoch/scene.hpp"
#include "malleable/policy/program_rates.hpp"

namespace malleable {

class Programs {
 public:
  static constexpr std::int64_t kNone = -1;

  // Throws unless each job has a number from 0 on, or kNone; empty: all have kNone.
  static void check(const JobsView& jobs, std::span<const std::int64_t> programs);
  // Throws if one of these rows has a program, because its speed-up is learnt.
  void check_unlearnt(std::span<const Index> rows) const;
  // The jobs with the learnt speed-ups of their programs, which `storage` owns.
  JobsView learnt(JobsView jobs, std::span<const std::int64_t> programs, std::int64_t slots,
                  SpeedupColumns& storage) const;
  // Notes the programs of the last `count` jobs.
  void come(const JobTable& jobs, std::size_t count, std::span<const std::int64_t> programs);
  void close(const RowsGone& gone) {
    gone(program_);
    gone(work_then_);
  }
  bool empty() const { return program_.empty(); }
  std::int64_t of(std::size_t row) const { return program_.empty() ? kNone : program_[row]; }
  // Learns from the work until `now` with the slots of the last decision; and notes the work left
  // after a decision.
  void observe(Scene& at, double now);
  void note_work(const JobTable& jobs) {
    if (!program_.empty()) work_then_ = jobs.work;
  }
  // The learnt rates of 1, 2, ... `most` slots of a program.
  std::vector<double> rates(std::int64_t program, std::int64_t most) const {
    return rates_.rates(program, most);
  }

  void state(State& s) { s(program_, work_then_, rates_); }

 private:
  // By row, once some job had a program: the program, and the work left at the last decision.
  std::vector<std::int64_t> program_;
  std::vector<double> work_then_;
  ProgramRates rates_;
};

}  // namespace malleable
