#include "malleable/policy/epoch/key_rule.hpp"

#include <string>
#include <string_view>

#include "malleable/policy/epoch/catch_up_rule.hpp"
#include "malleable/policy/epoch/cost_rule.hpp"
#include "malleable/policy/epoch/level_rule.hpp"
#include "malleable/policy/epoch/smith_rule.hpp"

namespace malleable {
namespace {

std::unique_ptr<KeyRule> rule_called(std::string_view name) {
  if (name == SmithRule::kName) return std::make_unique<SmithRule>();
  if (name == CatchUpRule::kName) return std::make_unique<CatchUpRule>();
  if (name == CostRule::kName) return std::make_unique<CostRule>();
  if (name == LevelRule::kName) return std::make_unique<LevelRule>();
  return nullptr;
}

// The name of the rule for these jobs; empty: none.
std::string_view rule_for(const Scene& at) {
  if (at.options.policy == EpochPolicy::kFifo) return SmithRule::kName;
  if (!at.flex()) return {};
  const JobTable& jobs = at.jobs;
  if (!at.sums()) return LevelRule::of_lines(jobs) ? LevelRule::kName : std::string_view();
  const bool due = CostRule::stepped(jobs) + jobs.count(Kind::kTardiness) > 0;
  if (due) return CostRule::kName;
  return at.options.stable ? SmithRule::kName : CatchUpRule::kName;  // see scene.hpp
}

}  // namespace

bool KeyRule::applies(const Scene& at) const {
  if (at.gang() || at.options.effort || at.options.predictable || at.jobs.concave()) return false;
  if (at.tries_orders()) return false;
  if (at.jobs.count(Kind::kStrict) + at.jobs.count(Kind::kCustom) > 0 && at.flex()) return false;
  return at.jobs.minima <= at.capacity();
}

void KeyRule::select(Scene& at, std::span<const double> key) {
  at.grants.clear_chosen();
  selection_.run(key, at.jobs.room, at.capacity() - at.jobs.minima,
                 [&](Index row, double slots) { at.grants.choose(row, slots); });
  at.grants.give_chosen(at.jobs);
}

bool KeyRule::decide(Scene& at) {
  select(at, key_);
  return true;
}

void choose_key_rule(const Scene& at, std::unique_ptr<KeyRule>& rule) {
  const std::string_view name = rule_for(at);
  if (rule ? rule->name() == name : name.empty()) return;
  rule = rule_called(name);
  if (!rule) return;
  rule->grow(at.jobs.rows());
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) rule->changed(at, row);
}

void key_rule_state(State& s, std::unique_ptr<KeyRule>& rule) {
  std::string name = rule ? rule->name() : "";
  s(name);
  if (s.reading()) rule = rule_called(name);
  if (rule) rule->state(s);
}

}  // namespace malleable
