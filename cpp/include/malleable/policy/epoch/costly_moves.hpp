// Changes of slots that cost their jobs time (a job's restart, model/restarts.hpp): a decision of
// any rule keeps only the changes that gain more than they cost.
//
// A rule says where slots are best, but not by how much. A change gains a running job a part of its
// time, in proportion to the square of the relative change, because losses are flat near the best
// slots. A job without slots gains the time until some job ends. A change costs its restart: the
// seconds of the job, and the seconds of its slots, at the weight of all present jobs over all
// slots, and more if jobs keep coming. So the dearer a change and the sooner a job ends, the
// farther its slots may be from its best slots. Jobs that want more slots then get them, the
// largest gain per slot first, if the gain is more than the smallest loss of other jobs that can
// give them. If sizes are unknown, a job that loses all slots also waits: until some job ends, or
// the job that takes them, if that is sooner. So jobs of which the same is guessed do not take
// turns. All other jobs keep their slots, except that a change is made at any cost if the job has
// no work left, or holds more than its maximum or less than its minimum.
//
// A second counts by the weight of its job (stretch: over its size), for every objective. O(J log
// J) for the J jobs whose slots change; no work while all changes are free.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class CostlyMoves {
 public:
  // Before a rule decides.
  void begin(const Scene& at) {
    costs_ = std::ranges::any_of(at.jobs.restart, [](const Restart& c) { return c != Restart{}; });
    settled_ = false;
    if (costs_) held_.assign(at.grants.given().begin(), at.grants.given().end());
  }

  // After it.
  void settle(Scene& at) {
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

  // Whether the rule wanted other slots for the job, but the change costs more than it gains.
  bool keeps(std::size_t row) const { return settled_ && slots_[row] != wanted_[row]; }

 private:
  // What others pay for a slot-second, over what those pay who are here, spread over all slots: 1
  // in a batch, where jobs keep coming so much (1 to 10 differ by 1 %). How much of its time a job
  // loses that has none or twice of the slots that are best for it: from 0.03 to 0.3 responses
  // differ by 1 %, with 3 they are 2 % longer (benchmarks/rivals, rounds of random jobs with
  // speed-ups).
  static constexpr double kCrowded = 5.0, kBend = 0.05;

  struct Move {
    Index row;
    std::int64_t slots;  // that change hands
    double gain;         // of the job that takes them; the loss of a job that gives them
    // Seconds that a job must wait that gives all of its slots to this one; and what each second of
    // waiting costs the job that gives.
    double wait = 0.0, each_second = 0.0;
    double each() const { return gain / static_cast<double>(slots); }
  };

  // The seconds until the job ends, its restart included, with so many slots from now on.
  double seconds(const Scene& at, std::size_t row, std::int64_t slots) const {
    const JobTable& jobs = at.jobs;
    const double still = std::max(0.0, jobs.ready[row] - at.now);
    const double wait = slots == held_[row] ? still : jobs.restart[row].cost(held_[row], slots);
    return wait + jobs.work[row] / jobs.rate(row, static_cast<double>(slots));
  }

  // What the change costs: the restart's seconds of the job and of its slots.
  double loss(const Scene& at, std::size_t row, std::int64_t from, std::int64_t to) const {
    const double paid = at.jobs.value_of_second(row) + price_ * static_cast<double>(to);
    return paid * at.jobs.restart[row].cost(from, to);
  }

  // Whether the rule's change is made at any cost.
  bool must(const Scene& at, std::size_t row) const {
    const JobTable& jobs = at.jobs;
    const std::int64_t held = held_[row];
    if (!(jobs.work[row] > 0.0) || held > jobs.max_slots[row]) return true;
    return static_cast<double>(held) < jobs.low[row] && !(at.gang() && held == 0);
  }

  // Lists the jobs that want more slots (takers_) and the jobs that want fewer (givers_).
  void list_moves(const Scene& at) {
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
    price_ =
        (1.0 + (kCrowded - 1.0) * coming / (1.0 + coming)) * all / std::max(1.0, at.capacity());
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
        const double part =
            static_cast<double>(to - from) / static_cast<double>(std::max(from, to));
        const double gain =
            kBend * value * part * part * seconds(at, r, from) - loss(at, r, from, to);
        if (to > from) takers_.push_back({row, to - from, gain, wait});
        if (to < from) givers_.push_back({row, from - to, -gain});
      }
    }
    std::ranges::stable_sort(takers_, std::greater<>(), &Move::each);
    std::ranges::stable_sort(givers_, std::less<>(), &Move::each);
  }

  // Takes slots from givers until so many are free; false if they would lose more than `gain`.
  bool give_way(double gain, std::int64_t needed, double wait) {
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

  // Gives a taker its slots if that pays.
  void take(const Scene& at, const Move& taker) {
    std::int64_t slots = 0;
    if (taker.gain > 0.0 && give_way(taker.gain, taker.slots, taker.wait)) {
      slots = taker.slots;
    } else if (held_[taker.row] == 0 && !at.gang()) {
      slots = std::min(taker.slots, free_);
    }
    slots_[taker.row] += slots;
    free_ -= slots;
  }

  // Gives free slots to jobs that then end earlier.
  void fill(const Scene& at) {
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

  // Some change of slots costs a job time; this decision is settled.
  bool costs_ = false, settled_ = false;
  std::vector<std::int64_t> held_, wanted_, slots_;  // before, by the rule, in the end
  std::vector<Move> takers_, givers_;
  std::size_t given_way_ = 0;  // so many of givers_
  std::int64_t free_ = 0;
  double price_ = 0.0;  // of a slot-second
};

}  // namespace malleable
