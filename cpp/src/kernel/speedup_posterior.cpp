#include "malleable/kernel/speedup_posterior.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// So many tasks count in full: models are never quite right, and more tasks would make them sure.
constexpr double kEnoughTasks = 2'000.0;
// Of models before any phase has ended, which count as so many phases.
constexpr std::array<double, kLevelModels> kWeight = {0.5, 0.3, 0.1, 0.1};
constexpr double kWeightPhases = 4.0;
constexpr double kSameChance = 1e-6;  // logarithms of chances that differ by rounding
// All programs are looked at anew each time at first, and while they are few, and then when so much
// more was said; so many times over, as each is judged by what is believed of the others.
constexpr double kFirstNews = 10.0, kFewShown = 8.0, kMore = 1.1;
constexpr int kBeliefRounds = 3;
// If phases of so many tasks of a program have shown p, only each second one is looked at, of twice
// as many each third, and so on: what is believed hardly moves by then, and a look costs some 50 us
// a task. Programs share that number, but each has so many of its own at least.
constexpr double kShown = 2'000.0, kOwnShown = 300.0;

double in_part(double told) { return kEnoughTasks / std::max(kEnoughTasks, told); }

// Of logarithms, whatever their level.
SpeedupCurve chances_of(SpeedupCurve logs) {
  const double most = *std::max_element(logs.begin(), logs.end());
  double sum = 0.0;
  for (double& chance : logs) sum += chance = std::exp(chance - most);
  for (double& chance : logs) chance /= sum;
  return logs;
}

bool says_something(const SpeedupCurve& logs) {
  const auto [least, most] = std::minmax_element(logs.begin(), logs.end());
  return *most - *least > kSameChance;
}

}  // namespace

SpeedupCurve speedup_prior(SpeedupPrior prior) {
  struct Row {
    double one, mean, deviation;  // the chance of p = 1, and what p is around else
  };
  constexpr std::array<Row, 3> kRows = {{{0.6, 0.95, 0.1}, {0.5, 0.85, 0.2}, {0.3, 0.8, 0.25}}};
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

SpeedupPosterior::SpeedupPosterior(SpeedupPrior prior) : programs_(1) {
  begin_with(prior);
  for (std::size_t m = 0; m < kLevelModels; ++m) weight_[m].fill(kWeightPhases * kWeight[m]);
  believe({});
}

void SpeedupPosterior::begin_with(SpeedupPrior prior) {
  prior_ = speedup_prior(prior);
  for (double& chance : prior_) chance = std::log(chance);
  looked_ = 0.0;
}

SpeedupPosterior::Program& SpeedupPosterior::row(std::int64_t program) {
  const auto place = static_cast<std::size_t>(program + 1);
  if (programs_.size() <= place) programs_.resize(place + 1);
  return programs_[place];
}

const SpeedupPosterior::Program* SpeedupPosterior::find(std::int64_t program) const {
  const auto place = static_cast<std::size_t>(program + 1);
  return place < programs_.size() ? &programs_[place] : nullptr;
}

bool SpeedupPosterior::looks(std::int64_t program) const {
  const Program* own = find(program);
  const double enough = std::max(kOwnShown, kShown / std::max(1.0, shown_));
  return own == nullptr || std::fmod(own->phases, 1.0 + std::floor(own->told / enough)) == 0.0;
}

// By p, with the weights that models have by now, the first one's factor left out.
SpeedupCurve SpeedupPosterior::mixed(const ModelCurves& curves) const {
  SpeedupCurve found;
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    double most = curves[0][g], sum = 0.0, weights = 0.0;
    for (const SpeedupCurve& curve : curves) most = std::max(most, curve[g]);
    for (std::size_t m = 0; m < kLevelModels; ++m) {
      sum += weight_[m][g] * std::exp(curves[m][g] - most);
      weights += weight_[m][g];
    }
    found[g] = most + std::log(sum / weights);
  }
  // Only differences between p count.
  const double one = found.back();
  for (double& log : found) log -= one;
  return found;
}

void SpeedupPosterior::say(const ModelCurves& curves, std::vector<double>& said,
                           std::int64_t program) {
  const SpeedupCurve now = mixed(curves);
  said.resize(kSpeedups, 0.0);
  Program& own = row(program);
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    own.said[g] += now[g] - said[g];
    said_[g] += now[g] - said[g];
    said[g] = now[g];
  }
  const auto place = static_cast<std::size_t>(program + 1);
  const auto at = std::lower_bound(spoke_.begin(), spoke_.end(), place);
  if ((at == spoke_.end() || *at != place) && says_something(own.said)) spoke_.insert(at, place);
  touched_ = program;
  news_ += 1.0;
}

void SpeedupPosterior::close(const ModelCurves& curves, double tasks, std::vector<double>& said,
                             std::int64_t program) {
  say(curves, said, program);
  // Equal curves say nothing.
  if (std::any_of(said.begin(), said.end(),
                  [](double log) { return std::fabs(log) > kSameChance; })) {
    told_ += tasks;
    row(program).told += tasks;
  }
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    double most = curves[0][g], sum = 0.0;
    for (const SpeedupCurve& curve : curves) most = std::max(most, curve[g]);
    std::array<double, kLevelModels> part;
    for (std::size_t m = 0; m < kLevelModels; ++m) {
      sum += part[m] = weight_[m][g] * std::exp(curves[m][g] - most);
    }
    for (std::size_t m = 0; m < kLevelModels; ++m) weight_[m][g] += part[m] / sum;
  }
  said.clear();
}

// What is believed of the program, by the others and by its own phases.
void SpeedupPosterior::look_at(Program& program, const SpeedupCurve& first) {
  const bool before = std::exchange(program.shown, says_something(program.said));
  if (before) {
    for (std::size_t g = 0; g < kSpeedups; ++g) sum_[g] -= program.own[g];
    shown_ -= 1.0;
  }
  if (!program.shown) return;
  const double most = *std::max_element(program.said.begin(), program.said.end());
  const double part = in_part(program.told);
  double all = 0.0;
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    const double others = std::max(0.0, first[g] + sum_[g]) / (shown_ + 1.0);
    all += program.own[g] = others * std::exp(part * (program.said[g] - most));
  }
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    program.own[g] /= std::max(all, kTiny);
    sum_[g] += program.own[g];
  }
  shown_ += 1.0;
}

// What is found depends on what was said alone, not on when.
void SpeedupPosterior::look_at_all(const SpeedupCurve& first) {
  sum_ = {};
  shown_ = 0.0;
  for (const std::size_t place : spoke_) programs_[place].shown = false;
  for (int round = 0; round < kBeliefRounds; ++round) {
    for (const std::size_t place : spoke_) look_at(programs_[place], first);
  }
  everybody_ = {};
  double all = 0.0;
  for (const std::size_t place : spoke_) {
    Program& program = programs_[place];
    if (!program.shown) continue;
    settle(program);
    const double weight = 1.0 + program.told;
    for (std::size_t g = 0; g < kSpeedups; ++g) everybody_[g] += weight * program.own[g];
    all += weight;
  }
  for (double& chance : everybody_) chance /= all;
  looked_ = news_;
}

void SpeedupPosterior::believe(const SpeedupCurve& beside) {
  SpeedupCurve logs;
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    first_[g] = prior_[g] + beside[g];
    logs[g] = first_[g] + in_part(told_) * said_[g];
  }
  pooled_ = chances_of(logs);
  const SpeedupCurve first = chances_of(first_);
  if (news_ <= kFirstNews || shown_ <= kFewShown || news_ >= kMore * looked_) {
    look_at_all(first);
  } else {
    look_at(row(touched_), first);
    settle(row(touched_));
  }
  if (shown_ <= 1.0) everybody_ = pooled_;
  for (std::size_t g = 0; g < kSpeedups; ++g) other_[g] = (first[g] + sum_[g]) / (shown_ + 1.0);
  other_mean_ = mean_speedup(other_);
}

SpeedupCurve SpeedupPosterior::chances(std::int64_t program) const {
  const Program* own = find(program);
  return own != nullptr && own->shown ? of_one(*own) : other_;
}

double SpeedupPosterior::mean(std::int64_t program) const {
  const Program* own = find(program);
  return own != nullptr && own->shown ? own->mean : other_mean_;
}

SpeedupPosterior::Said SpeedupPosterior::of(std::int64_t program) const {
  const Program* own = find(program);
  return own == nullptr ? Said{} : Said{own->told, own->said};
}

// What programs have not said, jobs without one have.
void SpeedupPosterior::recall(const std::vector<Said>& programs) {
  programs_.assign(1 + programs.size(), {});
  Program& rest = programs_[0];
  rest.told = told_;
  rest.said = said_;
  for (std::size_t row = 0; row < programs.size(); ++row) {
    Program& own = programs_[row + 1];
    own.told = programs[row].told;
    own.said = programs[row].logs;
    rest.told = std::max(0.0, rest.told - own.told);
    for (std::size_t g = 0; g < kSpeedups; ++g) rest.said[g] -= own.said[g];
  }
  spoke_.clear();
  for (std::size_t place = 0; place < programs_.size(); ++place) {
    if (says_something(programs_[place].said)) spoke_.push_back(place);
  }
  touched_ = kNoProgram;
  shown_ = news_ = looked_ = 0.0;
}

}  // namespace malleable
