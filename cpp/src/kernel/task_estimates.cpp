#include "malleable/kernel/task_estimates.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "malleable/kernel/log_times.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
// All means and variances are of logarithms of a task's seconds; s is the scatter of a phase's
// tasks (the standard deviation of those logarithms); a group is the runs of one program; Logs are
// a count, a mean and a sum of squares; open: of phases that still run, done: of phases that ended.
// above(p): by how much the logarithm of a phase's mean time exceeds the mean of its logarithms;
// groups and errors are of the former, posteriors of the latter.
// speedup: the exponent p (k tasks of a phase that run together do k^p); exponents_: its
// posterior, of all groups and of each. alone: sums of logarithms as if each task had run alone, by
// speedup; around: sums of squares around their mean, as a function of the speedup; left: such a
// sum at one speedup; freedom: degrees of freedom.
namespace {

// Priors: a user is right within a factor of e^0.5 either way, phases differ by e, tasks of a phase
// by a fifth, runs of a group by a third. Each counts as kPhases phases. The prior of a user counts
// as so many statements.
constexpr double kStatedVariance = 0.25, kBetween = 1.0, kWithin = 0.04, kGroupVariance = 0.1;
constexpr double kStatements = 1.0;

// A mean grows with the variance of its logarithm; larger variances count as this.
constexpr double kDoubt = 1.0;
// The default is right within e^4, so that one phase that was seen counts more.
constexpr double kDefaultVariance = 16.0;
// The last runs of a group, and the prior of the regression: one step of 1 that the next run did
// not follow.
constexpr double kLatest = 3.0, kUnfollowed = 1.0;
// A group differs clearly if its mean is so many of its standard deviations away.
constexpr double kClearly = 2.0;
// A phase's tasks are looked at again when they are this many times more.
constexpr double kNextReport = 1.5;
// More than any sum over phases can be.
constexpr double kMostOfHistory = 1e18;

// The hazard rate of the normal distribution: its density over the part above z.
double hazard(double z) {
  if (z > 8.0) return z + 1.0 / z;  // within 1e-3
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
  return density / normal_above(z);
}

// Checks a number of a history; std::invalid_argument if it is below 0 and not `any`.
double checked(double number, bool any) {
  if (std::isfinite(number) && std::fabs(number) <= kMostOfHistory && (any || number >= 0.0)) {
    return number;
  }
  throw std::invalid_argument("history: " + std::to_string(number) + " is no such number");
}

std::size_t rows_of(const std::vector<double>& numbers, std::size_t each, const char* what) {
  if (numbers.size() % each == 0) return numbers.size() / each;
  throw std::invalid_argument(std::string("history: ") + what + " has " + std::to_string(each) +
                              " numbers");
}

}  // namespace

TaskEstimates::TaskEstimates(double seconds, SpeedupPrior prior)
    : default_(log_of_task(seconds)), exponents_(prior) {
  for (const Phase p : {kMap, kReduce}) errors_[p].of.resize(1);  // later events allocate nothing
  update_speedup();
}

void TaskEstimates::Logs::add(double value, double most) {
  if (n >= most) {
    square *= (most - 1.0) / n;
    n = most - 1.0;
  }
  *this = with({1.0, value, 0.0});
}

TaskEstimates::Logs TaskEstimates::Logs::with(const Logs& more, double sign) const {
  const double both = n + sign * more.n;
  if (!(both > 0.5)) return {};  // not what rounding left
  const double apart = more.mean - mean;
  return {both, mean + sign * apart * more.n / both,
          std::max(0.0, square + sign * (more.square + apart * apart * n * more.n / both))};
}

TaskEstimates::Two& TaskEstimates::Table::row(std::int64_t row) {
  const auto place = static_cast<std::size_t>(row);
  if (of.size() <= place) of.resize(place + 1);
  return of[place];
}

// Adds what a running phase shows, or takes it out (`more` false).
void TaskEstimates::Table::open(std::int64_t row, double value, bool more) {
  const auto change = [&](Logs& logs) { logs = logs.with({1.0, value, 0.0}, more ? 1.0 : -1.0); };
  change(all.open);
  if (row >= 0) change(this->row(row).open);
}

double TaskEstimates::Groups::between_runs() const {
  return std::max(kLeastVariance, (within + kPhases * kGroupVariance) / (freedom + kPhases));
}

// The prior of a phase of which nothing is known: like all other phases, or the default while there
// are few.
LogMean TaskEstimates::all_phases(Phase p) const {
  const Logs all = group_[p].all.both();
  const double scatter = (all.square + kPhases * kBetween) / (all.n + kPhases);
  // the number of phases that the default counts for
  const double count = scatter / kDefaultVariance;
  const double mean = (all.n * all.mean + count * (default_ - 0.5 * kDoubt)) / (all.n + count);
  return {mean, std::max(kLeastVariance, scatter * (1.0 + 1.0 / (all.n + count)))};
}

// How far the last runs of a program are from the mean of all its runs.
double TaskEstimates::Groups::step(std::int64_t row, const Logs& own) const {
  const auto place = static_cast<std::size_t>(row);
  if (place >= latest.size() || latest[place].n == 0.0) return 0.0;
  return latest[place].with(of[place].open).mean - own.mean;
}

double TaskEstimates::Groups::expected(std::int64_t row, const Logs& own) const {
  return own.mean + std::clamp(moves / (steps + kUnfollowed), 0.0, 1.0) * step(row, own);
}

// Learns how far a run follows the last runs.
void TaskEstimates::Groups::learn(std::int64_t row, double value) {
  Logs& own = this->row(row).done;
  if (latest.size() < of.size()) latest.resize(of.size());
  Logs& last = latest[static_cast<std::size_t>(row)];
  if (own.n > 0.0) {
    const double step = last.mean - own.mean,
                 part = std::clamp(moves / (steps + kUnfollowed), 0.0, 1.0);
    const double off = value - own.mean - part * step;
    within += off * off * own.n / (own.n + 1.0);
    freedom += 1.0;
    steps += step * step;
    moves += step * (value - own.mean);
  }
  own.add(value);
  last.add(value, kLatest);
}

// The mean of a group's own runs, shrunk towards the mean of all, depending on how much groups
// differ.
LogMean TaskEstimates::from_runs(Phase p, std::int64_t group) const {
  const LogMean all = all_phases(p);
  const Groups& groups = group_[p];
  const Logs own = groups.both(group);
  if (!(own.n > 0.5)) return all;
  const double within = groups.between_runs();
  const LogMean known{groups.expected(group, own), within / own.n};
  // The variance between groups; the group's own mean has the variance within / n. A group that is
  // clearly farther from the others than usual is not shrunk (Efron and Morris 1972).
  const double apart = known.mean - all.mean;
  const double between = std::max({kLeastVariance, all.variance - within,
                                   apart * apart - kClearly * kClearly * known.variance});
  const LogMean found = LogMean::combine({all.mean, between}, known);
  return {found.mean, found.variance + within};
}

// A user's statement, with its probable error. A user errs by a constant factor, which is shrunk
// towards that of all users, and by a random one.
LogMean TaskEstimates::from_user(Phase p, double seconds, std::size_t user) const {
  const Logs own = errors_[p].both(static_cast<std::int64_t>(user)), all = errors_[p].all.both();
  const Logs others = all.with(own, -1.0);
  const auto unsure = [](double n) { return 1.0 + 1.0 / (n + kStatements); };
  // Chosen so that at first the mean is the statement.
  LogMean error{-0.5 * kStatedVariance * unsure(0.0), kStatedVariance};
  for (const Logs& seen : {others, own}) {
    const double both = seen.n + kStatements, apart = seen.mean - error.mean;
    error.variance =
        (seen.square + seen.n * kStatements / both * apart * apart + kStatements * error.variance) /
        both;
    error.mean += seen.n / both * apart;
  }
  return {log_of_task(seconds) + error.mean,
          std::max(kLeastVariance, error.variance * unsure(all.n))};
}

// The prior of a phase: by earlier runs of its program and by its user's statement.
LogMean TaskEstimates::prior(Phase p, const Stated& stated) const {
  LogMean found = from_runs(p, stated.group);
  if (stated.seconds > 0.0) {
    const LogMean own = from_user(p, stated.seconds, stated.user);
    // A statement replaces the default.
    found = group_[p].all.both().n > 0.0 ? LogMean::combine(found, own) : own;
  }
  found.mean -= above(p);
  return found;
}

// The mode of the posterior density, whose logarithm is concave on average; the variance follows
// from its curvature.
TaskEstimates::Posterior TaskEstimates::posterior(double s, double speedup, const LogMean& prior,
                                                  const TaskSamples& seen,
                                                  const RunningTasks& tasks) const {
  const double running = tasks.count, age = tasks.age;
  const double square = s * s;
  const double weight = 1.0 / prior.variance + seen.count / square;
  const double alone = value_at(seen.alone, speedup);
  const double mean = (prior.mean / prior.variance + alone / square) / weight;
  // By Laplace's method; here `above` is the logarithm of the chance that a task runs as
  // long as the running tasks have.
  const auto found = [&](double m, double curve, double above) -> Posterior {
    const double off = m - prior.mean, apart = seen.count > 0.0 ? m - alone / seen.count : 0.0;
    const double squares = seen.around().left(speedup) + seen.count * apart * apart;
    return {{m, 1.0 / curve},
            running * above - seen.count * std::log(s) -
                0.5 * (squares / square + off * off / prior.variance + std::log(curve))};
  };
  const double old = log_of_task(age);
  // The running tasks are too young to show anything.
  if (!(running > 0.0 && age > kLeastTaskSeconds) || old - mean < -5.0 * s) {
    return found(mean, weight, 0.0);
  }
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
  return found(m, curve, std::log(normal_above(std::min((old - m) / s, 37.0))));
}

double TaskEstimates::seconds(Phase p, const LogMean& of) const {
  const double s = scatter(p);
  return std::exp(std::min(of.mean + 0.5 * (s * s + std::min(of.variance, kDoubt)), 50.0));
}

// Lets other phases learn from one that still runs; hide() takes that back.
void TaskEstimates::show(Phase p, Shown& shown, const Stated& stated, const LogMean& now) {
  hide(p, shown);
  shown = {true, stated, now.mean + above(p)};
  group_[p].open(stated.group, shown.log, /*more=*/true);
  if (stated.seconds > 0.0) {
    errors_[p].open(static_cast<std::int64_t>(stated.user), shown.log - log_of_task(stated.seconds),
                    true);
  }
}

void TaskEstimates::hide(Phase p, Shown& shown) {
  if (!std::exchange(shown.is, false)) return;
  const Stated& stated = shown.stated;
  group_[p].open(stated.group, shown.log, /*more=*/false);
  if (stated.seconds > 0.0) {
    errors_[p].open(static_cast<std::int64_t>(stated.user), shown.log - log_of_task(stated.seconds),
                    false);
  }
}

// Learns from a phase that is done.
void TaskEstimates::learn(Phase p, const Stated& stated, TaskSamples& seen, double tasks) {
  close(p, seen, stated.group);
  within_[p].add(seen.around());
  update_speedup();
  const double mean = seen.seconds / seen.count;
  // As if they had run alone.
  const double slowed = seen.mean_alone(1.0) - seen.mean_alone(speedup(stated.group));
  const double log = log_of_task(mean) - slowed;
  if (stated.seconds > 0.0) {
    const double error = log - log_of_task(stated.seconds);
    errors_[p].all.done.add(error);
    errors_[p].row(static_cast<std::int64_t>(stated.user)).done.add(error);
  }
  counts_[p][work_class(tasks * mean)] += 1.0;
  Groups& groups = group_[p];
  groups.all.done.add(log);
  if (stated.group >= 0) groups.learn(stated.group, log);
}

bool TaskEstimates::report_speedup(Phase p, TaskSamples& seen, std::int64_t group) {
  if (seen.count < seen.next_report) return false;
  seen.next_report = kNextReport * seen.count;
  add_speedup(p, seen, group, 0.0);
  return true;
}

void TaskEstimates::add_speedup(Phase p, TaskSamples& seen, std::int64_t group, double tasks) {
  SpeedupCurve variances;
  const double left = within_[p].left(speedup_) + kTiny, square = scatter_[p] * scatter_[p];
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    variances[g] = square * (within_[p].left(speedup_at(g)) + kTiny) / left;
  }
  const SpeedupCurve now = seen.likelihood(variances);
  seen.reported.resize(kSpeedups, 0.0);
  SpeedupCurve more;
  for (std::size_t g = 0; g < kSpeedups; ++g)
    more[g] = now[g] - std::exchange(seen.reported[g], now[g]);
  exponents_.add(group, more, tasks);
  update_speedup();
}

// Adds to the exponents what all tasks of a phase have shown.
void TaskEstimates::close(Phase p, TaskSamples& seen, std::int64_t group) {
  const double tasks = seen.around().freedom;
  if (tasks > 0.0) add_speedup(p, seen, group, tasks);
}

void TaskEstimates::update_speedup() {
  speedup_ = mean_speedup(exponents_.chances());
  for (const Phase p : {kMap, kReduce}) {
    const double left = within_[p].left(speedup_) + kPhases * kWithin;
    scatter_[p] = std::sqrt(std::max(kLeastVariance, left / (within_[p].freedom + kPhases)));
  }
}

// Visits all sums of the history; the flag says whether a number may be below 0.
template <typename Self, typename See>
void TaskEstimates::each(Self& self, const See& see) {
  const auto see_logs = [&](auto& logs) {
    see(logs.n, false);
    see(logs.mean, true);
    see(logs.square, false);
  };
  for (auto& groups : self.group_) {
    see_logs(groups.all.done);
    see(groups.steps, false);
    see(groups.moves, true);
    see(groups.within, false);
    see(groups.freedom, false);
  }
  for (auto& errors : self.errors_) see_logs(errors.all.done);
  for (auto& around : self.within_) {
    for (auto& product : around.products) see(product, true);
    see(around.freedom, false);
  }
  for (auto& counts : self.counts_) {
    for (auto& count : counts) see(count, false);
  }
}

TaskEstimates::History TaskEstimates::history() const {
  History found;
  each(*this, [&](double number, bool) { found.common.push_back(number); });
  const auto write = [](const SpeedupPosterior::Likelihood& own, std::vector<double>& numbers) {
    numbers.push_back(own.tasks);
    numbers.insert(numbers.end(), own.logs.begin(), own.logs.end());
  };
  write(exponents_.programs() > 0 ? exponents_.of(0) : SpeedupPosterior::Likelihood{},
        found.common);
  for (std::size_t row = 1; row < exponents_.programs(); ++row)
    write(exponents_.of(row), found.speedups);
  for (const Phase p : {kMap, kReduce}) {
    for (std::size_t row = 0; row < group_[p].latest.size(); ++row) {
      const Logs& own = group_[p].of[row].done;
      found.runs[p].insert(found.runs[p].end(), {own.n, own.mean, group_[p].latest[row].mean});
    }
    for (const Two& own : errors_[p].of) {
      found.errors[p].insert(found.errors[p].end(), {own.done.n, own.done.mean, own.done.square});
    }
  }
  return found;
}

void TaskEstimates::recall(const History& history) {
  constexpr std::size_t kOfSpeedup = 1 + kSpeedups;
  TaskEstimates read(*this);
  std::size_t sums = 0;
  each(read, [&](double&, bool) { ++sums; });
  if (history.common.size() != sums + kOfSpeedup) {
    throw std::invalid_argument("history: " + std::to_string(history.common.size()) +
                                " numbers, expected " + std::to_string(sums + kOfSpeedup));
  }
  auto next = history.common.begin();
  each(read, [&](double& number, bool any) { number = checked(*next++, any); });
  std::vector<SpeedupPosterior::Likelihood> likelihoods;
  const auto read_next = [&](auto numbers) {
    SpeedupPosterior::Likelihood& own = likelihoods.emplace_back();
    own.tasks = checked(*numbers++, /*any=*/false);
    for (double& log : own.logs) log = checked(*numbers++, /*any=*/true);
  };
  read_next(next);
  const std::size_t programs = rows_of(history.speedups, kOfSpeedup, "a program's speedup");
  for (std::size_t row = 0; row < programs; ++row) {
    read_next(history.speedups.begin() + static_cast<std::ptrdiff_t>(row * kOfSpeedup));
  }
  read.exponents_.recall(likelihoods);
  const auto rows = [](const std::vector<double>& numbers, const char* what, bool any) {
    std::vector<Logs> found(rows_of(numbers, 3, what));
    for (std::size_t row = 0; row < found.size(); ++row) {
      found[row] = {checked(numbers[3 * row], false), checked(numbers[3 * row + 1], true),
                    checked(numbers[3 * row + 2], any)};
    }
    return found;
  };
  for (const Phase p : {kMap, kReduce}) {
    Groups& groups = read.group_[p];
    groups.of.clear();
    groups.latest.clear();
    for (const auto& [n, mean, last] : rows(history.runs[p], "a program", /*any=*/true)) {
      groups.of.push_back({{n, mean, 0.0}, {}});
      groups.latest.push_back({std::min(n, kLatest), last, 0.0});
    }
    read.errors_[p].of.clear();
    for (const Logs& own : rows(history.errors[p], "a user", /*any=*/false)) {
      read.errors_[p].of.push_back({own, {}});
    }
    if (read.errors_[p].of.empty()) read.errors_[p].of.resize(1);
  }
  read.update_speedup();
  *this = std::move(read);
}

}  // namespace malleable
