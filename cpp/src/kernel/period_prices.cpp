#include "malleable/kernel/period_prices.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// A slot-period that is missing: how much those that wait count, and the horizon in which the queue
// empties, as parts of the time that all work takes and as periods. Found on streams of jobs.
constexpr double kWaiting = 1.5, kDrain = 0.5, kPeriods = 2.0;
// Steps to a price, and what is near enough: jobs served change in steps.
constexpr int kPriceSteps = 40;
constexpr double kSamePrice = 1e-2;
// Work breaks ties of whole slot-periods, and nothing else.
constexpr double kTie = 1e-6;

}  // namespace

// Keys and rooms; the slots that minima leave come back.
double PeriodPrices::set_keys(const HeldJobs& jobs, double hysteresis,
                              std::span<const double> held) {
  const std::size_t n = jobs.work.size();
  key_.resize(n);
  room_.resize(n);
  double slack = jobs.slots, total = 0.0;
  for (const double work : jobs.work) total += work;
  const double horizon =
      kDrain * total / std::max(jobs.slots, 1.0) + kPeriods * jobs.period;  // [s]
  const double fading = jobs.period / horizon;
  waiting_ = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double work = jobs.work[j], low = jobs.low[j], high = jobs.high[j];
    const double value = jobs.value.empty() ? 1.0 : jobs.value[j];
    const double periods = slot_periods(work, jobs.period);
    double urgency = hysteresis > 0.0 && held[j] > low ? 1.0 + hysteresis : 1.0;
    if (periods > high) urgency *= 1.0 + fading * (periods / high - 1.0);
    const double cost = jobs.period * periods * (1.0 - kTie) + kTie * work;
    key_[j] = value > 0.0 ? cost / (value * urgency) : kInfinity;
    room_[j] = std::max(0.0, std::min(high, periods) - low);
    if (periods > low) waiting_ += value;
    slack -= low;
  }
  return slack;
}

// Whoever may get slots behind its minimum, in the order of keys: no others are served at any
// price, as nobody asks for less than its cap.
void PeriodPrices::choose(const HeldJobs& jobs, double slack) {
  rows_.clear();
  double last = -kInfinity;
  const auto add = [&](Index j) {
    const double value = jobs.value.empty() ? 1.0 : jobs.value[j];
    const double low = jobs.low[j], cap = low + room_[j];
    rows_.push_back({key_[j], j, value, jobs.worth(j), low, cap, jobs.high[j],
                     cap * jobs.period >= jobs.work[j] * (1.0 - kCount)});
    last = std::max(last, key_[j]);
  };
  selection_.run(key_, room_, slack, [&](Index j, double) { add(j); });
  const double until = last;
  for (std::size_t j = 0; j < key_.size(); ++j) {  // ended by their minima, perhaps sooner by more
    if (room_[j] == 0.0 && jobs.low[j] > 0.0 && jobs.low[j] < jobs.high[j] && key_[j] < until) {
      add(static_cast<Index>(j));
    }
  }
  std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
    return a.key != b.key ? a.key < b.key : a.job < b.job;
  });
}

double PeriodPrices::demand(const Row& row, double price) {
  if (!row.ends) return row.high;
  const double most = std::floor((1.0 + std::sqrt(1.0 + 4.0 * row.worth / price)) / 2.0);
  return std::max(row.cap, std::min(row.high, most));
}

// What jobs pay a second that do not end in this period if demands at the price are served.
double PeriodPrices::serve(double price, double slack) const {
  double waiting = waiting_;
  for (const Row& row : rows_) {
    if (!(slack > 0.0)) break;
    const double more = std::min(slack, demand(row, price) - row.low);
    slack -= more;
    if (row.ends && row.cap > row.low && row.low + more >= row.cap) waiting -= row.value;
  }
  return std::max(0.0, waiting);
}

// Where a price is what a slot-period is worth at it: a worth at some price and that price lie on
// either side. Steps go to the worth, which ends the search where it serves alike, and halve.
void PeriodPrices::find_price(double rate, double coming, double slack) {
  const auto worth_at = [&](double price) {
    return rate * (kWaiting * serve(price, slack) + coming);
  };
  price_ = 1e300;
  double below = worth_at(price_);
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

void PeriodPrices::run(const HeldJobs& jobs, double coming, double hysteresis,
                       std::span<const double> held, std::span<double> slots) {
  const double slack = set_keys(jobs, hysteresis, held);
  std::copy(jobs.low.begin(), jobs.low.end(), slots.begin());
  choose(jobs, slack);
  find_price(jobs.period / std::max(jobs.slots, 1.0), coming, slack);
  double left = slack, spare = 0.0;
  for (const Row& row : rows_) {
    if (!(left > 0.0)) break;
    const double more = std::min(left, demand(row, price_) - row.low);
    // Those that end in this period share what they have beyond their caps.
    const double own = row.ends ? std::min(more, row.cap - row.low) : more;
    slots[row.job] = row.low + own;
    left -= more;
    spare += more - own;
  }
  if (left + spare > 0.0) left_over_.hand_out(jobs, slots);
}

}  // namespace malleable
