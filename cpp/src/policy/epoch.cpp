#include "malleable/policy/epoch.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable {
namespace {

// What options, present jobs and a call ask for, and what does not go together.
constexpr unsigned kAsksPredictable = 1, kAsksUnknown = 2, kAsksStarts = 4, kAsksGang = 8,
                   kAsksRestart = 16, kAsksProgram = 32, kAsksCustom = 64, kAsksPeriod = 128,
                   kAsksSearch = 256, kAsksOtherPolicy = 512, kAsksUnsteady = 1024;
struct Apart {
  unsigned one, other;
  const char* message;
};
constexpr Apart kApart[] = {
    {kAsksSearch, kAsksOtherPolicy, "hysteresis and effort apply to the policy flex only"},
    {kAsksPredictable, kAsksUnsteady,
     "predictable: needs the policy flex and a sum of response, completion, stretch or lateness"},
    {kAsksPredictable, kAsksSearch | kAsksPeriod,
     "predictable: goes without effort, hysteresis and period"},
    {kAsksPredictable, kAsksStarts, "predictable: goes without jobs that wait to start"},
    {kAsksUnknown, kAsksPredictable | kAsksStarts,
     "sizes: unknown ones go without predictable and jobs that wait to start"},
    {kAsksGang, kAsksStarts, "min_mode: gang goes without jobs that wait to start"},
    {kAsksProgram, kAsksStarts, "program: goes without jobs that wait to start"},
    {kAsksCustom, kAsksStarts, "kind: custom goes without jobs that wait to start"},
    {kAsksRestart, kAsksPredictable, "restart: goes without predictable"},
};

// What is wrong with these together; null: nothing.
const char* wrong_with(unsigned asked) {
  for (const Apart& row : kApart) {
    if ((asked & row.one) && (asked & row.other)) return row.message;
  }
  return nullptr;
}
void check_together(unsigned asked) {
  if (const char* wrong = wrong_with(asked)) throw std::invalid_argument(wrong);
}

[[noreturn]] void throw_wrong_kind(Kind kind, std::size_t j, const char* wrong) {
  throw std::invalid_argument("kind[" + std::to_string(j) + "] = " + info(kind).name + ": " +
                              wrong);
}

}  // namespace

Epoch::Epoch(std::int64_t slots, const EpochOptions& options) {
  at_.options = options;
  at_.slots = slots;
  validate_capacity(slots);
  check_amount("hysteresis", options.hysteresis, kWeightRange);
  check_amount("period", options.period, kWeightRange);
  if (options.predictable) check_amount("predictable", *options.predictable, kRateRange);
  const bool follows = find_policy(options.policy).promises.follows_objective;
  check_together(asked() | (follows ? 0 : kAsksOtherPolicy));
  look_up();
  if (options.min_mode == MinMode::kStart) begin_start();
  // With equal shares, and of unknown sizes, the oldest job is first.
  at_.options.stable |= at_.shares != Shares::kByOrder || options.unknown;
}

// Notes the properties of the policy.
void Epoch::look_up() {
  const Promises& promises = find_policy(at_.options.policy).promises;
  at_.ignores_minima = promises.ignores_minima;
  at_.shares = promises.shares;
}

// Jobs have start conditions from now on.
void Epoch::begin_start() {
  start_ = std::make_unique<Start>();
  at_.starts = true;
  start_->grow(size());
}

void Epoch::check_clock(double now, double period) {
  if (period == 0.0 || now + period > now) return;
  throw FieldError("period", period,
                   "too short: the clock does not move by it at now = " + std::to_string(now));
}

// What the options and the present jobs ask for.
unsigned Epoch::asked(bool restarts) const {
  const EpochOptions& o = at_.options;
  const std::pair<bool, unsigned> found[] = {
      {o.predictable.has_value(), kAsksPredictable},
      {o.unknown, kAsksUnknown},
      {start_ || o.min_mode == MinMode::kStart, kAsksStarts},
      {at_.gang(), kAsksGang},
      {restarts || !at_.jobs.restart.empty(), kAsksRestart},
      {!programs_.empty(), kAsksProgram},
      {at_.jobs.count(Kind::kCustom) > 0, kAsksCustom},
      {o.period > 0.0, kAsksPeriod},
      {o.hysteresis > 0.0 || o.effort, kAsksSearch},
      {!at_.flex() || !at_.sums() || !info(o.kind).steady, kAsksUnsteady},
  };
  unsigned all = 0;
  for (const auto& [asks, what] : found) all |= asks ? what : 0;
  return all;
}

// What a kind of a job asks for.
unsigned Epoch::asked_by(Kind own, std::size_t j, const JobsView& jobs) const {
  const KindInfo& kind = info(own);
  if (kind.needs_deadline) check_needed_deadline(own, j, jobs.deadline[j]);
  if (kind.custom && !at_.custom) {
    throw_wrong_kind(own, j, "needs a penalty function");
  }
  return (kind.custom ? kAsksCustom : 0) | (kind.steady ? 0 : kAsksUnsteady);
}

// Updates the data derived from a row's columns.
void Epoch::refresh(std::size_t row) {
  const std::int64_t least = at_.ignores_minima ? 0 : at_.jobs.min_slots[row];
  if (at_.jobs.limit(row, at_.slots, static_cast<double>(least))) {
    at_.grants.touch(at_.jobs.id[row]);
  }
  if (keys_) keys_->changed(at_, row);
}

std::int64_t Epoch::add(const JobsView& given, std::span<const Kind> kinds,
                        std::span<const std::int64_t> programs) {
  SpeedupColumns storage;
  Programs::check(given, programs);
  JobsView jobs = given;
  jobs.speedup =
      programs_.rates.learnt(given.speedup, programs, given.max_slots, at_.slots, storage);
  if (!kinds.empty()) check_length("kind", kinds.size(), jobs.size(), "work");
  const bool begins =
      !start_ && std::ranges::count(jobs.min_mode, static_cast<std::int64_t>(MinMode::kStart)) > 0;
  unsigned all = asked(given.restart.given()) | (begins ? kAsksStarts : 0) |
                 (programs.empty() ? 0 : kAsksProgram);
  check_together(all);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const Kind kind = kinds.empty() ? at_.options.kind : kinds[j];
    const unsigned before = std::exchange(all, all | asked_by(kind, j, jobs));
    const char* const wrong = all == before ? nullptr : wrong_with(all);
    if (wrong != nullptr) throw_wrong_kind(kind, j, wrong);
  }
  const std::size_t first = at_.jobs.rows();
  const std::int64_t first_id = at_.jobs.next_id();
  if (begins) begin_start();
  at_.jobs.append(jobs, kinds, at_.options.kind, at_.now, at_.options.min_mode);
  const std::size_t rows = at_.jobs.rows();
  programs_.come(at_.jobs, jobs.size(), programs);
  powers_.come(at_.jobs, jobs.size());
  at_.grants.grow(rows);
  instance_.of.grow(rows);
  if (keys_) keys_->grow(rows);
  if (start_) start_->grow(rows);
  for (std::size_t row = first; row < rows; ++row) {
    periodic_.come(at_, row);
    at_.coming.add(at_.jobs.id[row]);
    refresh(row);
  }
  if (jobs.size() > 0) ++version_;
  return first_id;
}

std::int64_t Epoch::add_columns(JobsView jobs, std::span<const Kind> kinds,
                                std::span<const std::int64_t> programs) {
  const std::size_t count = jobs.size();
  left_out_.clear();
  left_out_.sla.offset.clear();
  if (jobs.deadline.empty() || !jobs.sla.given()) left_out_.complete(count);
  if (jobs.deadline.empty()) jobs.deadline = left_out_.deadline;
  if (!jobs.sla.given()) jobs.sla.offset = left_out_.sla.offset;
  if (jobs.original.empty()) jobs.original = jobs.work;
  if (jobs.max_slots.empty()) {
    all_slots_.assign(count, kAllSlots);
    jobs.max_slots = all_slots_;
  }
  const bool dated = !jobs.arrival.empty();
  if (!dated) {
    left_out_.arrival.assign(count, 0.0);
    jobs.arrival = left_out_.arrival;
  }
  validate(jobs);
  if (!dated) jobs.arrival = {};
  return add(jobs, kinds, programs);
}

void Epoch::update(std::span<const std::int64_t> ids, const Changes& changes) {
  JobTable& jobs = at_.jobs;
  const std::span<const Index> rows = jobs.check(ids, changes);
  if (changes.speedup.given()) programs_.check_unlearnt(rows);
  check_together(asked(changes.restart.given()));
  if (at_.options.unknown && !changes.work.empty()) {
    throw std::invalid_argument("work: this epoch takes sizes for unknown");
  }
  const bool limits = !changes.min_slots.empty() || !changes.max_slots.empty();
  bool changed = changes.sla.given() && !ids.empty();
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const std::size_t row = rows[k];
    const double before = jobs.work[row];
    if (!changes.work.empty() || changes.speedup.given()) at_.serve(row);
    changed |= jobs.change(row, changes, k);
    powers_.worked(jobs, row, before);
    if (changes.speedup.given()) powers_.told(row);
    if (limits || changes.speedup.given() || (before > 0.0) != (jobs.work[row] > 0.0)) {
      refresh(row);
    } else if (keys_) {
      keys_->changed(at_, row);
    }
  }
  jobs.tidy();
  if (changed) ++version_;
}

void Epoch::finish(std::span<const std::int64_t> ids) {
  for (const Index row : at_.jobs.rows_of(ids)) {
    if (at_.options.unknown) {
      unknown_.finish(at_, row, programs_.of(row));
    } else {
      periodic_.finish(at_, row);
    }
    powers_.finish(at_.jobs, row);
  }
  if (at_.options.predictable) promised_.finish(ids);
  remove(ids);
}

void Epoch::remove(std::span<const std::int64_t> ids) {
  at_.jobs.remove(ids, at_.options.stable, [this](const RowsGone& gone) {
    at_.grants.close(gone);
    instance_.of.close(gone);
    programs_.close(gone);
    powers_.close(gone);
    if (start_) start_->close(gone);
    if (keys_) keys_->close(gone);
  });
  for (const std::int64_t id : ids) at_.coming.remove(id);
  if (!ids.empty()) ++version_;
}

void Epoch::set_slots(std::int64_t slots) {
  validate_capacity(slots);
  if (slots == at_.slots) return;
  at_.slots = slots;
  ++version_;
  if (keys_) keys_->forget();
  for (std::size_t row = 0; row < size(); ++row) refresh(row);
}

void Epoch::check_come(double now) const {
  const JobTable& jobs = at_.jobs;
  for (std::size_t r = 0; jobs.latest_arrival > now && r < jobs.rows(); ++r) {
    if (jobs.arrival[r] <= now) continue;
    throw std::invalid_argument("arrival of job " + std::to_string(jobs.id[r]) + " = " +
                                std::to_string(jobs.arrival[r]) +
                                ": after now = " + std::to_string(now));
  }
}

void Epoch::decide(double now, std::optional<std::int64_t> slots, std::optional<double> period) {
  if (slots) validate_capacity(*slots);
  if (period) check_amount("period", *period, kWeightRange);
  const bool held_now = period.value_or(0.0) > 0.0;
  const char* const wrong = held_now ? wrong_with(asked() | kAsksPeriod) : nullptr;
  if (wrong != nullptr) throw FieldError("period", *period, wrong);
  check_now(now, at_.now);
  check_come(now);
  const double held = period.value_or(at_.options.period);
  check_clock(now, held);
  if (slots) set_slots(*slots);
  if (version_ == decided_ && now == at_.now && held == at_.period) {
    at_.grants.stay();
    return;
  }
  decide_at(now, held);
}

void Epoch::decide_at(double now, double held) {
  for (std::size_t row = 0; at_.now == -kInfinity && row < size(); ++row) {
    if (at_.jobs.arrive(row, now)) refresh(row);
  }
  periodic_.pass(at_, now);
  if (at_.options.unknown) unknown_.learn(at_, now);
  programs_.observe(at_, now);
  powers_.observe(at_, now, [this](std::size_t row, double p) {
    at_.serve(row);
    at_.jobs.set_power(row, p);
    refresh(row);
  });
  at_.jobs.tidy();
  at_.coming.decide(now, at_.jobs.next_id());
  decided_ = ++version_;
  at_.now = now;
  at_.period = held;
  const auto changed = [this](Index row) {
    if (keys_) keys_->changed(at_, row);
  };
  at_.jobs.believe([this](Index row) { at_.serve(row); }, changed);
  if (at_.options.unknown) {
    unknown_.guess(at_, programs_, [this](std::size_t row) { refresh(row); });
  }
  instance_.begin();
  // Notes the slots held since the last decision; not earlier, so that a plan follows the keys of
  // that decision.
  for (const std::int64_t id : resized_) {
    if (const Index row = at_.jobs.find(id); row != kNone) refresh(row);
  }
  resized_.clear();
  at_.jobs.sum_up();
  at_.grants.begin();
  moves_.begin(at_);
  choose_key_rule(at_, keys_);
  by_key_ = false;
  if (start_) std::ranges::for_each(start_->decide(at_), changed);
  choose();
  moves_.settle(at_);
  at_.grants.end([this](Index row, std::int64_t before) {
    at_.jobs.serve(row, at_.now, before);
    powers_.moved(at_, row, before);
    at_.jobs.move(row, at_.now, before, at_.grants[row]);
    if (at_.options.hysteresis > 0.0) resized_.push_back(at_.jobs.id[row]);
  });
  programs_.note_work(at_.jobs);
  powers_.decided(at_);
}

// The first rule that can decide.
void Epoch::choose() {
  if (at_.slots == 0) {
    rule_ = "no slots";
    at_.grants.give_all([](std::size_t) { return 0; });
    instance_.order.resize(size());
    std::iota(instance_.order.begin(), instance_.order.end(), Index{0});
  } else if (at_.period > 0.0) {
    rule_ = "period";
    periodic_.decide(at_, instance_);
  } else if (at_.options.predictable) {
    rule_ = "promised";
    promised_.decide(at_, instance_);
  } else if (keys_ && keys_->applies(at_) && keys_->decide(at_)) {
    rule_ = keys_->name;
    by_key_ = keys_->orders();
    if (!by_key_) instance_.order.clear();
  } else if (equal_.decide(at_)) {
    rule_ = "equal shares";
  } else {
    rule_ = "instance";
    instance_.decide(at_);
  }
  if (start_) rule_ = "start";
}

std::vector<std::int64_t> Epoch::order() {
  return held() ? periodic_.order(at_, instance_) : std::vector<std::int64_t>();
}

// Rebuilds the instance of the last decision, so that its plan can be computed.
void Epoch::recall() {
  if (start_) {
    instance_.of.build(at_, at_.jobs.work);
  } else if (held()) {
    periodic_.recall(at_, instance_);
  } else if (by_key_) {
    instance_.recall(at_, keys_->keys());
  } else {
    instance_.recall(at_);
  }
}

Plan Epoch::plan(bool detail) {
  if (looped()) {
    throw std::invalid_argument("what follows this decision depends on its loop (rule " + rule_ +
                                ", period = " + std::to_string(at_.period) + ")");
  }
  recall();
  return instance_.plan(at_, detail);
}

void Epoch::state(State& s) {
  s(at_, version_, decided_, periodic_, programs_, powers_, equal_, resized_, by_key_, rule_);
  if (s.reading()) look_up();
  key_rule_state(s, keys_);
  instance_.state(s, at_, !by_key_);
  if (at_.options.predictable) s(promised_);
  if (at_.options.unknown) s(unknown_);
  bool starts = start_ != nullptr;
  s(starts);
  if (!starts) return;
  if (s.reading()) begin_start();
  start_->state(s);
}

}  // namespace malleable
