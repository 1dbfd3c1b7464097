// A schedule of jobs against what its instance promises: the definitions, and no code of any
// solver.
//
// Checked: whole slots, at most the capacity together and its maximum for each job at every moment;
// minima from now until a job ends (scaled where they are more than the slots), or gangs; all work
// done; completions as the pieces say. Slots are counted in integers and compared without
// tolerance; times agree up to what rounding to doubles may cost. Throws std::invalid_argument that
// names what is violated, for which row, when. O(P log P) for P pieces.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "malleable/model/error.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/problem.hpp"

namespace malleable::check {

// job[k] holds slots[k] slots from start[k] to end[k] (absolute).
struct PiecesView {
  std::span<const std::int64_t> job, slots;
  std::span<const double> start, end;
  std::size_t size() const { return job.size(); }
};

struct JobPromises {
  std::int64_t slots = 1;
  double now = 0.0;
  MinMode min_mode = MinMode::kGuarantee;
  bool ignores_minima = false;
};

inline constexpr double kShare = 1e-6;  // of a job's work that may be missing
inline constexpr double kSame = 2e-13;  // of its time from now: instants that solvers take for one

inline std::string in_words(const char* words) { return words; }
inline std::string in_words(std::int64_t count) { return std::to_string(count); }
inline std::string in_words(double number) { return exact(number); }

template <typename... Parts>
[[noreturn]] void fail(std::size_t row, const Parts&... parts) {
  std::string text = "invalid plan: job " + std::to_string(row) + ": ";
  ((text += in_words(parts)), ...);
  throw std::invalid_argument(text);
}

inline double spacing(double time) {
  return std::nextafter(std::fabs(time), kInfinity) - std::fabs(time);
}

// A job's pieces together.
struct Sum {
  double first = kInfinity, last = -kInfinity, done = 0.0;
};

inline std::vector<Sum> sums_of(const PiecesView& pieces, std::size_t jobs, double now) {
  for (const std::size_t length : {pieces.slots.size(), pieces.start.size(), pieces.end.size()}) {
    check_length("pieces", length, pieces.size(), "job");
  }
  std::vector<Sum> sums(jobs);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const auto row = static_cast<std::size_t>(pieces.job[k]);
    if (pieces.job[k] < 0 || row >= jobs) {
      throw std::invalid_argument("invalid plan: a piece of an unknown job, " +
                                  std::to_string(pieces.job[k]));
    }
    const double from = pieces.start[k], to = pieces.end[k];
    if (pieces.slots[k] < 1) fail(row, "a piece without whole slots");
    if (!std::isfinite(from) || !std::isfinite(to)) fail(row, "a piece without a time");
    if (!(to > from)) fail(row, "a piece that ends before it starts");
    if (from < now) fail(row, "a piece that starts before now");
    const auto slots = static_cast<double>(pieces.slots[k]);
    Sum& sum = sums[row];
    sum.first = std::min(sum.first, from);
    sum.last = std::max(sum.last, to);
    sum.done += slots * (to - from);
  }
  return sums;
}

// Slots that change at a moment; at equal times ends come before starts.
struct Change {
  std::size_t row;
  double time;
  std::int64_t slots;
};

inline std::vector<Change> changes_of(const PiecesView& pieces) {
  std::vector<Change> changes;
  changes.reserve(2 * pieces.size());
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const auto row = static_cast<std::size_t>(pieces.job[k]);
    changes.push_back({row, pieces.end[k], -pieces.slots[k]});
    changes.push_back({row, pieces.start[k], pieces.slots[k]});
  }
  return changes;
}

inline void check_capacity(std::vector<Change>& changes, std::int64_t slots) {
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.time != b.time ? a.time < b.time : a.slots < b.slots;
  });
  std::int64_t used = 0;
  for (std::size_t k = 0; k + 1 < changes.size(); ++k) {
    used += changes[k].slots;
    if (used > slots && changes[k + 1].time > changes[k].time) {
      fail(changes[k].row, used, " slots of ", slots, " in use at ", changes[k].time);
    }
  }
}

// The slots of each job from one of its moments to the next: see(row, from, until, slots).
template <typename See>
void each_held(std::vector<Change>& changes, const See& see) {
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    if (a.row != b.row) return a.row < b.row;
    return a.time != b.time ? a.time < b.time : a.slots < b.slots;
  });
  std::int64_t held = 0;  // each job's changes add up to 0
  for (std::size_t k = 0; k + 1 < changes.size(); ++k) {
    held += changes[k].slots;
    if (changes[k + 1].row == changes[k].row) {
      see(changes[k].row, changes[k].time, changes[k + 1].time, held);
    }
  }
}

// floor(a b / c) and the remainder, bit by bit, for a <= c <= 2^62.
inline std::pair<std::int64_t, std::uint64_t> divide_product(std::int64_t a, std::int64_t b,
                                                             std::int64_t c) {
  const auto by = static_cast<std::uint64_t>(c);
  std::uint64_t quotient = 0, rest = 0;
  for (int bit = 62; bit >= 0; --bit) {
    quotient *= 2;
    rest = 2 * rest + ((b >> bit & 1) != 0 ? static_cast<std::uint64_t>(a) : 0);
    for (; rest >= by; rest -= by) ++quotient;
  }
  return {static_cast<std::int64_t>(quotient), rest};
}

// floor(m S / sum m), the remainder to the largest fractions, then to lower rows.
inline void scale_minima(std::vector<std::int64_t>& minima, std::int64_t slots) {
  std::int64_t total = 0;
  for (const std::int64_t m : minima) {
    total += m;
    if (total > kAllSlots) throw std::invalid_argument("min_slots: add up to more than 2^62");
  }
  if (total <= slots) return;
  std::vector<std::uint64_t> fraction(minima.size());
  std::int64_t left = slots;
  for (std::size_t j = 0; j < minima.size(); ++j) {
    std::tie(minima[j], fraction[j]) = divide_product(minima[j], slots, total);
    left -= minima[j];
  }
  std::vector<std::size_t> rows(minima.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::size_t a, std::size_t b) { return fraction[a] > fraction[b]; });
  for (std::size_t k = 0; k < static_cast<std::size_t>(left); ++k) ++minima[rows[k]];
}

// What so many slots of a job do together, by its speed-up.
inline double done_by(const SpeedupView& speedup, std::size_t j, std::int64_t held) {
  if (!speedup.offset.empty() && speedup.offset[j] < speedup.offset[j + 1]) {
    const std::int64_t entries = speedup.offset[j + 1] - speedup.offset[j];
    return held == 0 ? 0.0
                     : speedup.rate[static_cast<std::size_t>(speedup.offset[j] +
                                                             std::min(held, entries) - 1)];
  }
  return held == 0 ? 0.0 : std::pow(static_cast<double>(held), speedup.exponent[j]);
}

// Checks a job without work.
inline void check_idle(const JobsView& jobs, const JobPromises& of, std::size_t j, const Sum& sum,
                       double told) {
  if (sum.done > 0.0) fail(j, "runs though it has nothing to do");
  if (told != jobs.arrival[j] && told != of.now) {
    fail(j, "has no work and should end at its arrival, or now, not at ", told);
  }
}

// Checks a job that never ends: a gang that needs more slots than there are.
inline void check_endless(const JobsView& jobs, const JobPromises& of, std::size_t j,
                          const Sum& sum) {
  const bool gang = of.min_mode == MinMode::kGang && !of.ignores_minima;
  if (!gang || jobs.min_slots[j] <= of.slots) fail(j, "never ends");
  if (sum.done > 0.0) fail(j, "runs though it never ends");
}

// Work, and the stated end.
inline void check_work_done(const JobsView& jobs, const JobPromises& of, std::size_t j,
                            const Sum& sum, double told) {
  const double work = jobs.work[j];
  if (work == 0.0) return check_idle(jobs, of, j, sum, told);
  if (!std::isfinite(told)) return check_endless(jobs, of, j, sum);
  const std::int64_t widest = std::min(jobs.max_slots[j], of.slots);
  double most = static_cast<double>(widest);  // what is done in a second, from above
  if (jobs.speedup.given()) most = std::max(most, done_by(jobs.speedup, j, widest));
  const double blur = 4.0 * spacing(told) + kSame * std::fabs(told - of.now);
  const double lost = most * blur;
  if (!(std::fabs(sum.done - work) <= kShare * work + lost)) {
    fail(j, sum.done, " slot-seconds done of ", work);
  }
  if (!std::isfinite(sum.last)) return;
  // What is left may be too short for the clock; of a short job it does not even tell whether
  // something is left.
  const double missing = work - sum.done;
  const bool some = missing > 1e-14 * work || most * spacing(sum.last) > kShare * work;
  const bool unseen = some && missing <= lost && sum.last < told;
  if (std::fabs(sum.last - told) > blur + 1e-9 * std::fabs(told - of.now) && !unseen) {
    fail(j, "completion ", told, " but the last piece ends at ", sum.last);
  }
}

inline void check_minima(const JobsView& jobs, const JobPromises& of, const std::vector<Sum>& sums,
                         std::span<const double> completion, std::vector<Change>& changes) {
  std::vector<std::int64_t> minima(jobs.size(), 0);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.work[j] > 0.0) minima[j] = jobs.min_slots[j];
  }
  const bool gang = of.min_mode == MinMode::kGang;
  if (!gang) scale_minima(minima, of.slots);
  each_held(changes, [&](std::size_t j, double from, double until, std::int64_t held) {
    if (held >= minima[j] || (gang && held == 0)) return;
    if (until - from <= 4.0 * spacing(from) + kSame * std::fabs(from - of.now)) return;
    fail(j, held, " slots at ", from, ", its ", gang ? "gang needs " : "minimum is ", minima[j]);
  });
  if (gang) return;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const double blur = 4.0 * spacing(completion[j]) + kSame * std::fabs(completion[j] - of.now);
    // A job that is too short for the clock has no piece that could be late.
    if (minima[j] == 0 || !std::isfinite(sums[j].first) || sums[j].first <= of.now + blur) continue;
    fail(j, "waits although a minimum is guaranteed");
  }
}

// Jobs without work end when they came, or now.
inline void check_schedule(const JobsView& jobs, const JobPromises& promises,
                           const PiecesView& pieces, std::span<const double> completion) {
  check_length("completion", completion.size(), jobs.size(), "work");
  std::vector<Sum> sums = sums_of(pieces, jobs.size(), promises.now);
  std::vector<Change> changes = changes_of(pieces);
  if (jobs.speedup.given()) {
    for (Sum& sum : sums) sum.done = 0.0;
    each_held(changes, [&](std::size_t j, double from, double until, std::int64_t held) {
      sums[j].done += done_by(jobs.speedup, j, held) * (until - from);
    });
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    check_work_done(jobs, promises, j, sums[j], completion[j]);
  }
  check_capacity(changes, promises.slots);
  each_held(changes, [&](std::size_t j, double from, double until, std::int64_t held) {
    if (until > from && held > jobs.max_slots[j]) {
      fail(j, held, " slots at ", from, ", its maximum is ", jobs.max_slots[j]);
    }
  });
  if (!promises.ignores_minima) check_minima(jobs, promises, sums, completion, changes);
}

}  // namespace malleable::check
