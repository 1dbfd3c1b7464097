// Rules that decide by a priority a job, kept up to date as jobs change.
//
// A decision is a pass over the keys and a selection, O(J), rewrites only rows that gain or lose
// slots, and allocates nothing once warm. Each rule has a file of its own; which one it is follows
// from the objective, the policy and the kinds of the jobs (make_key_rule).
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

  // There are so many rows; the new ones are told as changed.
  virtual void grow(std::size_t rows) { key_.resize(rows, 0.0); }
  virtual void close(const RowsGone& gone) { gone(key_); }
  virtual void changed(const Scene& at, std::size_t row) = 0;
  // Everything is new: what was learnt of it is of no use.
  virtual void forget() { selection_.reset(); }

  // Whether jobs and options are such that it can decide.
  virtual bool applies(const Scene& at) const;
  // Gives slots; false if it turns out that it cannot.
  virtual bool decide(Scene& at);
  // Whether keys() has an order of all jobs that a plan can follow.
  virtual bool orders() const { return true; }
  std::span<const double> keys() const { return key_; }

  virtual void state(State& s) { s(key_, selection_); }

 protected:
  void select(Scene& at, std::span<const double> key);

  std::vector<double> key_;
  PrioritySelection selection_;
};

// The rule for what is there now: `rule`, if it is the one, else another one, told of all rows.
// Null where no key can decide.
void choose_key_rule(const Scene& at, std::unique_ptr<KeyRule>& rule);
// As it was saved, by the name that it has.
void key_rule_state(State& s, std::unique_ptr<KeyRule>& rule);

}  // namespace malleable
