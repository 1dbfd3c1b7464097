#include "malleable/kernel/deadline_packing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "malleable/model/tolerance.hpp"

namespace malleable {

// Terms: a column is a span of time with the number of used slots; a piece is a span in which a job
// holds some slots. Both, and `due`, count from problem.now.

// Index of the column that starts at `time`; makes it if there is none.
std::size_t DeadlinePacking::split(double time) {
  const auto at = std::lower_bound(columns_.begin(), columns_.end(), time,
                                   [](const Column& c, double t) { return c.start < t; });
  const auto index = static_cast<std::size_t>(at - columns_.begin());
  if (at != columns_.end() && at->start == time) return index;
  columns_.insert(at, {time, columns_[index - 1].used});
  return index;
}

// Joins neighbouring columns with equally many used slots.
void DeadlinePacking::merge(std::size_t from, std::size_t to) {
  const auto begin = columns_.begin();
  columns_.erase(std::unique(begin + static_cast<std::ptrdiff_t>(from),
                             begin + static_cast<std::ptrdiff_t>(to),
                             [](const Column& a, const Column& b) { return a.used == b.used; }),
                 begin + static_cast<std::ptrdiff_t>(to));
}

// Adds a piece to a job.
void DeadlinePacking::take(Index job, double start, double end, double slots) {
  auto& pieces = held_[job];
  if (!pieces.empty() && pieces.back().end == start && pieces.back().slots == slots) {
    pieces.back().end = end;
  } else {
    pieces.push_back({start, end, slots});
  }
}

// Adds `need` slot-seconds on [0, due], at most `cap` slots at once, on top of the used slots,
// which never rise with time before `due`.
void DeadlinePacking::pour_work(const Problem& problem, Index job, double due, double cap,
                                double need) {
  const std::size_t end = split(due);
  const auto length = [&](std::size_t k) { return columns_[k + 1].start - columns_[k].start; };
  const auto area = [&](double level) {
    double sum = 0.0;
    for (std::size_t k = end; k-- > 0 && columns_[k].used < level;) {
      sum += length(k) * std::min(cap, level - columns_[k].used);
    }
    return sum;
  };
  double level = columns_[end - 1].used, above = problem.slots + 1.0;  // area(level) <= need
  while (above - level > 1.0) {
    const double middle = std::floor((level + above) / 2.0);
    (area(middle) <= need ? level : above) = middle;
  }
  double rest = need - area(level);
  std::size_t first = end, last = end;  // columns [first, last) stand at the level and may rise
  for (std::size_t k = end; k-- > 0 && columns_[k].used <= level;) {
    const double more = std::min(cap, level - columns_[k].used);
    first = k;
    if (more == cap) last = k;
    if (more > 0.0) {
      take(job, columns_[k].start, columns_[k + 1].start, more);
      columns_[k].used += more;
    }
  }
  if (rest > 0.0 && first < last && level < problem.slots) {
    const double from = columns_[first].start;
    const double until = std::min(from + rest, columns_[last].start);
    const std::size_t stop = split(until);
    for (std::size_t k = first; k < stop; ++k) columns_[k].used += 1.0;
    take(job, from, until, 1.0);
    last += stop > last ? 0 : 1;
  }
  merge(first, std::min(last, columns_.size()));
}

// Gives the job's slots back and lets it take free slots from the start on. It held at least its
// minimum until its old end, so it finds at least that many free slots there.
void DeadlinePacking::pull_forward(const Problem& problem, Index job, double& completion) {
  for (const Piece& piece : held_[job]) {
    const std::size_t first = split(piece.start), end = split(piece.end);
    for (std::size_t k = first; k < end; ++k) columns_[k].used -= piece.slots;
  }
  held_[job].clear();
  double left = problem.work[job];
  for (std::size_t k = 0;; ++k) {
    const double slots = std::min(problem.high[job], problem.slots - columns_[k].used);
    if (slots <= 0.0) continue;
    const double start = columns_[k].start;
    const double end = k + 1 < columns_.size() ? columns_[k + 1].start : kInfinity;
    if (end < kInfinity && end - start <= kSameTime * end)
      continue;  // borders that differ by rounding only
    double until = start + left / slots;
    // A remainder that is only rounding ends with the column instead of opening a new one.
    if (until <= end * (1.0 + kSameTime)) {
      until = std::min(until, end);
      if (until > start) {
        split(until);
        columns_[k].used += slots;
        take(job, start, until, slots);
      }
      completion = until;
      return;
    }
    columns_[k].used += slots;
    take(job, start, end, slots);
    left -= slots * (end - start);
  }
}

// The minima come first, because the profile starts with them.
void DeadlinePacking::hold_minima(const Problem& problem, std::span<const double> due,
                                  std::span<double> completion) {
  drops_.clear();
  double used = 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    held_[j].clear();
    completion[j] = 0.0;
    const double low = problem.low[j];
    const double end = low > 0.0 ? std::min(problem.work[j] / low, due[j]) : 0.0;
    if (end > 0.0) {
      held_[j].push_back({0.0, end, low});
      drops_.emplace_back(end, low);
      used += low;
    }
  }
  std::sort(drops_.begin(), drops_.end());
  columns_.assign(1, {0.0, used});
  for (const auto& [time, low] : drops_) {
    used -= low;
    if (columns_.back().start == time) {
      columns_.back().used = used;
    } else {
      columns_.push_back({time, used});
    }
  }
}

// Writes the jobs' pieces as a plan, in absolute time.
void DeadlinePacking::write(const Problem& problem, Plan& plan) const {
  const std::size_t n = problem.size();
  plan.start.assign(n, problem.now);
  plan.allocation.assign(n, 0);
  plan.pieces.clear();
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) continue;
    const auto& pieces = held_[j];
    if (pieces.empty()) continue;  // the job is too short to change the time
    bool first = true;
    for (const Piece& piece : pieces) {
      const double start = problem.now + piece.start, end = problem.now + piece.end;
      if (!(end > start)) continue;
      plan.pieces.add(static_cast<Index>(j), start, end, piece.slots);
      if (!std::exchange(first, false)) continue;
      plan.start[j] = start;
      if (piece.start == 0.0) plan.allocation[j] = static_cast<std::int64_t>(piece.slots);
    }
  }
}

// Fills completions (from now) and the plan; `order` becomes the order of due times.
void DeadlinePacking::run(const Problem& problem, std::span<const double> due,
                          std::span<Index> order, std::span<double> completion, Plan& plan) {
  const std::size_t n = problem.size();
  sorter_.sort(due, order);
  held_.resize(std::max(held_.size(), n));
  hold_minima(problem, due, completion);
  for (const Index j : order) {
    const double need = problem.work[j] - problem.low[j] * due[j];
    if (due[j] > 0.0 && due[j] < kInfinity && need > 0.0 && problem.high[j] > problem.low[j]) {
      pour_work(problem, j, due[j], problem.high[j] - problem.low[j], need);
    }
  }
  // In the second pass, jobs reach slots that later jobs gave up in the first.
  for (int pass = 0; pass < 2; ++pass) {
    for (const Index j : order) {
      if (problem.work[j] > 0.0) pull_forward(problem, j, completion[j]);
    }
    merge(0, columns_.size());
  }
  write(problem, plan);
}

}  // namespace malleable
