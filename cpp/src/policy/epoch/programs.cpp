#include "malleable/policy/epoch/programs.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "malleable/model/length.hpp"

namespace malleable {

// Jobs of a program whose speed-up is learnt from what its jobs do; -1: a job has no program.
void Programs::check(const JobsView& jobs, std::span<const std::int64_t> programs) {
  if (programs.empty()) return;
  check_length("program", programs.size(), jobs.size(), "work");
  ProgramRates::check(programs);
}

void Programs::check_unlearnt(std::span<const Index> rows) const {
  for (std::size_t k = 0; k < rows.size() && !program_.empty(); ++k) {
    if (program_[rows[k]] == kNone) continue;
    throw std::invalid_argument("speedup[" + std::to_string(k) +
                                "]: it is learnt for jobs that have a program");
  }
}

JobsView Programs::learnt(JobsView jobs, std::span<const std::int64_t> programs, std::int64_t slots,
                          SpeedupColumns& storage) const {
  jobs.speedup = rates_.learnt(jobs.speedup, programs, jobs.max_slots, slots, storage);
  return jobs;
}

void Programs::come(const JobTable& jobs, std::size_t count,
                    std::span<const std::int64_t> programs) {
  if (programs.empty() && program_.empty()) return;
  program_.resize(jobs.rows() - count, kNone);
  program_.insert(program_.end(), programs.begin(), programs.end());
  program_.resize(jobs.rows(), kNone);
  work_then_.resize(jobs.rows(), 0.0);
}

void Programs::observe(Scene& at, double now) {
  if (program_.empty() || !(now > at.now)) return;
  JobTable& jobs = at.jobs;
  std::vector<std::int64_t> news;
  for (std::size_t r = 0; r < program_.size(); ++r) {
    const double did = work_then_[r] - jobs.work[r], seconds = jobs.seconds_of(r, at.now, now);
    if (program_[r] < 0 || !(did > 0.0) || !(seconds > 0.0) || !(jobs.work[r] > 0.0) ||
        jobs.outlived[r])
      continue;
    if (rates_.observe(program_[r], at.grants[r], did, seconds)) news.push_back(program_[r]);
  }
  if (news.empty()) return;
  std::sort(news.begin(), news.end());
  for (std::size_t r = 0; r < program_.size(); ++r) {
    if (!std::binary_search(news.begin(), news.end(), program_[r])) continue;
    jobs.rates[r] = rates_.rates(program_[r], std::min(jobs.max_slots[r], at.slots));
  }
}

}  // namespace malleable
