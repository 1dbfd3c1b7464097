// Multiple-choice knapsack: one option per class, least total cost, total size within the capacity.
//
// The exact allocation for penalties that are not convex: a class is a job, its options the slot
// counts at which its penalty falls. The Lagrangian multiplier of the capacity gives a lower bound
// and a reduced cost for every option; a rounded solution gives an upper bound; options whose
// reduced cost exceeds the difference are out, and dynamic programming over non-dominated states,
// pruned by the same bound, settles the few classes that are left (after Pisinger 1995, Dyer, Kayal
// and Walker 1984). O(options log) for bound and reduction; the core is small on all but contrived
// instances, and at most `effort` states are visited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace malleable {

class MultipleChoiceKnapsack {
 public:
  struct Option {
    double size;  // integer-valued
    double cost;
  };
  struct Result {
    double value = 0.0;
    double lower_bound = 0.0;
    bool exact = true;
  };

  // Options of a class: sizes strictly increasing, costs strictly falling, all finite. The first
  // options of all classes fit together. Call begin_class() before the options of each class.
  void clear();
  void begin_class();
  void add(double size, double cost) { options_.push_back({size, cost}); }
  std::size_t options() const { return options_.size(); }

  // choice[c]: the chosen option's size for every class.
  Result solve(double capacity, std::size_t effort, std::span<double> choice);

 private:
  struct State {
    double size, cost;
    std::uint32_t parent, option;
  };
  struct CoreClass {
    std::size_t index;                // class
    std::vector<std::uint32_t> kept;  // options still possible
  };

  // Lagrangian cost: above the least of its class, what choosing it adds to the bound.
  double priced(std::size_t o) const { return options_[o].cost + multiplier_ * options_[o].size; }
  std::vector<CoreClass> core(double bound, double best, State& base,
                              std::vector<std::size_t>& choice) const;
  static std::vector<State> undominated(std::vector<State>& states);
  double relax(double capacity);  // multiplier and per-class best option; returns the lower bound
  double round_down(double capacity);
  bool search(double capacity, double bound, double& best, std::size_t effort);

  std::vector<Option> options_;
  std::vector<std::size_t> first_;  // class -> its first option; one more at the end
  std::vector<std::size_t> at_multiplier_, chosen_;
  double multiplier_ = 0.0;
};

}  // namespace malleable
