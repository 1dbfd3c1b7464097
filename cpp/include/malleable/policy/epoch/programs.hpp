// Speed-ups that an epoch learns for each program (the code that jobs run), from the work that its
// jobs did between decisions (policy/program_rates). A job's own speed-up is then ignored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "malleable/model/length.hpp"
#include "malleable/policy/epoch/scene.hpp"
#include "malleable/policy/program_rates.hpp"

namespace malleable {

class Programs {
 public:
  static constexpr std::int64_t kNone = -1;
  ProgramRates rates;  // what was learnt

  // Throws unless each job has a number from 0 on, or kNone; empty: all have kNone.
  static void check(const JobsView& jobs, std::span<const std::int64_t> programs) {
    if (programs.empty()) return;
    check_length("program", programs.size(), jobs.size(), "work");
    ProgramRates::check(programs);
  }

  // Throws if one of these rows has a program, because its speed-up is learnt.
  void check_unlearnt(std::span<const Index> rows) const {
    for (std::size_t k = 0; k < rows.size() && !program_.empty(); ++k) {
      if (program_[rows[k]] == kNone) continue;
      throw std::invalid_argument("speedup[" + std::to_string(k) +
                                  "]: it is learnt for jobs that have a program");
    }
  }

  // Notes the programs of the last `count` jobs.
  void come(const JobTable& jobs, std::size_t count, std::span<const std::int64_t> programs) {
    if (programs.empty() && program_.empty()) return;
    program_.resize(jobs.rows() - count, kNone);
    program_.insert(program_.end(), programs.begin(), programs.end());
    program_.resize(jobs.rows(), kNone);
    work_then_.resize(jobs.rows(), 0.0);
  }

  void close(const RowsGone& gone) {
    gone(program_);
    gone(work_then_);
  }
  bool empty() const { return program_.empty(); }
  std::int64_t of(std::size_t row) const { return program_.empty() ? kNone : program_[row]; }
  // Learns from the work until `now` with the slots of the last decision; and notes the work left
  // after a decision.
  void observe(Scene& at, double now) {
    if (program_.empty() || !(now > at.now)) return;
    JobTable& jobs = at.jobs;
    std::vector<std::int64_t> news;
    for (std::size_t r = 0; r < program_.size(); ++r) {
      const double did = work_then_[r] - jobs.work[r], seconds = jobs.seconds_of(r, at.now, now);
      if (program_[r] < 0 || !(did > 0.0) || !(seconds > 0.0) || jobs.ran_out(r)) continue;
      if (rates.observe(program_[r], at.grants[r], did, seconds)) news.push_back(program_[r]);
    }
    std::ranges::sort(news);
    for (std::size_t r = 0; r < program_.size() && !news.empty(); ++r) {
      if (!std::ranges::binary_search(news, program_[r])) continue;
      jobs.rates[r] = rates.rates(program_[r], std::min(jobs.max_slots[r], at.slots));
    }
  }

  void note_work(const JobTable& jobs) {
    if (!program_.empty()) work_then_ = jobs.work;
  }
  void state(State& s) { s(program_, work_then_, rates); }

 private:
  // By row, once some job had a program: the program, and the work left at the last decision.
  std::vector<std::int64_t> program_;
  std::vector<double> work_then_;
};

}  // namespace malleable
