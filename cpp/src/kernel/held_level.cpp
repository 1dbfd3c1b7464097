#include "malleable/kernel/held_level.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/forced_work.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr int kHalvings = 200;

// The least whole number that rounding allows for.
double whole_up(double x) { return std::ceil(x - kCount * std::max(1.0, std::fabs(x))); }

}  // namespace

bool HeldLevel::may_meet(const Problem& problem, double period, std::span<const double> due) {
  events_.clear();
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const double work = problem.work[j], high = problem.high[j];
    if (work == 0.0 || due[j] == kInfinity) continue;
    if (!(work <= high * due[j] * (1.0 + kAmple))) return false;
    // A deadline at the edge of a period is that edge: rounding must not make it the one before.
    const double edge = std::floor(due[j] / period + kCount);
    const double part = std::max(0.0, due[j] / period - edge);
    const double need = whole_up(work / period);
    const double whole = std::max(0.0, whole_up(work / period - high * part));
    double total = need;
    if (need > high * edge && part > kCount) {
      total = high * edge + whole_up((work / period - high * edge) / part);
    }
    // Its part begins in the period in which at most `high` of `whole` are due.
    const double spans = std::ceil(whole / high);
    const double first = edge - spans;
    double held = 0.0;
    if (whole > 0.0) {
      held = whole - high * (spans - 1.0);
      if (spans > 1.0) {
        events_.push_back({std::max(0.0, first), held, high});
        events_.push_back({edge - 1.0, 0.0, -high});
        held = whole;
      } else {
        events_.push_back({std::max(0.0, first), held, 0.0});
      }
    }
    if (total > held) events_.push_back({edge, total - held, 0.0});
  }
  std::sort(events_.begin(), events_.end(),
            [](const Event& a, const Event& b) { return a.period < b.period; });
  double at = 0.0, held = 0.0, slope = 0.0;
  const auto fits = [&](double k, double count) {
    return count <= problem.slots * (k + 1.0) * (1.0 + kRounding);
  };
  for (std::size_t e = 0; e < events_.size();) {
    const double k = events_[e].period;
    if (k > at) {
      if (!fits(k - 1.0, held + slope * (k - 1.0 - at))) return false;
      held += slope * (k - at);
      at = k;
    }
    for (; e < events_.size() && events_[e].period == k; ++e) {
      held += events_[e].jump;
      slope += events_[e].slope;
    }
    if (!fits(k, held)) return false;
  }
  return true;
}

double HeldLevel::run(const Problem& problem, const Penalties& penalties, double period,
                      double from, double to) {
  due_.resize(problem.size());
  const auto passes = [&](double level) {
    ForcedWork::deadlines(problem, penalties, level, 1.0, due_);
    return may_meet(problem, period, due_);
  };
  if (!(from < to) || passes(from)) return std::min(from, to);
  double low = from, high = to;
  for (int step = 0; step < kHalvings; ++step) {
    if (high - low <= kSameTime * std::max(std::fabs(low), std::fabs(high))) break;
    const double middle = low + (high - low) / 2.0;
    if (!(middle > low && middle < high)) break;
    (passes(middle) ? high : low) = middle;
  }
  // No penalty takes a value between the level that fails and the next one that somebody may pay.
  double next = kInfinity;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (problem.work[j] > 0.0) next = std::min(next, penalties.next_value(j, low));
  }
  return std::min(std::max(low, next), to);
}

}  // namespace malleable
