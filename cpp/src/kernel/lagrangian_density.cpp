#include "malleable/kernel/lagrangian_density.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "malleable/kernel/quantiles.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Terms: a cell is a span of time with one price density l; f is the work that a job must have done
// by t so that it ends by C (its forced work). A gang runs on at least its minimum, or not at all.
constexpr std::size_t kMost = 512;  // cells
// For each kOverJobs jobs, rounding may add kRounding of all work to the forced work.
constexpr double kOverJobs = 4096.0;
// Steps that the average of completions remembers, and the end of jobs that give up, over the last
// time.
constexpr double kMemory = 20.0, kGaveUp = 1.2;
constexpr std::size_t kClockEvery = 1024;  // jobs between two looks at the clock
constexpr int kPatience = 10;  // steps without a better bound until steps become shorter

}  // namespace

// Whether to stop, asked now and then.
bool LagrangianDensity::stops(std::size_t jobs) const {
  return jobs % kClockEvery == kClockEvery - 1 && *stop_ && (*stop_)();
}

// The latest completion before a row of penalties begins.
double LagrangianDensity::last_of(std::size_t row) const {
  const double at = penalties_->at()[row];
  return at + tolerance(at) - problem_->now;
}

void LagrangianDensity::begin(const Problem& problem, const Penalties& penalties,
                              std::span<const double> earliest, std::span<const double> completion,
                              const std::function<bool()>& stop) {
  problem_ = &problem;
  stop_ = &stop;
  penalties_ = &penalties;
  earliest_ = earliest;
  const std::size_t n = problem.size();
  const auto offset = penalties.offset();
  const double total = std::accumulate(problem.work.begin(), problem.work.end(), 0.0);
  end_ = total / problem.slots;
  rounding_ = 2.0 * kRounding * std::max(1.0, static_cast<double>(n) / kOverJobs) * total;
  constant_ = 0.0;
  // Half of the borders are at even steps, half where jobs end or are due.
  std::vector<double> times;
  measure_.assign(n, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) {
      constant_ += penalties(j, problem.idle_end[j]);
      measure_[j] = kInfinity;
      continue;
    }
    double due = completion[j];
    if (offset[j] + 1 < offset[j + 1]) due = std::max(earliest[j], last_of(offset[j] + 1));
    measure_[j] = due;
    for (const double t : {due, completion[j]}) {
      if (t < end_) times.push_back(t);
    }
  }
  by_due_.resize(n);
  sorter_.sort(measure_, by_due_);
  keep_quantiles(times, kMost / 2);
  finest_.assign(1, 0.0);
  for (std::size_t k = 1; k <= kMost; ++k) times.push_back(end_ * static_cast<double>(k) / kMost);
  std::sort(times.begin(), times.end());
  // As many as there are cells, by rank.
  for (std::size_t k = 1; k <= kMost; ++k) {
    const double t = times[k * times.size() / kMost - 1];
    finest_.push_back(std::max(t, finest_.back()));
  }
  finest_.back() = end_;
  border_.clear();
  density_.assign(kFewest, 0.0);
  for (std::size_t k = 0; k <= kMost; k += kMost / kFewest) border_.push_back(finest_[k]);
  average_.assign(n, 0.0);
  best_density_ = density_;
  direction_.assign(kFewest, 0.0);
  best_ = -kInfinity;
  share_ = 0.5;
  stuck_ = 0;
  sample(n);
}

// Draws about so many jobs, evenly by due time and by work; each counts as 1 / its chance.
void LagrangianDensity::sample(std::size_t jobs) {
  const Problem& problem = *problem_;
  jobs_.clear();
  count_.clear();
  const std::size_t n = problem.size();
  const double work = end_ * problem.slots, all = static_cast<double>(n);
  double sum = 0.0, next = 0.5;
  for (const Index j : by_due_) {
    if (problem.work[j] == 0.0) continue;
    if (jobs >= n) {
      jobs_.push_back(j);
      count_.push_back(1.0);
      continue;
    }
    const double chance = 0.5 * static_cast<double>(jobs) * (1.0 / all + problem.work[j] / work);
    sum += chance;
    if (chance < 1.0 && sum <= next) continue;
    jobs_.push_back(j);
    count_.push_back(std::max(1.0, 1.0 / chance));
    next = std::max(next + 1.0, chance < 1.0 ? next : std::floor(sum) + 0.5);
  }
  best_ = -kInfinity;
  evaluations_ = 0.0;
}

// The mean of the completions that jobs chose in the last steps; empty for samples.
std::span<const double> LagrangianDensity::average() const {
  const bool whole = std::all_of(count_.begin(), count_.end(), [](double c) { return c == 1.0; });
  if (!whole || evaluations_ < 2.0) return {};
  return average_;
}

// Halves cells until there are so many.
void LagrangianDensity::refine(std::size_t cells) {
  while (best_density_.size() < std::min(cells, kMost)) {
    const std::size_t k = 2 * best_density_.size();
    border_.clear();
    for (std::size_t i = 0; i <= kMost; i += kMost / k) border_.push_back(finest_[i]);
    std::vector<double> finer(k);
    for (std::size_t i = 0; i < k; ++i) finer[i] = best_density_[i / 2];
    best_density_ = std::move(finer);
  }
  density_ = best_density_;
  direction_.assign(density_.size(), 0.0);
  best_ = -kInfinity;
  share_ = std::max(share_, 0.25);
  stuck_ = 0;
}

std::size_t LagrangianDensity::cell(double t) const {
  const auto at = std::upper_bound(border_.begin(), border_.end(), t);
  const auto k = static_cast<std::size_t>(at - border_.begin());
  return k == 0 ? 0 : k - 1;  // the number of cells: after all cells
}

// The integrals of l (price) and of l times time (moment) up to t.
LagrangianDensity::Sums LagrangianDensity::sums(double t) const {
  if (!(t > 0.0)) return {0.0, 0.0};
  if (t >= border_.back()) return sums_.back();
  const std::size_t k = cell(t);
  const double x = t - border_[k], l = density_[k];
  return {sums_[k].price + l * x, sums_[k].moment + l * x * 0.5 * (t + border_[k])};
}

// A job; `least`: the price of its minimum alone, which does its work by `last`.
LagrangianDensity::Job LagrangianDensity::job_at(std::size_t j) const {
  const Problem& problem = *problem_;
  Job job{problem.work[j], problem.gang ? 0.0 : problem.low[j], problem.high[j], kInfinity, 0.0};
  if (job.low > 0.0) {
    job.last = job.work / job.low;
    const Sums at = sums(job.last);
    job.least = job.low * at.moment + job.work * (sums_.back().price - at.price);
  }
  return job;
}

// int l f(t; C) dt.
double LagrangianDensity::forced_price(const Job& job, double completion) const {
  if (completion >= job.last || !(completion < kInfinity)) return job.least;
  const double turn = std::max(0.0, (job.high * completion - job.work) / (job.high - job.low));
  const Sums own = sums(turn), ended = sums(completion);
  return job.low * own.moment + job.high * (ended.moment - own.moment) +
         (job.work - job.high * completion) * (ended.price - own.price) +
         job.work * (sums_.back().price - ended.price);
}

// The cheapest completion between two times where the penalty is one rising line.
void LagrangianDensity::scan(const Job& job, std::size_t row, double from, double to,
                             Choice& best) const {
  const std::size_t cells = density_.size();
  const double now = problem_->now, slope = penalties_->slope()[row];
  const double stop = std::min(to, job.last), spare = job.high - job.low;
  double c = from, penalty = penalties_->line(row, now + c);
  double cost = penalty + forced_price(job, c);
  const auto consider = [&](double at, double value) {
    if (value < best.cost) best = {at, value};
  };
  consider(c, cost);
  if (!(spare > 0.0)) return;
  const double ratio = job.high / spare;
  const double turn = std::max(0.0, (job.high * c - job.work) / spare);
  std::size_t at = cell(c), own = cell(turn);
  double fall = sums(c).price - sums(turn).price;
  while (c < stop && own < cells && penalty + job.least < best.cost) {
    const double next = at < cells ? border_[at + 1] : kInfinity;
    const double later = (job.work + spare * border_[own + 1]) / job.high;
    const double end = std::min({next, later, stop}), x = end - c;
    const double bend = (at < cells ? density_[at] : 0.0) - density_[own] * ratio;
    const double rise = slope - job.high * fall, last = rise - job.high * bend * x;
    if (x > 0.0) {
      if (rise < 0.0 && last > 0.0) {
        const double y = -rise / (last - rise) * x;
        consider(c + y, cost + 0.5 * rise * y);
      }
      cost += 0.5 * (rise + last) * x;
      fall += bend * x;
      penalty += slope * x;
      c = end;
      consider(c, cost);
    }
    if (at < cells && end >= next) ++at;
    if (end >= later) ++own;
  }
}

// The completion at which a job's penalty and forced work cost least.
LagrangianDensity::Choice LagrangianDensity::choose(std::size_t j) const {
  const Penalties& penalties = *penalties_;
  const Job job = job_at(j);
  Choice best{kInfinity, kInfinity};
  double from = earliest_[j];
  const std::size_t stop = penalties.offset()[j + 1];
  for (std::size_t r = penalties.offset()[j]; r < stop; ++r) {
    const double to = r + 1 < stop ? last_of(r + 1) : kInfinity;
    if (to < from) continue;
    const double penalty = penalties.line(r, problem_->now + from);
    if (penalty + job.least >= best.cost) break;
    if (penalties.slope()[r] > 0.0) {
      scan(job, r, from, to, best);
    } else {
      const double cost = penalty + forced_price(job, to);
      if (cost < best.cost) best = {to, cost};
    }
    from = to;
  }
  // By the closed form, because the merge adds up many pieces with rounding.
  const double end = std::min(best.completion, job.last);
  if (end < kInfinity) {
    const double exact = penalties(j, problem_->now + best.completion) + forced_price(job, end);
    best.cost = std::min(best.cost, exact);
  }
  return best;
}

void LagrangianDensity::sum_prices() {
  const std::size_t cells = density_.size();
  sums_.resize(cells + 1);
  sums_[0] = {0.0, 0.0};
  for (std::size_t k = 0; k < cells; ++k) {
    const double x = border_[k + 1] - border_[k], l = density_[k];
    sums_[k + 1] = {sums_[k].price + l * x,
                    sums_[k].moment + l * x * 0.5 * (border_[k] + border_[k + 1])};
  }
}

// The price of all slots over all time.
double LagrangianDensity::capacity_price() const {
  return problem_->slots * sums_.back().moment + rounding_ * sums_.back().price;
}

// From a time on forced work is larger by level + ramp t.
void LagrangianDensity::change(double at, double level, double ramp) {
  at = std::max(at, 0.0);
  const std::size_t k = cell(at);
  if (k >= density_.size()) return;
  const double next = border_[k + 1];
  part_[k] += (next - at) * (level + ramp * 0.5 * (next + at));
  level_[k + 1] += level;
  ramp_[k + 1] += ramp;
}

void LagrangianDensity::add_forced(std::size_t j, double completion, double count) {
  const Job job = job_at(j);
  if (job.low > 0.0) change(0.0, 0.0, count * job.low);
  if (completion >= job.last) {
    change(job.last, count * job.work, -count * job.low);
  } else if (completion < kInfinity) {
    const double spare = job.high - job.low, busy = job.high * completion;
    change((busy - job.work) / spare, count * (job.work - busy), count * spare);
    change(completion, count * busy, -count * job.high);
  }
}

// The bound of the sample at the present prices; the mean excess of each cell.
double LagrangianDensity::evaluate() {
  const std::size_t cells = density_.size();
  ++evaluations_;
  sum_prices();
  for (auto* column : {&part_, &level_, &ramp_}) column->assign(cells + 1, 0.0);
  double bound = constant_ - capacity_price();
  for (std::size_t k = 0; k < jobs_.size(); ++k) {
    if (stops(k)) return -kInfinity;
    const Choice choice = choose(jobs_[k]);
    bound += count_[k] * choice.cost;
    const double end = std::min(choice.completion, kGaveUp * end_);
    average_[jobs_[k]] += (end - average_[jobs_[k]]) / std::min(evaluations_, kMemory);
    add_forced(jobs_[k], choice.completion, count_[k]);
  }
  gradient_.resize(cells);
  double level = 0.0, ramp = 0.0;
  for (std::size_t k = 0; k < cells; ++k) {
    level += level_[k];
    ramp += ramp_[k];
    const double x = border_[k + 1] - border_[k], middle = 0.5 * (border_[k] + border_[k + 1]);
    const double excess = part_[k] + x * (level + (ramp - problem_->slots) * middle - rounding_);
    gradient_[k] = x > 0.0 ? excess / x : 0.0;
  }
  return bound;
}

// One subgradient step towards `value`.
void LagrangianDensity::step(double value) {
  const double bound = evaluate();
  if (bound == -kInfinity) return;
  if (bound > best_) {
    best_ = bound;
    best_density_ = density_;
    stuck_ = 0;
  } else if (++stuck_ == kPatience) {
    share_ /= 2.0;
    stuck_ = 0;
    density_ = best_density_;
    std::fill(direction_.begin(), direction_.end(), 0.0);
    return;
  }
  // A step that hardly undoes the last one (Camerini, Fratta, Maffioli 1975); lengths are norms of
  // functions.
  const std::size_t cells = density_.size();
  double along = 0.0, last = 0.0, length = 0.0;
  const auto width = [&](std::size_t k) { return border_[k + 1] - border_[k]; };
  for (std::size_t k = 0; k < cells; ++k) {
    along += width(k) * gradient_[k] * direction_[k];
    last += width(k) * direction_[k] * direction_[k];
  }
  const double keep = along < 0.0 ? -0.9 * along / last : 0.0;
  for (std::size_t k = 0; k < cells; ++k) {
    direction_[k] = gradient_[k] + keep * direction_[k];
    if (density_[k] <= 0.0 && direction_[k] < 0.0) direction_[k] = 0.0;
    length += width(k) * direction_[k] * direction_[k];
  }
  if (length == 0.0) return;
  // A sample's bound may lie above the value.
  const double size = share_ * std::max(value - bound, 0.01 * std::fabs(bound)) / length;
  for (std::size_t k = 0; k < cells; ++k) {
    density_[k] = std::max(0.0, density_[k] + size * direction_[k]);
  }
}

// The bound with all jobs at the best prices, each cell cut into `parts` with prices between those
// of its neighbours; writes the chosen completions.
double LagrangianDensity::bound(std::size_t parts, std::span<double> due) {
  const std::vector<double> border = border_, density = density_;
  density_ = best_density_;
  if (parts > 1) {
    const std::size_t cells = density_.size();
    const auto middle = [&](std::size_t k) { return 0.5 * (border[k] + border[k + 1]); };
    std::vector<double> finer;
    border_.assign(1, 0.0);
    for (std::size_t k = 0; k < cells; ++k) {
      const double x = (border[k + 1] - border[k]) / static_cast<double>(parts);
      for (std::size_t i = 0; i < parts; ++i) {
        const double t = border[k] + (static_cast<double>(i) + 0.5) * x;
        const std::size_t other = t < middle(k) ? (k > 0 ? k - 1 : 0) : std::min(k + 1, cells - 1);
        const double gap = middle(other) - middle(k);
        const double share = gap != 0.0 ? (t - middle(k)) / gap : 0.0;
        finer.push_back(density_[k] + share * (density_[other] - density_[k]));
        border_.push_back(i + 1 < parts ? border[k] + static_cast<double>(i + 1) * x
                                        : border[k + 1]);
      }
    }
    density_ = std::move(finer);
  }
  sum_prices();
  double sum = constant_ - capacity_price(), size = std::fabs(constant_) + capacity_price();
  bool whole = true;
  for (std::size_t j = 0; whole && j < problem_->size(); ++j) {
    due[j] = 0.0;
    if (problem_->work[j] == 0.0) continue;
    whole = !stops(j);
    const Choice choice = choose(j);
    due[j] = choice.completion;
    sum += choice.cost;
    size += std::fabs(choice.cost);
  }
  border_ = border;
  density_ = density;
  return whole ? sum - kRounding * size : -kInfinity;
}

}  // namespace malleable
