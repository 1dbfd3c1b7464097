#include "malleable/policy/epoch/promised.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Terms: the list is all jobs in the order in which they take slots; a slip is how much longer than
// planned a job takes, because new jobs pass it: by the factor (1 - rho)^-theta at a load rho of
// passing jobs.

// A factor of the price of a slot for each job behind: 1 if no job will come, nearly this if many
// will (as in policy/concave).
constexpr double kSteepPrices = 3.0;
// The search for the price of a slot-second at which all slots are asked for: limits, precision,
// and the factor of the first step.
constexpr double kLowestPrice = 1e-9, kHighestPrice = 1e9, kPriceStep = 0.05, kFirstStep = 1.2;
constexpr double kMostKey = 1e280;  // larger costs of work count as this
// Arrivals that are remembered, the least number for a load, and the largest load that is used.
constexpr std::size_t kRecentArrivals = 2000, kFew = 20;
constexpr double kMostLoad = 0.7;
// Ended jobs whose slips are remembered; the prior, and its weight; the least slip from which
// something is learnt, and the largest exponent.
constexpr std::size_t kSlips = 500;
constexpr double kUsualSlip = 0.5, kUsualWeight = 5.0;
constexpr double kLeastSlip = 1e-3, kMostTheta = 4.0;
// The price of an error at first, times the target: 3 for 5 %. Errors that are aimed at, over the
// target, as prices follow errors late. The price rises by a factor of e where errors are above
// that by as much as so many jobs may be off together, and moves within these powers of e.
constexpr double kFirstPrice = 0.15, kAim = 0.85, kPatience = 200.0, kMostPower = 7.0;
// The mean penalty fades by this factor with each job.
constexpr double kKept = 1.0 - 1.0 / 1000.0;

// Keeps the last `most` values.
template <typename T>
void keep(std::vector<T>& last, std::size_t most, const T& value) {
  if (last.size() == most) last.erase(last.begin());
  last.push_back(value);
}

}  // namespace

// Computes the cost of each job's work at the mean price, and the rows of the list; removes jobs
// that left.
void Promised::update_list(const Task& task) {
  const Problem& problem = task.problem;
  const std::size_t n = problem.size();
  // Hulls: the least concave speed-ups above the jobs' own. cost(): the least (1 + price s) / rate
  // for a waiting second that costs 1; best() at price / cost: its slots s.
  hulls_.build(task.speedup, std::vector<double>(n, 0.0), problem.high);
  double value = 0.0, count = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (!(problem.work[j] > 0.0)) continue;
    value += task.value[j];
    count += 1.0;
  }
  std::sort(ended_.begin(), ended_.end());
  std::erase_if(list_, [&](const Entry& entry) {
    if (task.jobs.find(entry.id) != kNone) return false;
    const bool ended = std::binary_search(ended_.begin(), ended_.end(), entry.id);
    if (ended) {
      count_error(entry, problem.now, task.target);
      learn(entry, problem.now);
    }
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
    const double price = price_ * mean / std::max(task.value[j], mean * kTiny);
    const double cost = hulls_.cost(task.speedup, j, 1.0, price, problem.high[j]);
    key_[j] = std::min(problem.work[j] * std::min(cost, kMostKey), kMostKey);
  }
  weigh(task);
}

// Sets lambda_, the price of an error: higher the more the errors exceed the target.
void Promised::weigh(const Task& task) {
  const double power = (over_ + late_) / (kAim * task.target * kPatience);
  const double price = kFirstPrice / task.target * std::exp(std::min(power, kMostPower));
  lambda_ = count_ > 0.0 ? price * paid_ / count_ : 0.0;
}

// The cheapest number of slots at a price of a slot-second.
double Promised::asked(const Task& task, Index row, double price) const {
  const double high = task.problem.high[row], low = task.problem.low[row];
  const double cost = hulls_.cost(task.speedup, row, 1.0, price, high);
  if (!(cost < kInfinity)) return std::max(1.0, high);  // there may be no slot now
  const double best = hulls_.best(task.speedup, row, price / cost, high);
  return std::clamp(std::floor(best), std::max(1.0, low), std::max(1.0, high));
}

// Whether all together ask for more slots at this price than there are.
bool Promised::asks_more(const Task& task, double price) const {
  double all = 0.0;
  for (std::size_t j = 0; j < task.problem.size() && !(all > task.problem.slots); ++j) {
    if (task.problem.work[j] > 0.0) all += asked(task, static_cast<Index>(j), price);
  }
  return all > task.problem.slots;
}

// The price at which all jobs together ask for as many slots as there are. The search begins at the
// last price.
double Promised::price_of_all(const Task& task) {
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

// The cost of a second of error.
double Promised::error_weight(const Entry& entry) const {
  return entry.planned_seconds > 0.0 ? lambda_ / entry.planned_seconds : 0.0;
}

// The place where passing the jobs behind saves most: each of these waits for the new job, which
// does not wait for them.
std::size_t Promised::place_of(const Task& task, Index row) const {
  double saved = 0.0, most = 0.0;
  std::size_t place = list_.size();
  for (std::size_t k = list_.size(); k-- > 0;) {
    const double weight = task.value[row_[k]] + error_weight(list_[k]);
    saved += key_[row_[k]] * task.value[row] - key_[row] * weight;
    if (saved > most) {
      most = saved;
      place = k;
    }
  }
  return place;
}

// Inserts new jobs into the list, the smallest first.
void Promised::insert_new(const Task& task) {
  std::vector<Index> fresh;
  for (std::size_t j = 0; j < task.jobs.id.size(); ++j) {
    if (task.jobs.id[j] >= known_) fresh.push_back(static_cast<Index>(j));
  }
  if (fresh.empty()) return;
  const auto ratio = [&](Index j) { return key_[j] / std::max(task.value[j], kTiny); };
  std::sort(fresh.begin(), fresh.end(), [&](Index a, Index b) {
    return ratio(a) != ratio(b) ? ratio(a) < ratio(b) : task.jobs.id[a] < task.jobs.id[b];
  });
  const double all = price_of_all(task);
  for (const Index j : fresh) {
    known_ = std::max(known_, task.jobs.id[j] + 1);
    const std::size_t place = place_of(task, j);
    const double behind = static_cast<double>(list_.size() - place) + task.coming;
    const auto at = static_cast<std::ptrdiff_t>(place);
    const double most = asked(task, j, std::min(all, slot_price_ * behind));
    list_.insert(list_.begin() + at, {.id = task.jobs.id[j], .promised = kInfinity, .most = most});
    row_.insert(row_.begin() + at, j);
    note_arrival(task, j);
  }
}

// Notes the arrival of a job that came after the first decision.
void Promised::note_arrival(const Task& task, Index row) {
  if (!started_ || !(task.problem.now > began_)) return;
  const Arrival arrival{task.problem.now, task.problem.work[row],
                        key_[row] / std::max(task.value[row], kTiny)};
  keep(recent_, kRecentArrivals, arrival);
}

// A job ends now: adds the error of its promise, over the time that was promised.
void Promised::count_error(const Entry& entry, double now, double target) {
  if (!(entry.promised_seconds > 0.0) || !(entry.promised_seconds < kInfinity)) return;
  const double aim = kAim * target, most = kMostPower * kPatience * aim;
  over_ += std::fabs(now - entry.promised) / entry.promised_seconds - aim;
  over_ = std::clamp(over_, -most, most);
}

// Sums up by how much present jobs will miss their promises at least.
void Promised::count_late(const Task& task) {
  late_ = 0.0;
  for (std::size_t k = 0; k < list_.size(); ++k) {
    const Entry& entry = list_[k];
    if (!(entry.promised_seconds > 0.0) || !(end_[row_[k]] < kInfinity)) continue;
    const double late =
        (task.problem.now + end_[row_[k]] - entry.promised) / entry.promised_seconds;
    late_ += std::max(0.0, late - kAim * task.target);
  }
}

// Learns theta from a job that has ended.
void Promised::learn(const Entry& entry, double now) {
  if (!(entry.slip > kLeastSlip) || !(entry.planned > 0.0)) return;
  const double later = std::log(std::max((now - entry.since) / entry.planned, 1.0));
  keep(slips_, kSlips, {std::min(later / entry.slip, kMostTheta), entry.slip});
}

// The weighted median of theta over the last jobs and the prior.
double Promised::median_slip() const {
  std::vector<Slip> all = slips_;
  all.push_back({kUsualSlip, kUsualWeight});
  std::sort(all.begin(), all.end(), [](const Slip& a, const Slip& b) { return a.theta < b.theta; });
  double rest = 0.0;
  for (const Slip& slip : all) rest += slip.weight / 2.0;
  std::size_t k = 0;
  while (k + 1 < all.size() && rest > all[k].weight) rest -= all[k++].weight;
  return all[k].theta;
}

// The load of recent arrivals that pass a job with this key.
double Promised::passing(const Task& task, double key) const {
  if (recent_.size() < kFew) return 0.0;
  const double since = recent_.size() < kRecentArrivals ? began_ : recent_.front().now;
  const double span = task.problem.now - since;
  if (!(span > 0.0)) return 0.0;
  double work = 0.0;
  for (const Arrival& arrival : recent_) work += arrival.key < key ? arrival.work : 0.0;
  return work / (span * std::max(1.0, task.problem.slots));
}

// Jobs keep their minima. In the order of the list each takes what those before it leave, up to
// its most, and what later becomes free: the slots now, and all ends.
void Promised::lay_out(const Task& task, std::span<double> slots) {
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

// Promises ends to jobs that have none yet.
void Promised::promise_ends(const Task& task) {
  double theta = -1.0;
  for (std::size_t k = 0; k < list_.size(); ++k) {
    // A gang that does not fit is promised an end once it fits.
    if (list_[k].promised < kInfinity || !(end_[row_[k]] < kInfinity)) continue;
    if (theta < 0.0) theta = median_slip();
    promise_end(task, k, theta);
  }
}

void Promised::promise_end(const Task& task, std::size_t place, double theta) {
  Entry& entry = list_[place];
  const Index row = row_[place];
  entry.since = task.problem.now;
  entry.planned = end_[row];
  entry.promised = entry.since + entry.planned;
  entry.planned_seconds = entry.promised - task.jobs.arrival[row];
  if (!(entry.planned_seconds > 0.0)) return;
  const double weight = task.value[row] + error_weight(entry);
  const double load = passing(task, weight > 0.0 ? key_[row] / weight : kMostKey);
  entry.slip = -std::log1p(-std::min(load, kMostLoad));
  entry.promised = entry.since + entry.planned * std::exp(theta * entry.slip);
  entry.promised_seconds = entry.promised - task.jobs.arrival[row];
  paid_ = kKept * paid_ + task.value[row] * entry.planned_seconds;
  count_ = kKept * count_ + 1.0;
}

// Gives the slots that the list leaves idle.
void Promised::bring_forward(const Task& task, std::span<double> slots) {
  double free = task.problem.slots;
  for (const double own : slots) free -= own;
  if (!(free >= 1.0)) return;
  spare_ = task.problem;
  spare_.gang = false;
  worth_.assign(spare_.size(), 0.0);
  for (std::size_t k = 0; k < list_.size(); ++k) {
    const Index row = row_[k];
    const bool waits = task.problem.gang && slots[row] < task.problem.low[row];
    const bool early = task.value[row] >= error_weight(list_[k]);
    spare_.low[row] = slots[row];
    if (waits || !early) spare_.high[row] = slots[row];
    if (spare_.work[row] > 0.0) worth_[row] = std::max(task.value[row], kTiny) / spare_.work[row];
  }
  gains_.prepare(spare_, task.speedup);
  gains_.allocate(spare_, {}, worth_, slots);
}

void Promised::decide(Scene& at, InstanceRule& by) {
  Instance& of = by.of;
  of.build(at, at.jobs.work);
  const Problem& problem = of.set_kept_aside(at);
  value_.resize(at.jobs.rows());
  for (std::size_t r = 0; r < value_.size(); ++r) value_[r] = at.jobs.value_of_second(r);
  const Task task{problem, of.speedup(),         at.jobs,
                  value_,  at.coming.expected(), *at.options.predictable};
  of.share.assign(at.jobs.rows(), 0.0);
  if (!started_) began_ = task.problem.now;
  update_list(task);
  insert_new(task);
  started_ = true;
  lay_out(task, of.share);
  promise_ends(task);
  count_late(task);
  weigh(task);
  bring_forward(task, of.share);
  at.grants.give_all([&](std::size_t row) { return of.share[row] + of.kept[row]; });
  by.order.clear();
}

std::vector<double> Promised::ends(const JobTable& jobs) const {
  std::vector<double> ends(jobs.rows(), kInfinity);
  for (const Entry& entry : list_) {
    if (const Index row = jobs.find(entry.id); row != kNone) ends[row] = entry.promised;
  }
  return ends;
}

}  // namespace malleable
