// Penalties: one non-decreasing piecewise-linear function with jumps per job.
//
// Job j owns rows offset[j] .. offset[j+1]. Row r is the line value[r] + slope[r] (t - at[r]); the
// first row reaches back to minus infinity, every later one applies to t > at[r]. A job without
// rows uses the caller's own function. Every metric of the FLEX paper (section 2.1) has this form,
// so kernels and policies ask about slopes, jumps and inverses, never about a metric's name.
//
// A time t meets a break point d when t <= d + 1e-9 max(1, |d|).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "malleable/model/terms.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

enum class Aggregate : std::uint8_t { kSum, kMax };
enum class Kind : std::uint8_t {
  kResponse,
  kCompletion,
  kStretch,
  kTardy,
  kTardiness,
  kLateness,
  kSla,
  kStrict,
  kCustom
};

// What is known of a kind besides its rows (Penalties::build). A new kind needs an enumerator, a
// row here and its case there.
struct KindInfo {
  const char* name;
  bool needs_deadline = false;  // a job without one is wrong input
  bool uses_sla = false;        // looks at the jobs' steps
  bool steady = false;          // one line for all times, so that Smith's ratio is the same at any
  bool per_size = false;        // divided by the job's original size
  bool endless = false;         // may be infinite
  bool custom = false;          // the caller's function
};
inline constexpr KindInfo kKinds[] = {
    {.name = "response", .steady = true},
    {.name = "completion", .steady = true},
    {.name = "stretch", .steady = true, .per_size = true},
    {.name = "tardy"},
    {.name = "tardiness"},
    {.name = "lateness", .needs_deadline = true, .steady = true},
    {.name = "sla", .uses_sla = true},
    {.name = "strict", .endless = true},
    {.name = "custom", .endless = true, .custom = true},
};
static_assert(std::size(kKinds) == static_cast<std::size_t>(Kind::kCustom) + 1);
constexpr const KindInfo& info(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }
// Throws std::invalid_argument for a number that is no kind's.
Kind kind_of(std::int64_t code);
// Throws FieldError unless there is a deadline.
void check_needed_deadline(Kind kind, std::size_t row, double deadline);

// Penalty of a job at an absolute completion time; non-decreasing, never NaN. Infinite from some
// time on: a strict deadline.
using CustomPenalty = double (*)(std::int64_t job, double completion);

class Penalties {
 public:
  Penalties() = default;

  // `kinds` has one entry (for all jobs) or one per job. `custom` is told a job's number in
  // `names`, its row if that is empty. Throws FieldError where lateness has no deadline and
  // std::invalid_argument where a custom kind has no function. O(J + steps).
  void build(const TermsView& jobs, std::span<const Kind> kinds, CustomPenalty custom = nullptr,
             std::span<const std::int64_t> names = {});

  // What latest() found out about a custom penalty before: it begins there and notes what it finds.
  struct Seen {
    double limit = std::numeric_limits<double>::quiet_NaN();  // last_finite()
    double due = std::numeric_limits<double>::quiet_NaN();    // of any other level
    // At which the penalty rises there; 0: it jumps, NaN: who knows.
    double rate = std::numeric_limits<double>::quiet_NaN();
  };
  // One row a job, for as long as these penalties are not built again.
  void remember(std::span<Seen> seen) { seen_ = seen; }

  // The penalties `from` with miss[j] wherever job j costs more, and infinity above all: nowhere
  // more than `from`, so what bounds these bounds those. O(rows).
  void build_finite(const Penalties& from, std::span<const double> miss);

  // The penalties `from` with every job's clock put forward: at t they say what `from` says at
  // t + shift[j]. Not for custom penalties. O(rows).
  void build_shifted(const Penalties& from, std::span<const double> shift);

  std::size_t size() const { return offset_.empty() ? 0 : offset_.size() - 1; }

  // The penalty of job j when it completes at t (absolute; may be infinite).
  double operator()(std::size_t j, double t) const {
    if (single_row_) return line(j, t);
    const std::size_t first = offset_[j], end = offset_[j + 1];
    if (first == end) return own(j, t);
    std::size_t r = first;
    while (r + 1 < end && t > at_[r + 1] + tolerance(at_[r + 1])) ++r;
    return line(r, t);
  }

  // The latest time at which the penalty of job j is at most `level`: +infinity if it never exceeds
  // it, -infinity if it always does. Break points come back exactly, without the tolerance.
  // Custom penalties: `near` is a time not far from it, for those of which nothing is remembered.
  double latest(std::size_t j, double level,
                double near = std::numeric_limits<double>::quiet_NaN()) const;

  // The least value above `level` that the penalty of job j takes, in the limit from the right:
  // `level` itself where the function is continuous there. +infinity if there is none.
  double next_value(std::size_t j, double level) const;

  // Some job may cost infinitely much: it has a strict deadline or the caller's own function.
  bool may_be_infinite() const { return may_be_infinite_; }
  // The latest time at which job j costs less than infinity; +infinity if it always does.
  double last_finite(std::size_t j) const { return latest(j, std::numeric_limits<double>::max()); }
  // What job j weighs among those that miss strict deadlines; only where may_be_infinite().
  double weight(std::size_t j) const { return weight_[j]; }

  // Every job has exactly one row, so the penalty is slope (t - at) + value.
  bool linear() const { return single_row_; }
  bool is_custom(std::size_t j) const { return !single_row_ && offset_[j] == offset_[j + 1]; }
  // No jump and no falling slope between two times: the function is convex there.
  bool convex(std::size_t j, double from, double to) const;
  // Slopes are zero everywhere: a step function.
  bool steps(std::size_t j) const;

  std::span<const std::size_t> offset() const { return offset_; }
  std::span<const double> at() const { return at_; }
  std::span<const double> value() const { return value_; }
  std::span<const double> slope() const { return slope_; }

  double line(std::size_t r, double t) const {
    return slope_[r] == 0.0 ? value_[r] : value_[r] + slope_[r] * (t - at_[r]);
  }

 private:
  void row(double at, double value, double slope);
  void add_rows(Kind kind, const TermsView& jobs, std::size_t j);
  double own(std::size_t j, double t) const {
    const double value = custom_(names_.empty() ? static_cast<std::int64_t>(j) : names_[j], t);
    return most_.empty() || value < most_[j] ? value : most_[j];
  }
  double latest_own(std::size_t j, double level, double near) const;
  double cross_own(std::size_t j, double level, double start, double& rate) const;

  std::vector<std::size_t> offset_;
  std::vector<double> at_, value_, slope_;
  std::vector<double> weight_;
  std::vector<double> most_;  // that a custom penalty may say; empty: anything
  CustomPenalty custom_ = nullptr;
  std::vector<std::int64_t> names_;  // of the jobs, for the caller's function; empty: their rows
  std::span<Seen> seen_;             // empty: nothing is remembered
  bool single_row_ = true, may_be_infinite_ = false;
};

// Sum or maximum of the penalties at these absolute completion times; 0 for no jobs. O(J), and the
// order of additions is fixed.
double evaluate(const Penalties& penalties, Aggregate aggregate,
                std::span<const double> completion);

}  // namespace malleable
