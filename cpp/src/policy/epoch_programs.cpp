// Speed-ups that an epoch learns by program (policy/program_rates).
#include <algorithm>

#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {

void Epoch::check_programs(const JobsView& jobs, std::span<const std::int64_t> programs) const {
  if (programs.empty()) return;
  check_length("program", programs.size(), jobs.size(), "work");
  for (std::size_t j = 0; j < programs.size(); ++j) {
    if (programs[j] >= kNoProgram) continue;
    throw FieldError("program", j, static_cast<long long>(programs[j]),
                     "must be a number from 0 on, or -1 for none");
  }
}

// The jobs with what is believed of their programs; `spare` owns it.
JobsView Epoch::learnt(JobsView jobs, std::span<const std::int64_t> programs,
                       SpeedupColumns& spare) {
  if (std::none_of(programs.begin(), programs.end(), [](std::int64_t p) { return p >= 0; })) {
    return jobs;
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (programs[j] < 0) {
      spare.add(jobs.speedup.power(j), jobs.speedup.table(j));
    } else {
      spare.add(1.0, programs_.rates(programs[j], std::min(jobs.max_slots[j], slots_)));
    }
  }
  jobs.speedup = spare.view();
  return jobs;
}

// Before the ids of the jobs.
void Epoch::add_programs(std::size_t count, std::span<const std::int64_t> programs) {
  if (programs.empty() && program_.empty()) return;
  program_.resize(id_.size(), kNoProgram);
  work_then_.resize(id_.size(), 0.0);
  program_.insert(program_.end(), programs.begin(), programs.end());
  program_.resize(id_.size() + count, kNoProgram);
  work_then_.resize(id_.size() + count, 0.0);
}

void Epoch::believe(std::size_t row) {
  rates_[row] = programs_.rates(program_[row], std::min(max_slots_[row], slots_));
}

// What jobs did since the last decision, with the slots that it gave them.
void Epoch::learn_programs(double now) {
  if (program_.empty() || !(now > now_)) return;
  std::vector<std::int64_t> news;
  for (std::size_t r = 0; r < program_.size(); ++r) {
    const double did = work_then_[r] - work_[r];
    if (program_[r] < 0 || !(did > 0.0) || !(work_[r] > 0.0)) continue;
    if (programs_.observe(program_[r], given_[r], did, now - now_)) news.push_back(program_[r]);
  }
  if (news.empty()) return;
  std::sort(news.begin(), news.end());
  for (std::size_t r = 0; r < program_.size(); ++r) {
    if (std::binary_search(news.begin(), news.end(), program_[r])) believe(r);
  }
}

void Epoch::note_programs() {
  if (!program_.empty()) work_then_ = work_;
}

}  // namespace malleable
