// The job with the least work left has all machines (SRPT), in a virtual schedule where map and
// reduce work may be done in any number of machines at once.
#include "malleable/kernel/virtual_srpt.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace malleable {

Index VirtualSrpt::add(std::int64_t sequence, Index tag, double map, double total) {
  Index handle;
  if (free_.empty()) {
    handle = static_cast<Index>(jobs_.size());
    jobs_.push_back({});
  } else {
    handle = free_.back();
    free_.pop_back();
  }
  jobs_[handle] = {sequence, tag, map, total};
  order_.set(handle, total, sequence);
  return handle;
}

void VirtualSrpt::release(Index handle) {
  order_.erase(handle);
  jobs_[handle].sequence = -1;
  free_.push_back(handle);
}

void VirtualSrpt::cancel(Index handle, std::int64_t sequence) {
  if (handle < jobs_.size() && jobs_[handle].sequence == sequence) release(handle);
}

// Lets so much work be done; returns how much of which jobs.
std::span<const VirtualSrpt::Served> VirtualSrpt::pour(double capacity) {
  served_.clear();
  while (capacity > 0.0 && !order_.empty()) {
    const Index handle = order_.top();
    Job& job = jobs_[handle];
    const double total = std::min(job.total, capacity);
    const double map = std::min(job.map, total);
    capacity -= total;
    job.total -= total;
    job.map -= map;
    const bool done = job.total <= 0.0;
    served_.push_back({job.sequence, job.tag, map, total, done});
    if (done) {
      release(handle);
    } else {
      order_.set(handle, job.total, job.sequence);
    }
  }
  return served_;
}

// How many jobs would end in so much work.
std::int64_t VirtualSrpt::endings(double capacity) {
  std::int64_t count = 0;
  order_.visit_in_order([&](const IndexedHeap::Entry& entry) {
    capacity -= entry.key;
    if (capacity < 0.0) return false;
    ++count;
    return true;
  });
  return count;
}

// Fills the last step of each job in virtual SRPT; returns the delay, summed over jobs, that no
// schedule avoids because a job with both phases never ends in the step of its arrival.
std::int64_t srpt_finish(const MapReduceView& jobs, std::int64_t machines,
                         std::span<std::int64_t> finish) {
  if (finish.size() != jobs.size()) throw std::invalid_argument("finish: one entry a job");
  VirtualSrpt schedule;
  const auto each = static_cast<double>(machines);
  std::int64_t step = 1;  // first step with unused capacity
  const auto pour = [&](double capacity) {
    double used = 0.0;
    for (const auto& served : schedule.pour(capacity)) {
      used += served.total;
      if (served.done) {
        finish[static_cast<std::size_t>(served.sequence)] =
            step + static_cast<std::int64_t>(std::ceil(used / each)) - 1;
      }
    }
  };
  std::vector<std::size_t> both;  // new jobs with both phases, and their work
  std::vector<double> work;
  std::int64_t forced = 0;
  for (std::size_t j = 0; j < jobs.size();) {
    if (jobs.arrival[j] < step) throw std::invalid_argument("arrivals must not fall");
    if (schedule.size() > 0 && jobs.arrival[j] > step) {
      pour(each * static_cast<double>(jobs.arrival[j] - step));
    }
    step = jobs.arrival[j];
    both.clear();
    work.clear();
    for (; j < jobs.size() && jobs.arrival[j] == step; ++j) {
      const auto tasks = jobs.task.begin();
      const std::int64_t reduce = std::accumulate(tasks + jobs.task_offset[j],
                                                  tasks + jobs.task_offset[j + 1], std::int64_t{0});
      finish[j] = step - 1;
      const auto map = static_cast<double>(jobs.map[j]), total = map + static_cast<double>(reduce);
      if (map > 0.0 && reduce > 0) {
        both.push_back(j);
        work.push_back(total);
      } else if (total > 0.0) {
        schedule.add(static_cast<std::int64_t>(j), 0, map, total);
      }
    }
    if (both.empty()) continue;
    const std::int64_t without = schedule.endings(each);
    for (std::size_t k = 0; k < both.size(); ++k) {
      schedule.add(static_cast<std::int64_t>(both[k]), 0, static_cast<double>(jobs.map[both[k]]),
                   work[k]);
    }
    forced += schedule.endings(each) - without;
  }
  pour(kInfinity);
  return forced;
}

}  // namespace malleable
