#include "malleable/policy/epoch/start_shares.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// The part of a job's slots that changes in one step.
constexpr double kPartMoved = 1.0 / 32.0;
// How much the price of slots rises with each present job (policy/concave).
constexpr double kPriceRise = 1.5;
// So many steps are moved between jobs at one decision; the next one goes on. All take 36 ms where
// 10,000 jobs have exponents, and no time that matters for fewer than 1,000 jobs.
constexpr int kMostMoved = 500;
// A job without a stake counts as this part of the mean stake.
constexpr double kNoStake = 1e-9;
// Jobs with deadlines look ahead by this many mean times to end.
constexpr double kDueAhead = 2.0;

double slots_moved(double slots) { return std::max(1.0, std::floor(slots * kPartMoved)); }

// Whether no slot adds more than the one before.
bool concave(std::span<const double> rates) {
  double last = kInfinity, before = 0.0;
  for (const double rate : rates) {
    if (rate - before > last * (1.0 + kAmple)) return false;
    last = rate - std::exchange(before, rate);
  }
  return true;
}

// Comparisons for heaps: the job that a slot helps most, and the job that loses least.
constexpr auto helps_most = [](const auto& a, const auto& b) {
  return a.gain != b.gain ? a.gain < b.gain : a.row > b.row;
};
constexpr auto costs_least = [](const auto& a, const auto& b) {
  return a.gain != b.gain ? a.gain > b.gain : a.row > b.row;
};

}  // namespace

double stake(const Scene& at, std::size_t row, double left, double soonest, double ahead) {
  const JobTable& jobs = at.jobs;
  const Kind kind = jobs.kind[row];
  const double value = jobs.value_of_second(row);
  if (info(kind).steady) return value;
  const auto near = [&](double due) {
    return std::exp(-std::max(0.0, due - at.now - left) / std::max(ahead, kTiny));
  };
  if (kind == Kind::kTardiness) return value * near(jobs.deadline[row]);
  const auto jump = [&](double due) { return at.now + soonest > due ? 0.0 : value * near(due); };
  if (!info(kind).uses_sla) return jump(jobs.deadline[row]);
  double sum = 0.0, before = 0.0;
  const SlaView::Steps steps = jobs.steps_of(row);
  for (std::size_t k = 0; k < steps.time.size(); ++k) {
    sum += (steps.penalty[k] - std::exchange(before, steps.penalty[k])) * jump(steps.time[k]);
  }
  return sum;
}

double lateness_at(const Scene& at, std::size_t row, double end) {
  const JobTable& jobs = at.jobs;
  const Kind kind = jobs.kind[row];
  const double value = jobs.value_of_second(row);
  if (kind == Kind::kCompletion || !(value > 0.0)) return value * end;
  const bool waits = kind == Kind::kResponse || kind == Kind::kStretch || kind == Kind::kSla;
  return value * (end - (waits ? jobs.arrival[row] : jobs.deadline[row]));
}

bool StartShares::applies(const Scene& at) {
  const EpochOptions& options = at.options;
  const JobTable& jobs = at.jobs;
  if (!at.flex() || at.period > 0.0 || options.effort || options.hysteresis > 0.0) return false;
  if (jobs.endless() > 0 || !jobs.concave()) return false;
  return as_sum(at) || jobs.stepped() == 0;
}

// Computes the rate on its slots, and on one step more or less.
void StartShares::look(const Scene& at, Index row) {
  const JobTable& jobs = at.jobs;
  Known& own = known_[row];
  const double has = slots_[row], low = jobs.low[row], most = low + jobs.room[row];
  const bool new_limits = own.id != jobs.id[row] || own.low != low || own.most != most;
  if (!new_limits && own.slots == has) return;
  if (new_limits) {
    own.id = jobs.id[row];
    own.low = low;
    own.most = most;
    own.fastest = jobs.rate(row, own.most);
    own.rough = jobs.curved(row) && !concave(jobs.rates[row]);
  }
  own.slots = has;
  own.rate = jobs.rate(row, has);
  own.more = std::min(most - has, slots_moved(has));
  own.less = std::min(has - low, slots_moved(has));
  own.up = own.more > 0.0 ? (jobs.rate(row, has + own.more) - own.rate) / own.more : 0.0;
  own.down = own.less > 0.0 ? (own.rate - jobs.rate(row, has - own.less)) / own.less : 0.0;
}

// Starts from the slots that jobs hold, within their limits. A job without work left keeps its
// slots. False: some table is not concave.
bool StartShares::begin(const Scene& at) {
  const JobTable& jobs = at.jobs;
  slots_.resize(jobs.rows());
  value_.resize(jobs.rows());
  known_.resize(jobs.rows());
  rows_.clear();
  free_ = at.capacity();
  for (const double low : jobs.low) free_ -= low;
  for (std::size_t r = 0; r < jobs.rows(); ++r) {
    const auto row = static_cast<Index>(r);
    slots_[row] = 0.0;
    if (at.waits(row)) continue;
    const bool works = jobs.work[row] > 0.0;
    const double low = jobs.low[row];
    const double held = works ? static_cast<double>(at.grants[row]) : low + std::max(0.0, free_);
    slots_[row] = std::clamp(held, low, low + jobs.room[row]);
    free_ -= slots_[row] - low;
    look(at, row);
    if (known_[row].rough) return false;
    if (works) rows_.push_back(row);
  }
  return true;
}

// Computes the value of a unit of each job's work, on the slots that it holds.
void StartShares::weigh(const Scene& at) {
  const JobTable& jobs = at.jobs;
  const bool steady = jobs.all_steady();
  const auto left = [&](Index row) { return jobs.work[row] / std::max(known_[row].rate, kTiny); };
  const auto count = static_cast<double>(rows_.size());
  double ahead = 0.0, all = 0.0;
  for (const Index row : rows_) {
    if (!steady) ahead += kDueAhead * left(row) / count;
  }
  for (const Index row : rows_) {
    double& value = value_[row];
    value = jobs.value_of_second(row);
    if (!info(jobs.kind[row]).steady) {
      const bool jumps = jobs.kind[row] != Kind::kTardiness;
      const double soonest = jobs.work[row] / std::max(known_[row].fastest, kTiny);
      value = stake(at, row, left(row), soonest, ahead);
      if (jumps) value /= std::max(left(row), kTiny);
    }
    all += value;
  }
  const double mean = all > 0.0 ? all / count : 1.0;
  const double price = kPriceRise * mean * (count / 2.0) / std::max(1.0, at.capacity());
  for (const Index row : rows_) {
    const double cost = std::max(value_[row], kNoStake * mean) + price * slots_[row];
    value_[row] = cost / std::max(known_[row].rate, kTiny);
    if (!info(jobs.kind[row]).steady) value_[row] /= std::sqrt(jobs.work[row]);
  }
}

// Offers a step more and a step less of the job: for sums what its rate gains and loses, for a
// maximum its penalty now and after the step.
void StartShares::offer(const Scene& at, Index row) {
  const Known& own = known_[row];
  const double has = slots_[row], value = value_[row], then = own.rate - own.down * own.less;
  const auto late = [&](double rate) {
    return lateness_at(at, row, at.now + at.jobs.work[row] / std::max(rate, kTiny));
  };
  const bool sum = as_sum(at);
  if (own.up > 0.0) ups_.push_back({sum ? value * own.up : late(own.rate), has, row});
  if (own.less > 0.0) downs_.push_back({sum ? value * own.down : late(then), has, row});
}

// The job holds so many slots from now on.
void StartShares::move(const Scene& at, Index row, double slots) {
  free_ -= slots - slots_[row];
  slots_[row] = slots;
  look(at, row);
  const std::size_t ups = ups_.size(), downs = downs_.size();
  offer(at, row);
  if (ups_.size() > ups) std::push_heap(ups_.begin(), ups_.end(), helps_most);
  if (downs_.size() > downs) std::push_heap(downs_.begin(), downs_.end(), costs_least);
}

template <typename Order>
const StartShares::Move* StartShares::first(std::vector<Move>& heap, const Order& order) {
  while (!heap.empty() && heap.front().slots != slots_[heap.front().row]) {
    std::pop_heap(heap.begin(), heap.end(), order);
    heap.pop_back();
  }
  return heap.empty() ? nullptr : &heap.front();
}

// Takes slots back until jobs hold no more than there are, then moves them while a job gains.
void StartShares::climb(const Scene& at) {
  for (int moved = 0;;) {
    const Move* up = free_ < 0.0 ? nullptr : first(ups_, helps_most);
    if (up != nullptr && free_ > 0.0) {
      move(at, up->row, up->slots + std::min(known_[up->row].more, free_));
      continue;
    }
    const Move* down = first(downs_, costs_least);
    const bool gains = moved < kMostMoved && up != nullptr && down != nullptr &&
                       down->row != up->row &&
                       up->gain > down->gain + kAmple * std::fabs(down->gain);
    if (down == nullptr || !(gains || free_ < 0.0)) return;
    moved += gains ? 1 : 0;
    const double step = known_[down->row].less;
    move(at, down->row, down->slots - (gains ? step : std::min(step, -free_)));
  }
}

bool StartShares::decide(Scene& at) {
  if (!begin(at)) return false;
  weigh(at);
  ups_.clear();
  downs_.clear();
  for (const Index row : rows_) offer(at, row);
  std::make_heap(ups_.begin(), ups_.end(), helps_most);
  std::make_heap(downs_.begin(), downs_.end(), costs_least);
  climb(at);
  at.grants.give_all([&](std::size_t row) { return slots_[row]; });
  return true;
}

}  // namespace malleable
