// Decisions of sums with deadlines, without an instance: keys that a selection takes.
//
// Apparent cost (Vepsalainen and Morton 1987): work over what the penalty rises by, put off while
// the latest start is ahead; a step counts as if it rose within twice the mean time of a job on all
// slots, and a job that cannot reach a step aims at the next. One pass in logarithms, O(J).
//
// Many jobs with steps alone: latest start of those who can be on time together by the prices of
// work by due time (kernel on_time_prices), the others behind them by work over what they pay.
// Prices are made anew when an eighth of the jobs have changed, or the time that they look at
// has moved on; in between, a changed job is placed by the prices that are there. Of few jobs the
// test is made job by job (kernel on_time_set, by way of an instance).
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
// Up to so many, prices are made for every decision.
constexpr std::size_t kPricedAnew = 10'000;
constexpr double kChangedPart = 0.125, kMoved = 1.0 / 64.0;  // of the jobs, of the times looked at
constexpr std::size_t kSample = 2048;
constexpr double kLateKey = 1e100;  // keys of jobs that are to be late begin there
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
  if (options_.policy != EpochPolicy::kFlex || options_.aggregate != Aggregate::kSum) {
    return Keys::kSmith;
  }
  const auto count = [&](Kind kind) { return of_kind_[static_cast<std::size_t>(kind)]; };
  const std::uint64_t steps = count(Kind::kTardy) + count(Kind::kSla);
  if (steps + count(Kind::kTardiness) == 0) return Keys::kSmith;
  return steps == id_.size() ? Keys::kLatestStart : Keys::kApparentCost;
}

// All kinds have keys, and there are enough jobs for keys to be as good as a set.
bool Epoch::waits_by_key() const {
  for (const Kind kind : {Kind::kStrict, Kind::kCustom}) {
    if (of_kind_[static_cast<std::size_t>(kind)] > 0) return false;
  }
  return keys_ != Keys::kLatestStart || (id_.size() > kFewSteps && options_.hysteresis == 0.0);
}

void Epoch::look_up_keys() {
  const Keys wanted = keys_now();
  if (wanted == keys_) return;
  keys_ = wanted;
  on_time_.clear();
  selection_.reset();
  for (std::size_t r = 0; r < id_.size(); ++r) set_key(r);
}

// Absolute, to meet a deadline within its tolerance.
double Epoch::latest_start(std::size_t row, double due) const {
  return due + tolerance(due) - work_[row] / (low_[row] + room_[row]);
}

// The first end behind `after` that saves something and can still be reached.
void Epoch::aim(std::size_t row, double after) {
  lead_[row] = kInfinity;
  start_[row] = -kInfinity;
  if (!(work_[row] > 0.0)) {
    lead_[row] = kFirst;
    return;
  }
  double cost = 0.0;
  const auto try_end = [&](double due, double pays, bool jumps) {
    const double start = latest_start(row, due);
    if (!(pays > 0.0) || !(due < kInfinity) || (jumps && (start < now_ || due <= after))) {
      return false;
    }
    start_[row] = start;
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
  if (!(cost > 0.0)) return;
  lead_[row] = std::log(work_[row] / cost);
  if (options_.hysteresis > 0.0 && given_[row] > static_cast<std::int64_t>(low_[row])) {
    lead_[row] -= std::log1p(options_.hysteresis);
  }
}

OnTimePrices::Job Epoch::asked(std::size_t row) const {
  const double high = low_[row] + room_[row];
  return {work_[row], low_[row], high, start_[row] + work_[row] / high, lead_[row]};
}

// The key of a row by the prices that are there.
void Epoch::place(std::size_t row) {
  aim(row, -kInfinity);
  if (!(lead_[row] < kInfinity) || lead_[row] == kFirst) {
    key_[row] = lead_[row];
    return;
  }
  const double first = lead_[row];
  for (std::size_t round = 0; lead_[row] < kInfinity; ++round) {
    const OnTimePrices::Job job = asked(row);
    if (on_time_.in(job, round)) {
      key_[row] = start_[row] - on_time_.now();
      return;
    }
    if (round + 1 >= on_time_.rounds()) break;
    aim(row, job.due);
  }
  lead_[row] = kInfinity;
  start_[row] = -kInfinity;
  key_[row] = kLateKey * std::exp(std::clamp(first, -200.0, 200.0));
}

// Jobs ask for their first steps, those that are refused for the next, and so on.
void Epoch::make_prices() {
  const std::size_t n = id_.size();
  std::vector<OnTimePrices::Job> sample;
  for (std::size_t r = 0; r < n; ++r) aim(r, -kInfinity);
  for (std::size_t r = 0; r < n; r += n / kSample + 1) {
    if (start_[r] > -kInfinity) sample.push_back(asked(r));
  }
  on_time_.begin(now_, static_cast<double>(slots_), sample, sum_of(work_));
  for (std::size_t r = 0; minima_ > 0.0 && r < n; ++r) {
    if (low_[r] > 0.0 && work_[r] > 0.0) on_time_.take_minimum(work_[r], low_[r]);
  }
  std::vector<Index> asking;
  for (std::size_t r = 0; r < n; ++r) {
    const bool waits = start_[r] > -kInfinity;
    key_[r] = waits ? kLateKey * std::exp(std::clamp(lead_[r], -200.0, 200.0)) : lead_[r];
    if (waits) asking.push_back(static_cast<Index>(r));
  }
  while (!asking.empty() && on_time_.rounds() < OnTimePrices::kRounds) count_demand(asking);
  for (const Index r : asking) {
    lead_[r] = kInfinity;
    start_[r] = -kInfinity;
  }
  changes_ = 0;
}

// One round: leaves those that ask again.
void Epoch::count_demand(std::vector<Index>& asking) {
  for (const Index r : asking) on_time_.ask(asked(r));
  on_time_.close();
  std::size_t left = 0;
  for (const Index r : asking) {
    const OnTimePrices::Job job = asked(r);
    if (on_time_.in(job, on_time_.rounds() - 1)) {
      key_[r] = start_[r] - on_time_.now();
      continue;
    }
    aim(r, job.due);
    if (start_[r] > -kInfinity) asking[left++] = r;
  }
  asking.resize(left);
}

// Those whose latest start has passed aim at their next step.
void Epoch::move_on() {
  const double now = now_ - on_time_.now();
  for (std::size_t r = 0; r < id_.size(); ++r) {
    if (key_[r] < now && work_[r] > 0.0 && start_[r] < now_) place(r);
  }
}

void Epoch::make_waiting_keys() {
  const std::size_t n = id_.size();
  if (keys_ == Keys::kLatestStart) {
    const bool anew = n <= kPricedAnew || on_time_.empty() ||
                      static_cast<double>(changes_) > kChangedPart * static_cast<double>(n) ||
                      now_ - on_time_.now() > kMoved * on_time_.span();
    anew ? make_prices() : move_on();
    return;
  }
  const double total = sum_of(work_);
  const double patience =
      2.0 * std::max(total / static_cast<double>(slots_) / static_cast<double>(n), kTiny);
  apparent_costs(lead_.data(), start_.data(), n, now_, patience, key_.data());
  if (of_kind_[static_cast<std::size_t>(Kind::kTardy)] +
          of_kind_[static_cast<std::size_t>(Kind::kSla)] ==
      0) {
    return;
  }
  const double spread = std::log(patience);
  for (std::size_t r = 0; r < n; ++r) {
    if (kind_[r] != Kind::kTardy && !info(kind_[r]).uses_sla) continue;
    if (start_[r] < now_ && start_[r] > -kInfinity) {
      aim(r, -kInfinity);
    }
    const double wait = std::max(0.0, start_[r] - now_);
    key_[r] = rounded_key(lead_[r] + spread + wait / patience);
  }
}

}  // namespace malleable
