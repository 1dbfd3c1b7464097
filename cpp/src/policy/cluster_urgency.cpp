#include "malleable/policy/cluster_urgency.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/linear_level.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr double kPatience = 2.0;  // mean times of a job on all slots

// What a job loses soon by steps.
class Loss {
 public:
  Loss(double now, double patience) : now_(now), patience_(patience) {}
  // The penalty jumps for starts after `latest`.
  void jump(double latest, double cost) {
    if (latest + tolerance(latest) >= now_) add(std::max(latest - now_, 0.0), cost / patience_);
  }
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

void ClusterUrgency::count_tasks(const ClusterState& state, int pool, Row& row) {
  const auto slots_of = [&](int of) {
    return static_cast<double>(std::max<std::int64_t>(state.slots[of], 1));
  };
  for (const Phase p : {kMap, kReduce}) {
    const PhaseState& s = state.phase(row.job, p);
    const int own = state.cluster.generic ? 0 : p;
    if (own < pool || s.waiting == 0) continue;  // its reduces start after its maps
    const auto tasks = static_cast<double>(s.waiting);
    row.tail += s.estimate * std::ceil(tasks / slots_of(own));
    if (own == pool && s.ready) row.work += state.held(s.estimate * tasks, s.estimate);
  }
  row.work = std::max(row.work / slots_of(pool), kTiny);
}

Index ClusterUrgency::set(Index at, const ClusterState& state, int pool, Index job,
                          std::int64_t low, Kind usual) {
  const ClusterState::Demand demand = state.demand(job, pool);
  if (at == kNone) {
    at = static_cast<Index>(rows_.size());
    rows_.emplace_back();
  }
  Row& row = rows_[at] = {};
  row.job = job;
  row.rank = state.rank[job];
  row.kind = state.jobs.kind_of(job, usual);
  row.waits = demand.most > demand.running;
  row.low = row.waits ? low : demand.most;
  row.most = demand.most;
  row.left = demand.work;
  if (!row.waits) return at;
  count_tasks(state, pool, row);
  double rate = state.jobs.weight_of(job);
  row.latest = -kInfinity;
  row.reach = kInfinity;
  const bool jumps = row.kind == Kind::kTardy || row.kind == Kind::kStrict;
  if (jumps || row.kind == Kind::kTardiness) {
    row.latest = state.jobs.deadline_of(job) - row.tail;
    if (jumps) row.reach = row.latest + tolerance(row.latest);
  } else if (info(row.kind).per_size) {
    rate /= std::max(state.size[job], kTiny);
  }
  row.smith = std::log(row.work / rate);
  if (!(rate > 0.0) || row.latest == kInfinity) row.reach = -kInfinity;
  return at;
}

Index ClusterUrgency::erase(Index row) {
  if (row == kNone) return kNone;
  rows_[row] = rows_.back();
  rows_.pop_back();
  return row < rows_.size() ? rows_[row].job : kNone;
}

double ClusterUrgency::place_by_steps(const ClusterState& state, double patience, const Row& row) {
  Loss loss(state.now, patience);
  const auto [time, penalty] = state.jobs.steps_of(row.job);
  const double weight = state.jobs.weight_of(row.job);
  double paid = 0.0;
  for (std::size_t k = 0; k < time.size(); paid = penalty[k++]) {
    loss.jump(time[k] - row.tail, weight * (penalty[k] - paid));
  }
  return loss.any() ? loss.ratio(row.work) : kInfinity;
}

void ClusterUrgency::place(const ClusterState& state) {
  const double mean = work_sum_ / static_cast<double>(std::max<std::int64_t>(waiting_, 1));
  const double patience = std::max(kPatience * mean, kTiny), soon = std::log(patience);
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const Row& row = rows_[k];
    if (info(row.kind).uses_sla) {
      key_[k] = place_by_steps(state, patience, row);
      continue;
    }
    const double fixed = row.kind == Kind::kTardy ? row.smith + soon : row.smith;
    const double key = fixed + std::max(row.latest - state.now, 0.0) / patience;
    key_[k] = row.reach < state.now ? kInfinity : key;
  }
}

void ClusterUrgency::place_by_level(const ClusterState& state, int pool) {
  const auto slots = static_cast<double>(std::max<std::int64_t>(state.slots[pool], 1));
  for (auto* column : {&work_, &low_, &most_, &since_, &weight_}) column->clear();
  double held = left_sum_;
  for (const Row& row : rows_) {
    if (!row.waits) continue;
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
  for (std::size_t k = 0, w = 0; k < rows_.size(); ++k) {
    if (!rows_[k].waits) continue;
    key_[k] = since_[w] + level / weight_[w] - rows_[k].tail;
    ++w;
  }
}

double ClusterUrgency::limit(std::size_t first) {
  constexpr std::size_t kSample = 256;
  const std::size_t n = key_.size(), place = first * kSample / n + kSample / 8;
  if (place >= kSample) return kInfinity;
  sample_.clear();
  for (std::size_t k = 0; k < kSample; ++k) sample_.push_back(key_[k * n / kSample]);
  const auto found = sample_.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(sample_.begin(), found, sample_.end());
  return *found;
}

std::int64_t ClusterUrgency::decide(const ClusterState& state, int pool, Aggregate aggregate,
                                    std::int64_t most) {
  std::int64_t least = 0;
  waiting_ = 0;
  work_sum_ = left_sum_ = 0.0;
  others_.clear();
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    Row& row = rows_[k];
    least += row.low;
    waiting_ += row.waits ? 1 : 0;
    work_sum_ += row.work;
    left_sum_ += row.left;
    if (row.turn == 0.0) continue;
    row.turn = 0.0;
    others_.push_back(static_cast<Index>(k));
  }
  key_.resize(rows_.size());
  if (aggregate == Aggregate::kMax) {
    place_by_level(state, pool);
  } else {
    place(state);
  }
  const auto first = static_cast<std::size_t>(std::min(most, waiting_));
  const auto collect = [&](double highest) {
    turns_.clear();
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      const Row& row = rows_[k];
      if (key_[k] <= highest && row.waits) {
        turns_.push_back({key_[k], row.smith, row.rank, static_cast<Index>(k)});
      }
    }
  };
  collect(first > 0 ? limit(first) : kInfinity);
  if (turns_.size() < first) collect(kInfinity);
  const auto end = turns_.begin() + static_cast<std::ptrdiff_t>(first);
  std::nth_element(turns_.begin(), end, turns_.end());
  turns_.resize(first);
  std::sort(turns_.begin(), turns_.end());
  double turn = 0.0;
  for (const Turn& next : turns_) rows_[next.row].turn = ++turn;
  return least;
}

}  // namespace malleable
