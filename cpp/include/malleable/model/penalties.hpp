// Penalties: one non-decreasing piecewise-linear function with jumps per job.
//
// Job j owns rows offset[j] .. offset[j+1]. Row r is the line value[r] + slope[r] (t - at[r]); the
// first row reaches back to minus infinity, every later row applies to t > at[r]. A job without
// rows uses the caller's own function (custom). Every metric of FLEX (Wolf et al. 2010, section
// 2.1) has this form, so kernels and policies ask about slopes, jumps and inverses, never about a
// metric's name. A *level* is a value that penalties are compared with: latest(j, level) is the
// deadline that job j must meet to cost no more.
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

// Properties of a kind. A new kind needs an enumerator, a row here and a case in Penalties::build.
struct KindInfo {
  const char* name;
  bool needs_deadline = false;  // a job without a deadline is an error
  bool uses_sla = false;        // looks at the jobs' steps
  // one line for all times, so that Smith's ratio (slope over work) does not depend on time
  bool steady = false;
  bool per_size = false;  // divided by the job's original size
  bool endless = false;   // the penalty may be infinite
  bool custom = false;    // the caller's function
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
// Throws std::invalid_argument for a number that is no kind.
Kind kind_of(std::int64_t code);
// Throws FieldError if the kind needs a deadline and there is none.
void check_needed_deadline(Kind kind, std::size_t row, double deadline);

// Penalty of a job at an absolute completion time; non-decreasing, never NaN. If it is infinite
// from some time on, that time is a strict deadline.
using CustomPenalty = double (*)(std::int64_t job, double completion);

class Penalties {
 public:
  Penalties() = default;

  // `kinds` has one entry (for all jobs) or one per job. `custom` gets a job's number in `names`,
  // or its row if that is empty. Throws FieldError for lateness without a deadline and
  // std::invalid_argument for a custom kind without a function. O(J + steps).
  void build(const TermsView& jobs, std::span<const Kind> kinds, CustomPenalty custom = nullptr,
             std::span<const std::int64_t> names = {});

  // What latest() found for a custom penalty: the next search starts there and updates it.
  struct Seen {
    double limit = std::numeric_limits<double>::quiet_NaN();  // last_finite()
    double due = std::numeric_limits<double>::quiet_NaN();    // of any other level
    // The rate at which the penalty rises there; 0: it jumps, NaN: unknown.
    double rate = std::numeric_limits<double>::quiet_NaN();
  };
  // Memory for latest(), one entry a job; valid until the penalties are built again.
  void remember(std::span<Seen> seen) { seen_ = seen; }

  // The penalties `from`, cut to at most miss[j] for job j, also where they are infinite. They are
  // nowhere above `from`, so a lower bound of these is one of `from`. O(rows).
  void build_finite(const Penalties& from, std::span<const double> miss);

  // The penalties `from` moved earlier: at t they are what `from` is at t + shift[j]. Not for
  // custom penalties. O(rows).
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
  // it, -infinity if it always does. Break points are returned exactly, without the tolerance.
  // `near`: a start for the search if the penalty is custom and nothing is remembered.
  double latest(std::size_t j, double level,
                double near = std::numeric_limits<double>::quiet_NaN()) const;

  // The least value above `level` that the penalty of job j takes, in the limit from the right:
  // `level` itself where the function is continuous there. +infinity if there is none.
  double next_value(std::size_t j, double level) const;

  // True if some job may cost infinitely much: it has a strict deadline or the caller's own
  // function.
  bool may_be_infinite() const { return may_be_infinite_; }
  // The latest time at which job j costs less than infinity; +infinity if it always does.
  double last_finite(std::size_t j) const { return latest(j, std::numeric_limits<double>::max()); }
  // The weight of job j if it misses a strict deadline; only if may_be_infinite().
  double weight(std::size_t j) const { return weight_[j]; }

  // True if every job has exactly one row, so that the penalty is slope (t - at) + value.
  bool linear() const { return single_row_; }
  bool is_custom(std::size_t j) const { return !single_row_ && offset_[j] == offset_[j + 1]; }
  // True if there is no jump and no falling slope between two times: the function is convex there.
  bool convex(std::size_t j, double from, double to) const;
  // True if all slopes are zero: a step function.
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
  // The caller's own penalty, up to its upper limit.
  double own(std::size_t j, double t) const {
    const double value = custom_(names_.empty() ? static_cast<std::int64_t>(j) : names_[j], t);
    return most_.empty() || value < most_[j] ? value : most_[j];
  }
  // Searches, for a job with a custom penalty, for the time at which it reaches the level: from
  // `start` along the slope `rate`, or from an earlier result `near`.
  double latest_own(std::size_t j, double level, double near) const;
  double cross_own(std::size_t j, double level, double start, double& rate) const;

  std::vector<std::size_t> offset_;
  // By row: from a time on, the value just after it, the slope.
  std::vector<double> at_, value_, slope_;
  std::vector<double> weight_;
  std::vector<double> most_;  // upper limits of custom penalties; empty: none
  CustomPenalty custom_ = nullptr;
  std::vector<std::int64_t> names_;  // numbers of jobs for the caller's function; empty: rows
  std::span<Seen> seen_;             // empty: nothing is remembered
  bool single_row_ = true, may_be_infinite_ = false;
};

// Sum or maximum of the penalties at these absolute completion times; 0 for no jobs. O(J), and the
// order of additions is fixed.
double evaluate(const Penalties& penalties, Aggregate aggregate,
                std::span<const double> completion);

}  // namespace malleable
