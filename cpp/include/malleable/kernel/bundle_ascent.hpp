// The maximum of a concave function of x >= 0 that has many kinks and many coordinates, of which
// few matter: a proximal bundle method on a set of coordinates that grows.
//
// The caller evaluates the function and a supergradient at points that it is given. Each
// evaluation is a cut: a plane above the function. The next point maximises the least of the cuts,
// minus (distance from the best point)^2 / 2 step. Its dual is a program over weights of cuts,
// which moves weight between two cuts at a time. Only active coordinates move: those that are
// positive, and those where the mean gradient, by the weights, has a positive peak among its
// neighbours. So coordinates should be in an order in which neighbours do nearly the same, such as
// time. Of prices in time few are positive at the optimum, and steps along plain gradients blur
// them.
//
// O(kCuts x active coordinates) for each of some dozen moves of weight, for each evaluation.
//
// Kiwiel 1990, "Proximity control in bundle methods for convex nondifferentiable minimization".
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace malleable {

class BundleAscent {
 public:
  // Starts at `at`, where the function and a supergradient are known. `goal`: no less than the
  // maximum.
  void begin(std::span<const double> at, double value, std::span<const double> gradient,
             double goal);
  // The next point to look at. False if no point would be better by more than a millionth.
  bool next(std::span<double> point);
  // What the function and a supergradient are there.
  void tell(std::span<const double> point, double value, std::span<const double> gradient);
  // The best point so far, and its value.
  std::span<const double> best() const { return centre_; }
  double value() const { return value_; }

 private:
  static constexpr std::size_t kCuts = 40;

  void activate(std::size_t most);
  void mean_gradient();
  void collect();
  double solve();
  void weigh(std::span<const double> weight);
  void drop_cuts();

  std::vector<double> centre_;
  double value_ = 0.0, goal_ = 0.0, step_ = 0.0, predicted_ = 0.0;
  std::vector<double> height_;                 // of each cut, at the centre
  std::vector<std::vector<double>> gradient_;  // of each cut
  std::vector<double> weight_;
  std::vector<char> active_;
  std::vector<std::size_t> list_;              // active coordinates
  std::vector<std::vector<double>> part_;      // gradients, of these alone
  std::vector<double> from_, move_, reached_;  // centre, way, and height of each cut there
  std::vector<double> mean_;
  std::vector<std::size_t> peaks_;
  std::size_t idle_ = 0;  // evaluations that did not move the centre
};

}  // namespace malleable
