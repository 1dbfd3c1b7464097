#include "malleable/kernel/running_sum.hpp"

#include <cstddef>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {
namespace {

MALLEABLE_VECTOR_CLONES
double add_up(const double* terms, std::size_t n) {
  double sum[8] = {};
  std::size_t j = 0;
  for (; j + 8 <= n; j += 8) {
#pragma omp simd
    for (std::size_t lane = 0; lane < 8; ++lane) sum[lane] += terms[j + lane];
  }
  for (; j < n; ++j) sum[j % 8] += terms[j];
  return sum_lanes(sum);
}

}  // namespace

double sum_of(std::span<const double> terms) { return add_up(terms.data(), terms.size()); }

}  // namespace malleable
