// All ready jobs share the slots equally, each up to its maximum (water-filling), at every arrival
// and end.
#include "malleable/kernel/fair_list.hpp"

#include <algorithm>

namespace malleable {

// The job has `slots` from `time` on.
void FairList::set_slots(const FlowProblem& problem, Index job, double time, double slots,
                         Pieces& pieces) {
  Job& own = job_[job];
  if (own.slots == slots) return;
  if (own.slots > 0.0) {
    // A time too short for the resolution of absolute time makes no piece.
    const double from = problem.now + own.since, to = problem.now + time;
    if (to > from) pieces.add(job, from, to, own.slots);
    own.left = std::max(0.0, own.left - own.slots * (time - own.since));
  }
  own = {own.left, time, slots, slots > 0.0 ? time + own.left / slots : kInfinity};
}

void FairList::share_out(const FlowProblem& problem, double time, Pieces& pieces) {
  const std::size_t n = ready_.size();
  std::sort(ready_.begin(), ready_.end());
  shared_.slots = problem.slots;
  shared_.work.assign(n, 1.0);
  shared_.low.assign(n, 0.0);
  shared_.high.resize(n);
  share_.resize(n);
  for (std::size_t k = 0; k < n; ++k) shared_.high[k] = problem.high[ready_[k]];
  water_filling_.allocate(shared_, {}, share_);
  for (std::size_t k = 0; k < n; ++k) set_slots(problem, ready_[k], time, share_[k], pieces);
}

void FairList::run(const FlowProblem& problem, std::span<double> end, std::span<double> flow_end,
                   Pieces& pieces) {
  jobs_.begin(problem);
  ready_.clear();
  job_.clear();
  for (const double work : problem.work) job_.push_back({work});
  double time = 0.0;
  for (;;) {
    double next = jobs_.next_arrival();
    for (const Index job : ready_) next = std::min(next, job_[job].end);
    if (next == kInfinity) return;
    time = std::max(time, next);
    gone_.clear();
    std::erase_if(ready_, [&](Index job) {
      if (job_[job].end > time) return false;
      gone_.push_back(job);
      return true;
    });
    jobs_.entering.clear();
    jobs_.ended_flows.clear();
    for (const Index job : gone_) set_slots(problem, job, time, 0.0, pieces);
    for (const Index job : gone_) jobs_.finish(job, time, end);
    jobs_.arrive(time, end);
    ready_.insert(ready_.end(), jobs_.entering.begin(), jobs_.entering.end());
    for (const Index j : jobs_.ended_flows) flow_end[j] = time;
    share_out(problem, time, pieces);
  }
}

}  // namespace malleable
