#include "malleable/policy/cluster_flow.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace malleable {
namespace {

// So many unfinished jobs are planned in every decision; FlowEpoch compares lists of as many.
constexpr std::int64_t kPlannedJobs = 300;
// Tasks that take no time are work all the same.
constexpr double kLeastWork = 1e-9;
// Ranks of a flow's jobs, of the flow's price: closer than prices of two flows are as a rule. A
// rank of infinity would mean none.
constexpr double kRanksApart = 1e-12, kHighestFlowPrice = 1e9;

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
  clear(state);
  std::vector<Index> all(state.jobs.size());
  std::iota(all.begin(), all.end(), Index{0});
  added(state, all);
}

void ClusterFlow::clear(const ClusterState& state) {
  flows_.clear();
  sides_.clear();
  place_.clear();
  for (auto* column : {&most_, &given_, &rank_}) column->clear();
  look_at_kinds(state);
}

void ClusterFlow::begin(const ClusterState& state, std::span<const Index> jobs,
                        std::span<const Index> done) {
  clear(state);
  added(state, jobs);
  for (const Index job : done) {
    job_arrived(state, job);
    job_finished(state, job);
  }
  for (const Index job : state.present) {
    job_arrived(state, job);
    look_at_demand(state, job, 0);
  }
  served_ = state.present;  // whatever they had
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
  rank_.resize(n, kInfinity);
  rows_.grow(n);
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
    rank_[job] = kInfinity;
    flow.size += believed_work(state, job, kMap) + believed_work(state, job, kReduce);
    flow.jobs.push_back(job);
    ++flow.unfinished;
  }
  at_.resize(flows_.size(), 0);
}

void ClusterFlow::keep(const ClusterState& state, State& s) {
  if (s.reading()) {
    clear(state);
    added(state, {});  // room for all
  }
  s(sides_, flows_, place_, served_, rank_);
  if (!s.reading()) return;
  at_.resize(flows_.size(), 0);
  for (Flow& flow : flows_) flow.touched = false;
  for (Side& side : sides_) {
    side.stale = true;
    side.most = 0.0;
    side.exponent = kNoExponent;
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
  if (number >= flows_.size()) return;  // all of its flow were done when flows were first served
  const auto most = static_cast<double>(state.demand(job, pool).most);
  sides_[side_of(flows_[number])].most += most - std::exchange(most_[job], most);
  touch(number);
}

// Where other jobs' tasks stand in for what nobody said.
void ClusterFlow::look_at_guesses(const ClusterState& state) {
  const double* seconds = state.learned.seconds;
  if (std::equal(guess_, guess_ + 2, seconds)) return;
  std::copy(seconds, seconds + 2, guess_);
  for (const Side& side : sides_) {
    for (const Index number : side.flows) {
      if (flows_[number].guessed) touch(number);
    }
  }
}

void ClusterFlow::decide(const ClusterState& state, int pool, Answer& answer) {
  for (const Index job : state.changed[pool]) look_at_demand(state, job, pool);
  usable_.clear();
  for (Side& side : sides_) {
    tidy(side);
    usable_.push_back(side.most);
  }
  look_at_guesses(state);
  if (style() == Style::kRanks) {
    if (look(state, sides_[0], state.slots[pool])) rank(sides_[0], answer);
    return;
  }
  before_.swap(served_);
  served_.clear();
  seen_.clear();
  for (const Index job : before_) given_[job] = 0.0;
  const auto serve_side = [&](Side& side, std::int64_t slots) {
    if (!look(state, side, slots)) return;
    serve(side, slots);
    seen_.push_back(&side);
  };
  if (!options_.by_user) {
    serve_side(sides_[0], state.slots[pool]);
  } else {
    const std::span<const double> parts = between_.of(state, pool, usable_);
    for (std::size_t user = 0; user < sides_.size(); ++user) {
      serve_side(sides_[user], static_cast<std::int64_t>(parts[user]));
    }
  }
  for (const auto* jobs : {&before_, &served_}) {
    for (const Index job : *jobs) answer.set(job, given_[job]);
  }
  if (!options_.targets) return;
  for (Side* side : seen_) rank(*side, answer);
}

// Whether flows of the side stand by prices that are kept, without an order of all.
bool ClusterFlow::priced(const Side& side) const {
  return steady_ && !literal() && options_.effort == 0 && side.jobs > kPlannedJobs;
}

void ClusterFlow::order_flows(const ClusterState& state, Side& side, std::int64_t slots) {
  if (literal()) {
    begin_plan(state, side, slots);
  } else if (side.jobs <= kPlannedJobs || options_.effort > 0) {
    compare_lists(state, side, slots);
  } else {
    look_at_touched(state, side, slots);
    if (!steady_) relaxed_order(state, side, slots);
  }
}

// Puts the side's flows in order, if any of them can use a slot.
bool ClusterFlow::look(const ClusterState& state, Side& side, std::int64_t slots) {
  if (slots == 0 || side.most <= 0.0) return false;
  order_flows(state, side, slots);
  side.cheapest = priced(side) ? side.front.exponent(static_cast<double>(slots)) : kNoExponent;
  return true;
}

// Ranks of jobs: places in the order, or prices, which stay what they were for flows that did not
// change.
void ClusterFlow::rank(Side& side, Answer& answer) {
  const auto put_flow = [&](Index number, double first, double apart) {
    for (const Index job : flows_[number].line) {
      put(job, first, answer);
      first += apart;
    }
  };
  // Other users' flows may have been looked at since.
  const bool all = side.cheapest != std::exchange(side.exponent, side.cheapest) || options_.by_user;
  if (!priced(side)) {
    double place = 0.0;
    for (const Index number : side.order) {
      put_flow(number, place, 1.0);
      place += static_cast<double>(flows_[number].line.size());
    }
    return;
  }
  const std::span<const double> prices = side.front.keys(side.exponent);
  for (const Index number : all ? side.flows : looked_at_) {
    const double price = std::min(prices[at_[number]], kHighestFlowPrice);
    put_flow(number, price, kRanksApart * std::max(1.0, std::fabs(price)));
  }
}

void ClusterFlow::put(Index job, double rank, Answer& answer) {
  const double before = std::exchange(rank_[job], rank);
  if (!options_.targets) {
    answer.set(job, rank);
  } else if (before != rank) {
    answer.reorder(job);
  }
}

// A flow that comes between two decisions goes before the first one that has more work left.
double ClusterFlow::rank_now(const ClusterState& state, Index job) const {
  if (rank_[job] < kInfinity) return rank_[job];
  const Flow& own = flows_[flow_of(state, job)];
  const auto price = [&](const Flow& flow) {
    double left = 0.0, weight = 0.0;
    for (const Index other : flow.jobs) {
      left += place_[other] == Place::kHere
                  ? state.phase(other, kMap).remaining() + state.phase(other, kReduce).remaining()
                  : believed_work(state, other, kMap) + believed_work(state, other, kReduce);
      weight = std::max(weight, state.jobs.weight_of(other));
    }
    return weight > 0.0 ? left / weight : kInfinity;
  };
  const double mine = price(own);
  double rank = kInfinity;
  for (const Index number : sides_[side_of(own)].order) {
    const Flow& flow = flows_[number];
    if (&flow == &own || flow.line.empty() || price(flow) <= mine) continue;
    rank = std::min(rank, rank_[flow.line.front()]);
  }
  return rank < kInfinity ? rank - kRanksApart : rank;
}

// The rank; where users have shares, places in their orders as numbers above 0.
double ClusterFlow::precedence(const ClusterState& state, Index job, int, std::int64_t) const {
  if (!options_.targets) return 0.0;
  const double rank = rank_[job] = rank_now(state, job);
  if (!options_.by_user) return rank;
  return rank < kInfinity ? 1.0 + rank / (1.0 + std::fabs(rank)) : 2.0;
}

// Targets: slots go down the order, but where a plan has handed out its own.
void ClusterFlow::serve(Side& side, std::int64_t slots) {
  if (literal()) return;
  double free = static_cast<double>(slots);
  if (priced(side)) {
    side.front.hand_out(free, side.cheapest,
                        [&](Index at, double more) { serve(flows_[side.flows[at]], more); });
    return;
  }
  for (const Index number : side.order) free -= serve(flows_[number], free);
}

void ClusterFlow::serve(Index job, double slots) {
  if (slots <= 0.0) return;
  given_[job] = slots;
  served_.push_back(job);
}

// Slots of a target of its: of its first phase, or of the tasks that can run now.
double ClusterFlow::usable(Index job) const {
  if (options_.targets) return most_[job];
  return most_[job] > 0.0 ? room_[job] : 0.0;
}

// Slots go down its line; returns those that it took.
double ClusterFlow::serve(const Flow& flow, double slots) {
  double left = slots;
  for (const Index job : flow.line) {
    const double own = std::min(left, usable(job));
    serve(job, own);
    left -= own;
  }
  return slots - left;
}

void ClusterFlow::Rows::grow(std::size_t jobs) {
  for (auto* column : {&first_, &last_}) column->resize(jobs, 0);
}

// The unfinished phases of a job; one without work where all is done.
void ClusterFlow::Rows::add(const ClusterState& state, Index job, Place place) {
  std::vector<double>& work = columns_.work;
  first_[job] = static_cast<std::int64_t>(work.size());
  const bool here = place == Place::kHere;
  for (const Phase p : {kMap, kReduce}) {
    const PhaseState& s = state.phase(job, p);
    const std::int64_t tasks = here ? s.unfinished() : state.jobs.tasks[p][job];
    if (place == Place::kDone || tasks == 0) continue;
    work.push_back(std::max(
        here ? state.held(s.remaining(), s.estimate) : believed_work(state, job, p), kLeastWork));
    columns_.max_slots.push_back(std::min(tasks, state.jobs.maximum_of(job)));
  }
  if (first_[job] == static_cast<std::int64_t>(work.size())) {
    work.push_back(0.0);
    columns_.max_slots.push_back(1);
  }
  last_[job] = static_cast<std::int64_t>(work.size()) - 1;
}

void ClusterFlow::Rows::add_parents(const ClusterState& state, Index job) {
  std::vector<std::int64_t>& parent = columns_.parent;
  const auto close = [&] {
    columns_.parent_offset.push_back(static_cast<std::int64_t>(parent.size()));
  };
  if (!state.parents.empty()) {
    for (const Index other : state.parents[job]) {
      if (flow_of(state, other) == flow_of(state, job)) parent.push_back(last_[other]);
    }
  }
  close();
  if (last_[job] == first_[job]) return;
  parent.push_back(first_[job]);
  close();
}

void ClusterFlow::Rows::study(const ClusterFlow& all, const ClusterState& state,
                              std::span<const Index> flows) {
  TermColumns& terms = columns_;
  terms.clear();
  kind_.clear();
  for (const Index number : flows) {
    const Flow& flow = all.flows_[number];
    double arrival = kInfinity, weight = 0.0, deadline = -kInfinity;
    SlaView::Steps steps;  // of the first job that has some
    for (const Index job : flow.jobs) {
      arrival = std::min(arrival, state.jobs.arrival[job]);
      weight = std::max(weight, state.jobs.weight_of(job));
      deadline = std::max(deadline, state.jobs.deadline_of(job));
      if (steps.time.empty()) steps = state.jobs.steps_of(job);
    }
    terms.arrival.push_back(arrival);
    terms.weight.push_back(weight);
    terms.deadline.push_back(deadline);
    terms.original.push_back(flow.size);
    terms.sla.add(steps);
    kind_.push_back(state.jobs.kind_of(flow.jobs.front(), all.options_.kind));
  }
  const bool alike = state.jobs.kind.empty();
  penalties.build(terms.terms(), alike ? std::span<const Kind>(&all.options_.kind, 1) : kind_);
}

// The jobs of these flows, phase by phase.
void ClusterFlow::Rows::build(const ClusterFlow& all, const ClusterState& state,
                              std::span<const Index> flows, std::int64_t slots) {
  columns_.clear();
  study(all, state, flows);
  for (const Index number : flows) {
    const std::vector<Index>& jobs = all.flows_[number].jobs;
    for (const Index job : jobs) add(state, job, all.place_[job]);
    for (const Index job : jobs) add_parents(state, job);
    columns_.job_offset.push_back(static_cast<std::int64_t>(columns_.work.size()));
  }
  problem.build(columns_.view(), slots, state.now);
}

// Of the problem that is built, the last order among those that are tried.
void ClusterFlow::make_plan(Side& side) {
  FlowOptions how;
  how.method = options_.method;
  how.effort = options_.effort;
  how.warm = warm_;
  side.flowflex.plan(rows_.problem, rows_.penalties, options_.aggregate, how, side.plan);
}

// Begins a whole plan.
void ClusterFlow::begin_plan(const ClusterState& state, Side& side, std::int64_t slots) {
  rows_.build(*this, state, side.flows, slots);
  places_before(side);
  make_plan(side);
  set_order(side, side.plan.order);
  for (const Index number : side.flows) {
    line_up(flows_[number]);
    for (const Index job : flows_[number].line) {
      if (most_[job] == 0.0) continue;
      const auto row = rows_.of(job);
      serve(job, static_cast<double>(side.plan.allocation[row]));
    }
  }
}

// The last order, by places among the side's flows.
void ClusterFlow::places_before(const Side& side) {
  warm_.clear();
  for (const Index number : side.order) warm_.push_back(at_[number]);
}

void ClusterFlow::set_order(Side& side, std::span<const Index> places) {
  side.order.clear();
  for (const Index at : places) side.order.push_back(side.flows[at]);
}

// The best of flow_order's orders, of flows as jobs or by the lists that they make.
void ClusterFlow::choose_order(Side& side, bool listed) {
  placed_.resize(side.flows.size());
  flow_order_.decide({as_jobs_, rows_.penalties, options_.aggregate,
                      listed ? &rows_.problem : nullptr, warm_, 0.0, planned_orders_},
                     placed_);
  set_order(side, placed_);
}

// By lists, the last decision's order among those that are tried, and with an effort a plan's.
void ClusterFlow::compare_lists(const ClusterState& state, Side& side, std::int64_t slots) {
  rows_.build(*this, state, side.flows, slots);
  places_before(side);
  as_jobs_.begin(state.now, slots);
  for (std::size_t k = 0; k < side.flows.size(); ++k) {
    const double volume = rows_.problem.volume[k];
    as_jobs_.add(volume, volume / rows_.problem.alone[k]);
  }
  planned_orders_.clear();
  if (options_.effort > 0) {
    make_plan(side);
    side.flowflex.orders(side.plan, planned_orders_);
  }
  choose_order(side, true);
  for (const Index number : side.flows) line_up(flows_[number]);
}

// Many flows in order, whatever they pay.
void ClusterFlow::relaxed_order(const ClusterState& state, Side& side, std::int64_t slots) {
  rows_.study(*this, state, side.flows);
  as_jobs_.begin(state.now, slots);
  for (std::size_t k = 0; k < side.flows.size(); ++k) {
    as_jobs_.add(side.front.work()[k], side.front.high()[k]);
  }
  warm_.clear();
  planned_orders_.clear();
  choose_order(side, false);
}

// Jobs of a flow that is in the problem, the longest path first.
void ClusterFlow::line_up(Flow& flow) {
  const auto path = [&](Index job) {
    const auto row = rows_.of(job);
    return rows_.problem.tail[row] + rows_.problem.work[row] / rows_.problem.high[row];
  };
  flow.line.clear();
  for (const Index job : flow.jobs) {
    if (place_[job] == Place::kDone) continue;
    room_[job] = rows_.problem.high[rows_.of(job)];
    flow.line.push_back(job);
  }
  std::sort(flow.line.begin(), flow.line.end(), [&](Index a, Index b) {
    const double longer = path(a), shorter = path(b);
    return longer != shorter ? longer > shorter : rows_.of(a) < rows_.of(b);
  });
}

// Prices and lines of flows that changed.
void ClusterFlow::look_at_touched(const ClusterState& state, Side& side, std::int64_t slots) {
  if (std::exchange(side.slots, slots) != slots) touch_all(side);
  looked_at_.swap(side.touched);
  side.touched.clear();
  if (looked_at_.empty()) return;
  rows_.build(*this, state, looked_at_, slots);
  for (std::size_t k = 0; k < looked_at_.size(); ++k) {
    Flow& flow = flows_[looked_at_[k]];
    flow.touched = flow.guessed = false;
    line_up(flow);
    double room = 0.0;
    for (const Index job : flow.line) {
      room += usable(job);
      if (place_[job] == Place::kOutside) {
        flow.guessed |= is_guessed(state, job, kMap) || is_guessed(state, job, kReduce);
      }
    }
    const double rate = steady_ ? rows_.penalties.slope()[k] : 1.0;
    const double work = std::max(rows_.problem.volume[k], kLeastWork);
    const double wide = std::min(rows_.problem.slots, work / rows_.problem.alone[k]);
    side.front.set(at_[looked_at_[k]], work, wide, rate, rows_.problem.slots, room);
  }
}

}  // namespace malleable
