// Rules that decide by one priority key per job, updated as jobs change.
//
// A decision is a pass over the keys and a selection (minima to all, then the rest by key), O(J)
// for J jobs. It rewrites only rows that gain or lose slots, and allocates nothing once warm. Each
// rule has its own file; objective, policy and the kinds of the jobs select the rule
// (make_key_rule).
#pragma once

#include <memory>
#include <vector>

#include "malleable/kernel/priority_selection.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class KeyRule {
 public:
  virtual ~KeyRule() = default;
  virtual const char* name() const = 0;

  // There are `rows` rows; new rows are reported as changed, too.
  virtual void grow(std::size_t rows) { key_.resize(rows, 0.0); }
  virtual void close(const RowsGone& gone) { gone(key_); }
  virtual void changed(const Scene& at, std::size_t row) = 0;
  // All rows are new: forgets what was learnt from the old ones.
  virtual void forget() { selection_.reset(); }

  // Whether it can decide for these jobs and options.
  virtual bool applies(const Scene& at) const;
  // Gives slots; false if it cannot decide.
  virtual bool decide(Scene& at);
  // Whether keys() gives an order of all jobs that a plan can follow.
  virtual bool orders() const { return true; }
  std::span<const double> keys() const { return key_; }

  virtual void state(State& s) { s(key_, selection_); }

 protected:
  void select(Scene& at, std::span<const double> key);

  std::vector<double> key_;
  PrioritySelection selection_;
};

// Sets `rule` to the right rule for the present jobs: the same one, or a new one with all rows, or
// null if no key can decide.
void choose_key_rule(const Scene& at, std::unique_ptr<KeyRule>& rule);
// Saves a rule by its name and state, and reads it back.
void key_rule_state(State& s, std::unique_ptr<KeyRule>& rule);

}  // namespace malleable
