#include "malleable/kernel/priority_orders.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Terms: an on-time set is jobs that can all meet their targets (due times) together; a step is a
// jump of a job's penalty; patience is the span over which a jump counts as a slope; Smith's ratio
// is work over the rate at which a job's penalty rises; an ask is a due time that a job would like
// as its target. A gang runs on at least its minimum, or not at all.
constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

// Last time, from now, at which the job pays no more than `level`, which it does at `near`.
double due_of(const Problem& problem, const Penalties& penalties, std::size_t j, double level,
              double near = kNever) {
  const double latest = penalties.latest(j, level, near);
  return std::isfinite(latest) ? latest + tolerance(latest) - problem.now : latest;
}

// Most steps that a job tries in a row, because a custom penalty may have any number of steps.
constexpr int kStepsInARow = 16;
// Moves of a set between two looks at the clock.
constexpr std::size_t kMovesBetweenLooks = 512;

// The number of times with which a set of so many jobs takes a tenth of a second; for decisions, a
// set of 10,000 jobs takes about a millisecond.
std::size_t times_of_set(std::size_t jobs, bool quick) {
  const std::size_t most = quick ? 512 : 4096;
  return std::clamp<std::size_t>((std::size_t{1} << (quick ? 21 : 27)) / (jobs + 1), 128, most);
}

// The rate at which the job loses soon after `from`: a slope, or a jump spread over `patience`.
double loss_rate(const Problem& problem, const Penalties& penalties, std::size_t j, double from,
                 double patience) {
  if (!(from < kInfinity)) return 0.0;
  const double due = problem.now + from;  // within its tolerance, so that a jump lies behind it
  const double span = std::max(patience, 4.0 * tolerance(due));
  // A custom penalty has no tolerance, so it has jumped there already.
  const double before = penalties.is_custom(j) ? due - 2.0 * tolerance(due) : due;
  return (penalties(j, due + span) - penalties(j, before)) / span;
}

// The time in which all slots do all work.
double end_of_work(const Problem& problem) {
  double total = 0.0;
  for (const double work : problem.work) total += work;
  return total / problem.slots;
}

std::vector<double> times_of(std::span<const double> due, std::span<const DueAsk> asks) {
  std::vector<double> times(due.begin(), due.end());
  for (const DueAsk& ask : asks) times.push_back(ask.due);
  return times;
}

// Lists each job that asks, once, in the order of the asks.
void list_askers(std::span<const DueAsk> asks, std::span<const Index> by_key, std::size_t jobs,
                 std::vector<Index>& askers) {
  std::vector<char> listed(jobs, 0);
  askers.clear();
  for (const Index k : by_key) {
    if (!listed[asks[k].job]) askers.push_back(asks[k].job);
    listed[asks[k].job] = 1;
  }
}

}  // namespace

// The mean rate of a job's penalty between its earliest end and the end of all work.
double PriorityOrders::rate(const Problem& problem, const Penalties& penalties, std::size_t j,
                            double earliest, double end) {
  if (penalties.linear()) return penalties.slope()[j];
  const std::size_t first = penalties.offset()[j];
  if (penalties.offset()[j + 1] == first + 1) return penalties.slope()[first];
  end = std::max(end, earliest * (1.0 + 1e-6) + 1e-300);
  return (penalties(j, problem.now + end) - penalties(j, problem.now + earliest)) /
         (end - earliest);
}

void PriorityOrders::make(OrderRule rule, const Problem& problem, const Penalties& penalties,
                          std::span<const double> earliest, std::span<Index> order) {
  if (rule == OrderRule::kSmith && penalties.linear()) {  // it needs only slopes
    const std::size_t n = problem.size();
    key_.resize(n);
    for (std::size_t j = 0; j < n; ++j) {
      const double slope = penalties.slope()[j];
      key_[j] = slope > 0.0 ? problem.work[j] / slope : kInfinity;
    }
    sorter_.sort(key_, order);
    return;
  }
  study(problem, penalties, earliest);
  set_times_ = times_of_set(problem.size(), true);
  apply(rule, problem, penalties, earliest, order);
}

// Computes the due times and rates that all rules use.
void PriorityOrders::study(const Problem& problem, const Penalties& penalties,
                           std::span<const double> earliest) {
  const std::size_t n = problem.size();
  end_ = end_of_work(problem);
  set_times_ = times_of_set(n, false);
  rate_.resize(n);
  due_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    rate_[j] = rate(problem, penalties, j, earliest[j], end_);
    // A line that rises is late from the start.
    due_[j] = penalties.linear() && rate_[j] > 0.0
                  ? earliest[j]
                  : due_of(problem, penalties, j, penalties(j, problem.now + earliest[j]),
                           problem.now + earliest[j]);
  }
}

// The key of a rule that needs only the result of study(), before it is divided by the rate.
double PriorityOrders::key_of(OrderRule rule, const Problem& problem, std::size_t j,
                              double earliest) const {
  const double work = problem.work[j];
  switch (rule) {
    case OrderRule::kSmith:
      return work;
    case OrderRule::kShortestPath:
      return work > 0.0 ? work / problem.high[j] : 0.0;
    case OrderRule::kModifiedDue:
      return std::max(due_[j], work / problem.slots);
    case OrderRule::kLeastSlack:
      return due_[j] - earliest;
    default:
      return due_[j];
  }
}

// The logarithm of Smith's ratio with the rate at which the job loses soon, plus the time it can
// wait.
double PriorityOrders::apparent_cost(const Problem& problem, const Penalties& penalties,
                                     std::size_t j, double earliest, double patience,
                                     double& rate) const {
  const double work = problem.work[j], alone = work > 0.0 ? work / problem.high[j] : 0.0;
  // Minima of other jobs may make it late, but it stays as urgent as without them.
  const double first = problem.now + alone;
  const double from = earliest > alone && work > 0.0
                          ? due_of(problem, penalties, j, penalties(j, first), first)
                          : due_[j];
  const double slack = from - alone;  // the slack of a late job is its tolerance
  const double wait = slack > 2.0 * tolerance(first) ? slack / patience : 0.0;
  rate = loss_rate(problem, penalties, j, from, patience);
  return rounded_key(std::log(work / rate) + wait);
}

void PriorityOrders::apply(OrderRule rule, const Problem& problem, const Penalties& penalties,
                           std::span<const double> earliest, std::span<Index> order) {
  if (rule == OrderRule::kOnTimeSet) {
    on_time_set(problem, penalties, order);
    return;
  }
  if (rule == OrderRule::kFittingSet || rule == OrderRule::kSpareSet) {
    const double spare = rule == OrderRule::kSpareSet ? spare_slots(problem.size()) : 0.0;
    fitting_set(problem, penalties, spare, order);
    return;
  }
  const std::size_t n = problem.size();
  key_.resize(n);
  // exp(slack / (k mean p)); with a single machine of all slots, k = 2 is customary.
  const double patience = 2.0 * std::max(end_ / static_cast<double>(n), 1e-300);
  const bool by_rate = rule != OrderRule::kDueDate && rule != OrderRule::kLeastSlack;
  for (std::size_t j = 0; j < n; ++j) {
    double r = by_rate ? rate_[j] : 1.0;
    if (rule == OrderRule::kApparentCost) {
      key_[j] = apparent_cost(problem, penalties, j, earliest[j], patience, r);
    } else {
      key_[j] = key_of(rule, problem, j, earliest[j]) / r;
    }
    if (!(r > 0.0) || std::isnan(key_[j])) key_[j] = kInfinity;
  }
  sorter_.sort(key_, order);
}

// The cost of giving up a target: the next step, or, if there is a slope instead of a jump, the
// penalty at `end`.
double PriorityOrders::loss_of_step(const Problem& problem, const Penalties& penalties,
                                    std::size_t j, double due, double end) {
  const double paid = penalties(j, problem.now + due);
  const double above = penalties.next_value(j, paid);
  const double step = above < kInfinity ? above - paid : 0.0;
  const double by_end = penalties(j, problem.now + std::max(end, due)) - paid;
  return step > 1e-6 * by_end ? step : by_end;
}

// Starts with no chosen job; sorts jobs by their first targets, and by their ends on their minima
// alone.
void PriorityOrders::begin_on_time_set(const Problem& problem) {
  const std::size_t n = problem.size();
  target_.assign(n, kInfinity);
  alone_.assign(n, kInfinity);
  low_.assign(n, 0.0);
  more_.assign(n, 0);  // chosen, and needs more than its minimum
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) continue;
    target_[j] = due_[j];
    low_[j] = problem.gang ? 0.0 : problem.low[j];
    if (low_[j] > 0.0) alone_[j] = problem.work[j] / low_[j];
  }
  key_.assign(target_.begin(), target_.end());
  first_.resize(n);
  second_.resize(n);
  sorter_.sort(target_, first_);
  sorter_.sort(alone_, second_);
  by_target_.clear();
  by_loss_.clear();
}

// The next job by target: the sorted list from `next` on, merged with jobs that try again; targets
// never fall. kNone: no job is left.
Index PriorityOrders::take_target(std::size_t& next) {
  const std::size_t n = first_.size();
  while (next < n && target_[first_[next]] != key_[first_[next]]) ++next;  // it tries again later
  if (!by_target_.empty() && (next == n || by_target_.front().key <= key_[first_[next]])) {
    const Index j = by_target_.front().job;
    std::pop_heap(by_target_.begin(), by_target_.end());
    by_target_.pop_back();
    return j;
  }
  return next < n && key_[first_[next]] < kInfinity ? first_[next++] : kNone;
}

// Fill the time before each due date: by then the chosen jobs need all their work and the others
// have run on their minima, in any order. If that does not fit, the job whose next step costs least
// for the work that it frees gives up its target and tries for the next one.
void PriorityOrders::on_time_set(const Problem& problem, const Penalties& penalties,
                                 std::span<Index> order) {
  const std::size_t n = problem.size();
  begin_on_time_set(problem);
  // Done by t: done + minima t on the minima of all, more - more_rate t by the chosen beyond that.
  double done = 0.0, minima = 0.0, more = 0.0, more_rate = 0.0;
  for (const double low : low_) minima += low;
  std::size_t ended = 0;
  const auto leave = [&](Index j) {
    more -= problem.work[j];
    more_rate -= low_[j];
    more_[j] = 0;
  };
  std::size_t next = 0;
  for (std::size_t moves = 0; moves < 64 * n; ++moves) {
    const Index j = take_target(next);
    if (j == kNone) break;
    const double due = target_[j];
    for (; ended < n && alone_[second_[ended]] <= due; ++ended) {
      const Index k = second_[ended];
      done += problem.work[k];
      minima -= low_[k];
      if (more_[k]) leave(k);
    }
    const double freed = problem.work[j] - low_[j] * due;
    if (alone_[j] <= due || !(freed > 0.0)) continue;  // on time in any case
    more += problem.work[j];
    more_rate += low_[j];
    more_[j] = 1;
    by_loss_.push_back({loss_of_step(problem, penalties, j, due, end_) / freed, j});
    std::push_heap(by_loss_.begin(), by_loss_.end());
    const double room = problem.slots * due * (1.0 + kRounding);
    while (done + more + (minima - more_rate) * due > room && !by_loss_.empty()) {
      const Index dropped = by_loss_.front().job;
      std::pop_heap(by_loss_.begin(), by_loss_.end());
      by_loss_.pop_back();
      if (!more_[dropped]) continue;
      leave(dropped);
      const double target = next_due(problem, penalties, dropped, due);
      target_[dropped] = target;
      if (target < kInfinity) {
        by_target_.push_back({target, dropped});
        std::push_heap(by_target_.begin(), by_target_.end());
      }
    }
  }
  serve(problem, target_, order);
}

// Builds a set that jobs join in the order of the cost of their next step over their work.
void PriorityOrders::fitting_set(const Problem& problem, const Penalties& penalties, double spare,
                                 std::span<Index> order) {
  asks_.clear();
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (problem.work[j] == 0.0 || due_[j] == kInfinity) continue;
    const double loss = loss_of_step(problem, penalties, j, due_[j], end_);
    if (loss > 0.0) asks_.push_back({problem.work[j] / loss, due_[j], static_cast<Index>(j)});
  }
  set_by(problem, penalties, asks_, spare, false, order);
}

// The end of the step after `due`; infinite if there is none.
double PriorityOrders::next_due(const Problem& problem, const Penalties& penalties, std::size_t j,
                                double due) const {
  const double late = problem.now + due + 4.0 * tolerance(problem.now + due);
  const double pays = std::max(penalties(j, late), penalties(j, problem.now + due));
  const double next = due_of(problem, penalties, j, pays);
  return next > due * (1.0 + 1e-6) ? next : kInfinity;  // a slope has no next step
}

// Moves a job's target to the first step from `from` on that has room; if no step before its own
// has room, nothing changes.
void PriorityOrders::move_target(const Problem& problem, const Penalties& penalties, Index j,
                                 double from, bool later) {
  const double own = target_[j];
  if (!(from < own)) return;
  if (own < kInfinity) set_.drop(j, own);
  double d = from;
  for (int step = 0; step < kStepsInARow && d < own; ++step) {
    if (set_.add(j, d)) {
      target_[j] = d;
      return;
    }
    d = later ? next_due(problem, penalties, j, d) : own;
  }
  if (own < kInfinity) set_.add(j, own);
}

// Tries the asks in turn. Then all jobs that asked try their first and later steps, twice, because
// other jobs may have moved.
void PriorityOrders::fill_set(const Problem& problem, const Penalties& penalties,
                              std::span<const DueAsk> asks, bool at_once,
                              const std::function<bool()>& late) {
  std::size_t moves = 0;
  bool over = false;
  const auto move = [&](Index j, double from, bool later) {
    if (late && ++moves % kMovesBetweenLooks == 0) over = over || late();
    if (!over) move_target(problem, penalties, j, from, later);
  };
  for (const Index k : first_) move(asks[k].job, asks[k].due, at_once);
  list_askers(asks, first_, problem.size(), second_);
  for (int pass = 0; pass < 2; ++pass) {
    for (const Index j : second_) move(j, due_[j], true);
  }
}

// Builds an on-time set from asks, the least key first, and orders it by latest start. `spare`: the
// part of the slots that the set leaves free; `at_once`: a job whose ask fails tries its next step
// right away.
void PriorityOrders::set_by(const Problem& problem, const Penalties& penalties,
                            std::span<const DueAsk> asks, double spare, bool at_once,
                            std::span<Index> order, const std::function<bool()>& late) {
  const std::size_t n = problem.size();
  target_.assign(n, kInfinity);
  set_.begin(problem, times_of(due_, asks), set_times_, spare);
  key_.resize(asks.size());
  for (std::size_t k = 0; k < asks.size(); ++k) key_[k] = asks[k].key;
  first_.resize(asks.size());
  sorter_.sort(key_, first_);
  fill_set(problem, penalties, asks, at_once, late);
  loss_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    loss_[j] = target_[j] - (problem.work[j] > 0.0 ? problem.work[j] / problem.high[j] : 0.0);
  }
  serve(problem, loss_, order);
}

void PriorityOrders::set_by_end(const Problem& problem, std::span<Index> order) {
  serve(problem, target_, order);
}

// Orders the set by `key`, the rest by Smith's ratio.
void PriorityOrders::serve(const Problem& problem, std::span<const double> key,
                           std::span<Index> order) {
  const std::size_t n = problem.size();
  std::size_t on_time = 0;
  sorter_.sort(key, order);
  while (on_time < n && target_[order[on_time]] < kInfinity) ++on_time;
  key_.resize(n);
  for (std::size_t k = on_time; k < n; ++k) {
    const Index j = order[k];
    key_[j] = rate_[j] > 0.0 ? problem.work[j] / rate_[j] : kInfinity;
  }
  std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(on_time), order.end(),
                   [&](Index a, Index b) { return key_[a] < key_[b]; });
}

// By due time; at the same due time the longest job alone comes first.
void PriorityOrders::by_due(const Problem& problem, std::span<const double> due,
                            std::span<Index> order) {
  const std::size_t n = problem.size();
  key_.resize(n);
  first_.resize(n);
  second_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    key_[j] = problem.work[j] > 0.0 ? -problem.work[j] / problem.high[j] : 0.0;
  }
  sorter_.sort(key_, first_);
  for (std::size_t k = 0; k < n; ++k) key_[k] = due[first_[k]];
  sorter_.sort(key_, second_);
  for (std::size_t k = 0; k < n; ++k) order[k] = first_[second_[k]];
}

// By the time that each job would take with these slots held fixed; jobs without slots last.
void PriorityOrders::by_moldable(const Problem& problem, std::span<double> slots,
                                 std::span<const Index> waiting, std::span<Index> order) {
  double longest = 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    // No work on no slots takes no time.
    slots[j] = problem.work[j] > 0.0 ? problem.work[j] / slots[j] : 0.0;
    longest = std::max(longest, slots[j]);
  }
  const std::span<const double> key = slots;
  sorter_.sort(key, order);
  if (longest < kInfinity) return;
  auto tail = std::lower_bound(order.begin(), order.end(), kInfinity,
                               [&](Index j, double last) { return key[j] < last; });
  for (const Index j : waiting) {
    if (key[j] == kInfinity) *tail++ = j;
  }
}

}  // namespace malleable
