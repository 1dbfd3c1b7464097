// The jobs of an Epoch as an instance that plans and orders are made for, beside what jobs without
// work keep. Built for one decision; what follows it may still look at it. O(J).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "malleable/model/plan.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class Instance {
 public:
  Problem problem;
  Penalties penalties;
  Problem beside;                   // what is left beside those without work, while there are some
  bool built = false;               // problem and penalties are those of the last decision
  std::vector<double> share, kept;  // slots of a decision: of those with work, of the others

  void grow(std::size_t rows) { seen_.resize(rows); }
  void close(const RowsGone& gone) { gone(seen_); }

  // Of jobs of which so much is left.
  void build(const Scene& at, std::span<const double> left);
  JobsView jobs(const Scene& at, std::span<const double> left) const;
  SpeedupView speedup() const { return speedup_.view(); }
  // One entry where all are of one kind.
  std::span<const Kind> kinds(const Scene& at) const;
  // Some penalty is infinite from some time on.
  bool has_strict(const Scene& at) const;

  // The instance of those who have work, and in `kept` what the others have. Plans do not see that:
  // it ends now.
  const Problem& set_kept_aside(const Scene& at);
  // The first layer of the packing in this order, into `share`.
  void decide_by_order(const Problem& by, std::span<const Index> order);

 private:
  std::vector<Penalties::Seen> seen_;  // what penalties remember, by row
  SlaColumns sla_;
  SpeedupColumns speedup_;
  std::vector<double> ended_, rest_;
  std::vector<std::int64_t> most_;
};

}  // namespace malleable
