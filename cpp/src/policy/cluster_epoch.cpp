#include "malleable/policy/cluster_epoch.hpp"

#include <algorithm>

namespace malleable {

ClusterEpoch::ClusterEpoch(const EpochOptions& options, bool at_least_one)
    : options_(options), at_least_one_(at_least_one) {
  options_.stable = true;
  // Smith's ratios and waterlines say the same at any time.
  const bool plain = options.aggregate == Aggregate::kSum &&
                     (options.kind == Kind::kResponse || options.kind == Kind::kCompletion ||
                      options.kind == Kind::kStretch || options.kind == Kind::kLateness);
  time_matters_ = options.policy == EpochPolicy::kFlex && (!plain || options.effort.has_value());
}

void ClusterEpoch::begin(const ClusterState& state) {
  epochs_.clear();
  for (int pool = 0; pool < 2; ++pool) {
    epochs_.emplace_back(std::max<std::int64_t>(state.slots[pool], 1), options_);
    id_[pool].assign(state.jobs.size(), kAbsent);
    job_[pool].clear();
  }
}

void ClusterEpoch::decide(const ClusterState& state, int pool, Answer& answer) {
  Epoch& epoch = epochs_[static_cast<std::size_t>(pool)];
  for (auto* column : {&ids_, &gone_, &low_, &high_, &new_low_, &new_high_}) column->clear();
  for (auto* column : {&work_, &new_work_, &size_, &weight_, &deadline_, &arrival_}) {
    column->clear();
  }
  const std::size_t first_new = job_[pool].size();
  // Jobs that are new here are added in the order of their arrivals.
  changed_.assign(state.changed[pool].begin(), state.changed[pool].end());
  std::sort(changed_.begin(), changed_.end(), [&](Index a, Index b) {
    const double first = state.jobs.arrival[a], second = state.jobs.arrival[b];
    return first != second ? first < second : a < b;
  });
  for (const Index job : changed_) {
    const ClusterState::Demand demand = state.demand(job, pool);
    std::int64_t& id = id_[pool][job];
    if (demand.most == 0) {
      if (id != kAbsent) gone_.push_back(id);
      id = kAbsent;
      answer.set(job, 0.0);
      continue;
    }
    // Tasks that take no time are work all the same: somebody has to start them.
    const double work = std::max(demand.work, 1e-9 * static_cast<double>(demand.most));
    const std::int64_t wanted =
        at_least_one_ ? std::max<std::int64_t>(demand.minimum, 1) : demand.minimum;
    const std::int64_t low = std::min(wanted, demand.most);
    if (id != kAbsent) {
      ids_.push_back(id);
      work_.push_back(work);
      low_.push_back(low);
      high_.push_back(demand.most);
    } else {
      job_[pool].push_back(job);
      new_work_.push_back(work);
      new_low_.push_back(low);
      new_high_.push_back(demand.most);
      size_.push_back(std::max(state.size[job], work));
      weight_.push_back(state.jobs.weight_of(job));
      deadline_.push_back(state.jobs.deadline_of(job));
      arrival_.push_back(state.jobs.arrival[job]);
    }
  }
  if (!gone_.empty()) epoch.remove(gone_);
  if (!ids_.empty()) epoch.update(ids_, {work_, {}, {}, low_, high_});
  if (!new_work_.empty()) {
    zeros_.assign(new_work_.size() + 1, 0);
    std::int64_t id = epoch.add(
        {arrival_, new_work_, new_low_, new_high_, weight_, deadline_, zeros_, {}, {}}, size_);
    for (std::size_t k = first_new; k < job_[pool].size(); ++k) id_[pool][job_[pool][k]] = id++;
  }
  if (state.slots[pool] == 0) {
    for (const std::int64_t id : epoch.ids()) {
      answer.set(job_[pool][static_cast<std::size_t>(id)], 0.0);
    }
    return;
  }
  epoch.decide(state.now, state.slots[pool]);
  const auto ids = epoch.ids();
  const auto given = epoch.given();
  for (std::size_t row = 0; row < ids.size(); ++row) {
    answer.set(job_[pool][static_cast<std::size_t>(ids[row])], static_cast<double>(given[row]));
  }
}

}  // namespace malleable
