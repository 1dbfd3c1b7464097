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
// phases to differ by e, tasks of a phase by a fifth. Each counts as so many phases. What is
// supposed of a user counts as so many statements.
constexpr double kSaidVariance = 0.25, kBetween = 1.0, kWithin = 0.04;
constexpr double kPhases = 4.0, kStatements = 1.0;
// A mean is larger the less sure its logarithm is; a variance beyond this says nothing at all.
constexpr double kDoubt = 1.0;
// The default is right within e^4: one phase that is seen says more.
constexpr double kDefaultVariance = 16.0;
// A program that has changed: runs before that are forgotten if it is as likely as that, and there
// are so many runs since.
constexpr double kSure = 0.99, kRecent = 8.0;
// A run counts as at most so many standard deviations away from its program's level (few tasks may
// have a straggler), and each task more adds to that, until there are so many.
constexpr double kFarOff = 2.5, kFarther = 0.1, kFarthest = 6.0;
// A group is clearly off if its mean is so many of its standard deviations away.
constexpr double kClearly = 2.0;
// What is known of times before they change, or after, if it is as good as certain which.
constexpr double kCertain = 0.999;
// Times after a change are those before it times e to the root of that.
constexpr double kChangeVariance = 4.0;
// Runs of a program, before there are any.
constexpr double kGroupVariance = 0.1;
// A line that has seen little is close to "as said".
constexpr double kSlopeVariance = 1.0;
// Trust in a user before anything has finished, which counts as so many phases.
constexpr double kTrust = 0.75, kTrustPhases = 20.0;
// p as far as the slope over how many ran goes, before anything is known; its variance in histories
// of versions that knew no other.
constexpr double kSpeedup = 0.9, kSpeedupVariance = 0.09;
// A phase's tasks are looked at after so many, and then after so much more.
constexpr std::size_t kFirstLook = 4;
constexpr double kNextLook = 1.5;
constexpr auto kNeverLook = std::numeric_limits<std::uint32_t>::max();
// The square of how far errors go together with x.
constexpr double kTogether = 0.25;
constexpr double kLeastVariance = 1e-4;
// What takes less counts as so much.
constexpr double kLeastSeconds = 1e-3;
// A sum over more phases than there can be.
constexpr double kMostOfHistory = 1e18;

double log_of(double seconds) { return std::log(std::max(seconds, kLeastSeconds)); }

// The normal density over the part above z.
double hazard(double z) {
  if (z > 8.0) return z + 1.0 / z;  // within 1e-3
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
  return density / normal_above(z);
}

LogMean combine(const LogMean& a, const LogMean& b) {
  const double total = 1.0 / a.variance + 1.0 / b.variance;
  return {(a.mean / a.variance + b.mean / b.variance) / total, 1.0 / total};
}

// The first one with this chance, else the second one.
LogMean either(double chance, const LogMean& a, const LogMean& b) {
  const double rest = 1.0 - chance, apart = a.mean - b.mean;
  return {chance * a.mean + rest * b.mean,
          chance * a.variance + rest * b.variance + chance * rest * apart * apart};
}

}  // namespace

namespace {

// s^-.25, s^-.5, s^-.75.
std::array<double, 3> powers(double log) {
  const double root = std::exp(-0.25 * log);
  return {root, root * root, root * root * root};
}

}  // namespace

void RunningOverTime::add(double now, double log) {
  if (empty()) {
    make_room();
    of_[0] = now;
    std::fill_n(level(0), kIntegrals, 0.0);
    level(0)[kLog] = log;
    ++count_;
    return;
  }
  if (of_[count_ - 1] >= now) {
    level(count_ - 1)[kLog] = log;
    return;
  }
  if (level(count_ - 1)[kLog] == log) return;
  const std::array<double, kIntegrals> sums = integrals(now);
  make_room();
  of_[count_] = now;
  std::copy(sums.begin(), sums.end(), level(count_));
  level(count_)[kLog] = log;
  ++count_;
}

// For one step more.
void RunningOverTime::make_room() {
  if (of_.empty()) of_.resize((1 + kLevel) * kMost);  // at once: later events allocate nothing
  if (count_ < kMost) return;
  constexpr std::size_t kHalf = kMost / 2;
  std::copy_n(of_.begin() + kHalf, kHalf, of_.begin());
  std::copy_n(level(kHalf), kLevel * kHalf, level(0));
  count_ = kHalf;
}

// The last one up to then, or the first.
std::size_t RunningOverTime::step_at(double time) const {
  // Mostly among the last steps: from the end on, by doubling.
  std::size_t after = count_, step = 1;
  while (step < after && time < of_[after - step]) {
    after -= step;
    step *= 2;
  }
  const double* const times = of_.data();
  const double* const found =
      std::upper_bound(times + (after - std::min(step, after)), times + after, time);
  return found == times ? 0 : static_cast<std::size_t>(found - times) - 1;
}

std::array<double, RunningOverTime::kIntegrals> RunningOverTime::integrals(double time) const {
  const std::size_t k = step_at(time);
  const double* const known = level(k);
  const double since = time - of_[k], log = known[kLog];
  const std::array<double, 3> rates = powers(log);
  return {known[0] + log * since, known[1] + rates[0] * since, known[2] + rates[1] * since,
          known[3] + rates[2] * since};
}

double RunningOverTime::mean(double since, double now) const {
  if (empty()) return 0.0;
  // What lies before the first step is taken to be like it.
  if (!(now > since)) return level(count_ - 1)[kLog];
  const auto integral = [&](double time) {
    const std::size_t k = step_at(time);
    return level(k)[0] + level(k)[kLog] * (time - of_[k]);
  };
  return (integral(now) - integral(since)) / (now - since);
}

double RunningOverTime::before(double now) const {
  if (empty()) return 0.0;
  const std::size_t k = step_at(now);
  return level(k > 0 && of_[k] >= now ? k - 1 : k)[kLog];
}

EndedTask RunningOverTime::ended(double since, double now) const {
  EndedTask task{since, before(now), {}};
  const double log = log_of(now - since);
  task.alone.fill(log);
  if (empty()) return task;
  if (!(now - since > kLeastSeconds)) {
    for (std::size_t k = 1; k < kIntegrals; ++k) {
      task.alone[k] = log - 0.25 * static_cast<double>(k) * task.beside;
    }
    return task;
  }
  const auto until = integrals(now), from = integrals(since);
  for (std::size_t k = 1; k < kIntegrals; ++k) {
    task.alone[k] = std::log(std::max(until[k] - from[k], kTiny));
  }
  return task;
}

// As a list of steps.
void RunningOverTime::state(State& s) {
  struct Step {
    double time = 0.0;
    std::array<double, kLevel> level{};
    void state(State& step) { step(time, level); }
  };
  std::vector<Step> steps(count_);
  for (std::size_t k = 0; k < count_; ++k) {
    steps[k].time = of_[k];
    std::copy_n(level(k), kLevel, steps[k].level.begin());
  }
  s(steps);
  if (!s.reading()) return;
  forget();
  for (const Step& step : steps) {
    make_room();
    of_[count_] = step.time;
    std::copy(step.level.begin(), step.level.end(), level(count_++));
  }
}

void SeenTasks::running(double now, double tasks) {
  if (ran_.empty()) {  // at once: later events allocate nothing
    ended.reserve(kSpeedupTasks);
    said.reserve(kSpeedups);
    latest.reserve();
  }
  ran_.add(now, tasks > 1.0 ? std::log(tasks) : 0.0);
}

void SeenTasks::finished(double tasks, double each, double now, double arrived, bool shows_speedup,
                         double slope, double scatter) {
  if (together) replace(0.0, 0.0, now);  // what is told of tasks goes before what is guessed
  together = false;
  const double others = beside(now - each, now), log = log_of(each);
  const TaskSums more = TaskSums::of(tasks, std::max(now - each, arrived), each, others, log,
                                     draw_near(*this, others, log, slope, scatter));
  until = now;
  add(more);
  latest.add(more);
  if (!shows_speedup) return;
  const double room = static_cast<double>(kSpeedupTasks - std::min(kSpeedupTasks, ended.size()));
  ended.resize(ended.size() + static_cast<std::size_t>(std::min(tasks, room)),
               ran_.ended(now - each, now));
}

void SeenTasks::replace(double tasks, double mean, double now) {
  const double first = ran_.empty() ? now : ran_.first();
  const double others = beside(first, now), log = log_of(mean);
  static_cast<TaskSums&>(*this) = TaskSums::of(tasks, first, mean, others, log, log);
  until = now;
  latest.clear();
  together = true;
  ended.resize(0);
}

TaskEstimates::TaskEstimates(double seconds, SpeedupPrior prior)
    : default_(log_of(seconds)), belief_(prior) {
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

// Of seconds over what was said, for tasks that would run alone.
TaskEstimates::Runs TaskEstimates::Plane::errors(double slope) const {
  if (n == 0.0) return {};
  const double mean = (y - u - slope * x) / n;
  const double square =
      yy + uu + slope * slope * xx - 2.0 * (uy + slope * xy - slope * ux) - n * mean * mean;
  return {n, mean, std::max(0.0, square)};
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

// Runs of a program around their mean.
double TaskEstimates::within(const Groups& groups) {
  return std::max(kLeastVariance,
                  (groups.within + kPhases * kGroupVariance) / (groups.freedom + kPhases));
}

TaskSums TaskEstimates::Group::sums() const {
  TaskSums found;
  found.count = runs.n;
  found.y = runs.n * runs.mean;
  found.yy = runs.square + runs.n * runs.mean * runs.mean;
  found.c = c;
  found.cc = cc;
  return found;
}

TaskEstimates::Group& TaskEstimates::group(Phase p, std::int64_t group) {
  const auto row = static_cast<std::size_t>(group);
  if (group_[p].of.size() <= row) group_[p].of.resize(row + 1);
  return group_[p].of[row];
}

TaskSums TaskEstimates::open_runs(Phase p, std::int64_t group) const {
  const auto row = static_cast<std::size_t>(group);
  return group >= 0 && row < open_[p].of.size() ? open_[p].of[row] : TaskSums{};
}

// Whether a program's runs have come to take other times, with those that go on.
LevelChange TaskEstimates::group_change(Phase p, std::int64_t group) const {
  const auto row = static_cast<std::size_t>(group);
  if (group < 0 || row >= group_[p].of.size()) return {};
  const Group& own = group_[p].of[row];
  const TaskSums open = open_runs(p, group);
  TaskSums all = own.sums();
  all.add(open);
  RunningTasks running;
  if (row < open_[p].begun.size() && open_[p].begun[row].count > 0.0) {
    const Open::Begun& begun = open_[p].begun[row];
    running = {begun.count, std::max(0.0, now_ - begun.began / begun.count)};
  }
  return find_change(all, own.latest, 0.0, std::sqrt(within(group_[p])), running, open);
}

namespace {

TaskSums one_run(const TaskEstimates::Run& run) {
  return TaskSums::of(1.0, run.began, 0.0, 0.0, run.log, run.near);
}

}  // namespace

// What a run counts as in looks for changes.
double TaskEstimates::near_group(Phase p, std::int64_t group, const Run& run) const {
  const auto row = static_cast<std::size_t>(group);
  TaskSums before;
  if (row < group_[p].of.size()) before = group_[p].of[row].sums();
  const double far = std::min(kFarOff + kFarther * (run.tasks - 1.0), kFarthest);
  return draw_near(before, 0.0, run.level, 0.0, std::sqrt(within(group_[p])), far);
}

// A group's own runs, drawn towards all by how much more groups differ than their runs.
LogMean TaskEstimates::from_runs(Phase p, std::int64_t group) const {
  const LogMean all = everybody(p);
  const auto row = static_cast<std::size_t>(group);
  TaskSums own = open_runs(p, group);
  if (group >= 0 && row < group_[p].of.size()) own.add(group_[p].of[row].sums());
  if (!(own.count > 0.5)) return all;
  const double within = TaskEstimates::within(group_[p]);
  const auto level = [&](const TaskSums& runs) {
    const LogMean known{runs.level(0.0), within / runs.count};
    // What is between groups: the own mean knows it up to within / n. A group that is clearly
    // farther from the others than groups are speaks for itself (Efron and Morris 1972).
    const double apart = known.mean - all.mean;
    const double between = std::max({kLeastVariance, all.variance - within,
                                     apart * apart - kClearly * kClearly * known.variance});
    const LogMean found = combine({all.mean, between}, known);
    return LogMean{found.mean, found.variance + within};
  };
  const LevelChange change = group_change(p, group);
  if (change.late.count == 0.0) return level(own);
  return either(change.chance, level(change.late), level(own));
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
  return {log_of(said) + error.mean,
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
    if (told.said > 0.0) open_errors_[p].add(told.user, mean - log_of(told.said));
    open.all.add(mean);
    Run one, none;
    one.log = one.level = mean;
    one.tasks = 1.0;
    if (run != nullptr) one = std::exchange(*run, {});
    put_run(p, told.group, run != nullptr ? *run : none, one);
  }
  look_at_scatter();
}

bool TaskEstimates::show_run(Phase p, std::int64_t group, Run& shown, const Run& now) {
  now_ = std::max(now_, now.ended);
  if (shown.tasks == 0.0 && now.tasks == 0.0) return false;
  const bool changed = group_change(p, group).likely();
  put_run(p, group, shown, now);
  look_at_scatter();
  return !changed && group_change(p, group).likely();
}

void TaskEstimates::count_begun(Phase p, std::int64_t group, double began, double sign) {
  now_ = std::max(now_, began);
  if (group < 0) return;
  const auto row = static_cast<std::size_t>(group);
  if (open_[p].begun.size() <= row) open_[p].begun.resize(row + 1);
  open_[p].begun[row].count += sign;
  open_[p].begun[row].began += sign * began;
}

void TaskEstimates::put_run(Phase p, std::int64_t group, Run& shown, const Run& now) {
  open_[p].within.add(shown.within, -1.0);
  if (!(open_[p].within.freedom > 0.5)) open_[p].within = {};
  open_[p].within.add(now.within);
  const Run before = std::exchange(shown, now);
  if (group < 0) return;
  const auto row = static_cast<std::size_t>(group);
  if (open_[p].of.size() <= row) open_[p].of.resize(row + 1);
  TaskSums& open = open_[p].of[row];
  if (before.tasks > 0.0) open.remove(one_run(before));
  if (open.count < 0.5) open = {};
  if (now.tasks > 0.0) {
    shown.near = near_group(p, group, now);
    open.add(one_run(shown));
  }
}

TaskEstimates::Run TaskEstimates::run_of(Phase p, double speedup, const LogMean& now,
                                         const SeenTasks& seen, const RunningTasks& running) const {
  if (seen.count == 0.0) return {};
  const LevelChange found = change(p, speedup, seen, running);
  const TaskSums& tasks = found.likely() ? found.late : seen;
  return {.log = now.mean + above(p),
          .level = tasks.level(1.0 - speedup),
          .tasks = tasks.count,
          .began = tasks.mean_begin(),
          .ended = seen.until,
          .within = around_levels(speedup, seen, found)};
}

LogMean TaskEstimates::prior(Phase p, const Told& told) const {
  LogMean found = from_runs(p, told.group);
  if (told.said > 0.0) {
    const LogMean said = from_user(p, told.said, told.user);
    // The default is nothing beside what somebody said.
    found = group_[p].all.n + open_[p].all.n > 0.0 ? combine(found, said) : said;
  }
  found.mean -= above(p);
  return found;
}

LogMean TaskEstimates::posterior(Phase p, double speedup, const LogMean& prior,
                                 const SeenTasks& seen, const RunningTasks& running) const {
  const LevelChange found = change(p, speedup, seen, running);
  if (found.chance < 1.0 - kCertain) return from_own(p, speedup, prior, seen, running);
  const LogMean before = from_own(p, speedup, prior, seen, {});
  const LogMean late = from_own(p, speedup, {before.mean, kChangeVariance}, found.late, running);
  if (found.chance > kCertain) return late;
  return either(found.chance, late, from_own(p, speedup, prior, seen, running));
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
  if (!(running > 0.0 && age > kLeastSeconds)) return {mean, 1.0 / weight};
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
TaskEstimates::Within TaskEstimates::around_levels(double of_group, const SeenTasks& seen,
                                                   const LevelChange& change) const {
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

// A run of a program has ended.
void TaskEstimates::add_run(Phase p, std::int64_t group, Run& run) {
  Groups& groups = group_[p];
  Group& own = this->group(p, group);
  run.near = near_group(p, group, run);
  const double scatter = std::sqrt(within(groups));
  const auto scattered = [&](double sign) {
    TaskSums all = own.sums();
    if (!(all.count > 0.5)) return LevelChange{};
    const LevelChange found = find_change(all, own.latest, 0.0, scatter, {});
    if (found.likely()) {
      all.remove(found.late);
      groups.within += sign * (all.square(0.0) + found.late.square(0.0));
      groups.freedom += sign * (all.count + found.late.count - 2.0);
    } else {
      groups.within += sign * own.runs.square;
      groups.freedom += sign * (all.count - 1.0);
    }
    return found;
  };
  scattered(-1.0);
  own.runs.add(run.log);
  own.c += run.near;
  own.cc += run.near * run.near;
  own.latest.add(one_run(run), run.ended);
  const LevelChange found = scattered(1.0);
  groups.within = std::max(0.0, groups.within);
  groups.freedom = std::max(0.0, groups.freedom);
  if (!(found.chance > kSure && found.late.count >= kRecent)) return;
  own.keep(found.late);
  own.latest.keep(found.parts);
}

// Only these runs speak for those to come.
void TaskEstimates::Group::keep(const TaskSums& late) {
  runs = {late.count, late.level(0.0), late.square(0.0)};
  c = late.c;
  cc = late.cc;
}

bool TaskEstimates::learn(Phase p, const Told& told, const LogMean& predicted, SeenTasks& seen,
                          double tasks) {
  now_ = std::max(now_, seen.until);
  const double beside = seen.x / seen.count, mean = log_of(seen.seconds / seen.count);
  if (told.said > 0.0) plane_[p].add(log_of(told.said), beside, mean);
  close(seen, told.group);
  belief_.ended(told.group);
  fit_speedup();
  const double of_group = speedup(told.group);
  const LevelChange found = change(p, of_group, seen, {});
  within_[p].add(around_levels(of_group, seen, found));
  look_at_scatter();
  // As if they had run alone.
  const double log = mean - (1.0 - of_group) * beside;
  if (told.said > 0.0) errors_[p].add(told.user, log - log_of(told.said));
  group_[p].all.add(log);
  const double size = std::log(tasks);
  const double error = predicted.mean + above(p) - log;
  work_.real.add(size + log);
  work_.missed += error * error;
  counts_[p][work_class(tasks * seen.seconds / seen.count)] += 1.0;
  if (told.group < 0) return false;
  const bool before = group_change(p, told.group).likely();
  // Tasks before a change and tasks since then are like two runs, one after the other. If the phase
  // began like the runs before, its program has changed; if not, its phases may all go like that.
  const auto add = [&](const TaskSums& part, double ended) {
    const double slower = (1.0 - of_group) * part.x / part.count;
    Run run{.log = log_of(part.seconds / part.count) - slower,
            .level = part.level(1.0 - of_group),
            .tasks = part.count,
            .began = part.mean_begin(),
            .ended = ended,
            .within = {}};
    add_run(p, told.group, run);
    return one_run(run);
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

double TaskEstimates::trust() const {
  const double n = work_.real.n;
  const double explained =
      work_.real.square > 0.0 ? std::max(0.0, 1.0 - work_.missed / work_.real.square) : kTrust;
  return (n * explained + kTrustPhases * kTrust) / (n + kTrustPhases);
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

bool TaskEstimates::look_at_speedup(SeenTasks& seen, std::int64_t group) {
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

void TaskEstimates::close(SeenTasks& seen, std::int64_t group) {
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

namespace {

// Numbers that may be below 0 (`any`), or not, one after the other.
template <typename See, typename... Numbers>
void see_all(const See& see, bool any, Numbers&... numbers) {
  (see(numbers, any), ...);
}

// What histories of earlier versions lack: they did not count changes of programs, nor errors of
// users by themselves; they said p by a mean alone, and before that not how sure it was, nor
// counted work.
constexpr std::size_t kErrors = 6, kLikelihood = kErrors + 1 + kSpeedups * (1 + kLevelModels),
                      kCounts = 2 * kWorkClasses;

std::size_t missing_of(std::size_t given, std::size_t expected) {
  const std::size_t missing = expected - std::min(expected, given);
  for (const std::size_t known :
       {std::size_t{0}, kErrors, kLikelihood, kLikelihood + kCounts + 1}) {
    if (given <= expected && missing == known) return missing;
  }
  throw std::invalid_argument("history: " + std::to_string(given) + " numbers, expected " +
                              std::to_string(expected));
}

}  // namespace

template <typename Self, typename See>
void TaskEstimates::each(Self& self, const See& see) {
  for (auto& q : self.plane_) {
    see_all(see, false, q.n, q.uu, q.xx, q.yy);
    see_all(see, true, q.u, q.x, q.y, q.ux, q.uy, q.xy);
  }
  for (auto& groups : self.group_) {
    see_all(see, false, groups.all.n, groups.all.square, groups.within, groups.freedom);
    see(groups.all.mean, true);
  }
  for (auto& w : self.within_) {
    see_all(see, false, w.xx, w.yy, w.freedom);
    see(w.xy, true);
  }
  see_all(see, false, self.work_.real.n, self.work_.real.square, self.work_.missed);
  see(self.work_.real.mean, true);
  see_all(see, false, self.alike_speedup_, self.alike_variance_);
  for (auto& counts : self.counts_) {
    for (auto& count : counts) see(count, false);
  }
  see(self.belief_.told(), false);
  for (auto& log : self.belief_.said()) see(log, true);
  for (auto& curve : self.belief_.weights()) {
    for (auto& weight : curve) see(weight, false);
  }
  for (auto& errors : self.errors_) {
    see_all(see, false, errors.all.n, errors.all.square);
    see(errors.all.mean, true);
  }
}

TaskEstimates::History TaskEstimates::history() const {
  History found;
  each(*this, [&](double number, bool) { found.common.push_back(number); });
  for (const Phase p : {kMap, kReduce}) {
    for (const Group& own : group_[p].of) {
      own.runs.append_to(found.runs[p]);
      const LevelChange change =
          find_change(own.sums(), own.latest, 0.0, std::sqrt(within(group_[p])), {});
      const TaskSums& late = change.late;
      found.changes[p].insert(found.changes[p].end(),
                              {own.c, own.cc, late.count, late.y, late.yy, late.c, late.cc});
    }
    for (const Runs& own : errors_[p].of) own.append_to(found.errors[p]);
  }
  for (std::size_t row = 1; row < belief_.programs(); ++row) {
    const SpeedupBelief::Said own = belief_.of(static_cast<std::int64_t>(row) - 1);
    found.speedups.push_back(own.told);
    found.speedups.insert(found.speedups.end(), own.logs.begin(), own.logs.end());
  }
  return found;
}

double TaskEstimates::checked(double number, bool any) {
  if (std::isfinite(number) && std::fabs(number) <= kMostOfHistory && (any || number >= 0.0)) {
    return number;
  }
  throw std::invalid_argument("history: " + std::to_string(number) + " is no such number");
}

std::vector<TaskEstimates::Runs> TaskEstimates::read_runs(const std::vector<double>& numbers,
                                                          const char* whose) {
  if (numbers.size() % 3 != 0) {
    throw std::invalid_argument(std::string("history: three numbers a ") + whose);
  }
  std::vector<Runs> found;
  for (std::size_t row = 0; row < numbers.size(); row += 3) {
    found.push_back({checked(numbers[row], false), checked(numbers[row + 1], true),
                     checked(numbers[row + 2], false)});
  }
  return found;
}

std::vector<SpeedupBelief::Said> TaskEstimates::read_speedups(const std::vector<double>& numbers) {
  constexpr std::size_t kOfProgram = 1 + kSpeedups;
  if (numbers.size() % kOfProgram != 0) {
    throw std::invalid_argument("history: a program's speedup has " + std::to_string(kOfProgram) +
                                " numbers");
  }
  std::vector<SpeedupBelief::Said> found(numbers.size() / kOfProgram);
  for (std::size_t row = 0; row < found.size(); ++row) {
    const double* const own = numbers.data() + kOfProgram * row;
    found[row].told = checked(own[0], false);
    for (std::size_t g = 0; g < kSpeedups; ++g) found[row].logs[g] = checked(own[1 + g], true);
  }
  return found;
}

// In histories of versions that did not count them there are none.
void TaskEstimates::read_changes(const std::vector<double>& numbers, std::vector<Group>& groups) {
  if (numbers.size() % kOfChange != 0 || numbers.size() > kOfChange * groups.size()) {
    throw std::invalid_argument("history: changes of a program have " + std::to_string(kOfChange) +
                                " numbers");
  }
  for (std::size_t row = 0; row < numbers.size() / kOfChange; ++row) {
    const double* const own = numbers.data() + kOfChange * row;
    Group& group = groups[row];
    if (std::all_of(own, own + kOfChange, [](double number) { return number == 0.0; })) continue;
    TaskSums late;
    late.count = checked(own[2], false);
    late.y = checked(own[3], true);
    late.yy = checked(own[4], false);
    late.c = checked(own[5], true);
    late.cc = checked(own[6], false);
    group.c = checked(own[0], true);
    group.cc = checked(own[1], false);
    if (late.count > 0.0 && late.count < group.runs.n) group.latest.add_first(late);
  }
}

void TaskEstimates::recall(const History& history) {
  TaskEstimates read(*this);
  std::size_t k = 0;
  each(read, [&](double& number, bool any) {
    if (k < history.common.size()) number = checked(history.common[k], any);
    ++k;
  });
  const std::size_t missing = missing_of(history.common.size(), k);
  for (const Phase p : {kMap, kReduce}) {
    read.errors_[p].of = read_runs(history.errors[p], "user");
    if (read.errors_[p].of.empty()) read.errors_[p].of.resize(1);
    if (missing > 0) read.errors_[p].all = read.plane_[p].errors(1.0 - read.alike_speedup_);
  }
  if (missing > kErrors) {
    const double variance = missing == kLikelihood ? read.alike_variance_ : kSpeedupVariance;
    for (std::size_t g = 0; g < kSpeedups; ++g) {
      const double off = speedup_at(g) - read.alike_speedup_, before = speedup_at(g) - kSpeedup;
      read.belief_.said()[g] = 0.5 * (before * before / kSpeedupVariance -
                                      off * off / std::max(variance, kLeastVariance));
    }
  }
  for (const Phase p : {kMap, kReduce}) {
    const std::vector<Runs> runs = read_runs(history.runs[p], "program");
    read.group_[p].of.assign(runs.size(), {});
    for (std::size_t row = 0; row < runs.size(); ++row) {
      Group& own = read.group_[p].of[row];
      own.runs = runs[row];
      own.c = own.sums().y;
      own.cc = own.sums().yy;
    }
    read_changes(history.changes[p], read.group_[p].of);
  }
  read.belief_.recall(read_speedups(history.speedups));
  read.fit_speedup();
  *this = std::move(read);
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
