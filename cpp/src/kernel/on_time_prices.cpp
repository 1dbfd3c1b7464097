#include "malleable/kernel/on_time_prices.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/quantiles.hpp"

namespace malleable {
namespace {

constexpr std::size_t kTimes = 256, kValues = 256;
constexpr double kFull = 1e-9;  // of the slots until a time: so little left is none
// Of its shortest run a job has left when its first half is due, and its second.
constexpr double kFirstHalf = 0.75, kSecondHalf = 0.25;
// Of the slots: a set that is a little too large loses more than one that is a little too small.
constexpr double kUsed = 0.97;

}  // namespace

// Beyond its minimum.
double OnTimePrices::need(const Job& job) const {
  return job.work - job.low * std::max(0.0, job.due - now_);
}

std::size_t OnTimePrices::time_cell(const Job& job, double left) const {
  const double due = job.due - now_ - left * job.work / job.high;
  return static_cast<std::size_t>(std::upper_bound(edge_.begin(), edge_.end(), due) -
                                  edge_.begin());
}

void OnTimePrices::begin(double now, double slots, std::span<const Job> sample, double total_work) {
  now_ = now;
  bound_.clear();
  edge_.clear();
  const double end = total_work / slots;
  double least = kInfinity, most = -kInfinity;
  for (const Job& job : sample) {
    const double middle = job.due - now - 0.5 * job.work / job.high;
    if (middle > 0.0 && middle < end) edge_.push_back(middle);
    if (!std::isfinite(job.value)) continue;
    least = std::min(least, job.value);
    most = std::max(most, job.value);
  }
  keep_quantiles(edge_, kTimes - 1);
  if (edge_.empty() || edge_.back() < end) edge_.push_back(end);
  least_ = least < kInfinity ? least : 0.0;
  step_ = std::max(most - least, 1e-9) / static_cast<double>(kValues);
  const std::size_t m = edge_.size();
  room_.resize(m);
  for (std::size_t k = 0; k < m; ++k) {
    room_[k] = kUsed * slots * 0.5 * (edge_[k] + (k > 0 ? edge_[k - 1] : 0.0));
  }
  level_.assign(m + 1, 0.0);
  ramp_.assign(m + 1, 0.0);
  asked_.assign(m * kValues, 0.0);
}

void OnTimePrices::take_minimum(double work, double low) {
  const double alone = work / low;
  const auto at = std::upper_bound(edge_.begin(), edge_.end(), alone) - edge_.begin();
  ramp_[0] += low;
  ramp_[static_cast<std::size_t>(at)] -= low;
  level_[static_cast<std::size_t>(at)] += work;
}

void OnTimePrices::ask(const Job& job) {
  const double needed = need(job);
  if (!(needed > 0.0) || !(job.value < kInfinity)) return;
  const double v = std::clamp(value_cell(job.value), 0.0, static_cast<double>(kValues - 1));
  double* const asked = &asked_[static_cast<std::size_t>(v) * edge_.size()];
  for (const double left : {kFirstHalf, kSecondHalf}) {
    const std::size_t cell = time_cell(job, left);
    if (cell < edge_.size()) asked[cell] += 0.5 * needed;
  }
}

// The largest share of what is asked by the cells from `first` on that fits; false: all does. If
// not, all cells before `full` are full then.
bool OnTimePrices::fit(std::size_t value, std::size_t first, double& share,
                       std::size_t& full) const {
  const std::size_t m = edge_.size();
  const double* const asked = &asked_[value * m];
  double sum = 0.0;
  share = 1.0;
  for (std::size_t k = first; k < m; ++k) {
    sum += asked[k];
    if (sum * share >= room_[k] && sum > 0.0) {
      share = std::max(0.0, room_[k] / sum);
      full = k + 1;
    }
  }
  return share < 1.0;
}

void OnTimePrices::close() {
  const std::size_t m = edge_.size();
  if (bound_.empty()) {  // what minima leave
    double done = 0.0, rate = 0.0;
    for (std::size_t k = 0; k < m; ++k) {
      done += level_[k];
      rate += ramp_[k];
      room_[k] -= done + rate * 0.5 * (edge_[k] + (k > 0 ? edge_[k - 1] : 0.0));
    }
  }
  std::vector<double>& bound = bound_.emplace_back(m, kInfinity);
  std::size_t first = 0;
  for (std::size_t k = 0; k < m; ++k) {
    if (room_[k] <= kFull * room_[m - 1]) first = k + 1;
  }
  std::fill_n(bound.begin(), first, -kInfinity);
  for (std::size_t v = 0; v < kValues && first < m; ++v) {
    double rest = 1.0;  // of this value has not been let in yet
    for (bool more = true; more && first < m;) {
      double share = 1.0;
      std::size_t full = first;
      more = fit(v, first, share, full);
      double sum = 0.0;
      for (std::size_t k = first; k < m; ++k) {
        sum += asked_[v * m + k];
        room_[k] -= share * sum;
      }
      for (std::size_t k = first; k < m; ++k) asked_[v * m + k] *= 1.0 - share;
      rest *= 1.0 - share;
      if (!more) break;
      const double reached = least_ + step_ * (static_cast<double>(v) + 1.0 - rest);
      for (; first < full; ++first) bound[first] = reached;
    }
  }
  std::fill(asked_.begin(), asked_.end(), 0.0);
}

bool OnTimePrices::in(const Job& job, std::size_t round) const {
  if (round >= bound_.size() || !(job.value < kInfinity)) return false;
  if (!(need(job) > 0.0)) return true;
  const std::size_t cell = time_cell(job, 1.0);
  return cell == edge_.size() || job.value < bound_[round][cell];
}

}  // namespace malleable
