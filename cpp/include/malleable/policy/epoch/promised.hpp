// Ends that are promised at arrival and kept: a compromise between FLEX, where new jobs pass all
// jobs with more work left, and FIFO, where ends never move.
//
// Jobs stand in a list, each with the most slots that it takes: the cheapest count by its price of
// a slot (policy/concave; no higher than the price at which the jobs that are here ask for all
// slots). In the order of the list each takes what those before it leave. So a new job changes the
// schedule only for the jobs behind it, and without new jobs every end comes as planned.
//
// It minimises the objective plus Lambda times the sum of |end - promised| / (promised - arrival),
// where Lambda is a price times the mean penalty of a promised job's time. The price is the
// smallest that keeps the mean error at a part of `target`: it rises while errors of ended jobs,
// and delays of present jobs, add up to more, and falls while they add up to less. So
//   - a promised job weighs Lambda / (promised - arrival) more if a new job would pass it. The new
//     job goes where Smith's rule is best for it and the jobs that it passes;
//   - slots that the list leaves idle go to jobs by gains (kernel/marginal_gains), but only to jobs
//     whose earlier end is worth more than the error.
// Because new jobs will pass, the promised time is longer than planned, by the factor (1 - rho) to
// the power -theta. Here rho is the load of recent arrivals that would have passed the job, and
// theta the median exponent of ended jobs (1/2 at first).
//
// O(J log J) a decision, with gangs O(J) for each of their ends; a new job adds O(J) and the recent
// arrivals.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "malleable/kernel/marginal_gains.hpp"
#include "malleable/kernel/shared_packing.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch/instance_rule.hpp"

namespace malleable {

class Promised {
 public:
  // Gives slots, and promises ends to the jobs that have none yet.
  void decide(Scene& at, InstanceRule& by) {
    Instance& of = by.of;
    of.build(at, at.jobs.work);
    const Problem& problem = of.set_kept_aside(at);
    value_.resize(at.jobs.rows());
    for (std::size_t r = 0; r < value_.size(); ++r) value_[r] = at.jobs.value_of_second(r);
    const Task task{problem, of.speedup(), at.jobs, at.coming.expected(), *at.options.predictable};
    of.share.assign(at.jobs.rows(), 0.0);
    began_ = std::min(began_, problem.now);
    update_list(task);
    insert_new(task);
    lay_out(task, of.share);
    promise_ends(task);
    weigh(task);
    bring_forward(task, of.share);
    at.grants.give_all([&](std::size_t row) { return of.share[row] + of.kept[row]; });
    by.order.clear();
  }

  // These jobs end at the time of the next decision; other jobs that are gone then were cancelled.
  void finish(std::span<const std::int64_t> ids) {
    ended_.insert(ended_.end(), ids.begin(), ids.end());
  }
  // [s] Promised ends by row, absolute; infinite: none. O(J).
  std::vector<double> ends(const JobTable& jobs) const {
    std::vector<double> ends(jobs.rows(), kInfinity);
    for (const Entry& entry : list_) {
      if (const Index row = jobs.find(entry.id); row != kNone) ends[row] = entry.promised;
    }
    return ends;
  }

  void state(State& s) {
    s(list_, ended_, known_, began_, recent_, slips_);
    s(paid_, count_, over_, late_, all_price_);
  }

 private:
  // Terms: the list is all jobs in the order in which they take slots; a slip is how much longer
  // than planned a job takes, because new jobs pass it: by the factor (1 - rho)^-theta at a load
  // rho of passing jobs.

  // A factor of the price of a slot for each job behind: 1 if no job will come, nearly this if many
  // will (as in policy/concave).
  static constexpr double kSteepPrices = 3.0;
  // The search for the price of a slot-second at which all slots are asked for: limits, precision,
  // and the factor of the first step.
  static constexpr double kLowestPrice = 1e-9, kHighestPrice = 1e9, kPriceStep = 0.05,
                          kFirstStep = 1.2;
  static constexpr double kMostKey = 1e280;  // larger costs of work count as this
  // Arrivals that are remembered, the least number for a load, and the largest load that is used.
  static constexpr std::size_t kRecentArrivals = 2000, kFew = 20;
  static constexpr double kMostLoad = 0.7;
  // Ended jobs whose slips are remembered; the prior, and its weight; the least slip from which
  // something is learnt, and the largest exponent.
  static constexpr std::size_t kSlips = 500;
  static constexpr double kUsualSlip = 0.5, kUsualWeight = 5.0;
  static constexpr double kLeastSlip = 1e-3, kMostTheta = 4.0;
  // The price of an error at first, times the target: 3 for 5 %. Errors that are aimed at, over the
  // target, as prices follow errors late. The price rises by a factor of e where errors are above
  // that by as much as so many jobs may be off together, and moves within these powers of e.
  static constexpr double kFirstPrice = 0.15, kAim = 0.85, kPatience = 200.0, kMostPower = 7.0;
  // The mean penalty fades by this factor with each job.
  static constexpr double kKept = 1.0 - 1.0 / 1000.0;

  // Keeps the last `most` values.
  template <typename T>
  static void keep(std::vector<T>& last, std::size_t most, const T& value) {
    if (last.size() == most) last.erase(last.begin());
    last.push_back(value);
  }

  struct Task {  // the jobs and the time of a decision
    const Problem& problem;
    SpeedupView speedup;
    const JobTable& jobs;  // ids of new ones are larger than any before
    double coming;         // mean number of jobs that come later
    double target;         // the mean error that is accepted
  };
  struct Entry {
    std::int64_t id = 0;
    double arrival = 0.0, most = 0.0;  // [s], slots
    double promised = kInfinity;       // [s] absolute, infinite until promised
    // [s] When it was promised, and how long it then had to go by plan; its slip, -log(1 - rho).
    double since = 0.0, planned = 0.0, slip = 0.0;
    // [s] From the arrival to the plan's end; to the promised one.
    double planned_seconds() const {
      return promised < kInfinity ? since + planned - arrival : 0.0;
    }
    double promised_seconds() const { return promised < kInfinity ? promised - arrival : 0.0; }
    void state(State& s) { s(id, arrival, most, promised, since, planned, slip); }
  };
  struct Arrival {
    double now, work, key;
    void state(State& s) { s(now, work, key); }
  };
  struct Slip {  // of an ended job: the exponent at which its promise would have been exact
    double theta, weight;
    void state(State& s) { s(theta, weight); }
  };

  // Computes keys and rows of the list, and removes jobs that left.
  void update_list(const Task& task) {
    const Problem& problem = task.problem;
    const std::size_t n = problem.size();
    // Hulls: the least concave speed-ups above the jobs' own. cost(): the least (1 + price s) /
    // rate for a waiting second that costs 1; best() at price / cost: its slots s.
    hulls_.build(task.speedup, std::vector<double>(n, 0.0), problem.high);
    double value = 0.0, count = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      if (!(problem.work[j] > 0.0)) continue;
      value += value_[j];
      count += 1.0;
    }
    std::sort(ended_.begin(), ended_.end());
    std::erase_if(list_, [&](const Entry& entry) {
      if (task.jobs.find(entry.id) != kNone) return false;
      if (std::ranges::binary_search(ended_, entry.id)) learn(entry, problem.now, task.target);
      return true;
    });
    ended_.clear();
    row_.resize(list_.size());
    for (std::size_t k = 0; k < list_.size(); ++k) row_[k] = task.jobs.find(list_[k].id);
    const double mean = value > 0.0 ? value / count : 1.0;
    const double steep = 1.0 + (kSteepPrices - 1.0) * task.coming / (1.0 + task.coming);
    slot_price_ = steep / std::max(1.0, problem.slots);
    price_ = slot_price_ * (count / 2.0 + task.coming);
    key_.assign(n, 0.0);
    for (std::size_t j = 0; j < n; ++j) {
      if (!(problem.work[j] > 0.0) || !(problem.high[j] > 0.0)) continue;
      const double price = price_ * mean / std::max(value_[j], mean * kTiny);
      const double cost = hulls_.cost(task.speedup, j, 1.0, price, problem.high[j]);
      key_[j] = std::min(problem.work[j] * std::min(cost, kMostKey), kMostKey);
    }
    weigh(task);
  }

  // Sets lambda_, the price of an error: higher the more the errors exceed the target.
  void weigh(const Task& task) {
    const double power = (over_ + late_) / (kAim * task.target * kPatience);
    const double price = kFirstPrice / task.target * std::exp(std::min(power, kMostPower));
    lambda_ = count_ > 0.0 ? price * paid_ / count_ : 0.0;
  }

  // Whether all jobs together ask for more slots at this price than there are.
  bool asks_more(const Task& task, double price) const {
    double all = 0.0;
    for (std::size_t j = 0; j < task.problem.size() && !(all > task.problem.slots); ++j) {
      if (task.problem.work[j] > 0.0) all += asked(task, static_cast<Index>(j), price);
    }
    return all > task.problem.slots;
  }

  // The price at which all jobs together ask for as many slots as there are. The search begins at
  // the last price.
  double price_of_all(const Task& task) {
    double high = all_price_, step = kFirstStep;
    for (; high < kHighestPrice && asks_more(task, high); step *= step) high *= step;
    double low = high / kFirstStep;
    for (step = kFirstStep; low > kLowestPrice && !asks_more(task, low); step *= step) {
      high = low;
      low /= step;
    }
    while (high > low * (1.0 + kPriceStep)) {
      const double middle = std::sqrt(low * high);
      (asks_more(task, middle) ? low : high) = middle;
    }
    all_price_ = high;
    return high;
  }

  // The number of slots on which the job's work is cheapest at a price of a slot-second.
  double asked(const Task& task, Index row, double price) const {
    const double high = task.problem.high[row], low = task.problem.low[row];
    const double cost = hulls_.cost(task.speedup, row, 1.0, price, high);
    if (!(cost < kInfinity)) return std::max(1.0, high);  // there may be no slot now
    const double best = hulls_.best(task.speedup, row, price / cost, high);
    return std::clamp(std::floor(best), std::max(1.0, low), std::max(1.0, high));
  }

  // Inserts new jobs into the list, each where passing the jobs behind saves most.
  void insert_new(const Task& task) {
    std::vector<Index> fresh;
    for (std::size_t j = 0; j < task.jobs.id.size(); ++j) {
      if (task.jobs.id[j] >= known_) fresh.push_back(static_cast<Index>(j));
    }
    if (fresh.empty()) return;
    const auto ratio = [&](Index j) { return key_[j] / std::max(value_[j], kTiny); };
    std::sort(fresh.begin(), fresh.end(), [&](Index a, Index b) {
      return ratio(a) != ratio(b) ? ratio(a) < ratio(b) : task.jobs.id[a] < task.jobs.id[b];
    });
    const double all = price_of_all(task);
    for (const Index j : fresh) {
      known_ = std::max(known_, task.jobs.id[j] + 1);
      const std::size_t place = place_of(j);
      const double behind = static_cast<double>(list_.size() - place) + task.coming;
      const auto at = static_cast<std::ptrdiff_t>(place);
      const double most = asked(task, j, std::min(all, slot_price_ * behind));
      list_.insert(list_.begin() + at, {task.jobs.id[j], task.jobs.arrival[j], most});
      row_.insert(row_.begin() + at, j);
      if (task.problem.now > began_) {
        keep(recent_, kRecentArrivals, {task.problem.now, task.problem.work[j], ratio(j)});
      }
    }
  }

  // The place where passing the jobs behind saves most: each of these waits for the new job, which
  // does not wait for them.
  std::size_t place_of(Index row) const {
    double saved = 0.0, most = 0.0;
    std::size_t place = list_.size();
    for (std::size_t k = list_.size(); k-- > 0;) {
      const double weight = value_[row_[k]] + error_weight(list_[k]);
      saved += key_[row_[k]] * value_[row] - key_[row] * weight;
      if (saved > most) {
        most = saved;
        place = k;
      }
    }
    return place;
  }

  // The cost of a second by which the job misses its promise.
  double error_weight(const Entry& entry) const {
    const double planned = entry.planned_seconds();
    return planned > 0.0 ? lambda_ / planned : 0.0;
  }

  // Jobs keep their minima. In the order of the list each takes what those before it leave, up to
  // its most, and what later becomes free: the slots now, and all ends.
  void lay_out(const Task& task, std::span<double> slots) {
    laid_ = task.problem;
    for (std::size_t k = 0; k < list_.size(); ++k) {
      const Index row = row_[k];
      laid_.high[row] = std::max(laid_.low[row], std::min(list_[k].most, laid_.high[row]));
    }
    end_.assign(laid_.size(), 0.0);
    if (laid_.gang) {
      packing_.allocate(laid_, {.order = row_}, slots);
      packing_.run(laid_, task.speedup, {.order = row_}, end_);
      return;
    }
    using End = std::pair<double, Index>;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    double time = 0.0, free = laid_.slots;
    has_.assign(laid_.size(), 0.0);
    const auto give = [&](Index row, double more) {
      double& has = has_[row];
      const double left =
          has > 0.0 ? (end_[row] - time) * task.speedup.at(row, has) : laid_.work[row];
      has += more;
      free -= more;
      if (time == 0.0) slots[row] = has;
      end_[row] = has > 0.0 ? time + left / task.speedup.at(row, has) : kInfinity;
      if (has > 0.0) ends.push({end_[row], row});
    };
    std::fill(slots.begin(), slots.end(), 0.0);
    for (const Index row : row_) {
      if (laid_.work[row] > 0.0) give(row, laid_.low[row]);
    }
    for (const Index row : row_) {
      while (end_[row] > time && has_[row] < laid_.high[row]) {
        if (free > 0.0) {
          give(row, std::min(laid_.high[row] - has_[row], free));
          continue;
        }
        if (ends.empty()) break;
        const auto [end, other] = ends.top();
        ends.pop();
        if (end != end_[other]) continue;  // it got more slots
        time = end;
        free += std::exchange(has_[other], 0.0);
      }
    }
  }

  // Promises ends to jobs that have none yet, and sums up by how much present jobs will miss theirs
  // at least (late_).
  void promise_ends(const Task& task) {
    const double now = task.problem.now, theta = median_slip();
    late_ = 0.0;
    for (std::size_t k = 0; k < list_.size(); ++k) {
      // A gang that does not fit is promised an end once it fits.
      const double left = end_[row_[k]];
      if (!(left < kInfinity)) continue;
      Entry& entry = list_[k];
      if (entry.promised == kInfinity) promise_end(task, entry, row_[k], theta);
      if (const double seconds = entry.promised_seconds(); seconds > 0.0) {
        late_ += std::max(0.0, (now + left - entry.promised) / seconds - kAim * task.target);
      }
    }
  }
  void promise_end(const Task& task, Entry& entry, Index row, double theta) {
    entry.since = task.problem.now;
    entry.planned = end_[row];
    entry.promised = entry.since + entry.planned;
    const double planned = entry.planned_seconds();
    if (!(planned > 0.0)) return;
    const double weight = value_[row] + error_weight(entry);
    const double load = passing(task, weight > 0.0 ? key_[row] / weight : kMostKey);
    entry.slip = -std::log1p(-std::min(load, kMostLoad));
    entry.promised = entry.since + entry.planned * std::exp(theta * entry.slip);
    paid_ = kKept * paid_ + value_[row] * planned;
    count_ = kKept * count_ + 1.0;
  }

  // A job ends now: adds the error of its promise, over the time that was promised, to over_, and
  // learns theta (Slip).
  void learn(const Entry& entry, double now, double target) {
    if (const double seconds = entry.promised_seconds(); seconds > 0.0) {
      const double aim = kAim * target, most = kMostPower * kPatience * aim;
      over_ += std::fabs(now - entry.promised) / seconds - aim;
      over_ = std::clamp(over_, -most, most);
    }
    if (!(entry.slip > kLeastSlip) || !(entry.planned > 0.0)) return;
    const double later = std::log(std::max((now - entry.since) / entry.planned, 1.0));
    keep(slips_, kSlips, {std::min(later / entry.slip, kMostTheta), entry.slip});
  }

  // The weighted median of theta over the last jobs and the prior.
  double median_slip() const {
    std::vector<Slip> all = slips_;
    all.push_back({kUsualSlip, kUsualWeight});
    std::sort(all.begin(), all.end(),
              [](const Slip& a, const Slip& b) { return a.theta < b.theta; });
    double rest = 0.0;
    for (const Slip& slip : all) rest += slip.weight / 2.0;
    std::size_t k = 0;
    while (k + 1 < all.size() && rest > all[k].weight) rest -= all[k++].weight;
    return all[k].theta;
  }

  // The load of recent arrivals that would go before a job with this key.
  double passing(const Task& task, double key) const {
    if (recent_.size() < kFew) return 0.0;
    const double since = recent_.size() < kRecentArrivals ? began_ : recent_.front().now;
    const double span = task.problem.now - since;
    if (!(span > 0.0)) return 0.0;
    double work = 0.0;
    for (const Arrival& arrival : recent_) work += arrival.key < key ? arrival.work : 0.0;
    return work / (span * std::max(1.0, task.problem.slots));
  }

  // Gives the slots that the list leaves idle.
  void bring_forward(const Task& task, std::span<double> slots) {
    double free = task.problem.slots;
    for (const double own : slots) free -= own;
    if (!(free >= 1.0)) return;
    spare_ = task.problem;
    spare_.gang = false;
    worth_.assign(spare_.size(), 0.0);
    for (std::size_t k = 0; k < list_.size(); ++k) {
      const Index row = row_[k];
      const bool waits = task.problem.gang && slots[row] < task.problem.low[row];
      const bool early = value_[row] >= error_weight(list_[k]);
      spare_.low[row] = slots[row];
      if (waits || !early) spare_.high[row] = slots[row];
      if (spare_.work[row] > 0.0) worth_[row] = std::max(value_[row], kTiny) / spare_.work[row];
    }
    gains_.prepare(spare_, task.speedup);
    gains_.allocate(spare_, {}, worth_, slots);
  }

  std::vector<Entry> list_;
  std::int64_t known_ = 0;           // smaller ids have been in the list
  double began_ = kInfinity;         // [s] time of the first decision
  std::vector<std::int64_t> ended_;  // since the last decision
  std::vector<Arrival> recent_;
  std::vector<Slip> slips_;
  double paid_ = 0.0, count_ = 0.0;  // recent jobs: sum of promised penalties, and number
  // Sum of errors beyond the aim: of ended jobs, and of present jobs that are late.
  double over_ = 0.0, late_ = 0.0;
  double all_price_ = 1.0;  // the last price at which all jobs asked for all slots

  // Lambda; the mean price of a slot-second; that of one job behind.
  double lambda_ = 0.0, price_ = 0.0, slot_price_ = 0.0;
  std::vector<double> key_, end_;  // by row: work at the mean price; seconds until the end
  std::vector<Index> row_;         // by place in the list
  std::vector<double> has_;        // by row: slots at the time that the schedule has reached
  Problem laid_;                   // with the most slots that jobs take
  SharedPacking packing_;          // of gangs
  SpeedupHulls hulls_;
  MarginalGains gains_;
  Problem spare_;                      // the slots that the list leaves idle, and who may have them
  std::vector<double> worth_, value_;  // by row: of a unit of work; the penalty of a second
};

}  // namespace malleable
