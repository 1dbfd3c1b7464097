#include "malleable/kernel/speedup_likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <tuple>

namespace malleable {
namespace {

// Standard deviations: a grid in which each is so many times the one before.
constexpr std::size_t kGridScatters = 14;
constexpr double kFinestScatter = 0.004, kCoarser = 1.6;
// A curve over the grid that is so bent at its top, and as by so many times the tasks at most, is
// summed as that of a normal sample.
constexpr double kBent = 1.0, kAlike = 1.5;
// A jump's standard deviation; how likely one is before a task: at least, and over a phase's n.
constexpr double kJump = 1.5, kLeastJumps = 0.03, kJumps = 0.5;
// What a level walks before a task, over the scatter of tasks.
constexpr double kWalk = 0.15;
// The standard deviation of how much a level climbs over a phase.
constexpr double kClimb = 2.0;
// Times that differ by so little are the same one.
constexpr double kSameBegin = 1e-9;
constexpr double kGolden = 0.618;

// The part of a normal density that depends on what was seen.
double log_density(double off, double variance) {
  return -0.5 * (off * off / variance + std::log(variance));
}

// By the mean of densities over all standard deviations, those between the grid's, too: many tasks
// know theirs better than the grid does, and a p must not be better because the grid suits it.
// Around the grid's top their logarithm is taken for -a u - b exp(-2 u), u being that of the
// standard deviation, as a normal sample has it; where it is not like that, for what the grid says.
double log_mean(const std::array<double, kGridScatters>& logs, double tasks) {
  const auto top = std::max_element(logs.begin(), logs.end());
  const double most = *top, all = std::log(static_cast<double>(kGridScatters));
  if (top != logs.begin() && top + 1 != logs.end()) {
    const double h = std::log(kCoarser), below = most - *(top - 1), above = most - *(top + 1);
    const double b = (below + above) / (2.0 * std::cosh(2.0 * h) - 2.0);
    const double a = (above - b * std::expm1(-2.0 * h)) / h;
    if (below + above > kBent && a > 0.0 && a < kAlike * tasks) {
      const double u = 0.5 * std::log(2.0 * b / a);
      const double more = b - a * (u + 0.5);
      return most + more + 0.5 * std::log(std::numbers::pi / (a * h * h)) - all;
    }
  }
  double sum = 0.0;
  for (const double log : logs) sum += std::exp(log - most);
  return most + std::log(sum) - all;
}

// Logarithms of times alone, by p.
SpeedupCurve alone(const EndedTask& task) {
  SpeedupCurve found;
  const auto& y = task.alone;
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    // Lagrange's polynomial through q = 0, 1, 2, 3.
    const double q = 4.0 * (1.0 - speedup_at(g));
    const double a = q - 1.0, b = q - 2.0, c = q - 3.0;
    found[g] = -a * b * c / 6.0 * y[0] + q * b * c / 2.0 * y[1] - q * a * c / 2.0 * y[2] +
               q * a * b / 6.0 * y[3];
  }
  return found;
}

// By when they began. Tasks that are equal in all are the same to whatever reads them, so that a
// sort that is not stable, and allocates nothing, will do.
bool in_order(const EndedTask& a, const EndedTask& b) {
  return std::tie(a.began, a.alone, a.beside) < std::tie(b.began, b.alone, b.beside);
}

// Tasks that began at once stand in no order, but ended in one: short ones first. They are taken as
// a step through them that meets each once says.
using Order = std::array<std::size_t, kSpeedupTasks>;
void spread(std::span<EndedTask> tasks, Order& order) {
  for (std::size_t first = 0, next = 0; first < tasks.size(); first = next) {
    const double began = tasks[first].began;
    while (next < tasks.size() &&
           tasks[next].began - began <= kSameBegin * std::max(1.0, std::fabs(began))) {
      ++next;
    }
    const std::size_t count = next - first;
    const auto group = tasks.subspan(first, count);
    std::sort(group.begin(), group.end(), [](const EndedTask& a, const EndedTask& b) {
      return a.alone != b.alone ? a.alone < b.alone : in_order(a, b);
    });
    auto step = static_cast<std::size_t>(kGolden * static_cast<double>(count)) + 1;
    while (std::gcd(step, count) != 1) ++step;
    for (std::size_t k = 0; k < count; ++k) order[first + k] = first + k * step % count;
  }
}

// A level that is a line: its height at the first task and how much it climbs until the last one,
// with their covariance, which is the same for every p. A constant level climbs by nothing.
class Line {
 public:
  Line(double scatter, double climb)
      : square_(scatter * scatter), height_(square_), climb_(climb * climb) {}

  void begin(const SpeedupCurve& y) { at_ = y; }
  void see(const SpeedupCurve& y, double place) {
    const double gain_height = height_ + place * both_, gain_climb = both_ + place * climb_;
    const double variance = gain_height + place * gain_climb + square_;
    const double log = -0.5 * std::log(variance);
    for (std::size_t g = 0; g < kSpeedups; ++g) {
      const double off = y[g] - at_[g] - place * up_[g];
      found[g] += log - 0.5 * off * off / variance;
      at_[g] += gain_height / variance * off;
      up_[g] += gain_climb / variance * off;
    }
    height_ -= gain_height * gain_height / variance;
    both_ -= gain_height * gain_climb / variance;
    climb_ -= gain_climb * gain_climb / variance;
  }

  SpeedupCurve found{};

 private:
  double square_, height_, both_ = 0.0, climb_;
  SpeedupCurve at_{}, up_{};
};

// A level that jumps, and may walk: what is known of it is one normal, by p.
class Jumps {
 public:
  Jumps(double scatter, double walk, double chance)
      : square_(scatter * scatter), walk_(walk * walk), chance_(chance) {}

  void begin(const SpeedupCurve& y) {
    at_ = y;
    variance_.fill(square_);
  }
  void see(const SpeedupCurve& y) {
    for (std::size_t g = 0; g < kSpeedups; ++g) {
      const double off = y[g] - at_[g], same = variance_[g] + walk_, other = same + kJump * kJump;
      const double same_all = same + square_, other_all = other + square_;
      const double a = log_density(off, same_all), b = log_density(off, other_all);
      // The chance that it has jumped.
      const double odds = chance_ / (1.0 - chance_) * std::exp(std::min(b - a, 500.0));
      const double jumped = odds / (1.0 + odds);
      found[g] += a + std::log((1.0 - chance_) * (1.0 + odds));
      const double to_same = same / same_all * off, to_other = other / other_all * off;
      const double apart = to_other - to_same;
      at_[g] += to_same + jumped * apart;
      variance_[g] = (1.0 - jumped) * same * square_ / same_all +
                     jumped * other * square_ / other_all + jumped * (1.0 - jumped) * apart * apart;
    }
  }

  SpeedupCurve found{};

 private:
  double square_, walk_, chance_;
  SpeedupCurve at_{}, variance_{};
};

}  // namespace

ModelCurves speedup_likelihood(std::span<EndedTask> tasks) {
  ModelCurves found{};
  if (tasks.size() < 2) return found;
  std::sort(tasks.begin(), tasks.end(), in_order);
  Order order;
  spread(tasks, order);
  const auto n = static_cast<double>(tasks.size());
  const double chance = std::max(kLeastJumps, kJumps / n);
  std::array<std::array<SpeedupCurve, kGridScatters>, kLevelModels> by_scatter;
  SpeedupCurve density{};
  double s = kFinestScatter;
  for (std::size_t k = 0; k < kGridScatters; ++k, s *= kCoarser) {
    Line constant(s, 0.0), climbing(s, kClimb);
    Jumps jumping(s, 0.0, chance), walking(s, kWalk * s, chance);
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const SpeedupCurve y = alone(tasks[order[t]]);
      if (k == 0) {
        for (std::size_t g = 0; g < kSpeedups; ++g) {
          density[g] -= (1.0 - speedup_at(g)) * tasks[order[t]].beside + y[g];
        }
      }
      if (t == 0) {
        constant.begin(y);
        climbing.begin(y);
        jumping.begin(y);
        walking.begin(y);
        continue;
      }
      constant.see(y, 0.0);
      climbing.see(y, static_cast<double>(t) / n);
      jumping.see(y);
      walking.see(y);
    }
    by_scatter[0][k] = constant.found;
    by_scatter[1][k] = jumping.found;
    by_scatter[2][k] = walking.found;
    by_scatter[3][k] = climbing.found;
  }
  for (std::size_t m = 0; m < kLevelModels; ++m) {
    for (std::size_t g = 0; g < kSpeedups; ++g) {
      std::array<double, kGridScatters> logs;
      for (std::size_t k = 0; k < kGridScatters; ++k) logs[k] = by_scatter[m][k][g];
      found[m][g] = density[g] + log_mean(logs, n);
    }
  }
  return found;
}

}  // namespace malleable
