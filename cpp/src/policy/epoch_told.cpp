// Decisions of an epoch that tells ends (policy/told_ends).
#include <stdexcept>

#include "malleable/model/error.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {

void Epoch::check_told() const {
  check_amount("predictable", *options_.predictable, kWeightRange);
  const bool steady = options_.aggregate == Aggregate::kSum && info(options_.kind).steady;
  if (options_.policy != EpochPolicy::kFlex || !steady) {
    throw std::invalid_argument(
        "predictable: needs the policy flex and a sum of response, completion, stretch or "
        "lateness");
  }
  if (options_.effort || options_.hysteresis > 0.0 || options_.period > 0.0) {
    throw std::invalid_argument("predictable: goes without effort, hysteresis and period");
  }
}

void Epoch::decide_told() {
  build_instance(work_);
  built_ = true;
  const Problem& problem = set_kept_aside();
  share_.assign(id_.size(), 0.0);
  const std::span<const double> value = value_of_seconds();
  told_ends_.decide({problem, speedup_columns_.view(), id_, value, arrival_, coming_.expected(),
                     *options_.predictable},
                    share_);
  for (std::size_t r = 0; r < id_.size(); ++r) {
    reset(r);
    given_[r] = static_cast<std::int64_t>(share_[r] + kept_[r]);
  }
  order_.clear();
  winners_.clear();
  all_touched_ = true;
}

std::vector<double> Epoch::told() const {
  std::vector<double> ends(id_.size(), kInfinity);
  told_ends_.each([&](std::int64_t id, double told) {
    if (const Index row = find(id); row != kNone) ends[row] = told;
  });
  return ends;
}

}  // namespace malleable
