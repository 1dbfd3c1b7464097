#include "malleable/policy/epoch/promised.hpp"

namespace malleable {

// Each new job is promised an end (policy/promised_ends); `predictable` is the error that is aimed
// at, as a part of the time promised.
void Promised::decide(Scene& at, InstanceRule& by) {
  Instance& of = by.of;
  of.build(at, at.jobs.work);
  const Problem& problem = of.set_kept_aside(at);
  of.share.assign(at.jobs.rows(), 0.0);
  value_.resize(at.jobs.rows());
  for (std::size_t r = 0; r < value_.size(); ++r) value_[r] = at.jobs.value_of_second(r);
  ends_.decide({problem, of.speedup(), at.jobs.id, value_, at.jobs.arrival, at.coming.expected(),
                *at.options.predictable},
               of.share);
  at.grants.give_all([&](std::size_t row) { return of.share[row] + of.kept[row]; });
  by.order.clear();
}

std::vector<double> Promised::ends(const JobTable& jobs) const {
  std::vector<double> ends(jobs.rows(), kInfinity);
  ends_.each([&](std::int64_t id, double promised) {
    if (const Index row = jobs.find(id); row != kNone) ends[row] = promised;
  });
  return ends;
}

}  // namespace malleable
