#include "malleable/policy/epoch/catch_up_rule.hpp"

#include <algorithm>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr double kBesideHalf = 0.5;  // benchmarks/ground, section events

MALLEABLE_VECTOR_CLONES
void catch_up_keys(const double* ratio, const double* alone, std::size_t n, double beside,
                   double* key) {
#pragma omp simd
  for (std::size_t r = 0; r < n; ++r) key[r] = ratio[r] / (beside + alone[r]);
}

}  // namespace

void CatchUpRule::grow(std::size_t rows) {
  for (auto* column : {&key_, &ratio_, &alone_}) column->resize(rows, 0.0);
}
void CatchUpRule::close(const RowsGone& gone) {
  for (auto* column : {&key_, &ratio_, &alone_}) gone(*column);
}
void CatchUpRule::state(State& s) { s(key_, selection_, ratio_, alone_); }

void CatchUpRule::changed(const Scene& at, std::size_t row) {
  const JobTable& jobs = at.jobs;
  const double work = jobs.work[row], most = jobs.low[row] + jobs.room[row];
  ratio_[row] = 0.0;
  alone_[row] = 0.0;
  if (!(work > 0.0)) return;
  ratio_[row] = jobs.smith_ratio(row);
  alone_[row] = most > 0.0 ? work / most : 0.0;
  if (at.favoured(row)) ratio_[row] /= 1.0 + at.options.hysteresis;
}

bool CatchUpRule::decide(Scene& at) {
  const double all = sum_of(at.jobs.work) / at.capacity();
  catch_up_keys(ratio_.data(), alone_.data(), key_.size(), std::max(kBesideHalf * all, kTiny),
                key_.data());
  return KeyRule::decide(at);
}

}  // namespace malleable
