#include "malleable/kernel/virtual_srpt.hpp"

#include <algorithm>
#include <cmath>
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

std::span<const VirtualSrpt::Served> VirtualSrpt::pour(double capacity) {
  served_.clear();
  while (capacity > 0.0 && !order_.empty()) {
    const Index handle = order_.front().row;
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

void srpt_finish(const MapReduceView& jobs, std::int64_t machines, std::span<std::int64_t> finish) {
  if (finish.size() != jobs.size()) throw std::invalid_argument("finish: one entry a job");
  VirtualSrpt schedule;
  const auto each = static_cast<double>(machines);
  std::int64_t slot = 1;  // the first whose capacity is not used yet
  const auto pour = [&](double capacity) {
    double used = 0.0;
    for (const auto& served : schedule.pour(capacity)) {
      used += served.total;
      if (served.done) {
        finish[static_cast<std::size_t>(served.sequence)] =
            slot + static_cast<std::int64_t>(std::ceil(used / each)) - 1;
      }
    }
  };
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.arrival[j] < slot) throw std::invalid_argument("arrivals must not fall");
    if (jobs.arrival[j] > slot) {
      if (schedule.size() > 0) pour(each * static_cast<double>(jobs.arrival[j] - slot));
      slot = jobs.arrival[j];
    }
    std::int64_t total = jobs.map[j];
    for (auto k = jobs.task_offset[j]; k < jobs.task_offset[j + 1]; ++k) {
      total += jobs.task[static_cast<std::size_t>(k)];
    }
    finish[j] = jobs.arrival[j] - 1;
    if (total > 0) {
      schedule.add(static_cast<std::int64_t>(j), 0, static_cast<double>(jobs.map[j]),
                   static_cast<double>(total));
    }
  }
  pour(INFINITY);
}

}  // namespace malleable
