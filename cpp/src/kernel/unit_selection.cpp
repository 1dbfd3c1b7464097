#include "malleable/kernel/unit_selection.hpp"

#include <cmath>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {
namespace {

// Terms: a unit is one more slot for a job; the unit after s slots costs s (s + 1) / scale.

// The fewest slots of a job.
inline double least(double scale, double low) { return scale > 0.0 ? std::max(low, 1.0) : low; }

// Slots of job j when every unit priced at most x is bought: the largest s with (s - 1) s <= scale
// x, inside its range. Rounding the root to the nearest integer is right up to one unit either way.
inline double closed_count(double scale, double low, double high, double x) {
  const double y = std::min(scale * x, 1e30);
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  double s = (std::sqrt(y + 0.25) + kRound) - kRound;
  s += s * (s + 1.0) <= y ? 1.0 : 0.0;
  s -= (s - 1.0) * s > y ? 1.0 : 0.0;
  // no slots without a scale
  return std::max(least(scale, low), std::min(y > 0.0 ? s : 0.0, high));
}

MALLEABLE_VECTOR_CLONES
double closed_total(const double* scale, const double* low, const double* high, std::size_t n,
                    double x) {
  double total = 0.0;  // integers: exact in any order
#pragma omp simd reduction(+ : total)
  for (std::size_t j = 0; j < n; ++j) total += closed_count(scale[j], low[j], high[j], x);
  return total;
}

MALLEABLE_VECTOR_CLONES
void closed_counts(const double* scale, const double* low, const double* high, std::size_t n,
                   double x, double* out) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) out[j] = closed_count(scale[j], low[j], high[j], x);
}

}  // namespace

double ClosedForm::total(double x, std::size_t first, std::size_t end) const {
  return closed_total(scale_.data() + first, low_.data() + first, high_.data() + first, end - first,
                      x);
}

void ClosedForm::counts(double x, std::size_t first, std::span<double> out) const {
  closed_counts(scale_.data() + first, low_.data() + first, high_.data() + first, out.size(), x,
                out.data());
}

}  // namespace malleable
