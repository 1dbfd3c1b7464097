#include "malleable/policy/cluster_flow.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "malleable/model/domain.hpp"
#include "malleable/policy/flow_epoch.hpp"
#include "malleable/policy/restart_slots.hpp"
#include "malleable/policy/user_shares.hpp"

namespace malleable {
namespace {

// Terms: a side is the flows of one user, or of all, with their epoch; a flow's line is its
// unfinished jobs, the longest path first; a guessed phase has no stated time of its tasks.

constexpr std::int64_t kAbsent = -1;  // the flow has no id in the epoch
// Tasks that take no time count as this much work.
constexpr double kLeastWork = 1e-9;
// Ranks of a flow's jobs differ by this part of the flow's price, which is less than prices of two
// flows usually differ; and the highest price, because an infinite rank means none.
constexpr double kRanksApart = 1e-12, kHighestFlowPrice = 1e9;
// A speed-up that has changed by less is not told again.
constexpr double kSameSpeedup = 0.02;

Index flow_of(const ClusterState& state, Index job) {
  return state.jobs.flow.empty() ? job : static_cast<Index>(state.jobs.flow[job]);
}

// Visits phases in the table, which are those with tasks, or the only one: visit(phase, its place
// in the flow from `place` on).
template <typename Visit>
void each_phase(const ClusterState& state, Index job, Index place, const Visit& visit) {
  const bool reduces = state.jobs.tasks[kReduce][job] > 0;
  if (state.jobs.tasks[kMap][job] > 0 || !reduces) visit(kMap, place++);
  if (reduces) visit(kReduce, place);
}

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

class ByFlow final : public ClusterFlow {
 public:
  explicit ByFlow(const ClusterFlowOptions& options) : options_(options) {}

  Style style() const override {
    return options_.targets || options_.by_user || literal() ? Style::kTargets : Style::kRanks;
  }
  double first_rank(const ClusterState& state, Index job, int) override {
    return rank_now(state, job);
  }
  // With `targets`: they are filled by precedence; or precedence alone decides, unless users share
  // the slots first or the slots of the epoch are the targets.
  bool fills_in_order() const override { return options_.targets; }
  bool order_decides() const override {
    return options_.targets && !options_.by_user && !spreads_ && !restarts_.any();
  }

  // The rank; if it does not decide alone, the place in the order as a number above 0.
  double precedence(const ClusterState& state, Index job, int, std::int64_t) const override {
    if (!options_.targets) return 0.0;
    const double rank = jobs_[job].rank = rank_now(state, job);
    if (order_decides()) return rank;
    return rank < kInfinity ? 1.0 + rank / (1.0 + std::fabs(rank)) : 2.0;
  }

  void begin(const ClusterState& state) override {
    flows_.clear();
    sides_.clear();
    jobs_.clear();
    restarts_ = {};
    several_ = 0;
    spreads_ = spread_ = false;
    serves_ = !options_.targets;
    std::vector<Index> all(state.jobs.size());
    std::iota(all.begin(), all.end(), Index{0});
    added(state, all);
  }

  // All jobs of a flow are added in one call.
  void added(const ClusterState& state, std::span<const Index> jobs) override {
    jobs_.resize(state.jobs.size());
    if (options_.targets) restarts_.note(state, jobs);
    FlowEpochOptions how{.aggregate = options_.aggregate, .method = options_.method};
    if (options_.effort > 0) how.effort = options_.effort;
    between_.begin(state, options_.by_user);
    while (sides_.size() < between_.users()) sides_.push_back({FlowEpoch(1, how), {}});
    for (const Index job : jobs) {
      const Index number = flow_of(state, job);
      if (number >= flows_.size()) flows_.resize(number + std::size_t{1});
      Flow& flow = flows_[number];
      if (flow.unfinished == 0) flow = Flow{};
      jobs_[job] = {};
      flow.size += believed_work(state, job, kMap) + believed_work(state, job, kReduce);
      flow.jobs.push_back(job);
      ++flow.unfinished;
    }
  }

  void keep(const ClusterState&, State& s) override {
    for (Side& side : sides_) s(side);
    s(serves_, flows_, several_, jobs_, guess_, spreads_, spread_);
  }

  void start(const ClusterState& state) override {
    serves_ = true;
    for (const Index job : state.present) {
      const Index number = flow_of(state, job);
      if (flows_[number].id == kAbsent) come(state, number);
    }
  }

  void stop(const ClusterState& state) override {
    serves_ = false;
    for (Flow& flow : flows_) flow.id = kAbsent;
    sides_.clear();
    added(state, {});
  }

  void spread(bool spreads) override { spreads_ = spreads && !restarts_.any(); }
  std::int64_t several() const override { return several_; }

  void job_arrived(const ClusterState& state, Index job) override {
    const Index number = flow_of(state, job);
    Flow& flow = flows_[number];
    jobs_[job].place = Place::kHere;
    several_ += !std::exchange(flow.here, true) && flow.jobs.size() > 1 ? 1 : 0;
    if (serves_ && flow.id == kAbsent) come(state, number);
  }

  void job_finished(const ClusterState& state, Index job) override {
    Flow& flow = flows_[flow_of(state, job)];
    jobs_[job].place = Place::kDone;
    several_ -= --flow.unfinished == 0 && flow.here && flow.jobs.size() > 1 ? 1 : 0;
    if (flow.id == kAbsent) return;
    FlowEpoch& epoch = side_of(state, flow).epoch;
    const FlowTable::Flow& told = epoch.flow(flow.id);
    ended_.clear();
    for (Index k = jobs_[job].at; k < jobs_[job].end; ++k) {
      if (told.jobs[k].open()) ended_.push_back(told.first_id + k);
    }
    epoch.finish(ended_);
    if (flow.unfinished == 0) flow.id = kAbsent;
  }

  void user_changed(const ClusterState& state, Index job, std::size_t before) override {
    const Index number = flow_of(state, job);
    Flow& flow = flows_[number];
    if (!options_.by_user || flow.jobs.front() != job || flow.id == kAbsent) return;
    sides_[before].epoch.remove({}, {&flow.id, 1});
    come(state, number);
  }

  void decide(const ClusterState& state, int pool, Answer& answer) override {
    for (const Index job : state.changed[pool]) update_job(state, job);
    update_guesses(state);
    update_speedups(state, answer);
    count_restarts(state, answer);
    usable_.assign(sides_.size(), 0.0);
    for (const Index job : state.present) {
      jobs_[job].most = static_cast<double>(state.demand(job, 0).most);
      usable_[side_at(state, job)] += jobs_[job].most;
    }
    // A simulation with very long tasks may go beyond the latest time.
    const double now = std::min(state.now, kLatestTime);
    const std::span<const double> parts = between_.of(state, pool, usable_);
    for (std::size_t user = 0; user < sides_.size(); ++user) {
      const double slots = usable_[user] > 0.0 ? parts[user] : 0.0;
      serve(now, sides_[user], static_cast<std::int64_t>(slots), answer);
    }
  }

 private:
  struct Flow {
    double size = 0.0;            // work at arrival
    std::vector<Index> jobs;      // in the order of the table
    std::int64_t unfinished = 0;  // of them
    bool here = false;
    std::int64_t id = kAbsent;  // id in the epoch of its side
    std::vector<Index> line;    // unfinished jobs, longest path first, at the last decision

    void state(State& s) { s(size, jobs, unfinished, here, id, line); }
  };
  // The flows of one user, or of all users.
  struct Side {
    FlowEpoch epoch;
    std::vector<Index> flow;  // number, by id

    Index number_of(const FlowTable::Flow& told) const {
      return flow[static_cast<std::size_t>(told.id)];
    }
    void state(State& s) { s(epoch, flow); }
  };
  enum class Place : std::uint8_t { kOutside, kHere, kDone };  // not come yet; come; finished
  struct Job {
    Place place = Place::kOutside;
    Index at = 0, end = 0;  // the places of its phases in its flow's table
    double most = 0.0;      // slots that it can use
    // its place in the order of targets, computed when asked for
    mutable double rank = kInfinity;
    RestartSlots::Worth worth = {};  // if slots need a restart

    void state(State& s) { s(place, at, end, rank); }
  };
  // What is left of a phase.
  struct Left {
    double work;
    std::int64_t most;
    bool ended;
  };

  // The slots of the epoch are the targets.
  bool by_epoch() const { return literal() || spreads_; }
  bool literal() const { return options_.method == FlowMethod::kLiteral; }
  // The side of a flow with this job.
  std::size_t side_at(const ClusterState& state, Index job) const {
    if (!options_.by_user) return 0;
    return state.jobs.user_of(flows_[flow_of(state, job)].jobs.front());
  }
  Side& side_of(const ClusterState& state, const Flow& flow) {
    return sides_[side_at(state, flow.jobs.front())];
  }

  // What is left of a phase, as a job of the flow in the epoch's table.
  Left left_of(const ClusterState& state, Index job, Phase p) const {
    const Place place = jobs_[job].place;
    const bool here = place == Place::kHere;
    const PhaseState& s = state.phase(job, p);
    const std::int64_t tasks = here ? s.unfinished() : state.jobs.tasks[p][job];
    // The last phase of a job ends with the job.
    const bool is_last = p == kReduce || state.jobs.tasks[kReduce][job] == 0;
    const bool ended = place == Place::kDone || (tasks == 0 && !is_last);
    double work = here ? state.held(s.remaining(), s.estimate) : believed_work(state, job, p);
    // The phase that runs counts the restarts of the job.
    const bool runs = here && (p == kMap) == (state.phase(job, kMap).unfinished() > 0);
    if (restarts_.any() && runs) work += jobs_[job].worth.restarts;
    const std::int64_t most = std::max<std::int64_t>(1, state.jobs.maximum_of(job));
    return {std::clamp(work, kLeastWork, kWorkRange.most), std::clamp<std::int64_t>(tasks, 1, most),
            ended};
  }

  // Adds a flow after all flows of its side.
  void come(const ClusterState& state, Index number) {
    Flow& flow = flows_[number];
    columns_.clear();
    ended_.clear();
    double arrival = kInfinity;
    SlaView::Steps steps;  // of the first job with steps
    for (const Index job : flow.jobs) {
      arrival = std::min(arrival, state.jobs.arrival[job]);
      if (steps.time.empty()) steps = state.jobs.steps_of(job);
      jobs_[job].at = static_cast<Index>(columns_.work.size());
      each_phase(state, job, jobs_[job].at, [&](Phase p, Index place) {
        const Left left = left_of(state, job, p);
        columns_.work.push_back(left.work);
        columns_.max_slots.push_back(left.most);
        // until the next decision
        columns_.speedup.add(spreads_ ? state.learned.speedup : 1.0, {});
        if (left.ended) ended_.push_back(place);
      });
      jobs_[job].end = static_cast<Index>(columns_.work.size());
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
    Side& side = side_of(state, flow);
    const FlowEpoch::Ids ids = side.epoch.add({columns_.view(), {&kind, 1}});
    flow.id = ids.first_flow;
    flow.line.clear();
    side.flow.push_back(number);
    for (std::int64_t& of : ended_) of += ids.first_job;
    side.epoch.finish(ended_);
  }

  // A phase waits for the phase before it; a first phase waits for the last phases of parents.
  void add_parents(const ClusterState& state, const Flow& flow) {
    std::vector<std::int64_t>& parent = columns_.parent;
    for (const Index job : flow.jobs) {
      for (std::size_t k = 0; !state.parents.empty() && k < state.parents[job].size(); ++k) {
        const Index other = state.parents[job][k];
        if (&flows_[flow_of(state, other)] == &flow) {
          parent.push_back(jobs_[other].end - std::int64_t{1});
        }
      }
      columns_.parent_offset.push_back(static_cast<std::int64_t>(parent.size()));
      if (jobs_[job].at + 1 == jobs_[job].end) continue;
      parent.push_back(jobs_[job].at);
      columns_.parent_offset.push_back(static_cast<std::int64_t>(parent.size()));
    }
  }

  // Updates the epoch by the changes of a job and of its flow's terms.
  void update_job(const ClusterState& state, Index job) {
    const Index number = flow_of(state, job);
    const Flow& flow = flows_[number];
    if (jobs_[job].place == Place::kDone || flow.id == kAbsent) return;
    FlowEpoch& epoch = side_of(state, flow).epoch;
    const FlowTable::Flow& told = epoch.flow(flow.id);
    for (auto* column : {&ids_, &most_slots_, &ended_}) column->clear();
    work_.clear();
    // An engine may later show tasks of a phase that had none, or had ended.
    bool again = false;
    Index end = jobs_[job].at;
    each_phase(state, job, jobs_[job].at, [&](Phase p, Index place) {
      end = place + 1;
      if (end > jobs_[job].end) return;
      const Left left = left_of(state, job, p);
      const bool open = told.jobs[place].open();
      again |= !open && !left.ended;
      if (open && left.ended) ended_.push_back(told.first_id + place);
      if (!open || left.ended) return;
      ids_.push_back(told.first_id + place);
      work_.push_back(left.work);
      most_slots_.push_back(left.most);
    });
    if (again || end != jobs_[job].end) {
      epoch.remove({}, {&flow.id, 1});
      come(state, number);
      return;
    }
    const Terms terms = terms_of(state, flow.jobs);
    epoch.update(ids_, {&flow.id, 1},
                 {work_, most_slots_, {&terms.weight, 1}, {&terms.deadline, 1}, {}});
    if (!ended_.empty()) epoch.finish(ended_);
  }

  // With `targets`: counts restarts in the slots and the work of all jobs that are here
  // (policy/restart_slots).
  void count_restarts(const ClusterState& state, const Answer& answer) {
    if (options_.targets) restarts_.note(state, state.changed[0]);
    if (!restarts_.any()) return;
    restarts_.begin(state, 0);
    for (const Index job : state.present) {
      const double p = state.exponent_of(job), target = std::floor(answer.get(job));
      jobs_[job].worth = restarts_.of(state, job, 0, p, target);
      update_job(state, job);
    }
  }

  // Updates jobs without a stated time, whose tasks count like those of other jobs.
  void update_guesses(const ClusterState& state) {
    const double* seconds = state.learned.seconds;
    if (std::equal(guess_, guess_ + 2, seconds)) return;
    std::copy(seconds, seconds + 2, guess_);
    for (const Flow& flow : flows_) {
      for (std::size_t k = 0; flow.id != kAbsent && k < flow.jobs.size(); ++k) {
        const Index job = flow.jobs[k];
        const bool guessed = is_guessed(state, job, kMap) || is_guessed(state, job, kReduce);
        if (guessed && jobs_[job].place == Place::kOutside) update_job(state, job);
      }
    }
  }

  // Updates jobs of whose speed-up more is known, and all when it begins or ends to count.
  void update_speedups(const ClusterState& state, Answer& answer) {
    const bool other = std::exchange(spread_, spreads_) != spreads_;
    for (std::size_t k = 0; other && k < state.present.size(); ++k) {
      answer.reorder(state.present[k]);
    }
    if (!other && !spreads_) return;
    for (const Flow& flow : flows_) {
      if (flow.id == kAbsent) continue;
      FlowEpoch& epoch = side_of(state, flow).epoch;
      const FlowTable::Flow& told = epoch.flow(flow.id);
      for (const Index job : flow.jobs) {
        const Job& own = jobs_[job];
        // p of all programs for jobs that have not come
        const bool here = own.place == Place::kHere;
        const double learnt = here ? state.exponent_of(job) : state.learned.speedup;
        const double p = spreads_ ? learnt : 1.0;
        const double before = told.curved() ? told.speedup.exponent[own.end - 1] : 1.0;
        if (own.place == Place::kDone || std::fabs(p - before) < kSameSpeedup) continue;
        ids_.clear();
        speedups_.clear();
        for (Index k = own.at; k < own.end; ++k) {
          if (!told.jobs[k].open()) continue;
          ids_.push_back(told.first_id + k);
          speedups_.add(p, {});
        }
        FlowEpoch::Changes changes{};
        changes.speedup = speedups_.view();
        epoch.update(ids_, {}, changes);
      }
    }
  }

  // Decides about the flows of a side: targets, and ranks of jobs (prices, or places in the order).
  void serve(double now, Side& side, std::int64_t slots, Answer& answer) {
    if (slots == 0) {
      take_all(side, answer);
      return;
    }
    side.epoch.decide(now, slots);
    line_up(side);
    const std::span<const Index> rows = side.epoch.order();
    const std::span<const double> price = side.epoch.prices();
    auto free = static_cast<double>(slots);
    double next = 0.0, apart = 1.0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (!price.empty()) {
        next = std::min(price[k], kHighestFlowPrice);
        apart = kRanksApart * std::max(1.0, std::fabs(next));
      }
      const FlowTable::Flow& told = side.epoch.flows()[rows[k]];
      for (const Index job : flows_[side.number_of(told)].line) {
        if (style() == Style::kTargets) answer.set(job, target_of(told, job, free));
        put(job, next, answer);
        next += apart;
      }
    }
  }

  // No job of the side has a target.
  void take_all(const Side& side, Answer& answer) const {
    if (style() != Style::kTargets) return;
    for (const FlowTable::Flow& told : side.epoch.flows()) {
      if (told.open == 0) continue;
      for (const Index job : flows_[side.number_of(told)].line) answer.set(job, 0.0);
    }
  }

  // The slots that a plan gives, or free slots down the order.
  double target_of(const FlowTable::Flow& told, Index job, double& free) const {
    const Job& own = jobs_[job];
    const FlowTable::Job& phase = phase_of(told, job);
    double most = restarts_.any() ? static_cast<double>(own.worth.most) : own.most;
    if (!options_.targets && most > 0.0) most = phase.high;
    if (by_epoch()) return most > 0.0 ? static_cast<double>(phase.given) : 0.0;
    const double given = std::min(free, most);
    free -= given;
    return given;
  }

  // Sets the rank of a job, if ranks decide.
  void put(Index job, double rank, Answer& answer) {
    if (style() == Style::kTargets && !options_.targets) return;
    const double before = std::exchange(jobs_[job].rank, rank);
    if (!options_.targets) {
      answer.set(job, rank);
    } else if (before != rank) {
      answer.reorder(job);
    }
  }

  // Sets the lines of flows that changed.
  void line_up(Side& side) {
    for (const FlowTable::Flow& told : side.epoch.flows()) {
      if (!told.fresh) continue;
      Flow& flow = flows_[side.number_of(told)];
      flow.line.clear();
      for (const Index job : flow.jobs) {
        if (jobs_[job].place != Place::kDone) flow.line.push_back(job);
      }
      std::stable_sort(flow.line.begin(), flow.line.end(), [&](Index a, Index b) {
        return phase_of(told, a).path > phase_of(told, b).path;
      });
    }
  }

  // The job's first unfinished phase in the table.
  const FlowTable::Job& phase_of(const FlowTable::Flow& told, Index job) const {
    const FlowTable::Job* first = &told.jobs[jobs_[job].at];
    return first->open() || jobs_[job].at + 1 == jobs_[job].end ? *first : first[1];
  }

  // The rank; between two decisions a new flow goes before the first flow with more work left.
  double rank_now(const ClusterState& state, Index job) const {
    if (jobs_[job].rank < kInfinity) return jobs_[job].rank;
    const Flow& own = flows_[flow_of(state, job)];
    const auto price = [&](const Flow& flow) {
      double left = 0.0;
      for (const Index other : flow.jobs) {
        left += jobs_[other].place == Place::kHere
                    ? state.phase(other, kMap).remaining() + state.phase(other, kReduce).remaining()
                    : believed_work(state, other, kMap) + believed_work(state, other, kReduce);
      }
      const double weight = terms_of(state, flow.jobs).weight;
      return weight > 0.0 ? left / weight : kInfinity;
    };
    const double mine = price(own);
    double rank = kInfinity;
    const Side& side = sides_[side_at(state, job)];
    for (const FlowTable::Flow& told : side.epoch.flows()) {
      const Flow& flow = flows_[side.number_of(told)];
      if (told.open == 0 || &flow == &own || flow.line.empty() || price(flow) <= mine) continue;
      rank = std::min(rank, jobs_[flow.line.front()].rank);
    }
    return rank < kInfinity ? rank - kRanksApart : rank;
  }

  ClusterFlowOptions options_;
  bool serves_ = true;                     // whether flows are added to epochs
  bool spreads_ = false, spread_ = false;  // now, and at the last decision
  RestartSlots restarts_;
  UserShares between_;
  std::vector<double> usable_;  // by side: slots that its jobs can use
  std::vector<Side> sides_;
  std::vector<Flow> flows_;
  std::vector<Job> jobs_;
  std::int64_t several_ = 0;
  double guess_[2] = {0.0, 0.0};  // seconds of a task without any estimate
  // Workspace for changes of an epoch.
  FlowColumns columns_;
  std::vector<std::int64_t> ids_, most_slots_, ended_;
  std::vector<double> work_;
  SpeedupColumns speedups_;
};

}  // namespace

std::unique_ptr<ClusterFlow> make_cluster_flow(const ClusterFlowOptions& options) {
  return std::make_unique<ByFlow>(options);
}

}  // namespace malleable
