#include "malleable/policy/cluster_flow.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace malleable {
namespace {

// So many unfinished jobs are planned in every decision; FlowEpoch compares lists of as many.
constexpr std::int64_t kFewJobs = 300;
// Tasks that take no time are work all the same.
constexpr double kLeastWork = 1e-9;

bool is_guessed(const ClusterState& state, Index job, Phase p) {
  return state.believed[2 * job + p] <= 0.0 && state.jobs.tasks[p][job] > 0;
}

double believed_work(const ClusterState& state, Index job, Phase p) {
  const double told = state.believed[2 * job + p];
  const double seconds = told > 0.0 ? told : state.learned.seconds[p];
  return seconds * static_cast<double>(state.jobs.tasks[p][job]);
}

}  // namespace

void ClusterFlow::begin(const ClusterState& state) {
  flows_.clear();
  sides_.clear();
  place_.clear();
  look_at_kinds(state);
  std::vector<Index> all(state.jobs.size());
  std::iota(all.begin(), all.end(), Index{0});
  added(state, all);
}

void ClusterFlow::look_at_kinds(const ClusterState& state) {
  steady_ = options_.aggregate == Aggregate::kSum;
  if (state.jobs.kind.empty()) steady_ &= info(options_.kind).steady;
  for (const std::uint8_t kind : state.jobs.kind) steady_ &= info(static_cast<Kind>(kind)).steady;
}

void ClusterFlow::added(const ClusterState& state, std::span<const Index> jobs) {
  const std::size_t n = state.jobs.size(), users = options_.by_user ? state.user_running.size() : 1;
  place_.resize(n, Place::kOutside);
  for (auto* column : {&most_, &room_, &given_}) column->resize(n, 0.0);
  for (auto* column : {&first_row_, &last_row_}) column->resize(n, 0);
  if (sides_.size() < users) sides_.resize(users);
  if (options_.by_user) between_.begin(state);
  for (const Index job : jobs) {
    const Index number = flow_of(state, job);
    if (number >= flows_.size()) flows_.resize(number + std::size_t{1});
    Flow& flow = flows_[number];
    if (flow.unfinished == 0) {
      if (flow.here) tidy(sides_[side_of(flow)]);  // its number is another flow's now
      flow = Flow{};
      flow.user = state.jobs.user_of(job);
    }
    place_[job] = Place::kOutside;
    flow.size += believed_work(state, job, kMap) + believed_work(state, job, kReduce);
    flow.jobs.push_back(job);
    ++flow.unfinished;
  }
  at_.resize(flows_.size(), 0);
}

void ClusterFlow::keep(const ClusterState& state, State& s) {
  s(sides_, flows_, place_, served_);
  if (!s.reading()) return;
  at_.resize(flows_.size(), 0);
  std::fill(most_.begin(), most_.end(), 0.0);
  for (Flow& flow : flows_) flow.touched = false;
  for (Side& side : sides_) {
    side.stale = true;
    side.most = 0.0;
    side.touched.clear();
    side.front.resize(side.flows.size());
    for (Index at = 0; at < side.flows.size(); ++at) at_[side.flows[at]] = at;
    touch_all(side);
  }
  for (const Index job : state.present) look_at_demand(state, job, 0);
}

void ClusterFlow::touch(Index number) {
  Flow& flow = flows_[number];
  if (flow.touched || !flow.here) return;
  flow.touched = true;
  sides_[side_of(flow)].touched.push_back(number);
}

void ClusterFlow::touch_all(Side& side) {
  for (const Index number : side.flows) touch(number);
}

// Behind all flows of its side.
void ClusterFlow::come(Index number) {
  Flow& flow = flows_[number];
  Side& side = sides_[side_of(flow)];
  at_[number] = static_cast<Index>(side.flows.size());
  side.flows.push_back(number);
  side.order.push_back(number);
  side.front.resize(side.flows.size());
  side.jobs += flow.unfinished;
  for (const Index job : flow.jobs) side.most += most_[job];
  flow.touched = false;
  touch(number);
}

// Without flows that are done or another side's.
void ClusterFlow::tidy(Side& side) {
  if (!std::exchange(side.stale, false)) return;
  const auto stays = [&](Index number) {
    const Flow& flow = flows_[number];
    return flow.unfinished > 0 && &sides_[side_of(flow)] == &side;
  };
  const auto gone = [&](Index number) { return !stays(number); };
  for (const Index number : side.flows) {
    if (flows_[number].unfinished == 0) flows_[number].here = false;
  }
  side.front.compact([&](std::size_t row) { return stays(side.flows[row]); });
  for (auto* flows : {&side.flows, &side.order, &side.touched}) std::erase_if(*flows, gone);
  for (Index at = 0; at < side.flows.size(); ++at) at_[side.flows[at]] = at;
}

void ClusterFlow::job_arrived(const ClusterState& state, Index job) {
  const Index number = flow_of(state, job);
  place_[job] = Place::kHere;
  if (!std::exchange(flows_[number].here, true)) {
    come(number);
  } else {
    touch(number);
  }
}

void ClusterFlow::user_changed(const ClusterState& state, Index job, std::size_t) {
  const Index number = flow_of(state, job);
  Flow& flow = flows_[number];
  if (flow.jobs.front() != job) return;
  Side& before = sides_[side_of(flow)];
  flow.user = state.jobs.user_of(job);
  if (!flow.here || &sides_[side_of(flow)] == &before) return;
  before.stale = true;
  before.jobs -= flow.unfinished;
  for (const Index own : flow.jobs) before.most -= most_[own];
  tidy(before);
  come(number);
}

void ClusterFlow::job_finished(const ClusterState& state, Index job) {
  const Index number = flow_of(state, job);
  Flow& flow = flows_[number];
  Side& side = sides_[side_of(flow)];
  place_[job] = Place::kDone;
  side.most -= std::exchange(most_[job], 0.0);
  --side.jobs;
  side.stale |= --flow.unfinished == 0;
  touch(number);
}

void ClusterFlow::look_at_demand(const ClusterState& state, Index job, int pool) {
  const Index number = flow_of(state, job);
  const auto most = static_cast<double>(state.demand(job, pool).most);
  sides_[side_of(flows_[number])].most += most - std::exchange(most_[job], most);
  touch(number);
}

void ClusterFlow::decide(const ClusterState& state, int pool, Answer& answer) {
  for (const Index job : state.changed[pool]) look_at_demand(state, job, pool);
  before_.swap(served_);
  served_.clear();
  for (const Index job : before_) given_[job] = 0.0;
  usable_.clear();
  bool any = false;
  for (Side& side : sides_) {
    tidy(side);
    usable_.push_back(side.most);
    any |= side.most > 0.0;
  }
  const bool learnt = !std::equal(guess_, guess_ + 2, state.learned.seconds);
  std::copy(state.learned.seconds, state.learned.seconds + 2, guess_);
  for (std::size_t s = 0; learnt && s < sides_.size(); ++s) {
    for (const Index number : sides_[s].flows) {
      if (flows_[number].guessed) touch(number);
    }
  }
  if (any && !options_.by_user) {
    decide(state, sides_[0], state.slots[pool]);
  } else if (any) {
    const std::span<const double> parts = between_.of(state, pool, usable_);
    for (std::size_t user = 0; user < sides_.size(); ++user) {
      decide(state, sides_[user], static_cast<std::int64_t>(parts[user]));
    }
  }
  for (const auto* jobs : {&before_, &served_}) {
    for (const Index job : *jobs) answer.set(job, given_[job]);
  }
}

void ClusterFlow::decide(const ClusterState& state, Side& side, std::int64_t slots) {
  if (slots == 0 || side.flows.empty()) return;
  if (options_.effort > 0 || side.jobs <= kFewJobs) {
    plan(state, side, slots);
    return;
  }
  look_at_touched(state, side, slots);
  if (!steady_) {
    line_up(state, side, slots);
    return;
  }
  side.front.hand_out(static_cast<double>(slots),
                      [&](Index at, double more) { serve(flows_[side.flows[at]], more); });
}

void ClusterFlow::serve(Index job, double slots) {
  if (slots <= 0.0) return;
  given_[job] = slots;
  served_.push_back(job);
}

// Its slots go down its queue.
void ClusterFlow::serve(const Flow& flow, double slots) {
  for (const Index job : flow.queue) {
    const double own = std::min(slots, room_[job]);
    serve(job, own);
    slots -= own;
  }
}

// The unfinished phases of a job; one without work where all is done.
void ClusterFlow::add_rows(const ClusterState& state, Index job) {
  first_row_[job] = static_cast<std::int64_t>(row_work_.size());
  const bool here = place_[job] == Place::kHere;
  for (const Phase p : {kMap, kReduce}) {
    const PhaseState& s = state.phase(job, p);
    const std::int64_t tasks = here ? s.unfinished() : state.jobs.tasks[p][job];
    if (place_[job] == Place::kDone || tasks == 0) continue;
    row_work_.push_back(std::max(here ? s.remaining() : believed_work(state, job, p), kLeastWork));
    row_most_.push_back(std::min(tasks, state.jobs.maximum_of(job)));
  }
  if (first_row_[job] == static_cast<std::int64_t>(row_work_.size())) {
    row_work_.push_back(0.0);
    row_most_.push_back(1);
  }
  last_row_[job] = static_cast<std::int64_t>(row_work_.size()) - 1;
}

void ClusterFlow::add_parents(const ClusterState& state, Index job) {
  if (!state.parents.empty()) {
    for (const Index other : state.parents[job]) {
      if (flow_of(state, other) == flow_of(state, job)) parent_.push_back(last_row_[other]);
    }
  }
  parent_offset_.push_back(static_cast<std::int64_t>(parent_.size()));
  if (last_row_[job] == first_row_[job]) return;
  parent_.push_back(first_row_[job]);
  parent_offset_.push_back(static_cast<std::int64_t>(parent_.size()));
}

// What people pay for these flows.
void ClusterFlow::study_terms(const ClusterState& state, std::span<const Index> flows) {
  terms_.clear();
  kind_.clear();
  for (const Index number : flows) {
    const Flow& flow = flows_[number];
    double arrival = kInfinity, weight = 0.0, deadline = -kInfinity;
    SlaView::Steps steps;  // of the first job that has some
    for (const Index job : flow.jobs) {
      arrival = std::min(arrival, state.jobs.arrival[job]);
      weight = std::max(weight, state.jobs.weight_of(job));
      deadline = std::max(deadline, state.jobs.deadline_of(job));
      if (steps.time.empty()) steps = state.jobs.steps_of(job);
    }
    terms_.arrival.push_back(arrival);
    terms_.weight.push_back(weight);
    terms_.deadline.push_back(deadline);
    terms_.original.push_back(flow.size);
    terms_.sla.add(steps);
    kind_.push_back(state.jobs.kind_of(flow.jobs.front(), options_.kind));
  }
  const bool alike = state.jobs.kind.empty();
  penalties_.build(terms_.terms(), alike ? std::span<const Kind>(&options_.kind, 1) : kind_);
}

// The jobs of these flows, phase by phase.
void ClusterFlow::build(const ClusterState& state, std::span<const Index> flows,
                        std::int64_t slots) {
  study_terms(state, flows);
  for (auto* column : {&row_most_, &parent_}) column->clear();
  row_work_.clear();
  job_offset_.assign(1, 0);
  parent_offset_.assign(1, 0);
  for (const Index number : flows) {
    for (const Index job : flows_[number].jobs) add_rows(state, job);
    for (const Index job : flows_[number].jobs) add_parents(state, job);
    job_offset_.push_back(static_cast<std::int64_t>(row_work_.size()));
  }
  problem_.build({terms_.terms(), job_offset_, row_work_, row_most_, parent_offset_, parent_},
                 slots, state.now);
}

void ClusterFlow::plan(const ClusterState& state, Side& side, std::int64_t slots) {
  build(state, side.flows, slots);
  warm_.clear();
  for (const Index number : side.order) warm_.push_back(at_[number]);
  FlowOptions how;
  how.method = options_.method;
  how.effort = options_.effort;
  how.warm = warm_;
  side.flowflex.plan(problem_, penalties_, options_.aggregate, how, side.plan);
  side.order.clear();
  for (const Index at : side.plan.order) side.order.push_back(side.flows[at]);
  for (const Index number : side.flows) {
    for (const Index job : flows_[number].jobs) {
      if (most_[job] == 0.0) continue;
      const auto row = static_cast<std::size_t>(first_row_[job]);
      serve(job, static_cast<double>(side.plan.allocation[row]));
    }
  }
}

// Prices and queues of flows that changed.
void ClusterFlow::look_at_touched(const ClusterState& state, Side& side, std::int64_t slots) {
  if (std::exchange(side.slots, slots) != slots) touch_all(side);
  if (side.touched.empty()) return;
  build(state, side.touched, slots);
  const auto path = [&](Index job) {
    const auto row = static_cast<std::size_t>(first_row_[job]);
    return problem_.tail[row] + problem_.work[row] / problem_.high[row];
  };
  for (std::size_t k = 0; k < side.touched.size(); ++k) {
    Flow& flow = flows_[side.touched[k]];
    flow.touched = flow.guessed = false;
    flow.queue.clear();
    double room = 0.0;
    for (const Index job : flow.jobs) {
      if (place_[job] == Place::kOutside) {
        flow.guessed |= is_guessed(state, job, kMap) || is_guessed(state, job, kReduce);
      }
      if (most_[job] == 0.0) continue;
      room_[job] = problem_.high[static_cast<std::size_t>(first_row_[job])];
      room += room_[job];
      flow.queue.push_back(job);
    }
    std::sort(flow.queue.begin(), flow.queue.end(), [&](Index a, Index b) {
      const double longer = path(a), shorter = path(b);
      return longer != shorter ? longer > shorter : first_row_[a] < first_row_[b];
    });
    const double rate = steady_ ? penalties_.slope()[k] : 1.0;
    const double work = std::max(problem_.volume[k], kLeastWork);
    const double wide = std::min(problem_.slots, work / problem_.alone[k]);
    side.front.set(at_[side.touched[k]], work, wide, rate, problem_.slots, room);
  }
  side.touched.clear();
}

// All flows in order, whatever they pay.
void ClusterFlow::line_up(const ClusterState& state, Side& side, std::int64_t slots) {
  study_terms(state, side.flows);
  const std::size_t n = side.flows.size();
  relaxed_.now = state.now;
  relaxed_.slots = static_cast<double>(slots);
  relaxed_.work.assign(side.front.work().begin(), side.front.work().end());
  relaxed_.high.assign(side.front.high().begin(), side.front.high().end());
  relaxed_.low.assign(n, 0.0);
  relaxed_.idle_end.assign(n, state.now);
  warm_.resize(n);
  flow_order_.decide(relaxed_, penalties_, options_.aggregate, {}, 0.0, {}, warm_);
  double free = relaxed_.slots;
  for (std::size_t k = 0; k < n && free > 0.0; ++k) {
    const double own = std::min(free, side.front.room()[warm_[k]]);
    serve(flows_[side.flows[warm_[k]]], own);
    free -= own;
  }
}

}  // namespace malleable
