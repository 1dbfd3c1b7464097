// Rules that decide by one priority key per job, updated as jobs change.
//
// A decision is a pass over the keys and a selection (minima to all, then the rest by key), O(J)
// for J jobs. It rewrites only rows that gain or lose slots, and allocates nothing once warm. Each
// rule has its own source (key_rule_*.cpp), and a row in key_rule.cpp that says for which
// objective, policy and kinds of jobs it is.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "malleable/kernel/priority_selection.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

// With fewer jobs than this, the whole order for the level of a maximum is made at once.
inline constexpr std::size_t kManyLevels = 20'000;

class KeyRule {
 public:
  virtual ~KeyRule() = default;
  KeyRule(const KeyRule&) = delete;
  KeyRule& operator=(const KeyRule&) = delete;

  const char* name = "";

  // There are `rows` rows; new rows are reported as changed, too.
  void grow(std::size_t rows) {
    for (auto* column : columns_) column->resize(rows, 0.0);
  }
  void close(const RowsGone& gone) {
    for (auto* column : columns_) gone(*column);
  }
  virtual void changed(const Scene& at, std::size_t row) = 0;
  // All rows are new: forgets what was learnt from the old ones.
  void forget() { selection_.reset(); }

  // Whether it can decide for these jobs and options. Gangs and speed-ups below linear need more
  // than an order; with effort, predictable decisions or several orders a plan decides; endless: a
  // penalty may be infinite.
  virtual bool applies(const Scene& at) const {
    if (at.gang() || at.options.effort || at.options.predictable || at.jobs.concave()) return false;
    if (at.tries_orders() || (at.flex() && at.jobs.endless() > 0)) return false;
    return at.jobs.minima <= at.capacity();
  }
  // Gives slots; false if it cannot decide.
  virtual bool decide(Scene& at) {
    at.grants.clear_chosen();
    selection_.run(key_, at.jobs.room, at.capacity() - at.jobs.minima,
                   [&](Index row, double slots) { at.grants.choose(row, slots); });
    at.grants.give_chosen(at.jobs);
    return true;
  }
  // Whether keys() gives an order of all jobs that a plan can follow.
  virtual bool orders() const { return true; }
  std::span<const double> keys() const { return key_; }

  virtual void state(State& s) {
    for (auto* column : columns_) s(*column);
    s(selection_);
  }

 protected:
  // `columns`: the columns by row that a rule keeps beside the keys.
  explicit KeyRule(std::initializer_list<std::vector<double>*> columns = {}) : columns_(columns) {
    columns_.push_back(&key_);
  }

  std::vector<double> key_;

 private:
  PrioritySelection selection_;
  std::vector<std::vector<double>*> columns_;
};

std::unique_ptr<KeyRule> key_rule_smith();
std::unique_ptr<KeyRule> key_rule_catch_up();
std::unique_ptr<KeyRule> key_rule_cost();
std::unique_ptr<KeyRule> key_rule_level();

// Sets `rule` to the right rule for the present jobs: the same one, or a new one with all rows, or
// null if no key can decide.
void choose_key_rule(const Scene& at, std::unique_ptr<KeyRule>& rule);
// Saves a rule by its name and state, and reads it back.
void key_rule_state(State& s, std::unique_ptr<KeyRule>& rule);

}  // namespace malleable
