// Terms: the virtual SRPT serves the job with the least work left on all machines; the cluster
// follows it. Steps are unit slots of time; `fresh`: a new step has begun, in which the virtual
// schedule goes on, too.
#include "malleable/policy/asrpt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// The machines that do this map work within the step.
std::int64_t tasks_for(double map) { return static_cast<std::int64_t>(std::ceil(map - kCount)); }

Index& handle_of(std::vector<Index>& handles, Index row) {
  if (row >= handles.size()) handles.resize(std::size_t{row} + 1, kNone);
  return handles[row];
}

}  // namespace

void PlannedMaps::arrive(std::span<const SlottedJob> jobs, Index row) {
  const SlottedJob& job = jobs[row];
  handle_of(handle_, row) =
      job.left() > 0.0 ? virtual_.add(job.sequence, row, job.map_left, job.left()) : kNone;
  update(jobs, row);
}

void PlannedMaps::leave(std::span<const SlottedJob> jobs, Index row, bool cancelled) {
  // A job that is done early stays in the virtual SRPT until it is done there, too.
  if (cancelled && handle_[row] != kNone) virtual_.cancel(handle_[row], jobs[row].sequence);
}

// The virtual schedule goes on for so many steps.
void PlannedMaps::pass(std::int64_t machines, double steps) {
  virtual_.pour(static_cast<double>(machines) * steps);
}

std::int64_t PlannedMaps::grant(std::span<const SlottedJob> jobs, std::int64_t machines,
                                std::int64_t idle, bool fresh, bool unlocking,
                                std::vector<SlottedGrant>& grants) {
  planned_.clear();
  if (place_.size() < jobs.size()) place_.resize(jobs.size(), kNone);
  std::int64_t wanted = 0;
  for (const auto& served : virtual_.pour(fresh ? static_cast<double>(machines) : 0.0)) {
    if (served.map <= 0.0) continue;
    const SlottedJob& job = jobs[served.tag];
    // the cluster is ahead of the virtual schedule
    if (job.sequence != served.sequence || job.maps == 0) continue;
    if (unlocking && 2.0 * job.map_left > job.reduce_left) continue;
    const std::int64_t tasks = std::min(job.maps, tasks_for(served.map));
    if (tasks == 0) continue;  // only rounding is left
    planned_.push_back({job.left(), job.sequence, tasks, served.tag});
    wanted += tasks;
  }
  if (wanted > idle) {
    std::sort(planned_.begin(), planned_.end(), [](const Planned& a, const Planned& b) {
      return a.key < b.key || (a.key == b.key && a.sequence < b.sequence);
    });
  }
  for (const Planned& planned : planned_) {
    const std::int64_t tasks = std::min(planned.tasks, idle);
    if (tasks <= 0) break;
    place_[planned.row] = static_cast<Index>(grants.size());
    grants.push_back({planned.row, tasks, 0});
    idle -= tasks;
  }
  return idle;
}

std::int64_t PlannedMaps::fill(std::span<const SlottedJob> jobs, IndexedHeap& order,
                               std::int64_t idle, std::vector<SlottedGrant>& grants) {
  if (idle <= 0) return idle;
  order.visit_in_order([&](const IndexedHeap::Entry& entry) {
    const SlottedJob& job = jobs[entry.item];
    if (place_[entry.item] != kNone) {
      SlottedGrant& planned = grants[place_[entry.item]];
      const std::int64_t more = std::min(job.maps - planned.maps, idle);
      planned.maps += more;
      idle -= more;
    } else {
      const std::int64_t maps = std::min(job.maps, idle);
      const std::int64_t reduces = std::min(job.ready, idle - maps);
      grants.push_back({entry.item, maps, reduces});
      idle -= maps + reduces;
    }
    return idle > 0;
  });
  return idle;
}

void PlannedMaps::forget() {
  for (const Planned& planned : planned_) place_[planned.row] = kNone;
}

void Asrpt::update(std::span<const SlottedJob> jobs, Index row) {
  const SlottedJob& job = jobs[row];
  if (job.maps > 0) {
    maps_.set(row, job.left(), job.sequence);
    reduces_.erase(row);
    return;
  }
  maps_.erase(row);
  if (job.ready > 0) {
    reduces_.set(row, job.reduce_left, job.sequence);
  } else {
    reduces_.erase(row);
  }
}

void Asrpt::leave(std::span<const SlottedJob> jobs, Index row, bool cancelled) {
  maps_.erase(row);
  reduces_.erase(row);
  PlannedMaps::leave(jobs, row, cancelled);
}

void Asrpt::decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle,
                   bool fresh, std::vector<SlottedGrant>& grants) {
  idle = grant(jobs, machines, idle, fresh, /*unlocking=*/false, grants);
  idle = fill(jobs, reduces_, idle, grants);
  fill(jobs, maps_, idle, grants);
  forget();
}

void Dsrpt::arrive(std::span<const SlottedJob> jobs, Index row) {
  const SlottedJob& job = jobs[row];
  Index& handle = handle_of(handle_, row);
  handle = kNone;
  if (job.left() > 0.0) {
    handle = virtual_.add(job.sequence, row, job.map_left, job.left());
  } else {
    next_.push_back({job.sequence, kInfinity, row});
  }
}

// Done or cancelled: its remaining estimated work leaves the virtual schedule, too.
void Dsrpt::leave(std::span<const SlottedJob> jobs, Index row, bool) {
  if (handle_[row] != kNone) virtual_.cancel(handle_[row], jobs[row].sequence);
}

// Reduce work that the virtual schedule has served may run from the next step on.
void Dsrpt::enqueue(const VirtualSrpt::Served& served) {
  const double work = served.done ? kInfinity : served.total - served.map;
  if (work > 0.0) next_.push_back({served.sequence, work, served.tag});
}

// The virtual schedule goes on for so many steps.
void Dsrpt::pass(std::int64_t machines, double steps) {
  for (const auto& served : virtual_.pour(static_cast<double>(machines) * steps)) enqueue(served);
}

// Drops the served front of the queue, once it is long.
void Dsrpt::drop_served() {
  if (head_ == queue_.size()) {
    queue_.clear();
    head_ = 0;
  } else if (head_ > queue_.size() / 2) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
}

void Dsrpt::decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle,
                   bool fresh, std::vector<SlottedGrant>& grants) {
  const std::size_t first = grants.size();
  if (place_.size() < jobs.size()) place_.resize(jobs.size(), kNone);
  const auto grant_of = [&](Index row) -> SlottedGrant& {
    if (place_[row] == kNone) {
      place_[row] = static_cast<Index>(grants.size());
      grants.push_back({row, 0, 0});
    }
    return grants[place_[row]];
  };
  queue_.insert(queue_.end(), next_.begin(), next_.end());
  next_.clear();
  for (const auto& served : virtual_.pour(fresh ? static_cast<double>(machines) : 0.0)) {
    const SlottedJob& job = jobs[served.tag];
    if (job.sequence != served.sequence) continue;
    // With estimates a virtual step may cut work anywhere, but only that of its last job: all
    // others ask for whole tasks, so rounding up never asks for more than the machines.
    const std::int64_t maps = std::min({job.maps, tasks_for(served.map), idle});
    if (maps > 0) {
      grant_of(served.tag).maps += maps;
      idle -= maps;
    }
    enqueue(served);
  }
  while (head_ < queue_.size() && idle > 0) {
    Batch& batch = queue_[head_];
    const SlottedJob& job = jobs[batch.row];
    std::int64_t given = 0, offered = 0;
    if (job.sequence == batch.sequence) {
      offered = job.ready - (place_[batch.row] == kNone ? 0 : grants[place_[batch.row]].reduces);
      const double most = std::min(static_cast<double>(std::min(offered, idle)), batch.work);
      given = static_cast<std::int64_t>(std::ceil(most - kCount));
      if (given > 0) grant_of(batch.row).reduces += given;
      idle -= given;
    }
    batch.work -= static_cast<double>(given);
    // No machine is left for it. A remainder that is only rounding asks for no machine, and must
    // not stop the others.
    if (given < offered && batch.work > kCount) break;
    ++head_;
  }
  drop_served();
  for (std::size_t k = first; k < grants.size(); ++k) place_[grants[k].row] = kNone;
}

}  // namespace malleable
