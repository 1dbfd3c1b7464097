// Speed-ups that an epoch learns by program, from the work that its jobs did between decisions
// (policy/program_rates). What a job itself says of its speed-up then counts for nothing.
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

  // A number from 0 on for each job, or kNone; empty: all of them. Throws for anything else.
  static void check(const JobsView& jobs, std::span<const std::int64_t> programs);
  // Throws where one of these rows has a program: its speed-up is learnt.
  void check_unlearnt(std::span<const Index> rows) const;
  // The jobs with what is believed of their programs; `spare` owns it.
  JobsView learnt(JobsView jobs, std::span<const std::int64_t> programs, std::int64_t slots,
                  SpeedupColumns& spare) const;
  // Of the jobs that came last.
  void come(const JobTable& jobs, std::size_t count, std::span<const std::int64_t> programs);
  void close(const RowsGone& gone);
  bool empty() const { return program_.empty(); }
  // What jobs did until `now` with the slots of the last decision; and after a decision.
  void observe(Scene& at, double now);
  void note(const JobTable& jobs) {
    if (!program_.empty()) work_then_ = jobs.work;
  }
  // What 1, 2, ... `most` slots of a program are believed to do together.
  std::vector<double> rates(std::int64_t program, std::int64_t most) const {
    return rates_.rates(program, most);
  }

  void state(State& s) { s(program_, work_then_, rates_); }

 private:
  // Of all jobs once some had a program: its number, and what was left at the last decision.
  std::vector<std::int64_t> program_;
  std::vector<double> work_then_;
  ProgramRates rates_;
};

}  // namespace malleable
