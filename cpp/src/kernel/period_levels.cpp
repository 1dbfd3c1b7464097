#include "malleable/kernel/period_levels.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

#include "malleable/kernel/demand_bound.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
// Terms: a slot-period is one slot for one period; a level is a value of the objective, which sets
// each job a deadline; a job's need is the number of slot-periods that it must hold during the
// periods 0 ... k so that it meets its deadline.
namespace {

// A level this close to the least one is good enough.
constexpr double kSameLevel = 1e-4;
constexpr int kLevels = 60;  // levels that are tested at most

// Jobs by the period of their deadlines, and the choice of the jobs to give up.
class GivingUp {
 public:
  GivingUp(const Problem& problem, std::span<const PeriodicNeed> need,
           std::span<const double> weight, std::span<std::uint8_t> given_up)
      : problem_(problem), need_(need), weight_(weight), given_up_(given_up) {
    for (std::size_t j = 0; j < need.size(); ++j) {
      if (given_up[j] || !(need[j].total > 0.0)) continue;
      events_.push_back({std::min(need[j].first, need[j].edge), j});
      if (need[j].edge > need[j].first) events_.push_back({need[j].edge, j});
      if (need[j].slope > 0.0) events_.push_back({need[j].edge - 1.0, j});
    }
    std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return a.period != b.period ? a.period < b.period : a.job < b.job;
    });
  }

  void run() {
    std::size_t e = 0;
    while (e < events_.size()) {
      const double k = events_[e].period;
      if (k > at_) make_fit(k - 1.0);
      held_ += slope_ * (k - at_);
      at_ = k;
      for (; e < events_.size() && events_[e].period == k; ++e) count(events_[e].job, k);
      make_fit(k);
    }
  }

 private:
  struct Event {
    double period;
    std::size_t job;
  };
  struct Candidate {
    double price;  // weight for a slot-period
    std::size_t job;
    bool operator<(const Candidate& other) const {  // the cheapest is on top
      return price != other.price ? price > other.price : job < other.job;
    }
  };

  double slope_at(std::size_t j, double k) const {
    const PeriodicNeed& need = need_[j];
    return k >= need.first && k < need.edge - 1.0 ? need.slope : 0.0;
  }
  // Counts what job j adds in period k, in which its need changes.
  void count(std::size_t j, double k) {
    if (given_up_[j]) return;
    const PeriodicNeed& need = need_[j];
    if (k == std::min(need.first, need.edge)) {
      candidates_.push({weight_[j] / need.total, j});
      held_ += need.at(k);
      slope_ += slope_at(j, k);
      return;
    }
    if (k == need.edge - 1.0 && need.slope > 0.0) slope_ -= need.slope;
    if (k == need.edge) held_ += need.total - need.whole;
  }
  // Gives up jobs until the slots that the others need by period k fit.
  void make_fit(double k) {
    const auto held = [&] { return held_ + slope_ * (k - at_); };
    while (held() > problem_.slots * (k + 1.0) * (1.0 + kRounding) && !candidates_.empty()) {
      const std::size_t j = candidates_.top().job;
      candidates_.pop();
      given_up_[j] = 1;
      held_ -= need_[j].at(at_);
      slope_ -= slope_at(j, at_);
    }
  }

  const Problem& problem_;
  std::span<const PeriodicNeed> need_;
  std::span<const double> weight_;
  std::span<std::uint8_t> given_up_;
  std::vector<Event> events_;
  std::priority_queue<Candidate> candidates_;
  double at_ = 0.0, held_ = 0.0, slope_ = 0.0;
};

}  // namespace

// Whether all jobs may meet the deadlines of a level.
bool PeriodLevels::passes(const Problem& problem, const Penalties& penalties, double period,
                          double level) {
  due_.resize(problem.size());
  given_up_.assign(problem.size(), 0);
  DemandBound::deadlines(problem, penalties, level, 0.0, due_);
  return test_.may_meet(problem, period, due_);
}

// Whether all jobs may end without a penalty.
bool PeriodLevels::meet_all(const Problem& problem, const Penalties& penalties, double period) {
  for (std::size_t j = 0; j < problem.size(); ++j) {  // in most cases some job is late
    const double due = penalties.latest(j, 0.0) - problem.now;
    const double work = problem.work[j];
    if (work > 0.0 && !(work <= problem.high[j] * due * (1.0 + kAmple))) return false;
  }
  return passes(problem, penalties, period, 0.0);
}

// Sets the deadlines of the least level at which all jobs may meet them; false if there is none.
bool PeriodLevels::least(const Problem& problem, const Penalties& penalties, double period) {
  if (meet_all(problem, penalties, period)) return true;
  // If nothing is due before that, any order of whole slot-periods meets all deadlines.
  double all = 0.0, longest = 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const double need = slot_periods(problem.work[j], period);
    all += need;
    longest = std::max(longest, std::ceil(need / problem.high[j]));
  }
  const double end = problem.now + period * (std::ceil(all / problem.slots) + longest + 2.0);
  double low = 0.0, high = 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) high = std::max(high, penalties(j, end));
  if (!(high < kInfinity) || !passes(problem, penalties, period, high)) return false;
  for (int step = 0; step < kLevels && high - low > kSameLevel * high; ++step) {
    const double middle = low + (high - low) / 2.0;
    (passes(problem, penalties, period, middle) ? high : low) = middle;
  }
  return passes(problem, penalties, period, high);
}

// Chooses jobs to give up, by the weight of their slot-periods, so that the others may end without
// a penalty.
void PeriodLevels::give_up(const Problem& problem, const Penalties& penalties, double period,
                           std::span<const double> weight) {
  if (passes(problem, penalties, period, 0.0)) return;
  const std::size_t n = problem.size();
  std::vector<PeriodicNeed> need(n);
  behind_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double work = problem.work[j], high = problem.high[j];
    behind_[j] = slot_periods(work, period) / weight[j];
    given_up_[j] = !(work <= high * due_[j] * (1.0 + kAmple));
    if (!given_up_[j] && due_[j] < kInfinity) need[j] = periodic_need(work, high, due_[j], period);
  }
  GivingUp(problem, need, weight, given_up_).run();
}

// Sets keys by deadlines; jobs that were given up come last, the least slot-periods for their
// weight first.
void PeriodLevels::set_keys() {
  const std::size_t n = due_.size();
  key_.assign(due_.begin(), due_.end());
  double last = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (!late(j) && due_[j] < kInfinity) last = std::max(last, due_[j]);
  }
  for (std::size_t j = 0; j < n; ++j) {
    if (late(j)) key_[j] = last + 1.0 + behind_[j];
  }
}

// Gives the slots of this period: first what jobs must hold now, then in order of deadlines what
// they can use.
void PeriodLevels::share(const PeriodicJobs& jobs, std::span<double> slots) {
  const std::size_t n = jobs.work.size();
  set_keys();
  room_.assign(n, 0.0);
  double free = jobs.slots;
  for (std::size_t j = 0; j < n; ++j) {
    slots[j] = jobs.low[j];
    free -= slots[j];
    if (late(j) || due_[j] == kInfinity || !(jobs.work[j] > 0.0)) continue;
    if (surely_later(jobs.work[j], jobs.high[j], due_[j], jobs.period, 0.0)) continue;
    const double must = periodic_need(jobs.work[j], jobs.high[j], due_[j], jobs.period).at(0.0);
    room_[j] = std::max(0.0, std::min(must, jobs.high[j]) - slots[j]);
  }
  const auto give = [&](Index j, double more) {
    slots[j] += more;
    free -= more;
  };
  selection_.reset();
  selection_.run(key_, room_, free, give);
  for (std::size_t j = 0; j < n; ++j) {
    double use = slot_periods(jobs.work[j], jobs.period);
    if (!late(j) && due_[j] > 0.0 && due_[j] < jobs.period) {
      use = std::max(use, std::ceil(jobs.work[j] / due_[j] * (1.0 - kCount)));
    }
    room_[j] = std::max(0.0, std::min(use, jobs.high[j]) - slots[j]);
  }
  selection_.run(key_, room_, free, give);
  left_over_.hand_out(jobs, slots);
}

}  // namespace malleable
