#include "malleable/kernel/change_point.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {
namespace {

// What is known of the scatter from elsewhere counts as so many values; and values differ by so
// much in any case.
constexpr double kKnown = 4.0, kLeastScatter = 0.15;
// So many values of all later ones are in two parts together.
constexpr double kGrow = 0.5;
// A part that is so much nearer to the level before has values of both.
constexpr double kMixed = 0.25;
// What a second level and its beginning cost, in logarithms of the count.
constexpr double kCost = 1.5;

// Of values around their levels, with what is known from elsewhere.
double with_known(double square, double count, double scatter) {
  return std::max(square + kKnown * scatter * scatter,
                  (count + kKnown) * kLeastScatter * kLeastScatter);
}

}  // namespace

TaskSums TaskSums::of(double tasks, double began, double seconds, double x, double y, double c) {
  return {tasks,         tasks * began, tasks * seconds, tasks * x,     tasks * y,    tasks * x * x,
          tasks * x * y, tasks * y * y, tasks * c,       tasks * x * c, tasks * c * c};
}

void TaskSums::add(const TaskSums& more, double sign) {
  count += sign * more.count;
  began += sign * more.began;
  seconds += sign * more.seconds;
  x += sign * more.x;
  y += sign * more.y;
  xx += sign * more.xx;
  xy += sign * more.xy;
  yy += sign * more.yy;
  c += sign * more.c;
  xc += sign * more.xc;
  cc += sign * more.cc;
}

double TaskSums::square(double slope) const {
  const double mean = level(slope);
  return std::max(0.0, yy - 2.0 * slope * xy + slope * slope * xx - count * mean * mean);
}

double TaskSums::near_square(double slope) const {
  const double mean = near_level(slope);
  return std::max(0.0, cc - 2.0 * slope * xc + slope * slope * xx - count * mean * mean);
}

void LatestTasks::add(const TaskSums& one, double ended) {
  const double began = one.mean_begin();
  std::size_t place = of_.size();
  while (place > 0 && of_[place - 1].since > began) --place;
  if (place == 0 && !of_.empty()) return;  // one of those before
  const bool last = place == of_.size();
  if (!last || (place > 0 && of_[place - 1].since == began && of_[place - 1].until > began)) {
    Part& part = of_[place - 1];
    part.sums.add(one);
    part.until = std::max(part.until, ended);
    return;
  }
  if (of_.size() == kParts) of_.erase(of_.begin());
  reserve();
  of_.push_back({one, began, ended});
  double later = 0.0;
  for (std::size_t k = of_.size() - 1; k > 0; --k) {
    if (of_[k - 1].sums.count + of_[k].sums.count <= kGrow * later) {
      of_[k - 1].sums.add(of_[k].sums);
      of_[k - 1].until = std::max(of_[k - 1].until, of_[k].until);
      of_.erase(of_.begin() + static_cast<std::ptrdiff_t>(k));
    } else {
      later += of_[k].sums.count;
    }
  }
}

namespace {

// A part with values of both levels is left to those before.
void leave_mixed(const TaskSums& all, const LatestTasks& latest, double slope, ChangePoint& found) {
  if (found.parts <= 1) return;
  const TaskSums& oldest = latest.back(found.parts - 1);
  TaskSums before = all, rest = found.late;
  before.remove(found.late);
  rest.remove(oldest);
  if (oldest.count < 1.5 || rest.count < oldest.count) return;
  const double level = rest.level(slope);
  if ((oldest.level(slope) - level) / (before.level(slope) - level) <= kMixed) return;
  found.late = rest;
  --found.parts;
}

}  // namespace

ChangePoint find_change(const TaskSums& all, const LatestTasks& latest, double slope,
                        double scatter, const RunningTasks& running, const TaskSums& more) {
  ChangePoint found;
  if (!(all.count > 1.0)) return found;
  const double n = all.count, sum = all.c - slope * all.x;
  const double begin = more.count > 0.0 ? more.mean_begin() : -kInfinity;
  double best = -1.0;
  const auto look = [&](TaskSums late, std::size_t parts, double since) {
    if (begin >= since) late.add(more);
    const double before = n - late.count;
    if (!(late.count > 0.0 && before > 0.5)) return;
    const double own = late.c - slope * late.x, level = own / late.count;
    double apart = level - (sum - own) / before;
    if (apart < 0.0 && running.count > 0.0) {
      const double older = std::min(1.0, running.age * std::exp(-level));
      apart *= late.count / (late.count + running.count * older);
    }
    const double between = before * late.count / n * apart * apart;
    if (between <= best) return;
    best = between;
    found.late = late;
    found.parts = parts;
  };
  TaskSums late;
  look(late, 0, latest.size() > 0 ? latest.since(0) : -kInfinity);
  for (std::size_t k = 0; k < latest.size(); ++k) {
    late.add(latest.back(k));
    look(late, k + 1, latest.since(k));
  }
  if (best < 0.0) return found;
  leave_mixed(all, latest, slope, found);
  const double left = with_known(all.near_square(slope) - best, n, scatter);
  const double gain = 0.5 * (n + kKnown) * std::log1p(best / left);
  found.chance = 1.0 / (1.0 + std::exp(kCost * std::log(n + kKnown) - gain));
  return found;
}

double draw_near(const TaskSums& all, double x, double y, double slope, double scatter,
                 double most) {
  if (all.count == 0.0) return y;
  const double square = with_known(all.near_square(slope), all.count, scatter);
  const double far = most * std::sqrt(square / (all.count + kKnown));
  const double level = all.near_level(slope) + slope * x;
  return std::clamp(y, level - far, level + far);
}

}  // namespace malleable
