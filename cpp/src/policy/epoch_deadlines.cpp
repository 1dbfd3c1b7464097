// Decisions of sums with deadlines, without an instance: keys that a selection takes.
//
// Apparent cost (Vepsalainen and Morton 1987): work over what the penalty rises by, put off while
// the latest start is ahead; a step counts as if it rose within twice the mean time of a job on all
// slots, and a job that cannot reach a step aims at the next. One pass in logarithms, O(J).
//
// Many jobs with steps alone: the same, with a patience of a fiftieth of the time that all work
// takes, so that what is due late waits for long; steps that cannot be reached come last. On five
// tables of 5,000 jobs that makes 0.80 to 0.97 of the weight late that prices of work by due time
// made late. Of fewer jobs the on-time set is made job by job (kernel on_time_set, by way of an
// instance), which is better.
#include <algorithm>
#include <cmath>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {
namespace {

// Of so many jobs with steps the on-time set is made job by job.
constexpr std::size_t kFewSteps = 4000;
constexpr double kStepPatience = 0.02;  // of the time that all work takes
constexpr double kFirst = -1e300;

MALLEABLE_VECTOR_CLONES
void apparent_costs(const double* lead, const double* start, std::size_t n, double now,
                    double patience, double* key) {
#pragma omp simd
  for (std::size_t r = 0; r < n; ++r) {
    const double wait = start[r] - now;
    key[r] = rounded_key(lead[r] + (wait > 0.0 ? wait : 0.0) / patience);
  }
}

}  // namespace

// Which keys decide now.
Epoch::Keys Epoch::keys_now() const {
  if (options_.policy != EpochPolicy::kFlex) return Keys::kSmith;
  const auto count = [&](Kind kind) { return of_kind_[static_cast<std::size_t>(kind)]; };
  if (options_.aggregate != Aggregate::kSum) {
    std::uint64_t lines = count(Kind::kTardiness);
    for (std::size_t k = 0; k < std::size(kKinds); ++k) lines += kKinds[k].steady ? of_kind_[k] : 0;
    return lines == id_.size() ? Keys::kLevel : Keys::kSmith;
  }
  return stepped() + count(Kind::kTardiness) > 0 ? Keys::kApparentCost : Keys::kSmith;
}

// Jobs whose penalties have steps alone.
std::size_t Epoch::stepped() const {
  return of_kind_[static_cast<std::size_t>(Kind::kTardy)] +
         of_kind_[static_cast<std::size_t>(Kind::kSla)];
}

// All kinds have keys, and there are enough jobs for keys to be as good as a set.
bool Epoch::waits_by_key() const {
  for (const Kind kind : {Kind::kStrict, Kind::kCustom}) {
    if (of_kind_[static_cast<std::size_t>(kind)] > 0) return false;
  }
  const std::size_t n = id_.size();
  return stepped() < n || n == 0 || (n > kFewSteps && options_.hysteresis == 0.0);
}

void Epoch::look_up_keys() {
  const Keys wanted = keys_now();
  if (wanted == keys_) return;
  keys_ = wanted;
  selection_.reset();
  for (std::size_t r = 0; r < id_.size(); ++r) set_key(r);
}

// Absolute, to meet a deadline within its tolerance.
double Epoch::latest_start(std::size_t row, double due) const {
  return due + tolerance(due) - work_[row] / (low_[row] + room_[row]);
}

// The first end that saves something and can still be reached.
Epoch::Aim Epoch::aim(std::size_t row) const {
  Aim found{kInfinity, -kInfinity};
  if (!(work_[row] > 0.0)) {
    found.lead = kFirst;
    return found;
  }
  double cost = 0.0;
  const auto try_end = [&](double due, double pays, bool jumps) {
    const double start = latest_start(row, due);
    if (!(pays > 0.0) || !(due < kInfinity) || (jumps && start < now_)) {
      return false;
    }
    found.start = start;
    cost = pays;
    return true;
  };
  const Kind kind = kind_[row];
  if (kind == Kind::kTardiness || kind == Kind::kTardy) {
    try_end(deadline_[row], weight_[row], kind == Kind::kTardy);
  } else if (info(kind).uses_sla) {
    const auto [time, penalty] = steps_.of(sla_[row]);
    double paid = 0.0;
    for (std::size_t k = 0; k < time.size(); paid = penalty[k++]) {
      if (try_end(time[k], weight_[row] * (penalty[k] - paid), true)) break;
    }
  } else if (const double size = info(kind).per_size ? size_[row] : 1.0; size > 0.0) {
    cost = weight_[row] / size;
  }
  if (!(cost > 0.0)) return found;
  found.lead = std::log(work_[row] / cost);
  if (options_.hysteresis > 0.0 && given_[row] > static_cast<std::int64_t>(low_[row])) {
    found.lead -= std::log1p(options_.hysteresis);
  }
  return found;
}

void Epoch::make_apparent_costs() {
  const std::size_t n = id_.size(), steps = stepped();
  const double part = steps == n ? kStepPatience : 2.0 / static_cast<double>(n);
  const double patience = std::max(part * sum_of(work_) / static_cast<double>(slots_), kTiny);
  const auto has_steps = [&](std::size_t r) {
    return kind_[r] == Kind::kTardy || info(kind_[r]).uses_sla;
  };
  for (std::size_t r = 0; steps > 0 && r < n; ++r) {
    if (!(start_[r] < now_ && start_[r] > -kInfinity) || !has_steps(r)) continue;
    const Aim next = aim(r);  // its latest start has passed
    lead_[r] = next.lead;
    start_[r] = next.start;
  }
  apparent_costs(lead_.data(), start_.data(), n, now_, patience, key_.data());
  if (steps == 0 || steps == n) return;
  const double spread = std::log(patience);
  for (std::size_t r = 0; r < n; ++r) {
    if (!has_steps(r)) continue;
    key_[r] = rounded_key(lead_[r] + spread + std::max(0.0, start_[r] - now_) / patience);
  }
}

}  // namespace malleable
