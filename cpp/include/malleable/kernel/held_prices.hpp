// A lower bound on any sum of penalties of a loop that decides every P seconds and holds its
// slots: prices of slot-periods.
//
// A job with w slot-seconds left that ends in period K (of 0, 1, ...) on `a` slots there, after b
// slot-periods before, has b P < w <= (b + a) P and ends at K P + (w - b P) / a. In each earlier
// period it holds at most M slots, and all jobs together hold at most S in every period. So for any
// prices y_k >= 0
//   sum_j min_(K, a, b) ( penalty_j + a y_K + the b cheapest of M units of each period before K )
//     - S sum_k y_k
// is a bound. Prices never rise with k (slots that come earlier are worth more; a projection keeps
// it so), hence the cheapest units are the latest ones, and prefix sums of the prices make them
// O(1). b lies between max(0, q - M) and q - 1 for q = ceil(w / P). For fixed K the cost is convex
// in `a` for fixed b, convex in b for fixed `a`, with one kink where b is a multiple of M, and
// concave along b + a = q between the kinks. So three values of b suffice, each with the two whole
// numbers next to sqrt(v (w - b P) / y_K): the minimum is exact where the penalty is one line
// within the period. Where it is convex the best of its lines stands for it, elsewhere its value at
// the period's start. Subgradient steps (Polyak) improve the prices. Minima and gangs are left out,
// and a speed-up below linear counts as linear: all of that lets more loops compete.
//
// O(J K) a step for K periods. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class HeldPrices {
 public:
  // `completion` (from problem.now) is that of some loop, whose objective is `value`, finite.
  // Returns the best bound found, at most `value`; -infinity if the instance is too large for a
  // single step. `quick`: some milliseconds rather than some seconds.
  double run(const Problem& problem, const Penalties& penalties, double period,
             std::span<const double> completion, double value, bool quick = false);

 private:
  struct Choice {
    double cost = kInfinity;
    std::int64_t last = 0;               // the period K
    std::int64_t slots = 0, before = 0;  // a and b
  };
  struct Row {
    double work;
    std::int64_t high, need;  // M and q
  };
  void start(const Problem& problem, const Penalties& penalties,
             std::span<const double> completion);
  double price(std::int64_t period) const {
    return period < periods_ ? price_[static_cast<std::size_t>(period)] : 0.0;
  }
  // The cheapest `count` units of at most `high` of each period before `last`.
  double units(std::int64_t last, std::int64_t count, std::int64_t high) const;
  void try_line(const Row& row, std::int64_t last, double base, double slope, Choice& best) const;
  Choice in_period(const Penalties& penalties, std::size_t j, const Row& row, std::int64_t last,
                   double begin, std::size_t& line) const;
  Choice choose(const Penalties& penalties, std::size_t j, const Row& row) const;
  void use(const Choice& choice, const Row& row);
  double evaluate(const Penalties& penalties);
  void project();

  double now_ = 0.0, period_ = 0.0, slots_ = 0.0, constant_ = 0.0;
  std::int64_t periods_ = 0;  // with a price
  std::vector<Row> rows_;
  std::vector<double> price_, before_;  // before_[k]: sum of the prices of periods below k
  std::vector<double> best_price_, gradient_, direction_;
  struct Block {
    double sum;
    std::size_t count;
  };
  std::vector<Block> blocks_;
};

}  // namespace malleable
