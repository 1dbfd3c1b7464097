#include "malleable/kernel/task_estimates.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>

#include "malleable/kernel/log_times.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Before anything has finished: a user is taken to be right within a factor of e^0.5 either way,
// phases to differ by e, tasks of a phase by a fifth. Each counts as kPhases phases. What is
// supposed of a user counts as so many statements.
constexpr double kSaidVariance = 0.25, kBetween = 1.0, kWithin = 0.04;
constexpr double kStatements = 1.0;
// A mean is larger the less sure its logarithm is; a variance beyond this says nothing at all.
constexpr double kDoubt = 1.0;
// The default is right within e^4: one phase that is seen says more.
constexpr double kDefaultVariance = 16.0;
// What is known of times before they change, or after, if it is as good as certain which.
constexpr double kCertain = 0.999;
// Times after a change are those before it times e to the root of that.
constexpr double kChangeVariance = 4.0;
// A line that has seen little is close to "as said".
constexpr double kSlopeVariance = 1.0;
// A phase's tasks are looked at after so many, and then after so much more.
constexpr std::size_t kFirstLook = 4;
constexpr double kNextLook = 1.5;
constexpr auto kNeverLook = std::numeric_limits<std::uint32_t>::max();
// The square of how far errors go together with x.
constexpr double kTogether = 0.25;

// The normal density over the part above z.
double hazard(double z) {
  if (z > 8.0) return z + 1.0 / z;  // within 1e-3
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
  return density / normal_above(z);
}

}  // namespace

TaskEstimates::TaskEstimates(double seconds, SpeedupPrior prior)
    : default_(log_of_task(seconds)), belief_(prior) {
  for (auto* errors : {errors_, open_errors_}) {
    for (const Phase p : {kMap, kReduce}) errors[p].of.resize(1);  // later events allocate nothing
  }
  fit_speedup();
}

void TaskEstimates::Plane::add(double said, double beside, double seconds) {
  n += 1.0;
  u += said;
  x += beside;
  y += seconds;
  uu += said * said;
  ux += said * beside;
  xx += beside * beside;
  uy += said * seconds;
  xy += beside * seconds;
  yy += seconds * seconds;
}

// A ridge towards "as said, and p as supposed", worth kPhases phases; what is left of the variance
// is drawn towards the user's.
TaskEstimates::Plane::Fit TaskEstimates::Plane::fit() const {
  const double m = n + kPhases;
  Fit f{
      n > 0.0 ? u / n : 0.0, n > 0.0 ? x / n : 0.0, n > 0.0 ? y / n : 0.0, 1.0, 0.0, 0.0, 0.0, 0.0};
  const double ridge = kPhases * kSlopeVariance, slope = 1.0 - kSpeedup;
  const double suu = std::max(0.0, uu - n * f.u * f.u), sxx = std::max(0.0, xx - n * f.x * f.x);
  const double sux = ux - n * f.u * f.x, suy = uy - n * f.u * f.y, sxy = xy - n * f.x * f.y;
  const double a = suu + ridge, c = sxx + ridge, det = std::max(kTiny, a * c - sux * sux);
  const double p = suy + ridge, q = sxy + ridge * slope;
  f.said = (p * c - q * sux) / det;
  f.beside = (q * a - p * sux) / det;
  const double syy = std::max(0.0, yy - n * f.y * f.y);
  const double left = syy - 2.0 * f.said * suy - 2.0 * f.beside * sxy + f.said * f.said * suu +
                      2.0 * f.said * f.beside * sux + f.beside * f.beside * sxx;
  f.left = (std::max(0.0, left) + kPhases * kSaidVariance) / m;
  f.said_variance = f.left * c / det;
  f.beside_variance = f.left * a / det;
  return f;
}

double TaskEstimates::Runs::add(double value, double most) {
  if (n >= most) {
    square *= (most - 1.0) / n;
    n = most - 1.0;
  }
  n += 1.0;
  const double off = value - mean;
  mean += off / n;
  const double more = off * (value - mean);
  square += more;
  return more;
}

void TaskEstimates::Runs::add(const Runs& more) {
  if (more.n == 0.0) return;
  const double both = n + more.n, apart = more.mean - mean;
  square += more.square + apart * apart * n * more.n / both;
  mean += apart * more.n / both;
  n = both;
}

void TaskEstimates::Runs::remove(const Runs& part) {
  if (part.n == 0.0) return;
  const double rest = n - part.n;
  if (!(rest > 0.5)) {
    *this = {};
    return;
  }
  const double left = mean + (mean - part.mean) * part.n / rest, apart = part.mean - left;
  square = std::max(0.0, square - part.square - apart * apart * rest * part.n / n);
  mean = left;
  n = rest;
}

// A phase of which nothing is known: as all others are, and as the default has it until they tell.
LogMean TaskEstimates::everybody(Phase p) const {
  Runs all = group_[p].all;
  all.add(open_[p].all);
  const double scatter = (all.square + kPhases * kBetween) / (all.n + kPhases);
  const double told = scatter / kDefaultVariance;  // phases that the default counts for
  const double mean = (all.n * all.mean + told * (default_ - 0.5 * kDoubt)) / (all.n + told);
  return {mean, std::max(kLeastVariance, scatter * (1.0 + 1.0 / (all.n + told)))};
}

void TaskEstimates::Errors::add(std::size_t user, double value) {
  if (of.size() <= user) of.resize(user + 1);
  of[user].add(value);
  all.add(value);
}

void TaskEstimates::Errors::clear() {
  for (Runs& own : of) own = {};
  all = {};
}

// What a user says, with the error that it probably has. Users err by a factor that is the same
// each time, drawn towards 1, and by one that is not. A user is taken to be like the others until
// the own statements tell.
LogMean TaskEstimates::from_user(Phase p, double said, std::size_t user) const {
  Runs others = errors_[p].all, own;
  others.add(open_errors_[p].all);
  for (const Errors* errors : {&errors_[p], &open_errors_[p]}) {
    if (user < errors->of.size()) own.add(errors->of[user]);
  }
  others.remove(own);
  const auto unsure = [](double n) { return 1.0 + 1.0 / (n + kStatements); };
  // So much that what is said is the mean at first.
  LogMean error{-0.5 * kSaidVariance * unsure(0.0), kSaidVariance};
  for (const Runs& seen : {others, own}) {
    const double both = seen.n + kStatements, apart = seen.mean - error.mean;
    error.variance =
        (seen.square + seen.n * kStatements / both * apart * apart + kStatements * error.variance) /
        both;
    error.mean += seen.n / both * apart;
  }
  return {log_of_task(said) + error.mean,
          std::max(kLeastVariance, error.variance * unsure(others.n + own.n))};
}

void TaskEstimates::show(Phase p, std::span<const Shown> phases) {
  Open& open = open_[p];
  std::fill(open.of.begin(), open.of.end(), TaskSums{});
  open.all = {};
  open.within = {};
  open_errors_[p].clear();
  for (const auto& [now, told, run] : phases) {
    const double mean = now.mean + above(p);
    if (told.said > 0.0) open_errors_[p].add(told.user, mean - log_of_task(told.said));
    open.all.add(mean);
    Run one, none;
    one.log = one.level = mean;
    one.tasks = 1.0;
    if (run != nullptr) one = std::exchange(*run, {});
    put_run(p, told.group, run != nullptr ? *run : none, one);
  }
  look_at_scatter();
}

LogMean TaskEstimates::prior(Phase p, const Stated& told) const {
  LogMean found = from_runs(p, told.group);
  if (told.said > 0.0) {
    const LogMean said = from_user(p, told.said, told.user);
    // The default is nothing beside what somebody said.
    found = group_[p].all.n + open_[p].all.n > 0.0 ? LogMean::combine(found, said) : said;
  }
  found.mean -= above(p);
  return found;
}

LogMean TaskEstimates::posterior(Phase p, double speedup, const LogMean& prior,
                                 const TaskSamples& seen, const RunningTasks& running) const {
  const ChangePoint found = change(p, speedup, seen, running);
  if (found.chance < 1.0 - kCertain) return from_own(p, speedup, prior, seen, running);
  const LogMean before = from_own(p, speedup, prior, seen, {});
  const LogMean late = from_own(p, speedup, {before.mean, kChangeVariance}, found.late, running);
  if (found.chance > kCertain) return late;
  return LogMean::either(found.chance, late, from_own(p, speedup, prior, seen, running));
}

// The mode of the posterior density, whose logarithm is concave in the mean; the variance is what
// its curvature says.
LogMean TaskEstimates::from_own(Phase p, double speedup, const LogMean& prior, const TaskSums& seen,
                                const RunningTasks& tasks) const {
  const auto [running, age] = tasks;
  const double s = scatter(p), square = s * s;
  const double weight = 1.0 / prior.variance + seen.count / square;
  const double alone = seen.y - (1.0 - speedup) * seen.x;
  const double mean = (prior.mean / prior.variance + alone / square) / weight;
  if (!(running > 0.0 && age > kLeastTaskSeconds)) return {mean, 1.0 / weight};
  const double old = std::log(age);
  // Too young to say anything.
  if (old - mean < -5.0 * s) return {mean, 1.0 / weight};
  double m = mean, curve = weight, z = (old - m) / s, h = hazard(z);
  // The slope falls; it is at least 0 at `low` and at most 0 at `high`.
  double low = mean, high = mean + running * h / s / weight;
  for (int step = 0; step < 30; ++step) {
    const double slope = weight * (mean - m) + running * h / s;
    curve = weight + running * h * (h - z) / square;
    (slope > 0.0 ? low : high) = m;
    double next = m + slope / curve;
    const bool close = std::fabs(next - m) < 1e-9;  // before rounding puts it on the bracket's end
    if (!close && !(next > low && next < high)) next = 0.5 * (low + high);
    m = next;
    if (close) break;
    z = (old - m) / s;
    h = hazard(z);
  }
  return {m, 1.0 / curve};
}

double TaskEstimates::seconds(Phase p, const LogMean& of) const {
  const double s = scatter(p);
  return std::exp(std::min(of.mean + 0.5 * (s * s + std::min(of.variance, kDoubt)), 50.0));
}

void TaskEstimates::Within::add(const Within& more, double sign) {
  xx += sign * more.xx;
  xy += sign * more.xy;
  yy += sign * more.yy;
  freedom += sign * more.freedom;
}

// What tasks say of the scatter within phases: around their level, or around both if times changed.
TaskEstimates::Within TaskEstimates::around_levels(double of_group, const TaskSamples& seen,
                                                   const ChangePoint& change) const {
  // Sums are those of tasks whose p is that of all: the rest of the own one is taken out here.
  const double rest = of_group - speedup_;
  Within found;
  const auto see = [&](const TaskSums& of) {
    if (!(of.count > 1.0)) return;
    const double xy = of.xy - of.x * of.y / of.count;
    const double xx = std::max(0.0, of.xx - of.x * of.x / of.count);
    const double yy = std::max(0.0, of.yy - of.y * of.y / of.count);
    found.add(
        {xx, xy + rest * xx, std::max(0.0, yy + rest * (2.0 * xy + rest * xx)), of.count - 1.0});
  };
  if (seen.together) return found;
  if (!change.likely()) {
    see(seen);
    return found;
  }
  TaskSums before = seen;
  before.remove(change.late);
  // Some of them may belong to the other level.
  before.y = before.c;
  before.xy = before.xc;
  before.yy = before.cc;
  see(before);
  see(change.late);
  return found;
}

bool TaskEstimates::learn(Phase p, const Stated& told, TaskSamples& seen, double tasks) {
  now_ = std::max(now_, seen.until);
  const double beside = seen.x / seen.count, mean = log_of_task(seen.seconds / seen.count);
  if (told.said > 0.0) plane_[p].add(log_of_task(told.said), beside, mean);
  close(seen, told.group);
  belief_.ended(told.group);
  fit_speedup();
  const double of_group = speedup(told.group);
  const ChangePoint found = change(p, of_group, seen, {});
  within_[p].add(around_levels(of_group, seen, found));
  look_at_scatter();
  // As if they had run alone.
  const double log = mean - (1.0 - of_group) * beside;
  if (told.said > 0.0) errors_[p].add(told.user, log - log_of_task(told.said));
  group_[p].all.add(log);
  counts_[p][work_class(tasks * seen.seconds / seen.count)] += 1.0;
  if (told.group < 0) return false;
  const bool before = group_change(p, told.group).likely();
  // Tasks before a change and tasks since then are like two runs, one after the other. If the phase
  // began like the runs before, its program has changed; if not, its phases may all go like that.
  const auto add = [&](const TaskSums& part, double ended) {
    const double slower = (1.0 - of_group) * part.x / part.count;
    Run run{.log = log_of_task(part.seconds / part.count) - slower,
            .level = part.level(1.0 - of_group),
            .tasks = part.count,
            .began = part.mean_begin(),
            .ended = ended,
            .within = {}};
    add_run(p, told.group, run);
    return run.sums();
  };
  if (found.chance > kSure) {
    TaskSums first = seen;
    first.remove(found.late);
    const Runs own = group(p, told.group).runs;
    const double level = first.level(1.0 - of_group);
    const double apart = found.late.level(1.0 - of_group) - level;
    const bool as_before = own.n == 0.0 || std::fabs(own.mean - level) < 0.5 * std::fabs(apart);
    add(first, found.late.mean_begin());
    const TaskSums late = add(found.late, seen.until);
    if (as_before) {
      Group& runs = group(p, told.group);
      runs.keep(late);
      runs.latest.clear();
      runs.latest.add(late, seen.until);
    }
  } else {
    add(seen, seen.until);
  }
  return !before && group_change(p, told.group).likely();
}

double TaskEstimates::changing() const {
  const ModelCurves& phases = belief_.weights();
  double found = 0.0;
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    double all = 0.0;
    for (const SpeedupCurve& of : phases) all += of[g];
    if (all > 0.0) found += speedups()[g] * (1.0 - phases[0][g] / all);
  }
  return found;
}

bool TaskEstimates::look_at_speedup(TaskSamples& seen, std::int64_t group) {
  if (seen.ended.size() < std::max<std::size_t>(seen.look, kFirstLook)) return false;
  if (seen.look == 0 && !belief_.looks(group)) {
    seen.look = kNeverLook;
    return false;
  }
  const ModelCurves curves = speedup_likelihood(seen.ended);
  if (seen.ended.size() < kSpeedupTasks) {
    belief_.say(curves, seen.said, group);
    seen.look = static_cast<std::uint32_t>(kNextLook * static_cast<double>(seen.ended.size()));
  } else {
    belief_.close(curves, static_cast<double>(seen.ended.size()), seen.said, group);
    seen.ended.clear();
    seen.look = 0;
  }
  fit_speedup();
  return true;
}

void TaskEstimates::close(TaskSamples& seen, std::int64_t group) {
  const bool looked = seen.look == 0 ? belief_.looks(group) : seen.look != kNeverLook;
  if (looked && seen.ended.size() > 1) {
    const auto tasks = static_cast<double>(seen.ended.size());
    belief_.close(speedup_likelihood(seen.ended), tasks, seen.said, group);
  }
  seen.ended.clear();
}

// Phases of longer tasks may be those of many. What is not explained may go together with how many
// ran, and is taken to by half.
SpeedupCurve TaskEstimates::between_phases() const {
  SpeedupCurve found{};
  for (const Plane& plane : plane_) {
    if (plane.n == 0.0) continue;
    const Plane::Fit f = plane.fit();
    // Without the ridge.
    const double ridge = kPhases * kSlopeVariance, all = f.left / f.beside_variance;
    const double own = all - ridge;
    if (!(own > kTiny * all)) continue;
    const double slope = (f.beside * all - ridge * (1.0 - kSpeedup)) / own;
    const double variance = f.left / own * (1.0 + kTogether * plane.n);
    for (std::size_t g = 0; g < kSpeedups; ++g) {
      const double off = 1.0 - speedup_at(g) - slope;
      found[g] -= 0.5 * off * off / variance;
    }
  }
  return found;
}

void TaskEstimates::fit_speedup() {
  belief_.believe(between_phases());
  look_at_speedups();
}

void TaskEstimates::look_at_speedups() {
  speedup_ = mean_speedup(speedups());
  alike_speedup_ = mean_speedup(belief_.chances_if_alike());
  alike_variance_ = speedup_variance(belief_.chances_if_alike());
  look_at_scatter();
}

double TaskEstimates::scatter_now(Phase p) const {
  Within w = within_[p];
  w.add(open_[p].within);
  const double slope = 1.0 - speedup();
  const double left = std::max(0.0, w.yy - 2.0 * slope * w.xy + slope * slope * w.xx);
  return std::sqrt(std::max(kLeastVariance, (left + kPhases * kWithin) / (w.freedom + kPhases)));
}

void TaskEstimates::look_at_scatter() {
  for (const Phase p : {kMap, kReduce}) scatter_[p] = scatter_now(p);
}

}  // namespace malleable
