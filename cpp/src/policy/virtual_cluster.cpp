#include "malleable/policy/virtual_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace malleable {
namespace {

std::span<const double> own_table(const ClusterState& state, Index job) {
  const ClusterJobsView& jobs = state.jobs;
  if (jobs.rates.empty()) return {};
  const auto first = static_cast<std::size_t>(jobs.rate_offset[job]);
  return jobs.rates.subspan(first, static_cast<std::size_t>(jobs.rate_offset[job + 1]) - first);
}

// Slots that reduce tasks hold while their maps are not done.
std::int64_t held_by(const ClusterState& state, Index job) {
  return state.phase(job, kMap).unfinished() > 0 ? state.phase(job, kReduce).running : 0;
}

}  // namespace

std::int64_t JointRate::useful(const ClusterState& state, Index job) const {
  std::span<const double> rates = own_table(state, job);
  if (rates.empty()) rates = table;
  if (rates.empty()) return p > 0.0 ? std::numeric_limits<std::int64_t>::max() : 1;
  return std::lower_bound(rates.begin(), rates.end(), rates.back()) - rates.begin() + 1;
}

double JointRate::of(const ClusterState& state, Index job, std::int64_t slots) const {
  std::span<const double> rates = own_table(state, job);
  if (rates.empty()) rates = table;
  if (rates.empty()) return std::pow(static_cast<double>(slots), p);
  return rates[std::min(static_cast<std::size_t>(slots), rates.size()) - 1];
}

void VirtualCluster::begin(const ClusterState& state, JointRate rate) {
  rate_ = std::move(rate);
  now_ = state.now;
  reduces_.clear();
  is_moved_.clear();
  moved_.clear();
  grow(state.jobs.size());
  rows_.clear();
  blocked_ = 0.0;
  slots_ = state.slots[state.cluster.generic ? kMap : kReduce];
  const ClusterView& cluster = state.cluster;
  const auto slots = cluster.generic ? cluster.map_slots : cluster.reduce_slots;
  double all = 0.0, done = 0.0;
  for (std::size_t node = 0; node < slots.size(); ++node) {
    all += static_cast<double>(slots[node]);
    done += static_cast<double>(slots[node]) * cluster.rate[node];
  }
  pace_ = all > 0.0 ? done / all : 1.0;
}

void VirtualCluster::arrive(const ClusterState& state, Index job) {
  run(state, state.now);
  set_reduces(job, static_cast<double>(state.phase(job, kReduce).total));
  add(state, job);
}

void VirtualCluster::advance(const ClusterState& state) {
  run(state, state.now);
  rows_.clear();
  slots_ = state.slots[state.cluster.generic ? kMap : kReduce];
  double least = kInfinity;
  for (const Index job : state.present) {
    const std::int64_t held = held_by(state, job);
    slots_ -= held;
    if (held > 0) least = std::min(least, state.phase(job, kMap).remaining());
    add(state, job);
  }
  blocked_ = slots_ <= 0 && least < kInfinity ? least : 0.0;
  slots_ = std::max<std::int64_t>(slots_, 0);
}

void VirtualCluster::add(const ClusterState& state, Index job) {
  const PhaseState& maps = state.phase(job, kMap);
  const PhaseState& reduces = state.phase(job, kReduce);
  const auto unfinished = static_cast<double>(reduces.unfinished());
  if (unfinished < reduces_[job]) set_reduces(job, unfinished);
  const double left = reduces_[job];
  const bool runs = left > 0.0 && reduces.estimate > 0.0;
  // Maps take slots from reduces only where these are the same ones.
  if (!runs && !(state.cluster.generic && maps.unfinished() > 0)) return;
  const std::int64_t most = rate_.useful(state, job);
  const auto seconds = [&](int pool) {
    return state.cluster.generic
               ? 1.0
               : 1.0 / static_cast<double>(std::max<std::int64_t>(state.slots[pool], 1));
  };
  const std::int64_t held = runs ? held_by(state, job) : 0;
  const std::int64_t more = runs ? std::min(reduces.unfinished(), most) - held : 0;
  rows_.push_back({job, std::min(maps.unfinished(), most), std::max<std::int64_t>(more, 0), held,
                   maps.remaining() * seconds(0), reduces.estimate * seconds(1), reduces.estimate});
}

// Who gets slots, and so how fast each reduce phase runs; returns the slots that nobody can use.
std::int64_t VirtualCluster::serve(const ClusterState& state) {
  const bool generic = state.cluster.generic;
  std::int64_t wanted = 0;
  bool held = false;
  order_.clear();
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const Row& row = rows_[k];
    const double left = reduces_[row.job];
    if (!generic && left <= 0.0) continue;
    wanted += (generic ? row.maps : 0) + (left > 0.0 ? row.reduces : 0);
    held |= row.held > 0;
    order_.emplace_back(row.map_key + row.reduce_key * left, static_cast<Index>(k));
  }
  // Where there are slots for all, the order does not matter, nor once there are none.
  const bool scarce = wanted > slots_;
  if (scarce) std::make_heap(order_.begin(), order_.end(), std::greater<>{});
  served_.clear();
  std::int64_t free = slots_;
  while (!order_.empty() && (free > 0 || held)) {
    if (scarce && free > 0) std::pop_heap(order_.begin(), order_.end(), std::greater<>{});
    const Index k = order_.back().second;
    order_.pop_back();
    const Row& row = rows_[k];
    if (generic) free -= std::min(free, row.maps);
    if (reduces_[row.job] <= 0.0) continue;
    const std::int64_t more = std::min(free, row.reduces);
    free -= more;
    if (row.held + more == 0) continue;
    served_.emplace_back(rate_.of(state, row.job, row.held + more) * pace_ / row.seconds, k);
  }
  return free;
}

void VirtualCluster::run(const ClusterState& state, double until) {
  const auto reduces = [&](const Row& row) { return reduces_[row.job] > 0.0; };
  if (std::none_of(rows_.begin(), rows_.end(), reduces)) now_ = until;  // nothing runs
  // Every turn but the last ends a reduce phase, whose slots go to others.
  while (now_ < until) {
    const bool all = serve(state) > 0;  // everybody has what they can use, to the end
    double step = until - now_;
    Index ends = kNone;
    for (const auto& [rate, k] : served_) {
      if (all) break;
      const double needs = reduces_[rows_[k].job] / rate;
      if (needs > step) continue;
      step = needs;
      ends = k;
    }
    for (const auto& [rate, k] : served_) {
      const Index job = rows_[k].job;
      set_reduces(job, k == ends ? 0.0 : std::max(0.0, reduces_[job] - rate * step));
    }
    if (ends == kNone) break;
    now_ += step;
  }
  now_ = until;
}

}  // namespace malleable
