#include "malleable/policy/cluster_flow.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "malleable/model/domain.hpp"

namespace malleable {
namespace {

// Terms: a side is the flows of one user, or of all, with their epoch; a flow's line is its
// unfinished jobs, the longest path first; a guessed phase has no stated time of its tasks.

// Tasks that take no time count as this much work.
constexpr double kLeastWork = 1e-9;
// Ranks of a flow's jobs differ by this part of the flow's price, which is less than prices of two
// flows usually differ; and the highest price, because an infinite rank means none.
constexpr double kRanksApart = 1e-12, kHighestFlowPrice = 1e9;
// A speed-up that has changed by less is not told again.
constexpr double kSameSpeedup = 0.02;

bool is_guessed(const ClusterState& state, Index job, Phase p) {
  return state.believed[2 * job + p] <= 0.0 && state.jobs.tasks[p][job] > 0;
}

double believed_work(const ClusterState& state, Index job, Phase p) {
  const double stated = state.believed[2 * job + p];
  const double seconds = stated > 0.0 ? stated : state.learned.seconds[p];
  return seconds * static_cast<double>(state.jobs.tasks[p][job]);
}

// The terms of a flow's penalty.
struct Terms {
  double weight = 0.0, deadline = -kInfinity;
};
Terms terms_of(const ClusterState& state, std::span<const Index> jobs) {
  Terms terms;
  for (const Index job : jobs) {
    terms.weight = std::max(terms.weight, state.jobs.weight_of(job));
    terms.deadline = std::max(terms.deadline, state.jobs.deadline_of(job));
  }
  return terms;
}

}  // namespace

// Visits phases with tasks: visit(phase, its place in the table of the flow).
template <typename Visit>
void ClusterFlow::each_phase(const ClusterState& state, Index job, const Visit& visit) const {
  Index place = at_[job];
  const Phases phases = phases_of(state, job);
  if (phases[kMap]) visit(kMap, place++);
  if (phases[kReduce]) visit(kReduce, place);
}

// What is left of a phase, as a job of the flow in the epoch's table.
ClusterFlow::Left ClusterFlow::left_of(const ClusterState& state, Index job, Phase p) const {
  const bool here = place_[job] == Place::kHere;
  const PhaseState& s = state.phase(job, p);
  const std::int64_t tasks = here ? s.unfinished() : state.jobs.tasks[p][job];
  // The last phase of a job ends with the job.
  const bool is_last = p == kReduce || state.jobs.tasks[kReduce][job] == 0;
  const bool ended = place_[job] == Place::kDone || (tasks == 0 && !is_last);
  double work = here ? state.held(s.remaining(), s.estimate) : believed_work(state, job, p);
  // The phase that runs counts the restarts of the job.
  const bool runs = here && (p == kMap) == (state.phase(job, kMap).unfinished() > 0);
  if (restarts_.any() && runs) work += worth_[job].restarts;
  return {std::clamp(work, kLeastWork, kWorkRange.most),
          std::clamp<std::int64_t>(tasks, 1, std::max<std::int64_t>(1, state.jobs.maximum_of(job))),
          ended};
}

void ClusterFlow::begin(const ClusterState& state) {
  flows_.clear();
  sides_.clear();
  place_.clear();
  for (auto* column : {&most_, &rank_, &speedup_}) column->clear();
  worth_.clear();
  restarts_ = {};
  several_ = 0;
  spreads_ = spread_ = false;
  serves_ = !options_.targets;
  std::vector<Index> all(state.jobs.size());
  std::iota(all.begin(), all.end(), Index{0});
  added(state, all);
}

void ClusterFlow::added(const ClusterState& state, std::span<const Index> jobs) {
  const std::size_t n = state.jobs.size(), users = options_.by_user ? state.user_running.size() : 1;
  place_.resize(n, Place::kOutside);
  for (auto* column : {&at_, &ends_}) column->resize(n, 0);
  phases_.resize(n);
  most_.resize(n, 0.0);
  worth_.resize(n);
  if (options_.targets) restarts_.note(state, jobs);
  speedup_.resize(n, 1.0);
  rank_.resize(n, kInfinity);
  FlowEpochOptions how{.aggregate = options_.aggregate, .method = options_.method};
  if (options_.effort > 0) how.effort = options_.effort;
  while (sides_.size() < users) sides_.push_back({FlowEpoch(1, how), {}});
  if (options_.by_user) between_.begin(state);
  for (const Index job : jobs) {
    const Index number = flow_of(state, job);
    if (number >= flows_.size()) flows_.resize(number + std::size_t{1});
    Flow& flow = flows_[number];
    if (flow.unfinished == 0) {
      flow = Flow{};
      flow.user = state.jobs.user_of(job);
    }
    place_[job] = Place::kOutside;
    rank_[job] = kInfinity;
    worth_[job] = {};
    flow.size += believed_work(state, job, kMap) + believed_work(state, job, kReduce);
    flow.jobs.push_back(job);
    ++flow.unfinished;
  }
}

void ClusterFlow::keep(const ClusterState&, State& s) {
  for (Side& side : sides_) s(side);
  s(serves_, flows_, several_, place_, at_, ends_, phases_, most_, rank_, guess_);
  s(spreads_, spread_, speedup_);
}

// Begins to serve, with all present flows.
void ClusterFlow::start(const ClusterState& state) {
  serves_ = true;
  for (const Index job : state.present) {
    const Index number = flow_of(state, job);
    if (flows_[number].id == kAbsent) come(state, number);
  }
}

void ClusterFlow::stop(const ClusterState& state) {
  serves_ = false;
  for (Flow& flow : flows_) flow.id = kAbsent;
  most_.clear();
  sides_.clear();
  added(state, {});
}

// Adds a flow after all flows of its side.
void ClusterFlow::come(const ClusterState& state, Index number) {
  Flow& flow = flows_[number];
  columns_.clear();
  ended_.clear();
  double arrival = kInfinity;
  SlaView::Steps steps;  // of the first job with steps
  for (const Index job : flow.jobs) {
    arrival = std::min(arrival, state.jobs.arrival[job]);
    if (steps.time.empty()) steps = state.jobs.steps_of(job);
    at_[job] = static_cast<Index>(columns_.work.size());
    phases_[job] = phases_of(state, job);
    speedup_[job] = spreads_ ? state.learned.speedup : 1.0;  // until the next decision
    each_phase(state, job, [&](Phase p, Index place) {
      const Left left = left_of(state, job, p);
      columns_.work.push_back(left.work);
      columns_.max_slots.push_back(left.most);
      columns_.speedup.add(speedup_[job], {});
      if (left.ended) ended_.push_back(place);
    });
    ends_[job] = static_cast<Index>(columns_.work.size());
  }
  add_parents(state, flow);
  columns_.job_offset.push_back(static_cast<std::int64_t>(columns_.work.size()));
  const Terms terms = terms_of(state, flow.jobs);
  columns_.arrival.push_back(arrival);
  columns_.weight.push_back(terms.weight);
  columns_.deadline.push_back(terms.deadline);
  columns_.original.push_back(flow.size);
  columns_.sla.add(steps);
  const Kind kind = state.jobs.kind_of(flow.jobs.front(), options_.kind);
  Side& side = side_of(flow);
  const FlowEpoch::Ids ids = side.epoch.add({columns_.view(), {&kind, 1}});
  flow.id = ids.first_flow;
  flow.line.clear();
  side.flow.push_back(number);
  for (std::int64_t& of : ended_) of += ids.first_job;
  side.epoch.finish(ended_);
  for (const Index job : flow.jobs) count_most(state, job);
}

// A phase waits for the phase before it; a first phase waits for the last phases of parents.
void ClusterFlow::add_parents(const ClusterState& state, const Flow& flow) {
  std::vector<std::int64_t>& parent = columns_.parent;
  for (const Index job : flow.jobs) {
    for (std::size_t k = 0; !state.parents.empty() && k < state.parents[job].size(); ++k) {
      const Index other = state.parents[job][k];
      if (&flows_[flow_of(state, other)] == &flow) parent.push_back(ends_[other] - std::int64_t{1});
    }
    columns_.parent_offset.push_back(static_cast<std::int64_t>(parent.size()));
    if (at_[job] + 1 == ends_[job]) continue;
    parent.push_back(at_[job]);
    columns_.parent_offset.push_back(static_cast<std::int64_t>(parent.size()));
  }
}

void ClusterFlow::leave(Flow& flow) {
  const std::int64_t id = std::exchange(flow.id, kAbsent);
  Side& side = side_of(flow);
  side.epoch.remove({}, {&id, 1});
  for (const Index job : flow.jobs) side.most -= std::exchange(most_[job], 0.0);
}

void ClusterFlow::job_arrived(const ClusterState& state, Index job) {
  const Index number = flow_of(state, job);
  Flow& flow = flows_[number];
  place_[job] = Place::kHere;
  several_ += !std::exchange(flow.here, true) && flow.jobs.size() > 1 ? 1 : 0;
  if (serves_ && flow.id == kAbsent) come(state, number);
}

void ClusterFlow::job_finished(const ClusterState& state, Index job) {
  Flow& flow = flows_[flow_of(state, job)];
  place_[job] = Place::kDone;
  several_ -= --flow.unfinished == 0 && flow.here && flow.jobs.size() > 1 ? 1 : 0;
  if (flow.id == kAbsent) return;
  Side& side = side_of(flow);
  side.most -= std::exchange(most_[job], 0.0);
  FlowEpoch& epoch = side.epoch;
  const FlowTable::Flow& in_epoch = epoch.flow(flow.id);
  ended_.clear();
  for (Index k = at_[job]; k < ends_[job]; ++k) {
    if (in_epoch.jobs[k].open()) ended_.push_back(in_epoch.first_id + k);
  }
  epoch.finish(ended_);
}

void ClusterFlow::user_changed(const ClusterState& state, Index job, std::size_t) {
  const Index number = flow_of(state, job);
  Flow& flow = flows_[number];
  if (flow.jobs.front() != job) return;
  const bool is_told = flow.id != kAbsent;
  if (is_told) leave(flow);
  flow.user = state.jobs.user_of(job);
  if (is_told) come(state, number);
}

// Updates the epoch by the changes of a job and of its flow's terms.
void ClusterFlow::update_job(const ClusterState& state, Index job) {
  const Index number = flow_of(state, job);
  if (place_[job] == Place::kDone || flows_[number].id == kAbsent) return;
  Side& side = side_of(flows_[number]);
  const FlowTable::Flow& in_epoch = side.epoch.flow(flows_[number].id);
  count_most(state, job);
  for (auto* column : {&ids_, &most_slots_, &ended_}) column->clear();
  work_.clear();
  // An engine may later show tasks of a phase that had none, or had ended.
  bool again = phases_[job] != phases_of(state, job);
  each_phase(state, job, [&](Phase p, Index place) {
    if (again) return;
    const Left left = left_of(state, job, p);
    const bool open = in_epoch.jobs[place].open();
    again |= !open && !left.ended;
    if (!open || left.ended) {
      if (open) ended_.push_back(in_epoch.first_id + place);
      return;
    }
    ids_.push_back(in_epoch.first_id + place);
    work_.push_back(left.work);
    most_slots_.push_back(left.most);
  });
  if (again) {
    leave(flows_[number]);
    come(state, number);
    return;
  }
  const Terms terms = terms_of(state, flows_[number].jobs);
  side.epoch.update(ids_, {&in_epoch.id, 1},
                    {work_, most_slots_, {&terms.weight, 1}, {&terms.deadline, 1}, {}});
  if (!ended_.empty()) side.epoch.finish(ended_);
}

// Counts the slots that a job could use now.
void ClusterFlow::count_most(const ClusterState& state, Index job) {
  if (place_[job] != Place::kHere) return;
  const auto most = static_cast<double>(state.demand(job, 0).most);
  side_of(flows_[flow_of(state, job)]).most += most - std::exchange(most_[job], most);
}

// Counts restarts in the slots and the work of all jobs that are here.
void ClusterFlow::count_restarts(const ClusterState& state, const Answer& answer) {
  if (options_.targets) restarts_.note(state, state.changed[0]);
  if (!restarts_.any()) return;
  restarts_.begin(state, 0);
  for (const Index job : state.present) {
    const double p = state.exponent_of(job), target = std::floor(answer.get(job));
    worth_[job] = restarts_.of(state, job, 0, p, target);
    update_job(state, job);
  }
}

// Updates jobs without a stated time, whose tasks count like those of other jobs.
void ClusterFlow::update_guesses(const ClusterState& state) {
  const double* seconds = state.learned.seconds;
  if (std::equal(guess_, guess_ + 2, seconds)) return;
  std::copy(seconds, seconds + 2, guess_);
  for (const Flow& flow : flows_) {
    for (std::size_t k = 0; flow.id != kAbsent && k < flow.jobs.size(); ++k) {
      const Index job = flow.jobs[k];
      const bool guessed = is_guessed(state, job, kMap) || is_guessed(state, job, kReduce);
      if (guessed && place_[job] == Place::kOutside) update_job(state, job);
    }
  }
}

// Updates jobs of whose speed-up more is known, and all when it begins or ends to count.
void ClusterFlow::update_speedups(const ClusterState& state, Answer& answer) {
  const bool other = std::exchange(spread_, spreads_) != spreads_;
  for (std::size_t k = 0; other && k < state.present.size(); ++k) answer.reorder(state.present[k]);
  if (!other && !spreads_) return;
  for (const Flow& flow : flows_) {
    for (std::size_t k = 0; flow.id != kAbsent && k < flow.jobs.size(); ++k) {
      const Index job = flow.jobs[k];
      const double p = speedup_of(state, job);
      if (place_[job] == Place::kDone || std::fabs(p - speedup_[job]) < kSameSpeedup) continue;
      speedup_[job] = p;
      Side& side = side_of(flow);
      const FlowTable::Flow& told = side.epoch.flow(flow.id);
      ids_.clear();
      speedups_.clear();
      for (Index place = at_[job]; place < ends_[job]; ++place) {
        if (!told.jobs[place].open()) continue;
        ids_.push_back(told.first_id + place);
        speedups_.add(p, {});
      }
      FlowEpoch::Changes changes{};
      changes.speedup = speedups_.view();
      side.epoch.update(ids_, {}, changes);
    }
  }
}

void ClusterFlow::decide(const ClusterState& state, int pool, Answer& answer) {
  for (const Index job : state.changed[pool]) update_job(state, job);
  update_guesses(state);
  update_speedups(state, answer);
  count_restarts(state, answer);
  usable_.clear();
  for (const Side& side : sides_) usable_.push_back(side.most);
  // A simulation with very long tasks may go beyond the latest time.
  const double now = std::min(state.now, kLatestTime);
  if (!options_.by_user) {
    serve(now, sides_[0], state.slots[pool], answer);
    return;
  }
  const std::span<const double> parts = between_.of(state, pool, usable_);
  for (std::size_t user = 0; user < sides_.size(); ++user) {
    serve(now, sides_[user], static_cast<std::int64_t>(parts[user]), answer);
  }
}

// Decides about the flows of a side.
void ClusterFlow::serve(double now, Side& side, std::int64_t slots, Answer& answer) {
  const bool any = slots > 0 && side.most > 0.0;
  FlowEpoch::Order order;
  if (any && by_epoch()) side.epoch.decide(now, slots);
  if (any && !literal()) order = spreads_ ? side.epoch.order() : side.epoch.order(now, slots);
  if (any) line_up(side);
  if (style() == Style::kTargets) {
    hand_out(side, order.rows, any ? static_cast<double>(slots) : 0.0, answer);
  }
  rank(side, order, answer);
}

// The jobs of flows that changed, the longest path first.
void ClusterFlow::line_up(Side& side) {
  for (const FlowTable::Flow& in_epoch : side.epoch.flows()) {
    if (!in_epoch.fresh) continue;
    Flow& flow = flows_[side.flow[static_cast<std::size_t>(in_epoch.id)]];
    flow.line.clear();
    for (const Index job : flow.jobs) {
      if (place_[job] != Place::kDone) flow.line.push_back(job);
    }
    std::stable_sort(flow.line.begin(), flow.line.end(), [&](Index a, Index b) {
      return phase_of(in_epoch, a).path > phase_of(in_epoch, b).path;
    });
  }
}

// Sets targets: those of a plan, or slots down the order; without rows no job gets any.
void ClusterFlow::hand_out(Side& side, std::span<const Index> rows, double slots, Answer& answer) {
  const std::span<const FlowTable::Flow> flows = side.epoch.flows();
  const auto give = [&](const FlowTable::Flow& in_epoch) {
    for (const Index job : flows_[side.flow[static_cast<std::size_t>(in_epoch.id)]].line) {
      const double most = restarts_.any() ? static_cast<double>(worth_[job].most) : most_[job];
      const FlowTable::Job& phase = phase_of(in_epoch, job);
      double own = std::min(slots, options_.targets ? most : most > 0.0 ? phase.high : 0.0);
      if (by_epoch() && own > 0.0) own = static_cast<double>(phase.given);
      answer.set(job, own);
      if (!by_epoch()) slots -= own;
    }
  };
  for (const Index row : rows) give(flows[row]);
  for (std::size_t row = 0; rows.empty() && row < flows.size(); ++row) {
    if (flows[row].open > 0) give(flows[row]);
  }
}

// Ranks of jobs: prices, or places in the order.
void ClusterFlow::rank(Side& side, const FlowEpoch::Order& order, Answer& answer) {
  if (options_.by_user && !options_.targets) return;
  double next = 0.0;
  for (std::size_t k = 0; k < order.rows.size(); ++k) {
    const FlowTable::Flow& in_epoch = side.epoch.flows()[order.rows[k]];
    double apart = 1.0;
    if (!order.price.empty()) {
      next = std::min(order.price[k], kHighestFlowPrice);
      apart = kRanksApart * std::max(1.0, std::fabs(next));
    }
    for (const Index job : flows_[side.flow[static_cast<std::size_t>(in_epoch.id)]].line) {
      put(job, next, answer);
      next += apart;
    }
  }
}

// Sets the rank of a job.
void ClusterFlow::put(Index job, double rank, Answer& answer) {
  const double before = std::exchange(rank_[job], rank);
  if (!options_.targets) {
    answer.set(job, rank);
  } else if (before != rank) {
    answer.reorder(job);
  }
}

// A flow that comes between two decisions goes before the first flow with more work left.
double ClusterFlow::rank_now(const ClusterState& state, Index job) const {
  if (rank_[job] < kInfinity) return rank_[job];
  const Flow& own = flows_[flow_of(state, job)];
  const auto price = [&](const Flow& flow) {
    double left = 0.0;
    for (const Index other : flow.jobs) {
      left += place_[other] == Place::kHere
                  ? state.phase(other, kMap).remaining() + state.phase(other, kReduce).remaining()
                  : believed_work(state, other, kMap) + believed_work(state, other, kReduce);
    }
    const double weight = terms_of(state, flow.jobs).weight;
    return weight > 0.0 ? left / weight : kInfinity;
  };
  const double mine = price(own);
  double rank = kInfinity;
  const Side& side = side_of(own);
  for (const FlowTable::Flow& in_epoch : side.epoch.flows()) {
    const Flow& flow = flows_[side.flow[static_cast<std::size_t>(in_epoch.id)]];
    if (in_epoch.open == 0 || &flow == &own || flow.line.empty() || price(flow) <= mine) continue;
    rank = std::min(rank, rank_[flow.line.front()]);
  }
  return rank < kInfinity ? rank - kRanksApart : rank;
}

// The rank; if it does not decide alone, the place in the order as a number above 0.
double ClusterFlow::precedence(const ClusterState& state, Index job, int, std::int64_t) const {
  if (!options_.targets) return 0.0;
  const double rank = rank_[job] = rank_now(state, job);
  if (order_decides()) return rank;
  return rank < kInfinity ? 1.0 + rank / (1.0 + std::fabs(rank)) : 2.0;
}

}  // namespace malleable
