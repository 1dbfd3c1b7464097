#include "malleable/kernel/speedup_posterior.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// At most so many tasks count in full: the model is never exact, and more tasks would make it too
// sure.
constexpr double kEnoughTasks = 2'000.0;
constexpr double kSameChance = 1e-6;  // logarithms of chances that differ by rounding

}  // namespace

// Chances of each exponent p (k tasks do k^p) before any task was seen: linear speed-up, or normal
// around a mean.
SpeedupCurve speedup_prior(SpeedupPrior prior) {
  struct Row {
    double one, mean, deviation;  // the chance of p = 1, and the normal distribution of other p
  };
  constexpr std::array<Row, 3> kRows = {{
      {0.6, 0.95, 0.1},  // kOwn: each task has a processor of its own
      {0.5, 0.85, 0.2},  // kUnknown
      {0.3, 0.8, 0.25},  // kBeyond: more tasks than processors
  }};
  const Row& row = kRows[static_cast<std::size_t>(prior)];
  SpeedupCurve found;
  double sum = 0.0;
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    const double off = (speedup_at(g) - row.mean) / row.deviation;
    sum += found[g] = std::exp(-0.5 * off * off);
  }
  for (double& chance : found) chance *= (1.0 - row.one) / sum;
  found.back() += row.one;
  return found;
}

double mean_speedup(const SpeedupCurve& chances) {
  double mean = 0.0;
  for (std::size_t g = 0; g < kSpeedups; ++g) mean += chances[g] * speedup_at(g);
  return mean;
}

double speedup_variance(const SpeedupCurve& chances) {
  const double mean = mean_speedup(chances);
  double square = 0.0;
  for (std::size_t g = 0; g < kSpeedups; ++g) square += chances[g] * speedup_at(g) * speedup_at(g);
  return std::max(0.0, square - mean * mean);
}

void SpeedupPosterior::begin_with(SpeedupPrior prior) {
  prior_ = speedup_prior(prior);
  update_all();
}

// Adds what tasks of a program say: log-likelihoods by exponent.
void SpeedupPosterior::add(std::int64_t program, const SpeedupCurve& more, double tasks) {
  const auto place = static_cast<std::size_t>(program + 1);
  if (programs_.size() <= place) programs_.resize(place + 1);
  Program& own = programs_[place];
  for (std::size_t g = 0; g < kSpeedups; ++g) own.logs[g] += more[g];
  own.tasks += tasks;
  update(own);
  settle();
}

// Computes the posterior of the program from the other programs and its own tasks.
void SpeedupPosterior::update(Program& program) {
  const auto count = [&](double sign) {
    shown_ += sign;
    weight_ += sign * program.weight;
    for (std::size_t g = 0; g < kSpeedups; ++g) {
      sum_[g] += sign * program.own[g];
      weighted_[g] += sign * program.weight * program.own[g];
    }
    if (shown_ > 0.5) return;
    sum_ = weighted_ = {};  // exactly, without rounding
    weight_ = 0.0;
  };
  if (program.weight > 0.0) count(-1.0);
  program.weight = 0.0;
  const auto [least, most] = std::minmax_element(program.logs.begin(), program.logs.end());
  if (*most - *least <= kSameChance) return;
  const double part = kEnoughTasks / std::max(kEnoughTasks, program.tasks);
  double all = 0.0;
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    const double others = std::max(kTiny, prior_[g] + sum_[g]);
    all += program.own[g] = others * std::exp(part * (program.logs[g] - *most));
  }
  for (double& chance : program.own) chance /= all;
  program.weight = 1.0 + program.tasks;
  program.mean = mean_speedup(program.own);
  count(1.0);
}

void SpeedupPosterior::update_all() {
  sum_ = weighted_ = {};
  shown_ = weight_ = 0.0;
  for (Program& program : programs_) {
    program.weight = 0.0;
    update(program);
  }
  settle();
}

// Means of all programs: for a program not yet seen (other_), and by tasks (any_).
void SpeedupPosterior::settle() {
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    other_[g] = std::max(0.0, prior_[g] + sum_[g]) / (1.0 + shown_);
    any_[g] = shown_ > 0.0 ? std::max(0.0, weighted_[g]) / weight_ : prior_[g];
  }
}

const SpeedupPosterior::Program* SpeedupPosterior::find(std::int64_t program) const {
  const auto place = static_cast<std::size_t>(program + 1);
  return place < programs_.size() && programs_[place].weight > 0.0 ? &programs_[place] : nullptr;
}

const SpeedupCurve& SpeedupPosterior::chances(std::int64_t program) const {
  const Program* own = find(program);
  return own != nullptr ? own->own : other_;
}

double SpeedupPosterior::mean(std::int64_t program) const {
  const Program* own = find(program);
  return own != nullptr ? own->mean : mean_speedup(other_);
}

// Begins with the programs of an earlier run.
void SpeedupPosterior::recall(std::span<const Likelihood> programs) {
  programs_.assign(programs.size(), {});
  for (std::size_t row = 0; row < programs.size(); ++row) {
    programs_[row].tasks = programs[row].tasks;
    programs_[row].logs = programs[row].logs;
  }
  update_all();
}

}  // namespace malleable
