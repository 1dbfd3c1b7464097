// The simulation in steps (unit slots of time). Reduce tasks that run to their end lie in a ring of
// buckets, by the step of their end modulo the length of the ring. A job's Truth holds what its
// policy does not see; `moving_` lists the jobs with running and waiting reduce tasks.
#include "malleable/sim/slotted.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <utility>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/sim/histogram.hpp"

namespace malleable {
namespace {

constexpr std::int64_t kSlotsBetweenPolls = 4096;  // steps; a poll takes long

}  // namespace

SlottedSim::SlottedSim(const SlottedOptions& options, std::unique_ptr<SlottedPolicy> policy)
    : options_(options),
      policy_(std::move(policy)),
      ring_(options.preemptive ? 0 : kRing),
      size_counts_(kSizes, 0),
      size_slowdowns_(kSizes, 0.0),
      idle_(options.machines) {
  validate_machines(options.machines);
}

void SlottedSim::feed(const MapReduceView& jobs, std::span<const double> estimate) {
  if (!estimate.empty() && estimate.size() != jobs.size()) {
    throw std::invalid_argument("estimates: one entry a job");
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.arrival[j] < step_) throw std::invalid_argument("arrivals must not fall");
    advance(jobs.arrival[j] - 1);
    step_ = jobs.arrival[j];
    enter(jobs, j, estimate.empty() ? -1.0 : estimate[j]);
  }
}

// A job arrives; `estimate`: its reduce work as the policy sees it, below 0: the true work.
void SlottedSim::enter(const MapReduceView& jobs, std::size_t j, double estimate) {
  const auto first = static_cast<std::size_t>(jobs.task_offset[j]);
  const auto end = static_cast<std::size_t>(jobs.task_offset[j + 1]);
  std::int64_t reduce = 0, longest = 0;
  for (std::size_t k = first; k < end; ++k) {
    reduce += jobs.task[k];
    longest = std::max(longest, jobs.task[k]);
  }
  const std::int64_t number = totals_.arrived++;
  const std::int64_t step = jobs.arrival[j];
  if (jobs.map[j] + reduce == 0) {
    Truth nothing{};
    nothing.number = number;
    nothing.arrival = nothing.start = step;
    nothing.map_finish = step - 1;
    record(nothing, step - 1);
    return;
  }
  if (free_.empty()) {
    free_.push_back(static_cast<Index>(jobs_.size()));
    jobs_.emplace_back();
    truth_.emplace_back();
  }
  const Index row = free_.back();
  free_.pop_back();
  Truth& truth = truth_[row];
  truth.number = number;
  truth.arrival = step;
  truth.start = 0;
  truth.map_finish = step - 1;
  truth.units = jobs.map[j] + reduce;
  const auto steps = [this](std::int64_t units) {
    return (units + options_.machines - 1) / options_.machines;
  };
  truth.alone = steps(jobs.map[j]) + std::max(steps(reduce), options_.preemptive ? 0 : longest);
  truth.reduce_total = truth.reduce_waiting = reduce;
  truth.end_sum = 0;
  truth.estimate = estimate < 0.0 ? static_cast<double>(reduce) : estimate;
  truth.next_task = 0;
  truth.listed = false;
  truth.tasks.clear();
  std::int64_t tasks = reduce;
  if (!options_.preemptive) {
    truth.tasks.assign(jobs.task.begin() + static_cast<std::ptrdiff_t>(first),
                       jobs.task.begin() + static_cast<std::ptrdiff_t>(end));
    tasks = static_cast<std::int64_t>(end - first);
  }
  SlottedJob& job = jobs_[row];
  job.sequence = sequence_++;
  job.maps = jobs.map[j];
  job.map_left = static_cast<double>(job.maps);
  job.ready = job.maps > 0 ? 0 : tasks;
  job.running = 0;
  job.reduce_left = reduce > 0 ? truth.estimate : 0.0;
  ++live_;
  ++startable_;
  pass_steps(step - 1);
  policy_->arrive(jobs_, row);
}

// The reduce work that the policy believes is left: the estimate less the work done; beyond the
// estimate, a part of the work done (still_left).
double SlottedSim::reduce_left(Index row, std::int64_t step) const {
  const Truth& truth = truth_[row];
  // Running tasks still have the steps from `step` to their end.
  const std::int64_t running = truth.end_sum - (step - 1) * jobs_[row].running;
  const auto done = static_cast<double>(truth.reduce_total - truth.reduce_waiting - running);
  const double z = truth.estimate;
  return done <= z ? z - done : still_left(done);
}

void SlottedSim::advance(std::int64_t last) {
  while (step_ <= last && live_ > 0) {
    if (++polled_ >= kSlotsBetweenPolls) {
      polled_ = 0;
      if (poll_) poll_();
    }
    if (idle_ > 0 && startable_ > 0) {
      step();
      ++step_;
    } else {
      wait(last);
    }
  }
}

// Jumps to the next end of a task, because nothing can start before.
void SlottedSim::wait(std::int64_t last) {
  const std::int64_t end = std::min(next_ending(), last);
  const std::int64_t steps = end - step_ + 1;
  totals_.live_steps += static_cast<double>(live_) * static_cast<double>(steps);
  totals_.busy += (options_.machines - idle_) * steps;
  totals_.last_step = end;
  step_ = end;
  end_tasks();
  ++step_;
}

std::int64_t SlottedSim::next_ending() const {
  std::int64_t first = kLastStep * 4;
  for (std::int64_t step = step_; step < step_ + static_cast<std::int64_t>(kRing); ++step) {
    for (const Ending& ending : ring_[static_cast<std::size_t>(step) % kRing]) {
      if (ending.step == step) return step;
      first = std::min(first, ending.step);
    }
  }
  return first;
}

void SlottedSim::pass_steps(std::int64_t step) {
  if (step > passed_) policy_->pass(options_.machines, static_cast<double>(step - passed_));
  passed_ = std::max(passed_, step);
}

// Lets the policy decide about one step, and applies its grants.
void SlottedSim::step() {
  totals_.live_steps += static_cast<double>(live_);
  totals_.last_step = step_;
  totals_.busy += options_.machines - idle_;
  std::size_t kept = 0;
  for (const Index row : moving_) {
    SlottedJob& job = jobs_[row];
    truth_[row].listed = job.ready > 0 && job.running > 0;
    if (truth_[row].listed) moving_[kept++] = row;
    if (job.ready == 0) continue;
    job.reduce_left = reduce_left(row, step_);
    policy_->update(jobs_, row);
  }
  moving_.resize(kept);
  grants_.clear();
  ++totals_.decisions;
  pass_steps(step_ - 1);
  // fresh: the first decision of this step
  policy_->decide(jobs_, options_.machines, idle_, /*fresh=*/true, grants_);
  passed_ = step_;
  spare_ = idle_;
  polled_ += static_cast<std::int64_t>(grants_.size()) / 16;
  for (const SlottedGrant& grant : grants_) apply(grant);
  if (!options_.preemptive) end_tasks();
}

void SlottedSim::start_reduces(const SlottedGrant& grant) {
  SlottedJob& job = jobs_[grant.row];
  Truth& truth = truth_[grant.row];
  for (std::int64_t k = 0; k < grant.reduces; ++k) {
    const std::int64_t units = truth.tasks[truth.next_task++];
    const std::int64_t end = step_ + units - 1;
    ring_[static_cast<std::size_t>(end) % kRing].push_back({end, grant.row});
    truth.end_sum += end;
    truth.reduce_waiting -= units;
  }
  job.ready -= grant.reduces;
  job.running += grant.reduces;
  idle_ -= grant.reduces;
  if (job.ready == 0) {
    --startable_;
  } else if (!truth.listed) {
    truth.listed = true;
    moving_.push_back(grant.row);
  }
}

// A job gets machines for this step.
void SlottedSim::apply(const SlottedGrant& grant) {
  SlottedJob& job = jobs_[grant.row];
  Truth& truth = truth_[grant.row];
  const std::int64_t machines = grant.maps + grant.reduces;
  if (machines == 0) return;
  if (grant.maps < 0 || grant.reduces < 0 || grant.maps > job.maps || grant.reduces > job.ready ||
      machines > spare_) {
    throw std::logic_error("a policy granted what there is not");
  }
  if (truth.start == 0) truth.start = step_;
  totals_.busy += machines;
  spare_ -= machines;
  if (grant.maps > 0) {
    job.maps -= grant.maps;
    job.map_left = static_cast<double>(job.maps);
    if (job.maps == 0) {
      truth.map_finish = step_;
      job.ready =
          options_.preemptive ? truth.reduce_total : static_cast<std::int64_t>(truth.tasks.size());
      if (job.ready == 0) {
        finish(grant.row);
        return;
      }
    }
  } else if (options_.preemptive) {
    job.ready -= grant.reduces;
    truth.reduce_waiting = job.ready;
    if (job.ready == 0) {
      finish(grant.row);
      return;
    }
    job.reduce_left = reduce_left(grant.row, step_ + 1);
  } else {
    start_reduces(grant);
  }
  policy_->update(jobs_, grant.row);
}

void SlottedSim::end_tasks() {
  std::vector<Ending>& bucket = ring_[static_cast<std::size_t>(step_) % kRing];
  std::size_t kept = 0;
  for (const Ending& ending : bucket) {
    if (ending.step != step_) {
      bucket[kept++] = ending;  // in a later round
      continue;
    }
    SlottedJob& job = jobs_[ending.row];
    --job.running;
    truth_[ending.row].end_sum -= step_;
    ++idle_;
    if (job.running == 0 && job.ready == 0) {
      ++startable_;  // which finish takes back
      finish(ending.row);
    }
  }
  bucket.resize(kept);
}

void SlottedSim::finish(Index row) {
  record(truth_[row], step_);
  policy_->leave(jobs_, row, /*cancelled=*/false);
  jobs_[row] = {};
  free_.push_back(row);
  --live_;
  --startable_;
}

// Adds a finished job to the measures.
void SlottedSim::record(const Truth& truth, std::int64_t finish) {
  const std::int64_t flow = finish - truth.arrival + 1;
  ++totals_.completed;
  totals_.flow += static_cast<double>(flow);
  totals_.flow_squares += static_cast<double>(flow) * static_cast<double>(flow);
  totals_.longest_flow = std::max(totals_.longest_flow, flow);
  totals_.longest_wait = std::max(totals_.longest_wait, truth.start - truth.arrival);
  totals_.last_finish = std::max(totals_.last_finish, finish);
  const std::size_t bin = std::min(static_cast<std::size_t>(flow), kHistogram - 1);
  if (bin >= histogram_.size()) histogram_.resize(bin + 1, 0);
  ++histogram_[bin];
  if (truth.units > 0) {
    const auto size =
        static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(truth.units))) - 1;
    ++size_counts_[size];
    size_slowdowns_[size] += static_cast<double>(flow) / static_cast<double>(truth.alone);
  }
  if (!options_.records) return;
  records_.job.push_back(truth.number);
  records_.start.push_back(truth.start);
  records_.map_finish.push_back(truth.map_finish);
  records_.finish.push_back(finish);
}

double SlottedSim::flow_quantile(double part) const {
  if (totals_.completed == 0) return std::numeric_limits<double>::quiet_NaN();
  const std::size_t bin = quantile_bin(histogram_, part);
  return static_cast<double>(bin < kHistogram - 1 ? static_cast<std::int64_t>(bin)
                                                  : totals_.longest_flow);
}

SlottedRecords SlottedSim::take_records() { return std::exchange(records_, {}); }

}  // namespace malleable
