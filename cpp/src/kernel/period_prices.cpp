#include "malleable/kernel/period_prices.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// A slot-period that is missing: how much those that come in a period count against those that
// wait, and the horizon in which the queue empties, as parts of the time that all work takes and as
// periods. Found on streams of jobs.
constexpr double kComing = 0.75, kDrain = 0.5, kPeriods = 2.0;
// Steps to a price, and what is near enough: jobs served change in steps.
constexpr int kPriceSteps = 40;
constexpr double kSamePrice = 1e-2;
constexpr double kAnyPrice = 1e300;  // nothing waits for a slot-period
// Work breaks ties of whole slot-periods, and nothing else.
constexpr double kTie = 1e-6;
constexpr std::size_t kBucket = 64;  // rows whose demands are added up at once

struct Columns {
  const double *work, *low, *high, *periods, *value;
};

// What is paid a second by those that their minima do not end.
MALLEABLE_VECTOR_CLONES
void waiting_columns(const double* periods, const double* low, const double* value, std::size_t n,
                     double* waiting) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) waiting[j] = periods[j] > low[j] ? value[j] : 0.0;
}

MALLEABLE_VECTOR_CLONES
void key_columns(const Columns& of, std::size_t n, double period, double fading, double* key,
                 double* room) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    const double periods = of.periods[j], high = of.high[j], value = of.value[j];
    const double late = 1.0 + fading * (periods / high - 1.0);
    const double cost = period * periods * (1.0 - kTie) + kTie * of.work[j];
    const double own = cost / (value * (periods > high ? late : 1.0));
    key[j] = value > 0.0 ? own : kInfinity;
    const double cap = high < periods ? high : periods, more = cap - of.low[j];
    room[j] = more > 0.0 ? more : 0.0;
  }
}

// 1 for jobs that their minima end, before the key `last`, if one more slot is worth `least`.
MALLEABLE_VECTOR_CLONES
void mark_ended(const Columns& of, const double* key, const double* room, std::size_t n,
                double last, double least, double* ended) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    const double low = of.low[j];
    const bool wants = (room[j] == 0.0) & (low > 0.0) & (low < of.high[j]) & (key[j] < last);
    const bool worth = of.value[j] * of.work[j] >= least * low * (low + 1.0);
    ended[j] = wants & worth ? 1.0 : 0.0;
  }
}

// The most slots that are worth their price; all that are allowed if the worth is infinite.
inline double demand_of(double worth, double cap, double high, double price) {
  const double most = std::floor((1.0 + std::sqrt(1.0 + 4.0 * worth / price)) / 2.0);
  const double wanted = high < most ? high : most;
  return cap < wanted ? wanted : cap;
}

// Beyond minima.
MALLEABLE_VECTOR_CLONES
double demands(const double* worth, const double* low, const double* cap, const double* high,
               std::size_t n, double price) {
  double total = 0.0;  // whole numbers: exact in any order
#pragma omp simd reduction(+ : total)
  for (std::size_t k = 0; k < n; ++k) {
    total += demand_of(worth[k], cap[k], high[k], price) - low[k];
  }
  return total;
}

}  // namespace

// Keys and rooms; the slots that minima leave come back.
double PeriodPrices::set_keys(const HeldJobs& jobs, double hysteresis,
                              std::span<const double> held) {
  const std::size_t n = jobs.work.size();
  for (auto* column : {&key_, &room_, &periods_, &value_, &behind_}) column->resize(n);
  slot_periods(jobs.work, jobs.period, periods_);
  for (std::size_t j = 0; j < n; ++j) value_[j] = jobs.value.empty() ? 1.0 : jobs.value[j];
  waiting_columns(periods_.data(), jobs.low.data(), value_.data(), n, behind_.data());
  waiting_ = sum_of(behind_);
  for (std::size_t j = 0; hysteresis > 0.0 && j < n; ++j) {
    if (held[j] > jobs.low[j]) value_[j] *= 1.0 + hysteresis;
  }
  const double horizon =
      kDrain * sum_of(jobs.work) / std::max(jobs.slots, 1.0) + kPeriods * jobs.period;  // [s]
  key_columns({jobs.work.data(), jobs.low.data(), jobs.high.data(), periods_.data(), value_.data()},
              n, jobs.period, jobs.period / horizon, key_.data(), room_.data());
  return jobs.slots - sum_of(jobs.low);
}

// Whoever may get slots behind its minimum. No others are served at any price, as nobody asks for
// less than its cap, and a price is at least what is waited for if all of these end.
void PeriodPrices::choose(const HeldJobs& jobs, double rate, double coming, double slack) {
  found_.clear();
  double last = -kInfinity, waiting = waiting_;
  const auto add = [&](std::size_t j) {
    const double low = jobs.low[j], cap = low + room_[j];
    const bool ends = cap * jobs.period >= jobs.work[j] * (1.0 - kCount);
    const double value = jobs.value.empty() ? 1.0 : jobs.value[j];
    const double own = ends && cap > low ? value : 0.0;
    const double worth = ends ? jobs.worth(j) : kInfinity;
    found_.push_back({key_[j], static_cast<Index>(j), own, worth, low, cap, jobs.high[j]});
    waiting -= own;
  };
  selection_.cover(key_, room_, slack, [&](Index j) {
    add(j);
    last = std::max(last, key_[j]);
  });
  if (slack < jobs.slots) {  // ended by their minima, perhaps sooner by more
    const double least = rate * (std::max(0.0, waiting) + kComing * coming) * (1.0 - kAmple);
    mark_ended(
        {jobs.work.data(), jobs.low.data(), jobs.high.data(), periods_.data(), value_.data()},
        key_.data(), room_.data(), key_.size(), last, least, behind_.data());
    for (std::size_t j = 0; j < key_.size(); ++j) {
      if (behind_[j] != 0.0) add(j);
    }
  }
  split();
}

// Puts the rows into buckets by keys.
void PeriodPrices::split() {
  const std::size_t rows = found_.size(), most = rows / kBucket + 1;
  double least = kInfinity, last = -kInfinity;
  for (const Row& row : found_) {
    least = std::min(least, row.key);
    if (row.key < kInfinity) last = std::max(last, row.key);
  }
  const double scale = last > least ? static_cast<double>(most) / (last - least) : 0.0;
  const auto bucket_of = [&](const Row& row) {
    const double place = (row.key - least) * scale;  // infinity or NaN: the last one
    return place < static_cast<double>(most - 1) ? static_cast<std::size_t>(place) : most - 1;
  };
  places_.assign(most + 1, 0);
  for (const Row& row : found_) ++places_[bucket_of(row) + 1];
  std::partial_sum(places_.begin(), places_.end(), places_.begin());
  buckets_.clear();
  for (std::size_t b = 0, first = 0; b < most; ++b) {  // small ones go together
    const std::size_t end = places_[b + 1];
    if (end == first || (end < rows && end - first < kBucket)) continue;
    buckets_.push_back({first, end, false});
    first = end;
  }
  rows_.resize(rows);
  for (const Row& row : found_) rows_[places_[bucket_of(row)]++] = row;
  for (auto* column : {&worth_, &low_, &cap_, &high_}) column->resize(rows);
  waits_.resize(rows + 1);
  waits_[0] = waiting_;
  spread(0, rows);
}

// Columns of some rows.
void PeriodPrices::spread(std::size_t first, std::size_t end) {
  for (std::size_t k = first; k < end; ++k) {
    const Row& row = rows_[k];
    worth_[k] = row.worth;
    low_[k] = row.low;
    cap_[k] = row.cap;
    high_[k] = row.high;
    waits_[k + 1] = waits_[k] - row.value;
  }
}

// Slots that a bucket wants beyond minima. If they are not there, its rows are put in order.
double PeriodPrices::wanted(Bucket& bucket, double price, double slack) {
  const std::size_t first = bucket.first;
  const double all =
      demands(&worth_[first], &low_[first], &cap_[first], &high_[first], bucket.end - first, price);
  if (!(all < slack) && !bucket.sorted) {
    const auto at = rows_.begin();
    std::sort(
        at + static_cast<std::ptrdiff_t>(first), at + static_cast<std::ptrdiff_t>(bucket.end),
        [](const Row& a, const Row& b) { return a.key != b.key ? a.key < b.key : a.job < b.job; });
    spread(first, bucket.end);
    bucket.sorted = true;
  }
  return all;
}

// What jobs pay a second that do not end in this period if demands at the price are served.
double PeriodPrices::serve(double price, double slack) {
  for (Bucket& bucket : buckets_) {
    const double all = wanted(bucket, price, slack);
    if (all < slack) {
      slack -= all;
      continue;
    }
    std::size_t k = bucket.first;
    for (; k < bucket.end && slack > 0.0; ++k) {
      const double more = std::min(slack, demand(k, price) - low_[k]);
      cut_ = rows_[k].key;
      if (low_[k] + more < cap_[k]) break;
      slack -= more;
    }
    return std::max(0.0, waits_[k]);
  }
  return std::max(0.0, waits_.back());
}

double PeriodPrices::demand(std::size_t row, double price) const {
  return demand_of(worth_[row], cap_[row], high_[row], price);
}

// Where a price is what a slot-period is worth at it: a worth at some price and that price lie on
// either side. Steps go to the worth, which ends the search where it serves alike, and halve.
void PeriodPrices::find_price(double rate, double coming, double slack) {
  const auto worth_at = [&](double price) {
    return rate * (serve(price, slack) + kComing * coming);
  };
  price_ = kAnyPrice;
  cut_ = -kInfinity;
  double below = worth_at(price_);
  selection_.expect(cut_);
  if (!(below > kTiny)) return;  // whole slot-periods first; what is left over has no other use
  double above = price_, price = below;
  for (int step = 0; step < kPriceSteps && below < above * (1.0 - kSamePrice); ++step) {
    const double worth = worth_at(price);
    (worth > price ? below : above) = price;
    if (worth == price) break;
    if (worth > below && worth < above) {
      (worth > price ? above : below) = worth;
      price = worth;
    } else {
      price = below + (above - below) / 2.0;
    }
    if (step % 2 == 1) price = below + (above - below) / 2.0;
  }
  price_ = above;
}

// Slots by demands at the price, and left-over ones.
void PeriodPrices::give(const HeldJobs& jobs, double slack, std::span<double> slots) {
  std::copy(jobs.low.begin(), jobs.low.end(), slots.begin());
  double left = slack, spare = 0.0;
  for (Bucket& bucket : buckets_) {
    wanted(bucket, price_, left);
    for (std::size_t k = bucket.first; k < bucket.end && left > 0.0; ++k) {
      const double more = std::min(left, demand(k, price_) - low_[k]);
      // Those that end in this period share what they have beyond their caps.
      const double own = worth_[k] < kInfinity ? std::min(more, cap_[k] - low_[k]) : more;
      slots[rows_[k].job] = low_[k] + own;
      left -= more;
      spare += more - own;
    }
    if (!(left > 0.0)) break;
  }
  // Where all slots are used, those beyond caps are worth their price.
  if (left + spare > 0.0) left_over_.hand_out(jobs, slots, left > 0.0 ? 0.0 : price_);
}

// What jobs pay until they end, if those that this period does not end have all slots afterwards.
double PeriodPrices::cost(const HeldJobs& jobs, std::span<const double> slots) const {
  double ended = 0.0, value = 0.0, longest = 0.0, work = 0.0;
  for (std::size_t j = 0; j < slots.size(); ++j) {
    const double own = jobs.value.empty() ? 1.0 : jobs.value[j];
    const double left = jobs.work[j] - slots[j] * jobs.period;
    if (left <= jobs.work[j] * kCount) {
      ended += slots[j] > 0.0 ? own * jobs.work[j] / slots[j] : 0.0;
      continue;
    }
    value += own;
    work += left;
    longest = std::max(longest, left / std::min(jobs.high[j], jobs.slots));
  }
  return ended + value * (jobs.period + std::max(longest, work / std::max(jobs.slots, 1.0)));
}

// All can end in this period, so that nothing makes a slot-period dear. Jobs that wait for the next
// one make it so: slots that they leave may end the others much sooner.
void PeriodPrices::let_some_wait(const HeldJobs& jobs, double rate, double slack,
                                 std::span<double> slots) {
  const double most = rate * serve(kTiny, slack);
  if (!(most > kTiny)) return;
  double below = 0.0, above = most * (1.0 + kSamePrice);
  for (int step = 0; step < kPriceSteps && below < above * (1.0 - kSamePrice); ++step) {
    const double price = below + (above - below) / 2.0;
    (rate * serve(price, slack) > price ? below : above) = price;
  }
  const double before = cost(jobs, slots), all = price_;
  other_.resize(slots.size());
  std::copy(slots.begin(), slots.end(), other_.begin());
  for (const double price : {above, below}) {
    if (!(price > 0.0)) continue;
    price_ = price;
    give(jobs, slack, slots);
    if (cost(jobs, slots) < before * (1.0 - kSamePrice)) return;
  }
  price_ = all;
  std::copy(other_.begin(), other_.end(), slots.begin());
}

void PeriodPrices::run(const HeldJobs& jobs, double coming, double hysteresis,
                       std::span<const double> held, std::span<double> slots) {
  const double slack = set_keys(jobs, hysteresis, held);
  const double rate = jobs.period / std::max(jobs.slots, 1.0);
  choose(jobs, rate, coming, slack);
  find_price(rate, coming, slack);
  give(jobs, slack, slots);
  if (price_ == kAnyPrice) let_some_wait(jobs, rate, slack, slots);
}

}  // namespace malleable
