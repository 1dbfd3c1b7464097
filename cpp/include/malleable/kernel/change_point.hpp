// Have times of tasks changed, and since when?
//
// Values are the logarithms of seconds of a phase's tasks, or of a program's runs. They stand in
// the order in which tasks began. Either all are normal around one level, or the latest ones are
// normal around another, with the same scatter. The gain of the second explanation is half the
// count times the logarithm of the ratio of what is left of the squares; the second level and its
// beginning cost one and a half logarithms of the count (Schwarz 1978). So one level is believed
// until there is hardly a doubt.
//
// Tasks that run side by side end in the order of their times, the shortest first. In the order of
// their ends, any scatter would look like a rise. In the order in which they began it does not, and
// tasks that began together are never told apart. But of those that began last, the shortest have
// ended first: so if the latest values are lower, tasks that still run count as some more of the
// latest, at the level before. They count less if they are younger than the latest values are long.
//
// One value that is far off is no change: tasks have stragglers. So a value counts as at most some
// standard deviations away from the level (Huber 1964), and a change shows in several values.
//
// The latest values are kept as sums over parts that grow with their age: two parts together have
// at most half as many values as all later ones. Changes are looked for between parts only
// (exponential histograms: Datar, Gionis, Indyk, Motwani 2002; for changes: Bifet and Gavalda
// 2007). A part in which a change lies has values of both levels, and is left to those before. A
// value costs O(parts), and so does a look. Memory: at most kParts sums.
#pragma once

#include <cstddef>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// Sums over tasks: when they began, logarithms y of their seconds, and x of how many ran beside
// them while they did, on average over time. c is y, but near the level where y is far from it.
struct TaskSums {
  double count = 0.0, began = 0.0, seconds = 0.0, x = 0.0, y = 0.0, xx = 0.0, xy = 0.0, yy = 0.0;
  double c = 0.0, xc = 0.0, cc = 0.0;

  // So many tasks that are alike.
  static TaskSums of(double tasks, double began, double seconds, double x, double y, double c);
  void add(const TaskSums& more) { add(more, 1.0); }
  void remove(const TaskSums& part) { add(part, -1.0); }
  double mean_begin() const { return began / count; }
  // The mean of y - slope x, and the sum of squares around that; the same of c.
  double level(double slope) const { return (y - slope * x) / count; }
  double square(double slope) const;
  double near_level(double slope) const { return (c - slope * x) / count; }
  double near_square(double slope) const;
  void state(State& s) { s(count, began, seconds, x, y, xx, xy, yy, c, xc, cc); }

 private:
  void add(const TaskSums& more, double sign);
};

// The latest values, the oldest part first.
class LatestTasks {
 public:
  static constexpr std::size_t kParts = 16;

  void reserve() { of_.reserve(kParts); }
  // One value, or several that began together. If it began when all others had ended, at the
  // latest, it comes after them, even if the clock stood still. `ended`: when, as far as that
  // tells.
  void add(const TaskSums& one, double ended = kInfinity);
  // As those that began before all others.
  void add_first(const TaskSums& values) {
    of_.insert(of_.begin(), {values, -kInfinity, -kInfinity});
  }
  void clear() { of_.clear(); }
  // Gives its memory back.
  void rest() { std::vector<Part>().swap(of_); }
  // Only so many of the latest parts.
  void keep(std::size_t parts) {
    of_.erase(of_.begin(), of_.end() - static_cast<std::ptrdiff_t>(parts));
  }
  std::size_t size() const { return of_.size(); }
  // From the latest on.
  const TaskSums& back(std::size_t k) const { return of_[of_.size() - 1 - k].sums; }
  // None of its values began before.
  double since(std::size_t k) const { return of_[of_.size() - 1 - k].since; }
  void state(State& s) { s(of_); }

 private:
  struct Part {
    TaskSums sums;
    double since = 0.0;  // up to where the next one begins
    double until = 0.0;  // all had ended
    void state(State& s) { s(sums, since, until); }
  };
  std::vector<Part> of_;
};

// Tasks that run: how many they are, and their mean age, as if they ran alone.
struct RunningTasks {
  double count = 0.0, age = 0.0;
};

struct ChangePoint {
  double chance = 0.0;
  TaskSums late;          // those since the change that is likeliest, however likely; maybe none
  std::size_t parts = 0;  // of these
  bool likely() const { return chance > 0.5; }
};

// `all`, of which `latest` are the last ones. `more` are among all too, and one whole: on one side
// of a change with their mean begin. `scatter`: the standard deviation of y - slope x, as far as it
// is known from elsewhere.
ChangePoint find_change(const TaskSums& all, const LatestTasks& latest, double slope,
                        double scatter, const RunningTasks& running, const TaskSums& more = {});
// y, or what counts in its place if it is more than `most` standard deviations off.
double draw_near(const TaskSums& all, double x, double y, double slope, double scatter,
                 double most = 2.5);

}  // namespace malleable
