#include "malleable/policy/epoch/start_shares.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// The part of a job's slots that changes in one step.
constexpr double kPartMoved = 1.0 / 32.0;
// How much the price of slots rises with each present or coming job (policy/concave).
constexpr double kPriceRise = 1.5;
// A job without a stake counts as this part of the mean stake.
constexpr double kNoStake = 1e-9;
// Jobs with deadlines look ahead by this many mean times to end.
constexpr double kDueAhead = 2.0;

double slots_moved(double slots) { return std::max(1.0, std::floor(slots * kPartMoved)); }

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
  const SlaView::Steps steps = jobs.steps.of(jobs.sla[row]);
  for (std::size_t k = 0; k < steps.time.size(); ++k) {
    sum += (steps.penalty[k] - std::exchange(before, steps.penalty[k])) * jump(steps.time[k]);
  }
  return sum;
}

bool StartShares::applies(const Scene& at) {
  const EpochOptions& options = at.options;
  const JobTable& jobs = at.jobs;
  if (!at.flex() || at.period > 0.0 || options.effort || options.hysteresis > 0.0) return false;
  if (jobs.count(Kind::kStrict) + jobs.count(Kind::kCustom) > 0) return false;
  return at.sums() ? jobs.concave() : jobs.count(Kind::kTardy) + jobs.count(Kind::kSla) == 0;
}

void StartShares::come() {
  known_.emplace_back();
  best_.push_back(0.0);
}

void StartShares::close(const RowsGone& gone) {
  gone(known_);
  gone(best_);
}

// Finds the corners of a table that is not concave, from its least slots on.
void StartShares::shape(const Scene& at, Index row) {
  Known& own = known_[row];
  own.hull.clear();
  if (at.jobs.exponent.empty() || at.jobs.rates[row].empty()) return;
  const double end = static_cast<double>(at.jobs.rates[row].size());
  bool rough = false;
  for (double s = own.least; s <= std::min(own.most, end); s += 1.0) {
    const double rate = at.jobs.rate(row, s);
    while (own.hull.size() >= 2) {
      const Corner a = own.hull[own.hull.size() - 2], b = own.hull.back();
      if ((b.rate - a.rate) * (s - a.slots) >= (rate - a.rate) * (b.slots - a.slots)) break;
      own.hull.pop_back();
      rough = true;
    }
    own.hull.push_back({s, rate});
  }
  if (!rough) own.hull.clear();
}

// Computes the rate on its slots, and on one step more or less.
void StartShares::look(const Scene& at, Index row) {
  Known& own = known_[row];
  const double has = slots_[row];
  if (own.slots == has) return;
  own.slots = has;
  double above = std::min(own.most, has + slots_moved(has));
  double below = std::max(own.least, has - slots_moved(has));
  if (!own.hull.empty()) {
    const auto next =
        std::find_if(own.hull.begin(), own.hull.end(), [&](auto& c) { return c.slots > has; });
    const auto last =
        std::find_if(own.hull.begin(), own.hull.end(), [&](auto& c) { return c.slots >= has; });
    above = next == own.hull.end() ? has : next->slots;
    below = last == own.hull.begin() ? has : (last - 1)->slots;
  }
  const JobTable& jobs = at.jobs;
  own.rate = jobs.rate(row, has);
  own.more = std::max(0.0, above - has);
  own.less = std::max(0.0, has - below);
  own.up = own.more > 0.0 ? (jobs.rate(row, above) - own.rate) / own.more : 0.0;
  own.down = own.less > 0.0 ? (own.rate - jobs.rate(row, below)) / own.less : 0.0;
}

// Starts from the slots that jobs hold, within their limits. A job without work left keeps its
// slots.
void StartShares::begin(const Scene& at, std::span<const double> least) {
  const JobTable& jobs = at.jobs;
  slots_.assign(jobs.rows(), 0.0);
  value_.resize(jobs.rows());
  rows_.clear();
  free_ = at.capacity();
  for (const double slots : least) free_ -= std::max(0.0, slots);
  for (std::size_t r = 0; r < jobs.rows(); ++r) {
    if (least[r] < 0.0) continue;
    const auto row = static_cast<Index>(r);
    const bool works = jobs.work[row] > 0.0;
    const auto limit =
        static_cast<double>(std::min(works ? jobs.max_slots[row] : jobs.kept_by(row), at.slots));
    const double most = std::max(least[row], limit);
    const double held = works ? static_cast<double>(at.grants[row])
                              : std::min(most, least[row] + std::max(0.0, free_));
    slots_[row] = std::clamp(held, least[row], most);
    free_ -= slots_[row] - least[row];
    Known& own = known_[row];
    if (own.least != least[row] || own.most != most) {
      own.least = least[row];
      own.most = most;
      own.slots = -1.0;
      own.best_rate = 0.0;
      shape(at, row);
    }
    look(at, row);
    if (works) rows_.push_back(row);
  }
}

double StartShares::on_hull(const Known& own, double worth, double price) const {
  const auto cost = [&](const Corner& on) {
    return on.rate > 0.0 ? (worth + price * on.slots) / on.rate : kInfinity;
  };
  double least = kInfinity;
  for (const Corner& on : own.hull) {
    const double next = cost(on);
    if (next > least) break;
    least = next;
  }
  return least;
}

// Searches from the count of the last decision, because it rarely changes.
double StartShares::on_table(Index row, std::span<const double> rates, double worth, double price) {
  Known& own = known_[row];
  double& best = best_[row];
  const double last = std::min(std::max(1.0, own.most), static_cast<double>(rates.size()));
  const auto note = [&](double s) {
    const auto k = static_cast<std::size_t>(s);
    best = s;
    own.best_rate = rates[k - 1];
    own.before = s > 1.0 ? rates[k - 2] : 0.0;
    own.after = s < last ? rates[k] : own.best_rate;
  };
  if (own.best_rate == 0.0 || best > last) note(std::clamp(best, 1.0, last));
  for (int way = 0; true;) {  // in one direction only, because costs fall and then rise
    const double here = worth + price * best;
    const bool up = way >= 0 && (here + price) * own.best_rate < here * own.after;
    const bool down = way <= 0 && !up && (here - price) * own.best_rate < here * own.before;
    if (!up && !down) return here / own.best_rate;
    way = up ? 1 : -1;
    note(best + way);
  }
}

// The least of (worth + price s) / rate(s).
double StartShares::unit_value(const Scene& at, Index row, double worth, double price) {
  Known& own = known_[row];
  if (!own.hull.empty()) return on_hull(own, worth, price);
  if (const auto& rates = at.jobs.rates[row]; !rates.empty()) {
    return on_table(row, rates, worth, price);
  }
  // The s at which s^p costs least; near it the cost is about the same.
  const double p = at.jobs.exponent[row], most = std::max(1.0, own.most);
  const double s = p < 1.0 && price > 0.0
                       ? std::clamp(std::floor(p * worth / ((1.0 - p) * price)), 1.0, most)
                       : most;
  double& best = best_[row];
  if (std::fabs(best - s) > std::max(0.5, s * kPartMoved)) {
    best = s;
    own.best_rate = 0.0;
  }
  if (own.best_rate == 0.0) own.best_rate = at.jobs.rate(row, best);
  return (worth + price * best) / own.best_rate;
}

// Computes the value of a unit of each job's work.
void StartShares::weigh(const Scene& at) {
  const JobTable& jobs = at.jobs;
  const bool steady = jobs.all_steady();
  const auto count = static_cast<double>(rows_.size());
  const auto left = [&](Index row) { return jobs.work[row] / std::max(known_[row].rate, kTiny); };
  double ahead = 0.0, all = 0.0;
  if (!steady) {
    for (const Index row : rows_) ahead += kDueAhead * left(row) / count;
  }
  for (const Index row : rows_) {
    double& value = value_[row];
    if (steady) {
      value = jobs.value_of_second(row);
    } else {
      const Kind kind = jobs.kind[row];
      const bool jumps = !info(kind).steady && kind != Kind::kTardiness;
      const double fastest =
          jumps ? jobs.work[row] / std::max(jobs.rate(row, known_[row].most), kTiny) : 0.0;
      value = stake(at, row, left(row), fastest, ahead);
      if (jumps) value /= std::max(left(row), kTiny);
    }
    all += value;
  }
  const double mean = all > 0.0 ? all / count : 1.0;
  const double price =
      kPriceRise * mean * (count / 2.0 + at.coming.expected()) / std::max(1.0, at.capacity());
  for (const Index row : rows_) {
    const double worth = std::max(value_[row], kNoStake * mean);
    value_[row] = unit_value(at, row, worth, price);
    if (!info(jobs.kind[row]).steady) value_[row] /= std::sqrt(jobs.work[row]);
  }
}

// The penalty if it keeps this rate; for tardiness, negative if it is early.
double StartShares::end_on(const Scene& at, Index row, double rate) const {
  const JobTable& jobs = at.jobs;
  const Kind kind = jobs.kind[row];
  const double value = jobs.value_of_second(row);
  if (!(value > 0.0)) return 0.0;
  if (!(rate > 0.0)) return kInfinity;
  const double since = kind == Kind::kCompletion                           ? 0.0
                       : kind == Kind::kResponse || kind == Kind::kStretch ? jobs.arrival[row]
                                                                           : jobs.deadline[row];
  return value * (at.now + jobs.work[row] / rate - since);
}

// Offers a step more and a step less of the job: for sums what its rate gains and loses, for a
// maximum its penalty now and after the step.
void StartShares::offer(const Scene& at, Index row) {
  const Known& own = known_[row];
  const double has = slots_[row], value = value_[row];
  if (own.more > 0.0 && own.up > 0.0) {
    ups_.push_back({sums_ ? value * own.up : end_on(at, row, own.rate), has, row});
  }
  if (own.less > 0.0) {
    const double then = own.rate - own.down * own.less;
    downs_.push_back({sums_ ? value * own.down : end_on(at, row, then), has, row});
  }
}

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

// Takes slots back until jobs hold no more than there are.
void StartShares::give_back(const Scene& at) {
  while (free_ < 0.0) {
    const Move* down = first(downs_, costs_least);
    if (down == nullptr) return;
    const Known& own = known_[down->row];
    move(at, down->row, down->slots - (own.hull.empty() ? std::min(own.less, -free_) : own.less));
  }
}

void StartShares::climb(const Scene& at) {
  while (const Move* up = first(ups_, helps_most)) {
    const Known& own = known_[up->row];
    const bool whole = !own.hull.empty();
    if (free_ > 0.0 && (!whole || own.more <= free_)) {
      move(at, up->row, up->slots + std::min(own.more, free_));
      continue;
    }
    const Move* down = first(downs_, costs_least);
    const bool gains = down != nullptr && down->row != up->row &&
                       up->gain > down->gain + kAmple * std::fabs(down->gain);
    if (gains) {
      move(at, down->row, down->slots - known_[down->row].less);
    } else if (free_ > 0.0) {  // too few for a whole step
      std::pop_heap(ups_.begin(), ups_.end(), helps_most);
      ups_.pop_back();
    } else {
      break;
    }
  }
}

std::span<const double> StartShares::share(const Scene& at, std::span<const double> least) {
  begin(at, least);
  sums_ = at.jobs.concave() && as_sum(at);
  if (sums_) weigh(at);
  ups_.clear();
  downs_.clear();
  for (const Index row : rows_) offer(at, row);
  std::make_heap(ups_.begin(), ups_.end(), helps_most);
  std::make_heap(downs_.begin(), downs_.end(), costs_least);
  give_back(at);
  climb(at);
  return slots_;
}

void StartShares::state(State& s) {
  s(best_);
  if (s.reading()) known_.assign(best_.size(), {});
}

}  // namespace malleable
