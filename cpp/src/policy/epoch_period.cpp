// Decisions that the caller holds for a period: the same policies, with maxima cut to whole
// slot-periods, and slots left over for jobs that end sooner by them (kernel slot_periods).
//
// What is left of a job that outlives its estimate is a quarter of what it has done: what the
// decisions gave it counts, and what it had done when it came. O(J) beside the policy.
#include <algorithm>

#include "malleable/model/domain.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable {
namespace {

// Of the work done so far, what is left of a job whose estimate has run out.
constexpr double kStillLeft = 0.25;

}  // namespace

// What every job did since the last decision, if that was held.
void Epoch::count_service(double now) {
  if (!(period_ > 0.0) || !(now > now_)) return;
  const double span = now - now_;
  for (std::size_t r = 0; r < done_.size(); ++r) {
    if (given_[r] > 0) done_[r] += span * rate_of(r, static_cast<double>(given_[r]));
  }
}

// What so many slots of a job do together.
double Epoch::rate_of(std::size_t row, double slots) const {
  if (exponent_.empty()) return slots;
  const std::int64_t offset[] = {0, static_cast<std::int64_t>(rates_[row].size())};
  return SpeedupView{{&exponent_[row], 1}, offset, rates_[row]}.at(0, slots);
}

double Epoch::left_of_row(std::size_t row) const {
  if (work_[row] > 0.0) return work_[row];
  return std::max(kWorkRange.least, kStillLeft * std::max(done_[row], size_[row]));
}

// What a job pays for each second, by the policy.
std::span<const double> Epoch::value_of_seconds() {
  if (shares_ == Shares::kWeighted) return weight_;
  if (!find_policy(options_.policy).promises.follows_objective) return {};
  value_.assign(weight_.begin(), weight_.end());
  for (std::size_t r = 0; r < value_.size(); ++r) {
    if (info(kind_[r]).per_size && size_[r] > 0.0) value_[r] /= size_[r];
  }
  return value_;
}

// By any policy, as if maxima were those of beside_.
void Epoch::share_capped() {
  if (concave()) {
    concave_.decide(concave_task(), beside_, options_.hysteresis, given_, share_);
    return;
  }
  if (shares_ != Shares::kByOrder) {
    waterline_.allocate(beside_, shared_by(), share_);
    return;
  }
  // An order looks ahead in whole slot-periods.
  for (std::size_t r = 0; r < left_.size(); ++r) {
    problem_.work[r] = period_ * slot_periods(left_[r], period_);
  }
  make_order();
  planned_.reset();
  problem_.work.assign(left_.begin(), left_.end());
  decide_by_order(beside_, order_);
}

// The instance of a decision that is held.
void Epoch::build_held() {
  left_.resize(id_.size());
  for (std::size_t r = 0; r < left_.size(); ++r) left_[r] = left_of_row(r);
  build_instance(left_);
  built_ = true;
}

void Epoch::decide_for_period() {
  const std::size_t n = id_.size();
  build_held();
  const SpeedupView speedup = concave() ? speedup_columns_.view() : SpeedupView{};
  beside_ = problem_;
  cap_at_period(beside_, period_, speedup);
  share_.assign(n, 0.0);
  share_capped();
  left_over_.hand_out(problem_, period_, value_of_seconds(), share_, speedup);
  for (std::size_t r = 0; r < n; ++r) {
    reset(r);
    given_[r] = static_cast<std::int64_t>(share_[r]);
  }
  winners_.clear();
  all_touched_ = true;
}

}  // namespace malleable
