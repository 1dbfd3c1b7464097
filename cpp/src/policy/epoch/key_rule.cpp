#include "malleable/policy/epoch/key_rule.hpp"

#include <string>

namespace malleable {
namespace {

bool is_flex_sum(const Scene& at) { return at.flex() && at.sums(); }

// The first row that suits the present jobs has the rule. A rule computes one number (key) for each
// job; jobs get their maximum in the order of keys until no slots are left. level: by the latest
// start for the least maximum of penalties that can be reached. apparent cost: penalties that rise
// at deadlines. catch up: Smith's ratio (work left over weight), less for jobs that run long even
// on their maximum. smith: Smith's ratio; for FIFO by arrival.
struct KeyRow {
  const char* name;
  std::unique_ptr<KeyRule> (*make)();
  bool (*suits)(const Scene& at);
};
constexpr KeyRow kKeyRows[] = {
    {"level", key_rule_level,
     [](const Scene& at) { return at.flex() && !at.sums() && at.jobs.all_lines(); }},
    {"apparent cost", key_rule_cost,
     [](const Scene& at) {
       return is_flex_sum(at) && at.jobs.stepped() + at.jobs.count(Kind::kTardiness) > 0;
     }},
    {"catch up", key_rule_catch_up,
     // Not on a cluster (`stable`: rows keep their order), which fills targets in the order of
     // Smith's ratio anyway.
     [](const Scene& at) { return is_flex_sum(at) && !at.options.stable; }},
    {"smith", key_rule_smith,
     [](const Scene& at) { return is_flex_sum(at) || at.options.policy == EpochPolicy::kFifo; }},
};

template <typename Wanted>
const KeyRow* find_key_row(const Wanted& wanted) {
  const KeyRow* row = std::find_if(std::begin(kKeyRows), std::end(kKeyRows), wanted);
  return row == std::end(kKeyRows) ? nullptr : row;
}

std::unique_ptr<KeyRule> made_of(const KeyRow* row) {
  if (row == nullptr) return nullptr;
  auto rule = row->make();
  rule->name = row->name;
  return rule;
}

}  // namespace

void choose_key_rule(const Scene& at, std::unique_ptr<KeyRule>& rule) {
  const KeyRow* row = find_key_row([&](const KeyRow& each) { return each.suits(at); });
  if (rule ? row != nullptr && rule->name == row->name : row == nullptr) return;
  rule = made_of(row);
  if (!rule) return;
  rule->grow(at.jobs.rows());
  for (std::size_t k = 0; k < at.jobs.rows(); ++k) rule->changed(at, k);
}

void key_rule_state(State& s, std::unique_ptr<KeyRule>& rule) {
  std::string name = rule ? rule->name : "";
  s(name);
  if (s.reading())
    rule = made_of(find_key_row([&](const KeyRow& row) { return name == row.name; }));
  if (rule) rule->state(s);
}

}  // namespace malleable
