#include "malleable/policy/flow_epoch.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/error.hpp"
#include "malleable/policy/flow_curves.hpp"

namespace malleable {
// Terms: a slot is held from one decision to the next; a job outlives its estimate if it goes on
// with no work left.

FlowEpoch::FlowEpoch(std::int64_t slots, const FlowEpochOptions& options)
    : rule_(make_flow_rule(options)) {
  at_.options = options;
  at_.slots = slots;
  validate_capacity(slots);
  check_amount("hysteresis", options.hysteresis, kWeightRange);
  at_.clock.set(options.period);
}

FlowEpoch::Ids FlowEpoch::add(FlowTable::Additions&& added) {
  const Ids ids{at_.table.next_flow(), at_.table.next_job()};
  const std::size_t before = at_.table.size();
  SpeedupColumns storage;  // of learnt speed-ups
  ProgramRates::check(added.program);
  if (added.program.size() == added.flows.jobs()) {
    added.flows.speedup = rates_.learnt(added.flows.speedup, added.program, added.flows.max_slots,
                                        at_.slots, storage);
  }
  at_.table.add(std::move(added), seen_.custom != nullptr, at_.clock.now());
  for (const FlowTable::Flow& flow : at_.table.flows().subspan(before)) {
    order_.push_back(flow.id);
    at_.coming.add(flow.id);
    const double period = at_.clock.period();
    for (const FlowTable::Job& job : flow.jobs) {
      if (period > 0.0) at_.clock.come(period * slot_periods(job.work, period));
    }
  }
  ++version_;
  return ids;
}

void FlowEpoch::update(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
                       const Changes& changes) {
  at_.table.update(jobs, flows, changes);
  ++version_;
}

void FlowEpoch::finish(std::span<const std::int64_t> jobs) {
  at_.table.finish(jobs);
  ++version_;
}

void FlowEpoch::remove(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows) {
  at_.table.remove(jobs, flows);
  for (const std::int64_t id : flows) at_.coming.remove(id);
  ++version_;
}

// Counts the slots that jobs held since the last decision, and marks flows that arrive, and flows
// with jobs that have outlived their estimates.
void FlowEpoch::count_held(double now) {
  const double elapsed = now - at_.clock.now();
  std::vector<std::int64_t> news;  // programs of whose speed-up more is known
  for (FlowTable::Flow& flow : at_.table.flows()) {
    flow.touched |= at_.waits(flow) && flow.arrival <= now;
    if (!flow.holds || elapsed == 0.0) continue;
    for (FlowTable::Job& job : flow.jobs) {
      if (job.given == 0 || !job.open()) continue;
      job.attained += elapsed * static_cast<double>(job.given);
      flow.touched |= job.work == 0.0;
      const std::int64_t program = flow.program_of(flow.place_of(job));
      if (program >= 0 && job.work > 0.0 &&
          rates_.observe(program, job.given, job.then - job.work, elapsed)) {
        news.push_back(program);
      }
    }
  }
  if (!news.empty()) learn(news);
}

// Tells the jobs of these programs what was learnt.
void FlowEpoch::learn(std::span<const std::int64_t> news) {
  for (FlowTable::Flow& flow : at_.table.flows()) {
    if (flow.program.empty()) continue;
    FlowTable::change_speedups(flow, [&](const FlowTable::Job& job, SpeedupColumns& columns) {
      const std::int64_t program = flow.program[flow.place_of(job)];
      const bool known = std::ranges::find(news, program) != news.end();
      if (known) columns.add(1.0, rates_.rates(program, std::min(job.max_slots, at_.slots)));
      return known;
    });
  }
}

// Orders present flows with work by the rule, then flows without work, then flows still to come.
void FlowEpoch::order_flows() {
  const std::span<const FlowTable::Flow> flows = at_.table.flows();
  const auto append = [&](const auto& wanted) {
    for (Index row = 0; row < flows.size(); ++row) {
      if (wanted(flows[row])) ordered_.push_back(row);
    }
  };
  using Flow = FlowTable::Flow;
  ordered_.clear();
  append([&](const Flow& flow) { return !at_.waits(flow) && flow.volume > 0.0; });
  rule_->order(at_, seen_, order_, ordered_);
  if (ordered_.size() < flows.size()) {
    append([&](const Flow& flow) { return !at_.waits(flow) && flow.volume == 0.0; });
    append([&](const Flow& flow) { return at_.waits(flow); });
  }
  order_.clear();
  for (const Index row : ordered_) order_.push_back(flows[row].id);
}

// Gives slots by the rule.
void FlowEpoch::serve() {
  FlowShares shares{at_};
  FlowServer* server = rule_.get();
  if (at_.clock.any() && rule_->by_order()) server = periodic_.get();
  if (by_gains()) server = gains_.get();
  server->serve(shares, ordered_, decision_.order);
}

// Writes the decision row by row, and the state kept from it. If a flow has not changed, only its
// ready jobs may have other slots, and its other columns are those of the last decision.
void FlowEpoch::report() {
  const std::size_t n = at_.table.open_jobs();
  last_ids_.swap(decision_.ids);
  last_ready_.swap(decision_.ready);
  decision_.ids.resize(n);
  decision_.ready.resize(n);
  decision_.slots.assign(n, 0);
  decision_.changed.assign(n, 0);
  std::size_t row = 0;
  for (FlowTable::Flow& flow : at_.table.flows()) {
    const std::size_t before = std::exchange(flow.row, row);
    const bool any = std::exchange(flow.holds, false);
    const auto put = [&](FlowTable::Job& job) {
      const auto slots = static_cast<std::int64_t>(std::exchange(job.share, 0.0));
      decision_.slots[row + job.rank] = slots;
      decision_.changed[row + job.rank] = slots != std::exchange(job.given, slots);
      if (slots == 0) return;
      flow.holds = true;
      job.then = job.work;
    };
    if (flow.shown && flow.empty == 0) {
      std::copy_n(&last_ids_[before], flow.open, &decision_.ids[row]);
      std::copy_n(&last_ready_[before], flow.open, &decision_.ready[row]);
      for (std::size_t k = 0; any && k < flow.queue.size(); ++k) put(flow.jobs[flow.queue[k]]);
    } else {
      const bool come = !at_.waits(flow);
      Index rank = 0;
      for (FlowTable::Job& job : flow.jobs) {
        if (!job.open()) continue;
        job.rank = rank++;
        decision_.ids[row + job.rank] = flow.id_of(job);
        decision_.ready[row + job.rank] = job.ready && come;
        put(job);
      }
      flow.shown = true;
    }
    row += flow.open;
  }
}

const FlowEpoch::Decision& FlowEpoch::decide(double now, std::optional<std::int64_t> slots,
                                             std::optional<double> period) {
  const double held = at_.clock.wanted(period);
  check_now(now, at_.clock.now());
  if (slots) validate_capacity(*slots);
  count_held(now);
  // so that jobs whose estimates have run out are updated
  const bool other = (held > 0.0) != at_.clock.any();
  if (other || slots.value_or(at_.slots) != at_.slots) at_.table.touch_all();
  at_.slots = slots.value_or(at_.slots);
  ++version_;
  if (at_.clock.now() == -kInfinity) at_.table.arrive(now);
  at_.clock.begin(now, held);
  decision_.order.clear();
  at_.table.drop_ended(decision_.ended);
  for (const std::int64_t id : decision_.ended) at_.coming.remove(id);
  at_.coming.decide(now, at_.table.next_flow());
  at_.study();
  order_flows();
  if (at_.slots > 0) serve();
  report();
  decision_.overloaded = at_.clock.overloaded(at_.slots);
  return decision_;
}

void FlowEpoch::plan(SeenFlows& flows, FlowPlan& plan, std::vector<double>& penalty) {
  if (at_.slots == 0) throw std::invalid_argument("slots = 0: nothing can be planned");
  if (at_.clock.any()) {
    throw std::invalid_argument("period = " + std::to_string(at_.clock.period()) +
                                ": a decision that is held has no plan, value or bound");
  }
  at_.study();
  seen_.build_all(at_);
  const bool curved = at_.table.curved();
  if (const FlowPlan* planned = rule_->planned(); planned && !curved) {
    plan = *planned;
  } else {
    std::vector<Index> last;
    seen_.places_of(order_, last);
    seen_.plan(at_, last, kInfinity, plan);
  }
  if (curved) {
    plan_curves({seen_.seen.flows.view(), seen_.problem, seen_.penalties, at_.options.aggregate,
                 at_.options.baseline, at_.coming.expected()},
                plan);
  }
  flows = seen_.seen;
  penalty.resize(plan.flow_completion.size());
  for (std::size_t j = 0; j < penalty.size(); ++j) {
    penalty[j] = seen_.penalties(j, plan.flow_completion[j]);
  }
}

void FlowEpoch::state(State& s) {
  s(at_, version_, order_, rates_);
  if (s.reading()) rule_ = make_flow_rule(at_.options);
  rule_->state(s);
}

}  // namespace malleable
