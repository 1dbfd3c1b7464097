#include "malleable/policy/flow_curves.hpp"

#include <algorithm>

#include "malleable/kernel/flow_gains.hpp"
#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/ready_jobs.hpp"
#include "malleable/kernel/water_filling.hpp"

namespace malleable {
// Plans of flows whose jobs have speed-up curves: at every arrival and end, all ready jobs share
// the slots again.
namespace {

class CurveLoop {
 public:
  CurveLoop(const CurvedFlows& task, std::span<const Index> order, FlowPlan& plan)
      : task_(task), plan_(plan), order_(order) {}

  void run() {
    const std::size_t n = task_.problem.jobs();
    left_.assign(task_.flows.work.begin(), task_.flows.work.end());
    held_.assign(n, 0.0);
    since_.assign(n, 0.0);
    line_up();
    jobs_.begin(task_.problem);
    for (;;) {
      jobs_.arrive(time_, plan_.completion);
      for (const Index job : jobs_.entering) ready_.push_back(job);
      jobs_.entering.clear();
      if (ready_.empty() && jobs_.next_arrival() == kInfinity) return;
      share();
      advance();
    }
  }

 private:
  double most(Index job) const {
    return std::min(static_cast<double>(task_.flows.max_slots[job]), task_.problem.slots);
  }
  // Numbers the flows by their place in the order.
  void line_up() {
    place_.resize(task_.problem.flows());
    for (std::size_t k = 0; k < order_.size(); ++k) place_[order_[k]] = static_cast<Index>(k);
  }
  // Jobs go by their flow's place, then longest path first.
  bool before(Index a, Index b) const {
    const FlowProblem& of = task_.problem;
    const Index first = place_[of.flow[a]], second = place_[of.flow[b]];
    if (first != second) return first < second;
    const double longer = of.tail[a] + left_[a] / of.high[a];
    const double shorter = of.tail[b] + left_[b] / of.high[b];
    return longer != shorter ? longer > shorter : a < b;
  }

  void share() {
    std::sort(ready_.begin(), ready_.end(), [this](Index a, Index b) { return before(a, b); });
    if (!task_.baseline) {
      by_gains();
    } else if (task_.baseline == FlowBaseline::kFair) {
      equally();
    } else {
      down();
    }
  }
  // A job's next slot goes where it gains most for its flow and costs least: the flows
  // behind it, and the flows that are expected to come (`coming`: their mean number).
  void by_gains() {
    gains_.begin(task_.problem.slots);
    const auto weight = [&](Index flow) {
      return task_.penalties.linear() ? task_.penalties.slope()[flow] : 1.0;
    };
    std::size_t k = 0;
    for (const Index flow : order_) {
      if (task_.problem.release[flow] > time_) continue;
      for (; k < ready_.size() && task_.problem.flow[ready_[k]] == flow; ++k) {
        gains_.add(left_[ready_[k]], most(ready_[k]), task_.flows.speedup, ready_[k]);
      }
      if (open(flow)) gains_.end_flow(weight(flow));
    }
    slots_.resize(ready_.size());
    gains_.allocate(task_.coming, slots_);
  }
  // Whether a flow has work left.
  bool open(Index flow) const {
    for (std::size_t i = task_.problem.job_offset[flow]; i < task_.problem.job_offset[flow + 1];
         ++i) {
      if (left_[i] > 0.0) return true;
    }
    return false;
  }
  // Each job in the order takes what it can use.
  void down() {
    double free = task_.problem.slots;
    slots_.clear();
    for (const Index job : ready_) {
      slots_.push_back(std::min(most(job), free));
      free -= slots_.back();
    }
  }
  void equally() {
    const std::size_t n = ready_.size();
    equal_.slots = task_.problem.slots;
    equal_.work.assign(n, 1.0);
    equal_.low.assign(n, 0.0);
    equal_.idle_end.assign(n, 0.0);
    equal_.high.clear();
    for (const Index job : ready_) equal_.high.push_back(most(job));
    slots_.assign(n, 0.0);
    filling_.allocate(equal_, {}, slots_);
  }

  // A job holds `slots` from now on.
  void set_slots(Index job, double slots) {
    if (held_[job] == slots) return;
    const double from = task_.problem.now + since_[job], to = task_.problem.now + time_;
    if (held_[job] > 0.0 && to > from) plan_.pieces.add(job, from, to, held_[job]);
    held_[job] = slots;
    since_[job] = time_;
  }
  // Advances until a job ends or a flow comes.
  void advance() {
    double next = jobs_.next_arrival();
    const std::size_t n = ready_.size();
    end_.assign(n, kInfinity);
    rate_.assign(n, 0.0);
    for (std::size_t k = 0; k < n; ++k) {
      set_slots(ready_[k], slots_[k]);
      rate_[k] = task_.flows.speedup.at(ready_[k], slots_[k]);
      if (rate_[k] > 0.0) end_[k] = time_ + left_[ready_[k]] / rate_[k];
      next = std::min(next, end_[k]);
    }
    gone_.clear();
    std::size_t kept = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const Index job = ready_[k];
      const double left = left_[job] - rate_[k] * (next - time_);
      const bool ends = end_[k] <= next || !(left > 0.0);  // rounding may leave no work before that
      left_[job] = ends ? 0.0 : left;
      (ends ? gone_.emplace_back() : ready_[kept++]) = job;
    }
    ready_.resize(kept);
    time_ = next;
    for (const Index job : gone_) {
      set_slots(job, 0.0);
      jobs_.finish(job, time_, plan_.completion);
    }
  }

  const CurvedFlows& task_;
  FlowPlan& plan_;
  std::span<const Index> order_;
  double time_ = 0.0;
  ReadyJobs jobs_;
  std::vector<double> left_, held_, since_;  // by job
  std::vector<Index> place_;                 // by flow
  std::vector<Index> ready_, gone_;
  std::vector<double> slots_, rate_, end_;  // by ready job
  FlowGains gains_;
  Problem equal_;
  WaterFilling filling_;
};

}  // namespace

// Strict deadlines (infinite penalties) become finite ones; afterwards the value is set right.
void plan_curves(const CurvedFlows& task, FlowPlan& plan) {
  if (StrictDeadlines strict; study_deadlines(task.problem, task.penalties, strict)) {
    CurvedFlows finite{task.flows,     task.problem,  strict.finite(),
                       task.aggregate, task.baseline, task.coming};
    plan_curves(finite, plan);
    settle_deadlines(task.problem, task.penalties, task.aggregate, strict, plan);
    return;
  }
  FlowPlan made;
  made.order = std::move(plan.order);
  if (task.baseline) {
    made.order.resize(task.problem.flows());
    KeySort().sort(task.flows.arrival, made.order);
  }
  made.completion.assign(task.problem.jobs(), 0.0);
  CurveLoop(task, made.order, made).run();
  complete_jobs(task.problem, made);
  complete_flows(task.problem, task.penalties, task.aggregate, made);
  const double lower = task.baseline
                           ? quick_bound(task.problem, task.penalties, task.aggregate, made)
                           : plan.lower_bound;
  finish_plan(task.problem, task.penalties, task.aggregate, lower, made);
  if (plan.status == Status::kTruncated) made.status = plan.status;
  made.candidates = plan.candidates;
  plan = std::move(made);
}

}  // namespace malleable
