// Decisions of sums with deadlines, without an instance: keys that a selection takes.
//
// Apparent cost (Vepsalainen and Morton 1987): work over what the penalty rises by, put off while
// the latest start is ahead; a step counts as if it rose within twice the mean time of a job on all
// slots, and a job that cannot reach a step aims at the next. One pass in logarithms, O(J).
//
// Many jobs with steps alone: latest start of those who can be on time together by the prices of
// work by due time (kernel on_time_prices), the others behind them by work over what they pay.
// Prices are made anew when an eighth of the jobs have changed, or a sixteenth of the time that
// they look at has passed: by a sample in which each job stands for as many as its share of work
// and minima says, so that a hundredth of a million jobs adds up to what all of them ask for. A
// price can only put a job off, so a job's key is first that of its first step, a floor, and the
// price is looked up where the floor would give slots, always by the latest prices. A job that was
// put off begins again when it changes and, in turn with all others, once within a quarter of the
// time that prices look at: until then it may wait although newer prices would let it in. Two
// passes over the keys, and O(log J) for each job in question. Of few jobs all ask for prices, at
// every decision; of fewer still the test is made job by job (kernel on_time_set, by way of an
// instance).
#include <algorithm>
#include <cmath>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/fetch.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {
namespace {

// Of so many jobs with steps the on-time set is made job by job.
constexpr std::size_t kFewSteps = 4000;
// Up to so many, all ask for prices, which are made for every decision.
constexpr std::size_t kPricedAnew = 10'000;
constexpr double kAsking = 8192;                             // times that jobs of more ask
constexpr double kChangedPart = 0.125, kMoved = 1.0 / 16.0;  // of the jobs, of the times looked at
constexpr double kForgotten = 0.25;  // of these times: within so much all begin again
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
  if (options_.policy != EpochPolicy::kFlex) return Keys::kSmith;
  const auto count = [&](Kind kind) { return of_kind_[static_cast<std::size_t>(kind)]; };
  if (options_.aggregate != Aggregate::kSum) {
    std::uint64_t lines = count(Kind::kTardiness);
    for (std::size_t k = 0; k < std::size(kKinds); ++k) lines += kKinds[k].steady ? of_kind_[k] : 0;
    return lines == id_.size() ? Keys::kLevel : Keys::kSmith;
  }
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
Epoch::Aim Epoch::aim(std::size_t row, double after) const {
  Aim found{kInfinity, -kInfinity};
  if (!(work_[row] > 0.0)) {
    found.lead = kFirst;
    return found;
  }
  double cost = 0.0;
  const auto try_end = [&](double due, double pays, bool jumps) {
    const double start = latest_start(row, due);
    if (!(pays > 0.0) || !(due < kInfinity) || (jumps && (start < now_ || due <= after))) {
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

OnTimePrices::Job Epoch::asked(std::size_t row, const Aim& aim) const {
  const double high = low_[row] + room_[row];
  return {work_[row], low_[row], high, aim.start + work_[row] / high, aim.lead};
}

// The least key that a row can have, whatever the prices: that of its first step.
Epoch::Aim Epoch::hope(std::size_t row) {
  const Aim first = aim(row, -kInfinity);
  start_[row] = first.lead < kInfinity && first.lead != kFirst ? first.start : first.lead;
  key_[row] = start_[row];
  settled_[row] = 0;
  return first;
}

// The key of a row by the prices that are there.
double Epoch::placed(std::size_t row, Aim now) const {
  if (!(now.lead < kInfinity) || now.lead == kFirst) return now.lead;
  const double first = now.lead;
  for (std::size_t round = 0; now.lead < kInfinity; ++round) {
    const OnTimePrices::Job job = asked(row, now);
    if (on_time_.in(job, round)) return now.start;
    if (round + 1 >= on_time_.rounds()) break;
    now = aim(row, job.due);
  }
  return kLateKey * std::exp(std::clamp(first, -200.0, 200.0));
}

void Epoch::settle(std::size_t row) {
  key_[row] = placed(row, hope(row));
  settled_[row] = priced_;
}

// Its latest start has passed, so that it aims at its next step.
bool Epoch::outdated(std::size_t row) const { return key_[row] < now_ && work_[row] > 0.0; }

// What aim() looks at of rows that are scattered over memory: row_at(k) is the k-th of `count`.
template <typename RowAt>
MALLEABLE_INLINE void Epoch::fetch_terms(std::size_t k, std::size_t count, RowAt row_at) const {
  if (k + 2 * kFetchAhead < count) {
    const std::size_t row = row_at(k + 2 * kFetchAhead);
    for (const auto* column : {&work_, &low_, &room_, &weight_, &deadline_}) fetch(&(*column)[row]);
    fetch(&kind_[row]);
    fetch(&sla_[row]);
  }
  if (k + kFetchAhead < count) steps_.fetch_first(sla_[row_at(k + kFetchAhead)]);
}

// Those who ask for prices: all of few; of many so many that each stands for the same part of the
// work and the minima, and more than once if it has several such parts.
void Epoch::pick_asking(double total) {
  const std::size_t n = id_.size();
  asking_.clear();
  const auto ask = [&](std::size_t r, double times) {
    asking_.push_back({static_cast<Index>(r), times, {}, {}});
  };
  if (n <= kPricedAnew) {
    for (std::size_t r = 0; r < n; ++r) ask(r, 1.0);
  } else {
    const double by_work = total > 0.0 ? 1.0 / total : 0.0;
    const double by_low = minima_ > 0.0 ? 1.0 / minima_ : 0.0;
    const double each = ((by_work > 0.0 ? 1.0 : 0.0) + (by_low > 0.0 ? 1.0 : 0.0)) / kAsking;
    double sum = 0.5 * each, counted = 0.0;
    for (std::size_t r = 0; r < n; ++r) {
      const double size = work_[r] * by_work + low_[r] * by_low;
      sum += size;
      if (sum - counted < each) continue;
      const double parts = std::floor((sum - counted) / each);
      counted += parts * each;
      ask(r, parts * each / size);
    }
  }
  for (std::size_t k = 0; k < asking_.size(); ++k) {
    fetch_terms(k, asking_.size(), [&](std::size_t at) { return asking_[at].row; });
    Asking& one = asking_[k];
    one.aim = aim(one.row, -kInfinity);
    one.job = asked(one.row, one.aim);
  }
}

// Jobs ask for their first steps, those that are refused for the next, and so on.
void Epoch::make_prices() {
  const bool all = id_.size() <= kPricedAnew || on_time_.empty();
  const double total = sum_of(work_);
  pick_asking(total);
  const std::size_t n = id_.size(), every = n <= kPricedAnew ? n / kSample + 1 : 1;
  sample_.clear();
  for (std::size_t k = 0; k < asking_.size(); k += every) {
    if (asking_[k].aim.start > -kInfinity) sample_.push_back(asking_[k].job);
  }
  on_time_.begin(now_, static_cast<double>(slots_), sample_, total);
  for (const Asking& one : asking_) {
    if (one.job.low > 0.0 && one.job.work > 0.0) {
      on_time_.take_minimum(one.times * one.job.work, one.times * one.job.low);
    }
  }
  std::erase_if(asking_, [](const Asking& one) { return one.aim.start == -kInfinity; });
  while (!asking_.empty() && on_time_.rounds() < OnTimePrices::kRounds) count_demand();
  if (all) {
    key_ = start_;
    std::fill(settled_.begin(), settled_.end(), std::uint8_t{0});
    rolled_ = now_;
  }
  priced_ = static_cast<std::uint8_t>(priced_ % 255 + 1);
  changes_ = 0;
}

// One round: leaves those that ask again.
void Epoch::count_demand() {
  for (const Asking& one : asking_) {
    OnTimePrices::Job job = one.job;
    for (double* part : {&job.work, &job.low, &job.high}) *part *= one.times;
    on_time_.ask(job);
  }
  on_time_.close();
  std::size_t left = 0;
  for (Asking one : asking_) {
    if (on_time_.in(one.job, on_time_.rounds() - 1)) continue;
    one.aim = aim(one.row, one.job.due);
    one.job = asked(one.row, one.aim);
    if (one.aim.start > -kInfinity) asking_[left++] = one;
  }
  asking_.resize(left);
}

// In turn, rows begin again with the key of their first step.
void Epoch::forget_some() {
  const std::size_t n = id_.size();
  const double share = std::min(1.0, (now_ - rolled_) / (kForgotten * on_time_.span()));
  const auto count = static_cast<std::size_t>(share * static_cast<double>(n));
  if (count == 0) return;
  rolled_ = now_;
  for (std::size_t k = 0; k < count; ++k) {
    rolling_ = rolling_ + 1 < n ? rolling_ + 1 : 0;
    if (settled_[rolling_] != 0) hope(rolling_);
  }
}

// Rows whose latest start has passed, in order, as they are scattered over memory.
void Epoch::settle_outdated() {
  constexpr std::size_t kBlock = 16;
  const std::size_t n = id_.size();
  const double now = now_;
  outdated_.clear();
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t end = std::min(n, first + kBlock);
    int hits = 0;
    for (std::size_t r = first; r < end; ++r) hits |= key_[r] < now;
    for (std::size_t r = first; hits != 0 && r < end; ++r) {
      if (outdated(r)) outdated_.push_back(static_cast<Index>(r));
    }
  }
  for (std::size_t k = 0; k < outdated_.size(); ++k) {
    fetch_terms(k, outdated_.size(), [&](std::size_t at) { return outdated_[at]; });
    settle(outdated_[k]);
  }
}

// A floor becomes the key that the prices give, where that decides.
void Epoch::select_on_time() {
  const std::size_t n = id_.size();
  const bool anew = n <= kPricedAnew || on_time_.empty() ||
                    static_cast<double>(changes_) > kChangedPart * static_cast<double>(n) ||
                    now_ - on_time_.now() > kMoved * on_time_.span();
  if (anew) make_prices();
  forget_some();
  settle_outdated();
  chosen_.clear();
  selection_.run_settled(
      key_, room_, static_cast<double>(slots_) - minima_,
      [&](Index r) {
        if (settled_[r] != priced_) settle(r);
        return key_[r];
      },
      [&](Index r, double slots) { chosen_.push_back({r, slots}); });
  give_chosen();
}

// Those that placed() gives, without a trace.
void Epoch::keys_of_all(std::vector<double>& key) const {
  key.resize(id_.size());
  for (std::size_t r = 0; r < id_.size(); ++r) {
    key[r] = settled_[r] != 0 && !outdated(r) ? key_[r] : placed(r, aim(r, -kInfinity));
  }
}

void Epoch::make_apparent_costs() {
  const std::size_t n = id_.size();
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
      const Aim next = aim(r, -kInfinity);
      lead_[r] = next.lead;
      start_[r] = next.start;
    }
    const double wait = std::max(0.0, start_[r] - now_);
    key_[r] = rounded_key(lead_[r] + spread + wait / patience);
  }
}

}  // namespace malleable
