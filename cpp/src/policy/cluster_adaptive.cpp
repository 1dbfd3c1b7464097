// Feeds the Adaptive policy (a matching of job classes to resources) with a cluster's jobs. A
// resource is nodes that are alike, or one node; a class is the jobs of one program, or of similar
// size, with one priority; a pool is the slots of one kind (0: maps, 1: reduces).
#include "malleable/policy/cluster_adaptive.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "malleable/model/error.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// The next power of four, as an exponent.
int magnitude(double value) {
  return value > 0.0 ? static_cast<int>(std::ceil(std::log2(value) / 2.0 - kCount)) : -1000;
}

}  // namespace

ClusterAdaptive::ClusterAdaptive(const AdaptiveOptions& options, ClassMatcher matcher)
    : options_(options), matcher_(std::move(matcher)) {}

void ClusterAdaptive::begin(const ClusterState& state) {
  const ClusterView& cluster = state.cluster;
  const std::size_t nodes = cluster.size();
  std::vector<Index> resource(nodes);
  example_.clear();
  // node_rates may differ between nodes that are otherwise equal.
  const bool by_type = !state.jobs.node_rates.empty();
  std::map<
      std::tuple<std::int64_t, std::int64_t, double, double, double, std::int64_t, std::size_t>,
      Index>
      known;
  for (std::size_t n = 0; n < nodes; ++n) {
    const auto [place, fresh] = known.try_emplace(
        {cluster.map_slots[n], cluster.reduce_slots[n], cluster.rate[n], cluster.storage[n],
         cluster.link[n], by_type ? cluster.type[n] : 0, options_.grouped ? 0 : n},
        static_cast<Index>(example_.size()));
    if (fresh) example_.push_back(static_cast<Index>(n));
    resource[n] = place->second;
  }
  std::vector<double> minimum(state.user_running.size(), 0.0), priority(minimum.size(), 1.0);
  for (std::size_t u = 0; u < state.jobs.user_priority.size(); ++u) {
    minimum[u] = state.jobs.user_minimum[u];
    priority[u] = state.jobs.user_priority[u];
  }
  scheduler_ =
      std::make_unique<Adaptive>(cluster.map_slots, cluster.reduce_slots, std::move(resource),
                                 cluster.generic, minimum, priority, options_, matcher_);
  classes_.clear();
  failed_ = nullptr;
  unsolved_ = false;
  known_.assign(state.jobs.size(), 0);
  for (auto& jobs : given_) jobs.clear();
}

void ClusterAdaptive::added(const ClusterState& state, std::span<const Index> jobs) {
  known_.resize(state.jobs.size(), 0);
  for (const Index job : jobs) known_[job] = 0;
  const std::size_t before = scheduler_->users();
  // Earlier users can change only in calls without jobs.
  for (std::size_t user = jobs.empty() ? 0 : before; user < state.user_running.size(); ++user) {
    const bool known = user < state.jobs.user_priority.size();
    const double minimum = known ? state.jobs.user_minimum[user] : 0.0;
    const double priority = known ? state.jobs.user_priority[user] : 1.0;
    if (user < before) {
      scheduler_->set_user_terms(static_cast<Index>(user), minimum, priority);
    } else {
      scheduler_->add_user(minimum, priority);
    }
  }
}

void ClusterAdaptive::keep(const ClusterState&, State& s) {
  std::vector<std::pair<Key, Index>> classes(classes_.begin(), classes_.end());
  s(*scheduler_, classes, known_, given_, unsolved_);
  classes_ = {classes.begin(), classes.end()};
}

ClusterAdaptive::Key ClusterAdaptive::key_of(const ClusterState& state, Index job) const {
  const std::size_t user = state.jobs.user_of(job);
  const double priority = state.jobs.user_priority.empty() ? 1.0 : state.jobs.user_priority[user];
  if (!state.jobs.group.empty() && state.jobs.group[job] >= 0)
    return {priority, state.jobs.group[job], {}};
  std::array<int, 4> shape{};
  for (const Phase p : {kMap, kReduce}) {
    const PhaseState& s = state.phase(job, p);
    shape[2 * p] = magnitude(static_cast<double>(s.total));
    shape[2 * p + 1] = magnitude(s.estimate);
  }
  return {priority, -1, shape};
}

std::vector<ClusterAdaptive::Key> ClusterAdaptive::classes() const {
  std::vector<Key> found(classes_.size());
  for (const auto& [key, number] : classes_) found[number] = key;
  return found;
}

// Throws if a job's rates differ between nodes that count as one resource.
void ClusterAdaptive::check_node_rates(const ClusterState& state,
                                       std::span<const double> rates) const {
  const ClusterView& cluster = state.cluster;
  const std::size_t types = cluster.types();
  std::map<std::pair<std::int64_t, std::int64_t>, Index>
      mixed;  // two types of one resource, and a node of each
  for (Index n = 0; n < cluster.size(); ++n) {
    const Index alike = example_[scheduler_->resource_of(n)];
    if (cluster.type[n] != cluster.type[alike])
      mixed.emplace(std::pair(cluster.type[alike], cluster.type[n]), n);
  }
  for (const auto& [pair, node] : mixed) {
    const Index n = node;
    for (std::size_t row = 0; row * types < rates.size(); ++row) {
      const auto rate_on = [&](std::int64_t type) {
        const double own = rates[row * types + static_cast<std::size_t>(type)];
        return std::isnan(own) ? cluster.rate[n] : own;
      };
      const double rate = rate_on(pair.second);
      if (rate == rate_on(pair.first)) continue;
      const Index alike = example_[scheduler_->resource_of(n)];
      throw FieldError("node_rates", row / 2, rate,
                       "nodes " + std::to_string(alike) + " and " + std::to_string(n) +
                           " are alike but for this rate; AdaptiveLiteral() tells them apart");
    }
  }
}

// The next decision or choice solves the programs for the slots that are left.
void ClusterAdaptive::slots_changed(const ClusterState&, Index node, int pool, std::int64_t more) {
  scheduler_->add_slots(node, pool, more);
  unsolved_ = true;
}

// Rethrows the matcher's exception, once; in the next call solves the programs.
void ClusterAdaptive::solve_what_failed(double now) {
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
  if (!unsolved_) return;
  scheduler_->match(now, /*always=*/true);
  unsolved_ = false;
}

// Puts a job into its class, unless it has been.
void ClusterAdaptive::add(const ClusterState& state, Index job) {
  if (known_[job] != 0) return;
  const auto found = classes_.find(key_of(state, job));
  Index job_class = 0;
  if (found == classes_.end()) {
    job_class = scheduler_->add_class();
    classes_.emplace(key_of(state, job), job_class);
  } else {
    job_class = found->second;
  }
  const std::size_t types = scheduler_->resources();
  seconds_.resize(2 * types);
  const double block = state.jobs.block.empty() ? 0.0 : state.jobs.block[job];
  for (const Phase p : {kMap, kReduce}) {
    for (std::size_t r = 0; r < types; ++r) {
      const Index node = example_[r];
      double seconds =
          state.phase(job, p).estimate / state.jobs.rate_on(state.cluster, node, p, job);
      if (p == kMap && block > 0.0) seconds += block / state.cluster.storage[node];
      seconds_[p * types + r] = seconds;
    }
  }
  const std::int64_t tasks[2] = {state.phase(job, kMap).total, state.phase(job, kReduce).total};
  const auto user = static_cast<Index>(state.jobs.user_of(job));
  try {
    scheduler_->arrived(job_class, user, state.now, tasks, seconds_);
    unsolved_ = false;
  } catch (...) {
    failed_ = std::current_exception();
    unsolved_ = true;
  }
  scheduler_->add_job(job, job_class, user);
  known_[job] = 1;
}

void ClusterAdaptive::job_arrived(const ClusterState& state, Index job) { add(state, job); }

void ClusterAdaptive::stated_time_changed(const ClusterState& state, Index job, Phase p,
                                          double before) {
  const PhaseState& own = state.phase(job, p);
  if (known_[job] == 0 || own.total == 0) return;
  const std::size_t types = scheduler_->resources();
  seconds_.resize(2 * types);
  for (std::size_t r = 0; r < types; ++r) {
    seconds_[r] = (own.estimate - before) / state.jobs.rate_on(state.cluster, example_[r], p, job);
  }
  scheduler_->correct(job, p, seconds_);
}

void ClusterAdaptive::job_finished(const ClusterState&, Index job) { scheduler_->remove_job(job); }

void ClusterAdaptive::user_changed(const ClusterState& state, Index job, std::size_t) {
  if (known_[job] == 0) return;
  scheduler_->set_user(job, static_cast<Index>(state.jobs.user_of(job)), state.now);
}

void ClusterAdaptive::counts_changed(const ClusterState& state, Index job, int pool) {
  std::int64_t waiting = 0, running = 0;
  for (const Phase p : {kMap, kReduce}) {
    if (!state.cluster.generic && p != pool) continue;
    const PhaseState& s = state.phase(job, p);
    running += s.running;
    if (s.ready) waiting += s.waiting;
  }
  waiting = std::min(waiting, state.room(job, pool));
  scheduler_->set_counts(job, pool, waiting, running, state.now);
}

void ClusterAdaptive::task_finished(const ClusterState&, Index job, Phase p, Index node,
                                    double seconds) {
  scheduler_->task_finished(job, p, node, seconds);
}

bool ClusterAdaptive::place(const ClusterState& state, Index job, Index, std::span<Index> node) {
  if (!options_.placement) return false;
  add(state, job);
  scheduler_->place(scheduler_->class_of(job), node);
  return true;
}

// Fills free_ with the pool's free slots by resource, spread like all slots.
void ClusterAdaptive::spread_free(const ClusterState& state, int pool) {
  std::int64_t running = 0;
  for (const Index job : state.present) running += state.demand(job, pool).running;
  const auto free = static_cast<double>(std::max<std::int64_t>(0, state.slots[pool] - running));
  free_.resize(scheduler_->resources());
  double before = 0.0, given = 0.0;
  for (Index r = 0; r < free_.size(); ++r) {
    before += static_cast<double>(scheduler_->resource(r).slots[pool]);
    const double until = std::floor(free * (before / static_cast<double>(state.slots[pool])));
    free_[r] = static_cast<std::int64_t>(until - std::exchange(given, until));
  }
}

// Lets a copy of the policy (trial_) fill all free slots; each job's part is its answer.
void ClusterAdaptive::decide(const ClusterState& state, int pool, Answer& answer) {
  if (state.slots[pool] == 0 && given_[pool].empty()) return;
  solve_what_failed(state.now);
  more_.resize(state.jobs.size(), 0.0);
  before_.swap(given_[pool]);
  given_[pool].clear();
  if (state.slots[pool] > 0) {
    spread_free(state, pool);
    if (!trial_) trial_ = std::make_unique<Adaptive>(*scheduler_);
    *trial_ = *scheduler_;
    trial_->fill(free_, pool, state.now, [&](Index job) {
      if (more_[job] == 0.0) given_[pool].push_back(job);
      more_[job] += 1.0;
    });
  }
  for (const auto* jobs : {&before_, &given_[pool]}) {
    for (const Index job : *jobs) answer.set(job, more_[job]);
  }
  for (const Index job : given_[pool]) more_[job] = 0.0;
}

ClusterPolicy::Choice ClusterAdaptive::choose(const ClusterState& state, Index node, int pool) {
  solve_what_failed(state.now);
  const Index job = scheduler_->choose(node, pool, state.now, &state.blocks);
  if (job == kNone) return {};
  scheduler_->started(job, pool, state.now);
  if (state.cluster.generic) return {job, state.eligible(job, kMap) ? kMap : kReduce};
  return {job, static_cast<Phase>(pool)};
}

}  // namespace malleable
