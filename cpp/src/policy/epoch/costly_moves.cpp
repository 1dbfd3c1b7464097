#include "malleable/policy/epoch/costly_moves.hpp"

#include <algorithm>

namespace malleable {
// The last rule wanted other slots than jobs hold (wanted_, held_), and each change costs a job
// time. Takers want more slots, givers fewer; `price_` is that of a slot-second, `gain` what a
// change saves less what it costs.
namespace {

// What others pay for a slot-second, over what those pay who are here, spread over all slots: 1 in
// a batch, where jobs keep coming so much (1 to 10 differ by 1 %). How much of its time a job loses
// that has none or twice of the slots that are best for it: from 0.03 to 0.3 responses differ by
// 1 %, with 3 they are 2 % longer (benchmarks/rivals, rounds of random jobs with speed-ups).
constexpr double kCrowded = 5.0, kBend = 0.05;

}  // namespace

void CostlyMoves::begin(const Scene& at) {
  const std::vector<Restart>& costs = at.jobs.restart;
  costs_ = std::any_of(costs.begin(), costs.end(), [](const Restart& c) { return c != Restart{}; });
  settled_ = false;
  if (costs_) held_.assign(at.grants.given().begin(), at.grants.given().end());
}

// Until the job ends, with so many slots from now on.
double CostlyMoves::seconds(const Scene& at, std::size_t row, std::int64_t slots) const {
  const JobTable& jobs = at.jobs;
  const double still = std::max(0.0, jobs.ready[row] - at.now);
  const double wait = slots == held_[row] ? still : jobs.restart[row].cost(held_[row], slots);
  return wait + jobs.work[row] / jobs.rate(row, static_cast<double>(slots));
}

// The cost of its change from so many slots to others.
double CostlyMoves::loss(const Scene& at, std::size_t row, std::int64_t from,
                         std::int64_t to) const {
  const double paid = at.jobs.value_of_second(row) + price_ * static_cast<double>(to);
  return paid * at.jobs.restart[row].cost(from, to);
}

// The job cannot keep what it holds.
bool CostlyMoves::must(const Scene& at, std::size_t row) const {
  const JobTable& jobs = at.jobs;
  const std::int64_t held = held_[row];
  if (!(jobs.work[row] > 0.0) || held > jobs.max_slots[row]) return true;
  return static_cast<double>(held) < jobs.low[row] && !(at.gang() && held == 0);
}

void CostlyMoves::list_moves(const Scene& at) {
  const JobTable& jobs = at.jobs;
  takers_.clear();
  givers_.clear();
  given_way_ = 0;
  free_ = at.slots;
  slots_ = held_;
  double all = 0.0, first_end = kInfinity;
  for (std::size_t r = 0; r < jobs.rows(); ++r) {
    all += jobs.value_of_second(r);
    if (must(at, r)) slots_[r] = wanted_[r];
    free_ -= slots_[r];
    if (slots_[r] > 0 && slots_[r] == held_[r]) {
      first_end = std::min(first_end, seconds(at, r, slots_[r]));
    }
  }
  const double coming = at.coming.expected();
  price_ = (1.0 + (kCrowded - 1.0) * coming / (1.0 + coming)) * all / std::max(1.0, at.capacity());
  for (std::size_t r = 0; r < jobs.rows(); ++r) {
    const std::int64_t from = slots_[r], to = wanted_[r];
    if (from == to) continue;
    const auto row = static_cast<Index>(r);
    const double value = jobs.value_of_second(r);
    const double wait =
        at.options.unknown && to > from ? std::min(first_end, seconds(at, r, to)) : 0.0;
    if (from == 0) {
      takers_.push_back({row, to, value * first_end, wait});
    } else if (to == 0) {
      givers_.push_back({row, from, loss(at, r, 0, from), 0.0, value});
    } else {
      const double part = static_cast<double>(to - from) / static_cast<double>(std::max(from, to));
      const double gain =
          kBend * value * part * part * seconds(at, r, from) - loss(at, r, from, to);
      if (to > from) takers_.push_back({row, to - from, gain, wait});
      if (to < from) givers_.push_back({row, from - to, -gain});
    }
  }
  std::stable_sort(takers_.begin(), takers_.end(),
                   [](const Move& a, const Move& b) { return a.each() > b.each(); });
  std::stable_sort(givers_.begin(), givers_.end(),
                   [](const Move& a, const Move& b) { return a.each() < b.each(); });
}

// Takes slots from the jobs that lose least until so many are free, if that costs less than the
// gain.
bool CostlyMoves::give_way(double gain, std::int64_t needed, double wait) {
  double loss = 0.0;
  std::int64_t free = free_;
  std::size_t next = given_way_;
  for (; free < needed && next < givers_.size(); ++next) {
    loss += givers_[next].gain + givers_[next].each_second * wait;
    free += givers_[next].slots;
  }
  if (free < needed || (next > given_way_ && !(gain > loss))) return false;
  for (; given_way_ < next; ++given_way_) {
    const Index row = givers_[given_way_].row;
    slots_[row] = wanted_[row];
  }
  free_ = free;
  return true;
}

void CostlyMoves::take(const Scene& at, const Move& taker) {
  std::int64_t slots = 0;
  if (taker.gain > 0.0 && give_way(taker.gain, taker.slots, taker.wait)) {
    slots = taker.slots;
  } else if (held_[taker.row] == 0 && !at.gang()) {
    slots = std::min(taker.slots, free_);
  }
  slots_[taker.row] += slots;
  free_ -= slots;
}

// Gives slots that are still free to jobs that then end earlier.
void CostlyMoves::fill(const Scene& at) {
  for (const Move& taker : takers_) {
    const Index row = taker.row;
    if (free_ == 0) return;
    if (slots_[row] != held_[row] || held_[row] == 0) continue;
    const std::int64_t more = std::min(free_, taker.slots);
    if (!(seconds(at, row, held_[row] + more) < seconds(at, row, held_[row]))) continue;
    slots_[row] += more;
    free_ -= more;
  }
}

// Replaces the decision by one that counts what changes cost.
void CostlyMoves::settle(Scene& at) {
  if (!costs_ || at.slots == 0) return;
  wanted_.assign(at.grants.given().begin(), at.grants.given().end());
  if (wanted_ == held_) return;
  list_moves(at);
  give_way(kInfinity, 0, 0.0);
  for (const Move& taker : takers_) take(at, taker);
  fill(at);
  at.grants.give_all([&](std::size_t row) { return slots_[row]; });
  settled_ = true;
}

}  // namespace malleable
