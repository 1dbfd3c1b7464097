#include "malleable/policy/cluster_urgency.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr double kPatience = 2.0;  // mean times of a job on all slots

// What a job loses soon.
class Loss {
 public:
  Loss(double now, double patience) : now_(now), patience_(patience) {}
  // The penalty jumps, or rises faster by a slope, for starts after `latest`.
  void jump(double latest, double cost) {
    if (latest + tolerance(latest) >= now_) add(std::max(latest - now_, 0.0), cost / patience_);
  }
  void bend(double latest, double slope) { add(std::max(latest - now_, 0.0), slope); }
  bool any() const { return rate_ > 0.0; }
  // The logarithm of `work` over the loss per second.
  double ratio(double work) const { return std::log(work / rate_) + first_ / patience_; }

 private:
  // Relative to the first loss, because exp(-slack / patience) may be too small for doubles.
  void add(double slack, double rate) {
    if (!(rate > 0.0) || slack == kInfinity) return;
    if (rate_ > 0.0) {
      const double least = std::min(first_, slack);
      rate = rate_ * std::exp((least - first_) / patience_) +
             rate * std::exp((least - slack) / patience_);
      slack = least;
    }
    first_ = slack;
    rate_ = rate;
  }

  double now_, patience_, first_ = 0.0, rate_ = 0.0;
};

}  // namespace

void ClusterUrgency::add(const ClusterState& state, int pool, Index job, std::int64_t low,
                         std::int64_t most) {
  const auto slots_of = [&](int of) {
    return static_cast<double>(std::max<std::int64_t>(state.slots[of], 1));
  };
  Waiting row{job, state.rank[job], low, most, 0.0, 0.0, false, 0.0};
  for (const Phase p : {kMap, kReduce}) {
    const PhaseState& s = state.phase(job, p);
    const int own = state.cluster.generic ? 0 : p;
    if (own < pool || s.waiting == 0) continue;  // its reduces start after its maps
    const auto tasks = static_cast<double>(s.waiting);
    row.tail += s.estimate * std::ceil(tasks / slots_of(own));
    if (own == pool && s.ready) row.work += state.held(s.estimate * tasks, s.estimate);
  }
  row.work = std::max(row.work / slots_of(pool), kTiny);
  waiting_.push_back(row);
}

void ClusterUrgency::place(const ClusterState& state, Kind usual, double patience, Waiting& row) {
  const Kind kind = state.jobs.kind_of(row.job, usual);
  const double weight = state.jobs.weight_of(row.job);
  const double due = state.jobs.deadline_of(row.job) - row.tail;
  Loss loss(state.now, patience);
  if (info(kind).uses_sla) {
    const auto [time, penalty] = state.jobs.steps_of(row.job);
    double paid = 0.0;
    for (std::size_t k = 0; k < time.size(); paid = penalty[k++]) {
      loss.jump(time[k] - row.tail, weight * (penalty[k] - paid));
    }
  } else if (kind == Kind::kTardy) {
    loss.jump(due, weight);
  } else if (kind == Kind::kTardiness) {
    loss.bend(due, weight);
  } else {
    const double size = info(kind).per_size ? std::max(state.size[row.job], kTiny) : 1.0;
    loss.bend(state.now, weight / size);
  }
  row.lost = !loss.any();
  row.key = row.lost ? row.work / weight : loss.ratio(row.work);
}

void ClusterUrgency::place_by_level(const ClusterState& state, int pool) {
  const auto slots = static_cast<double>(std::max<std::int64_t>(state.slots[pool], 1));
  for (auto* column : {&work_, &low_, &most_, &since_, &weight_}) column->clear();
  double held = all_work_;
  for (const Waiting& row : waiting_) {
    work_.push_back(row.work * slots);
    low_.push_back(0.0);
    most_.push_back(static_cast<double>(row.most));
    since_.push_back(state.jobs.arrival[row.job]);
    weight_.push_back(state.jobs.weight_of(row.job));
    held -= work_.back();
  }
  const double free = state.now + std::max(held, 0.0) / slots;
  const LinearLevel::Jobs jobs{work_, low_, most_, since_, weight_};
  const double level = LinearLevel().find(jobs, slots, free, 0.0).value_or(0.0);
  for (std::size_t k = 0; k < waiting_.size(); ++k) {
    waiting_[k].key = since_[k] + level / weight_[k] - waiting_[k].tail;
  }
}

std::span<const ClusterUrgency::Waiting> ClusterUrgency::sort(const ClusterState& state, int pool,
                                                              Aggregate aggregate, Kind usual,
                                                              std::size_t first) {
  if (aggregate == Aggregate::kMax) {
    place_by_level(state, pool);
  } else {
    double all = 0.0;
    for (const Waiting& row : waiting_) all += row.work;
    const double mean = all / static_cast<double>(std::max<std::size_t>(waiting_.size(), 1));
    for (Waiting& row : waiting_) place(state, usual, std::max(kPatience * mean, kTiny), row);
  }
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(first, waiting_.size()));
  std::nth_element(waiting_.begin(), end, waiting_.end());
  std::sort(waiting_.begin(), end);
  return waiting_;
}

}  // namespace malleable
