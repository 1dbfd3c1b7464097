#include "malleable/policy/virtual_fair.hpp"

#include <algorithm>
#include <utility>

#include "malleable/model/tolerance.hpp"

namespace malleable {

bool VirtualFair::Row::ended() const { return left() <= kUnseen * work; }

void VirtualFair::begin(double now) {
  rows_.clear();
  inside_.clear();
  now_ = now;
  ended_ = 0.0;
  slots_ = 0;
}

void VirtualFair::state(State& s) {
  s(rows_, now_, ended_, slots_);
  if (!s.reading()) return;
  std::fill(inside_.begin(), inside_.end(), std::uint8_t{0});
  for (const Row& row : rows_) {
    if (row.job != kNone) inside_[row.job] = 1;
  }
}

void VirtualFair::advance(const ClusterState& state, int pool) {
  run(state.now);
  look(state, pool);
  slots_ = state.slots[pool];
  share();
}

// Each step but the last ends a job.
void VirtualFair::run(double now) {
  double time = now - std::exchange(now_, now);
  while (time > 0.0) {
    double step = time;
    for (const Row& row : rows_) {
      if (row.share > 0.0) step = std::min(step, row.left() / row.share);
    }
    for (Row& row : rows_) {
      if (row.share <= 0.0) continue;
      row.done += step * row.share;
      if (row.ended()) row.late = ended_ += 1.0;
    }
    time -= step;
    if (time > 0.0) share();
  }
}

// Who is there, and what all take.
void VirtualFair::look(const ClusterState& state, int pool) {
  for (const Index job : state.changed[pool]) {
    const bool wants = state.demand(job, pool).most > 0;
    if (wants && !inside_[job]) rows_.push_back({job});
    inside_[job] = wants;
  }
  for (Row& row : rows_) {
    if (row.job != kNone && !inside_[row.job]) row.job = kNone;
    if (row.job == kNone) continue;
    row.most = row.work = 0.0;
    for (const Phase p : {kMap, kReduce}) {
      const PhaseState& s = state.phase(row.job, p);
      if ((!state.cluster.generic && p != pool) || !s.open()) continue;
      row.most += static_cast<double>(s.total);
      row.work += s.estimate * static_cast<double>(s.total);
    }
    row.most = std::min(row.most, static_cast<double>(state.jobs.maximum_of(row.job)));
    if (!row.ended()) {
      row.late = 0.0;
    } else if (row.late == 0.0) {
      row.late = ended_ += 1.0;
    }
  }
  std::erase_if(rows_, [](const Row& row) { return row.job == kNone && row.late > 0.0; });
}

// FAIR's slots of those that have not ended, in parts of slots.
void VirtualFair::share() {
  using To = KeptOrder<std::pair<double, Index>>::Place;
  listed_.assign(rows_.size(), 0);
  order_.each([&](auto& place) {
    auto& [most, k] = place;
    if (k >= rows_.size() || rows_[k].ended()) return To::kGone;
    listed_[k] = 1;
    return std::exchange(most, rows_[k].most) == rows_[k].most ? To::kSame : To::kOther;
  });
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    rows_[k].share = 0.0;
    if (!listed_[k] && !rows_[k].ended()) order_.add({rows_[k].most, static_cast<Index>(k)});
  }
  order_.settle();
  auto free = static_cast<double>(slots_);
  auto count = static_cast<double>(order_.entries().size());
  for (const auto& [most, k] : order_.entries()) {
    rows_[k].share = std::min(most, free / count);
    free -= rows_[k].share;
    count -= 1.0;
  }
}

}  // namespace malleable
