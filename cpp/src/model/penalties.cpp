#include "malleable/model/penalties.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {
// A penalty is rows of (from a time on, value just after it, slope); a custom one is a function
// without rows, known only by its values.
namespace {

constexpr double kSteepest = 1e290;  // keeps penalties of jobs with tiny sizes finite

// From a number to the next one away from 0.
double digit_of(double x) {
  constexpr std::uint64_t kExponent = 0x7ff0000000000000;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & kExponent) * 0x1p-52;
}

}  // namespace

Kind kind_of(std::int64_t code) {
  constexpr auto kKindCount = static_cast<std::int64_t>(std::size(kKinds));
  if (code >= 0 && code < kKindCount) return static_cast<Kind>(code);
  std::string names;
  for (const KindInfo& kind : kKinds)
    names += names.empty() ? kind.name : std::string(", ") + kind.name;
  throw std::invalid_argument("kind = " + std::to_string(code) + ": must be from 0 to " +
                              std::to_string(kKindCount - 1) + " (" + names + ")");
}

void check_needed_deadline(Kind kind, std::size_t row, double deadline) {
  if (std::isfinite(deadline)) return;
  throw FieldError("deadline", row, deadline, std::string(info(kind).name) + " needs a deadline");
}

namespace {

// Searches for the latest t with f(t) <= level, f known only by its values: f(low) <= level <
// f(high) once both are known.
template <typename Function>
class Crossing {
 public:
  Crossing(const Function& f, double level, double start)
      : f_(f),
        level_(level),
        last_(start),
        at_last_(f(start)),
        before_(start),
        at_before_(at_last_) {
    (at_last_ <= level ? low_ : high_) = start;
  }
  double at_start() const { return at_last_; }  // valid until the search goes on
  double low() const { return low_; }
  bool close(double value) const {
    return std::fabs(value - level_) <= 0x1p-40 * std::fabs(level_);
  }

  // Evaluates the function at five neighbouring values of a digit at once: these calls do not wait
  // for each other's results.
  void see_next_digits(double guess) {
    const double unit = digit_of(guess);
    double at[5];
    int met = 0;
    for (int k = 0; k < 5; ++k) {
      at[k] = f_(guess + (k - 2) * unit);
      met += at[k] <= level_;
    }
    if (met > 0) low_ = std::max(low_, guess + (met - 3) * unit);
    if (met < 5) high_ = std::min(high_, guess + (met - 2) * unit);
    before_ = std::exchange(last_, guess);
    at_before_ = std::exchange(at_last_, at[2]);
  }

  // Moves outwards until the level lies between two times; if it never does, returns the end that
  // it lies beyond.
  std::optional<double> enclose(bool jumps) {
    // If the level is hardly missed, or the penalty jumped before, one digit may be enough.
    double step = close(at_last_) || jumps ? std::max(0x1p-72, digit(last_))
                                           : 0x1p-8 * std::max(1.0, std::fabs(last_));
    for (int tries = 0; low_ == -kInfinity || high_ == kInfinity; ++tries, step *= 8.0) {
      if (high_ == kInfinity && tries == 2 && f_(kFar) <= level_) return kInfinity;
      see(outwards(step, tries));
      if (high_ == kInfinity && last_ == kFar) return kInfinity;
      if (low_ == -kInfinity && last_ == -kFar) return -kInfinity;
    }
    return std::nullopt;
  }

  // Narrows the bracket to two neighbouring doubles, by secants and halving.
  void narrow() {
    double reach = 2.0;  // goes on to digits beyond the crossing, so that both sides come near
    int slow = 0, halve = 0;
    for (int round = 0; round < kRounds; ++round) {
      const double width = high_ - low_, middle = low_ + width / 2.0;
      if (middle <= low_ || middle >= high_) break;
      double t = middle;
      if (halve > 0) {
        --halve;
      } else if (const double guess = secant(); guess >= low_ && guess <= high_) {
        const double off = reach * digit(guess);
        const double aside = at_last_ <= level_ ? guess + off : guess - off;
        if (aside > low_ && aside < high_) t = aside;
      }
      see(t);
      if (high_ - low_ <= width / 2.0) {
        slow = 0;
      } else if (++slow == 2) {
        slow = 0;
        halve = 3;
        reach *= 8.0;
      }
    }
  }

  // a level that is not reached by this time counts as never reached
  static constexpr double kFar = 0x1p59;

 private:
  static constexpr int kRounds = 2000;  // most steps of narrow()

  static double digit(double t) { return std::fabs(t) * 0x1p-52; }
  void see(double t) {
    before_ = std::exchange(last_, std::clamp(t, -kFar, kFar));
    at_before_ = std::exchange(at_last_, f_(last_));
    (at_last_ <= level_ ? low_ : high_) = last_;
  }
  double secant() const {
    return last_ + (level_ - at_last_) * ((last_ - before_) / (at_last_ - at_before_));
  }
  // A little further than the line through the last two values, but not too far.
  double outwards(double step, int tries) const {
    const bool up = high_ == kInfinity;
    const double t = up ? low_ + step : high_ - step, guess = secant();
    if ((tries != 1 && tries != 2) || !(std::fabs(guess - last_) < 64.0 * step)) return t;
    const double beyond = up ? guess + 4.0 * digit(guess) : guess - 4.0 * digit(guess);
    return (up ? beyond > low_ : beyond < high_) ? beyond : t;
  }

  const Function& f_;
  double level_, low_ = -kInfinity, high_ = kInfinity;
  double last_, at_last_, before_, at_before_;
};

}  // namespace

// Moves from `start` along `rate`, or outwards, until the level lies between two times, then uses
// secants, and halving if these do not help: at most 50 and 2000 values, six if the rate still
// holds.
double Penalties::cross_own(std::size_t j, double level, double start, double& rate) const {
  const auto f = [&](double t) { return own(j, t); };
  using Search = Crossing<decltype(f)>;
  Search search(f, level, start);
  const double at_start = search.at_start();
  if (const double guess = start + (level - at_start) / rate;
      rate > 0.0 && std::fabs(guess) < Search::kFar) {
    search.see_next_digits(guess);
  }
  if (const auto end = search.enclose(rate == 0.0)) return *end;
  search.narrow();
  const double low = search.low();
  // Only digits separate times that are this close together.
  if (std::fabs(low - start) > 0x1p-20 * std::fabs(low)) {
    rate = (level - at_start) / (low - start);
  } else if (low == start && !search.close(at_start)) {
    rate = 0.0;
  }
  return low;
}

// The same search from its last result.
double Penalties::latest_own(std::size_t j, double level, double near) const {
  Seen fresh;
  Seen& seen = seen_.empty() ? fresh : seen_[j];
  const bool limit = level == std::numeric_limits<double>::max();
  if (limit && !std::isnan(seen.limit)) return seen.limit;  // this result cannot change
  if (std::isfinite(seen.due)) near = seen.due;
  double rate = limit ? fresh.rate : seen.rate;
  const double found = cross_own(j, level, std::isfinite(near) ? near : 0.0, rate);
  if (limit) {
    seen.limit = found;
  } else if (std::isfinite(found)) {
    seen.due = found;
    seen.rate = rate;
  }
  return found;
}

void Penalties::row(double at, double value, double slope) {
  at_.push_back(at);
  value_.push_back(value);
  slope_.push_back(slope);
}

void Penalties::add_rows(Kind kind, const TermsView& jobs, std::size_t j) {
  const double w = jobs.weight[j], due = jobs.deadline[j];
  // 0 up to the deadline, then a jump and a slope.
  const auto after_due = [&](double jump, double slope) {
    row(std::isfinite(due) ? due : 0.0, 0.0, 0.0);
    if (std::isfinite(due)) row(due, jump, slope);
  };
  switch (kind) {
    case Kind::kResponse:
      return row(jobs.arrival[j], 0.0, w);
    case Kind::kCompletion:
      return row(0.0, 0.0, w);
    case Kind::kStretch:
      return row(jobs.arrival[j], 0.0,
                 jobs.original[j] > 0.0 ? std::min(w / jobs.original[j], kSteepest) : 0.0);
    case Kind::kTardy:
      return after_due(w, 0.0);
    case Kind::kStrict:
      return after_due(kInfinity, 0.0);
    case Kind::kTardiness:
      return after_due(0.0, w);
    case Kind::kLateness:
      return row(due, 0.0, w);
    case Kind::kSla: {
      const auto [time, penalty] = jobs.sla.of(j);
      row(time.empty() ? 0.0 : time[0], 0.0, 0.0);
      for (std::size_t k = 0; k < time.size(); ++k) row(time[k], w * penalty[k], 0.0);
      return;
    }
    case Kind::kCustom:
      return;
  }
}

// `names`: the numbers by which the caller's function knows the jobs.
void Penalties::build(const TermsView& jobs, std::span<const Kind> kinds, CustomPenalty custom,
                      std::span<const std::int64_t> names) {
  const std::size_t n = jobs.arrival.size();
  if (kinds.size() != 1 && kinds.size() != n) {
    throw std::invalid_argument("objective has " + counted(kinds.size(), "kind") + " for " +
                                counted(n, "job"));
  }
  const auto kind_of = [&](std::size_t j) { return kinds.size() == 1 ? kinds[0] : kinds[j]; };
  for (std::size_t j = 0; j < n; ++j) {
    const Kind kind = kind_of(j);
    if (info(kind).needs_deadline) check_needed_deadline(kind, j, jobs.deadline[j]);
    if (info(kind).custom && custom == nullptr) {
      throw std::invalid_argument("objective custom needs a penalty function");
    }
  }
  custom_ = custom;
  names_.assign(names.begin(), names.end());
  seen_ = {};
  most_.clear();
  may_be_infinite_ =
      std::any_of(kinds.begin(), kinds.end(), [](Kind kind) { return info(kind).endless; });
  weight_.clear();
  if (may_be_infinite_) weight_.assign(jobs.weight.begin(), jobs.weight.end());
  offset_.clear();
  offset_.reserve(n + 1);
  for (auto* column : {&at_, &value_, &slope_}) {
    column->clear();
    column->reserve(2 * n);
  }
  offset_.push_back(0);
  for (std::size_t j = 0; j < n; ++j) {
    add_rows(kind_of(j), jobs, j);
    offset_.push_back(at_.size());
  }
  single_row_ = at_.size() == n;
  for (std::size_t j = 0; single_row_ && j < n; ++j) single_row_ = offset_[j] == j;
}

// The same penalties, with finite values `miss` in place of infinite ones.
void Penalties::build_finite(const Penalties& from, std::span<const double> miss) {
  *this = from;
  seen_ = {};  // seen_ was for other functions
  may_be_infinite_ = false;
  most_.assign(miss.begin(), miss.end());
  for (std::size_t j = 0; j < size(); ++j) {
    for (std::size_t r = offset_[j]; r < offset_[j + 1]; ++r) {
      if (value_[r] == kInfinity) value_[r] = miss[j];
    }
  }
}

void Penalties::build_shifted(const Penalties& from, std::span<const double> shift) {
  *this = from;
  for (std::size_t j = 0; j < size(); ++j) {
    for (std::size_t r = offset_[j]; r < offset_[j + 1]; ++r) at_[r] -= shift[j];
  }
}

// The latest completion that costs at most the level.
double Penalties::latest(std::size_t j, double level, double near) const {
  const std::size_t first = offset_[j], end = offset_[j + 1];
  if (first == end) return latest_own(j, level, near);
  double until = kInfinity;  // end of the present row
  for (std::size_t r = end; r-- > first; until = at_[r]) {
    // Just after its start the row has value_[r]; the first row has no start.
    if (r > first && value_[r] > level) continue;
    if (slope_[r] == 0.0) {
      if (value_[r] <= level) return until;
      continue;
    }
    return std::min(until, at_[r] + (level - value_[r]) / slope_[r]);
  }
  return -kInfinity;
}

// The value that the penalty takes just after it has last been at most the level.
double Penalties::next_value(std::size_t j, double level) const {
  const double t = latest(j, level);
  if (t == kInfinity) return kInfinity;
  const std::size_t first = offset_[j], end = offset_[j + 1];
  if (first == end) {
    return std::max(level, own(j, t + 2.0 * tolerance(t)));
  }
  if (t == -kInfinity) return slope_[first] > 0.0 ? level : value_[first];
  // Several rows may start at t; the last one applies to later completions.
  double value = level;
  for (std::size_t r = first + 1; r < end && at_[r] <= t; ++r) value = std::max(level, value_[r]);
  return value;
}

bool Penalties::convex(std::size_t j, double from, double to) const {
  const std::size_t first = offset_[j], end = offset_[j + 1];
  if (first == end) return false;
  for (std::size_t r = first + 1; r < end; ++r) {
    if (at_[r] < from || at_[r] >= to) continue;
    if (slope_[r] < slope_[r - 1] || value_[r] > line(r - 1, at_[r])) return false;
  }
  return true;
}

bool Penalties::steps(std::size_t j) const {
  for (std::size_t r = offset_[j]; r < offset_[j + 1]; ++r) {
    if (slope_[r] != 0.0) return false;
  }
  return offset_[j] < offset_[j + 1];
}

double evaluate(const Penalties& penalties, Aggregate aggregate,
                std::span<const double> completion) {
  const std::size_t n = completion.size();
  if (n == 0) return 0.0;
  if (aggregate == Aggregate::kMax) {
    double worst = -kInfinity;
    for (std::size_t j = 0; j < n; ++j) worst = std::max(worst, penalties(j, completion[j]));
    return worst;
  }
  // Four running sums hide the latency of the additions; their order never changes.
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  if (penalties.linear()) {
    const auto at = penalties.at(), value = penalties.value(), slope = penalties.slope();
    for (std::size_t j = 0; j < n; ++j) sum[j % 4] += value[j] + slope[j] * (completion[j] - at[j]);
    const double total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    // NaN: infinite completions with slope 0 need the slow way
    if (!std::isnan(total)) return total;
    std::fill(sum, sum + 4, 0.0);
  }
  for (std::size_t j = 0; j < n; ++j) sum[j % 4] += penalties(j, completion[j]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace malleable
