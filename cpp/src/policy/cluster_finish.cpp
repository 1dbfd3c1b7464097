#include "malleable/policy/cluster_finish.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace malleable {
namespace {

// Terms: a kind is nodes of one type and rate; a pool is the slots of one kind of tasks (0: maps,
// or all tasks if slots are generic; 1: reduces).
constexpr double kDelay = 10.0;  // [s] the usual delay of fair schedulers
// The part of a wait for a better kind that counts. With 1 responses are as short, but slow slots
// are held more often when users come who are below their minima.
constexpr double kWait = 0.5;

}  // namespace

void ClusterFinish::begin(const ClusterState& state) {
  const ClusterView& cluster = state.cluster;
  std::map<std::tuple<std::int64_t, double, double>, Index> known;
  of_.clear();
  example_.clear();
  for (auto& slots : slots_) slots.clear();
  for (Index n = 0; n < cluster.size(); ++n) {
    const auto [place, fresh] = known.try_emplace(
        {cluster.type.empty() ? 0 : cluster.type[n], cluster.rate[n], cluster.storage[n]},
        static_cast<Index>(example_.size()));
    if (fresh) {
      example_.push_back(n);
      for (auto& slots : slots_) slots.push_back(0);
    }
    of_.push_back(place->second);
    slots_[0][place->second] += cluster.map_slots[n];
    slots_[1][place->second] += cluster.reduce_slots[n];
  }
  load_.assign(cluster.size(), 0.0);
  sort_loads();
  put_all(state);
}

// Sorts the nodes of each kind by load: the seconds of the maps whose blocks they have.
void ClusterFinish::sort_loads() {
  least_.assign(example_.size(), {});
  for (Index n = 0; n < load_.size(); ++n) least_[of_[n]].emplace(load_[n], n);
}

// Chooses nodes for a block where its map would end first, given their loads.
bool ClusterFinish::place(const ClusterState& state, Index job, Index, std::span<Index> node) {
  const auto after = [&](const Place& place) {
    const auto slots = static_cast<double>(state.cluster.map_slots[place.second]);
    const double own = seconds(state, job, kMap, of_[place.second]);
    return place.first + own / std::max(slots, kWorkRange.least);
  };
  for (Index& chosen : node) {
    double first = kInfinity;
    for (const Places& nodes : least_) {
      if (nodes.empty() || after(*nodes.begin()) >= first) continue;
      first = after(*nodes.begin());
      chosen = nodes.begin()->second;
    }
    least_[of_[chosen]].erase(least_[of_[chosen]].begin());
    load_[chosen] = first;
  }
  for (const Index n : node) least_[of_[n]].emplace(load_[n], n);
  return true;
}

void ClusterFinish::put_all(const ClusterState& state) {
  for (const int pool : {0, 1}) {
    order_[pool].clear();
    own_[pool].assign(state.user_running.size(), {});
    inside_[pool].assign(state.jobs.size(), 0);
    key_[pool].resize(state.jobs.size());
    user_[pool].resize(state.jobs.size());
    skipped_.resize(state.jobs.size(), -1.0);
    for (const Index job : state.present) put(state, job, pool);
  }
}

void ClusterFinish::added(const ClusterState& state, std::span<const Index> jobs) {
  for (const int pool : {0, 1}) {
    for (const Index job : jobs) {
      if (job < inside_[pool].size()) take_out(job, pool);
    }
    own_[pool].resize(state.user_running.size());
    inside_[pool].resize(state.jobs.size(), 0);
    key_[pool].resize(state.jobs.size());
    user_[pool].resize(state.jobs.size());
  }
  skipped_.resize(state.jobs.size());
  for (const Index job : jobs) skipped_[job] = -1.0;
}

void ClusterFinish::job_finished(const ClusterState&, Index job) {
  for (const int pool : {0, 1}) take_out(job, pool);
}

void ClusterFinish::user_changed(const ClusterState& state, Index job, std::size_t) {
  for (const int pool : {0, 1}) put(state, job, pool);
}

// Its work left, and the phase that can start, may have changed for both kinds of slots.
void ClusterFinish::counts_changed(const ClusterState& state, Index job, int) {
  for (const int pool : {0, 1}) put(state, job, pool);
}

void ClusterFinish::slots_changed(const ClusterState& state, Index node, int pool,
                                  std::int64_t more) {
  std::int64_t& own = slots_[pool][of_[node]];
  const bool had = own > 0;
  own += more;
  if (had != (own > 0)) put_all(state);  // the best rates have changed
}

double ClusterFinish::seconds(const ClusterState& state, Index job, Phase p, Index kind) const {
  const Index node = example_[kind];
  double found = state.phase(job, p).estimate / state.jobs.rate_on(state.cluster, node, p, job);
  if (p == kMap && !state.jobs.block.empty()) {
    found += state.jobs.block[job] / state.cluster.storage[node];
  }
  return found;
}

// Seconds of a task on the fastest kind with slots; 0: no kind has slots, or its tasks take no
// time.
double ClusterFinish::best_seconds(const ClusterState& state, Index job, Phase p) const {
  double best = kInfinity;
  for (Index kind = 0; kind < example_.size(); ++kind) {
    if (slots_[state.cluster.generic ? 0 : p][kind] == 0) continue;
    best = std::min(best, seconds(state, job, p, kind));
  }
  return best < kInfinity ? best : 0.0;
}

// The job's key, the least first: below its minimum first of all; then by deadline, arrival, or the
// least slot-seconds left over weight.
double ClusterFinish::key(const ClusterState& state, Index job) const {
  for (const Phase p : {kMap, kReduce}) {
    const PhaseState& s = state.phase(job, p);
    if (s.ready && s.running < state.jobs.minimum_of(p, job)) return -kInfinity;
  }
  if (of_deadlines_) return state.jobs.deadline_of(job);
  if (!by_work_) return state.jobs.arrival[job];
  double left = 0.0;
  for (const Phase p : {kMap, kReduce}) {
    const PhaseState& s = state.phase(job, p);
    if (s.unfinished() == 0) continue;
    left += best_seconds(state, job, p) * static_cast<double>(s.unfinished());
  }
  const double weight = state.jobs.weight_of(job);
  const double size = kind_ == Kind::kStretch ? state.size[job] : 1.0;
  return weight > 0.0 ? left * size / weight : kInfinity;
}

Phase ClusterFinish::next_phase(const ClusterState& state, Index job, int pool) const {
  if (!state.cluster.generic) return static_cast<Phase>(pool);
  return state.eligible(job, kMap) ? kMap : kReduce;
}

bool ClusterFinish::waits(const ClusterState& state, Index job, int pool) const {
  if (!state.cluster.generic) return state.eligible(job, static_cast<Phase>(pool));
  return pool == 0 && (state.eligible(job, kMap) || state.eligible(job, kReduce));
}

void ClusterFinish::take_out(Index job, int pool) {
  if (!std::exchange(inside_[pool][job], 0)) return;
  order_[pool].erase({key_[pool][job], job});
  own_[pool][user_[pool][job]].erase({key_[pool][job], job});
}

// Puts a job at its place among the jobs that wait for a slot of the pool, or takes it out.
void ClusterFinish::put(const ClusterState& state, Index job, int pool) {
  const bool waiting = waits(state, job, pool);
  const double now = waiting ? key(state, job) : 0.0;
  const std::size_t user = state.jobs.user_of(job);
  if (waiting && inside_[pool][job] && key_[pool][job] == now && user_[pool][job] == user) return;
  take_out(job, pool);
  if (!waiting) return;
  inside_[pool][job] = 1;
  key_[pool][job] = now;
  user_[pool][job] = user;
  order_[pool].emplace(now, job);
  own_[pool][user].emplace(now, job);
}

// The jobs of the user that lacks most of its minimum share; among equals the user whose first job
// comes first; null: no user lacks any.
const ClusterFinish::Places* ClusterFinish::below_minimum(const ClusterState& state,
                                                          int pool) const {
  const Places* found = nullptr;
  double most = 0.0;
  for (std::size_t user = 0; user < state.jobs.user_minimum.size(); ++user) {
    const Places& jobs = own_[pool][user];
    const auto running = static_cast<double>(state.user_running[user]);
    const double lack = (state.jobs.user_minimum[user] - running) * state.jobs.user_priority[user];
    if (lack <= 0.0 || lack < most || jobs.empty()) continue;
    if (lack == most && *found->begin() < *jobs.begin()) continue;
    most = lack;
    found = &jobs;
  }
  return found;
}

// By kind: a node with a free slot; the given node for its own kind.
void ClusterFinish::list_free(const ClusterState& state, Index node, int pool) {
  free_.assign(example_.size(), kNone);
  free_[of_[node]] = node;
  const auto& on = state.free_on[pool];
  std::int64_t others = state.offered ? 0 : state.free[pool] - on[node];
  for (Index n = 0; n < of_.size() && others > 0; ++n) {
    if (n == node || on[n] == 0) continue;
    others -= on[n];
    if (free_[of_[n]] == kNone) free_[of_[n]] = n;
  }
}

// A node with a free slot of the kind on which a task of the job would end first.
Index ClusterFinish::fastest_free(const ClusterState& state, Index job, Phase p) const {
  Index found = kNone;
  for (const Index node : free_) {
    if (node == kNone) continue;
    const bool first =
        found == kNone || seconds(state, job, p, of_[node]) < seconds(state, job, p, of_[found]);
    if (first) found = node;
  }
  return found;
}

// Delay scheduling: a node of the given node's kind with a free slot and one of the job's blocks.
// kNone: there is none yet, and others go first; the given node: the job has waited long enough.
Index ClusterFinish::near_block(const ClusterState& state, Index job, Index like, int pool) {
  LocalTasks& blocks = state.blocks;
  if (!blocks.has_blocks(job) || blocks.first(job) == kNone) return like;
  double& since = skipped_[job];
  for (Index n = state.offered ? like : 0; n < (state.offered ? like + 1 : of_.size()); ++n) {
    if (of_[n] != of_[like] || state.free_on[pool][n] == 0) continue;
    if (blocks.find(job, n) == kNone) continue;
    since = -1.0;
    return n;
  }
  if (since < 0.0) since = state.now;
  const double until = since + kDelay;
  if (state.now >= until) return like;
  again_ = std::min(again_, until);
  return kNone;
}

// Whether waiting for another kind ends a task earlier than starting on this one; then the job's
// tasks are ahead of others there.
bool ClusterFinish::refuses(const ClusterState& state, Index job, Phase p, Index kind, int pool) {
  const double here = seconds(state, job, p, kind);
  double first = here, begins = kInfinity;
  Index chosen = kNone;
  for (Index other = 0; other < example_.size(); ++other) {
    const auto slots = static_cast<double>(slots_[pool][other]);
    if (other == kind || slots == 0.0) continue;
    const double there = seconds(state, job, p, other);
    first = std::min(first, there + kWait * (ahead_[other] + there) / slots);
    const double end = there + ahead_[other] / slots;
    if (end >= begins) continue;
    begins = end;
    chosen = other;
  }
  if (here <= first) return false;
  const auto waiting = static_cast<double>(state.phase(job, p).waiting);
  ahead_[chosen] += waiting * seconds(state, job, p, chosen);
  return true;
}

// The first job that takes a slot, and where; in the order of work left the job with the least
// key x (seconds there / seconds on the best kind). None: all jobs refuse.
ClusterPolicy::Choice ClusterFinish::best_of(const ClusterState& state, const Places& jobs,
                                             int pool, bool needy) {
  Choice found;
  double least = kInfinity;
  for (const auto& [key, job] : jobs) {
    if (found.job != kNone && (!by_work_ || key >= least)) break;
    const Phase p = next_phase(state, job, pool);
    Index node = fastest_free(state, job, p);
    if (!needy && key > -kInfinity && refuses(state, job, p, of_[node], pool)) continue;
    if (p == kMap) node = near_block(state, job, node, pool);
    if (node == kNone) continue;
    const double best = best_seconds(state, job, p);
    const double value = best > 0.0 ? key * (seconds(state, job, p, of_[node]) / best) : key;
    if (found.job != kNone && !(value < least)) continue;
    found = {job, p, node};
    least = value;
  }
  return found;
}

ClusterPolicy::Choice ClusterFinish::choose(const ClusterState& state, Index node, int pool) {
  if (pool == 0 && again_ <= state.now) again_ = kInfinity;
  ahead_.assign(example_.size(), 0.0);
  list_free(state, node, pool);
  const Places* needy = below_minimum(state, pool);
  if (needy == nullptr) return best_of(state, order_[pool], pool, /*needy=*/false);
  const Choice found = best_of(state, *needy, pool, /*needy=*/true);
  if (found.job != kNone) return found;
  const Index job = needy->begin()->second;
  const Phase p = next_phase(state, job, pool);
  return {job, p, fastest_free(state, job, p)};
}

void ClusterFinish::decide(const ClusterState& state, int pool, Answer& answer) {
  for (const Index job : state.changed[pool]) put(state, job, pool);  // estimates may have changed
  for (const Index job : std::exchange(given_[pool], {})) answer.set(job, 0.0);
  std::int64_t free = state.free[pool];
  for (auto place = order_[pool].begin(); place != order_[pool].end() && free > 0; ++place) {
    const Index job = place->second;
    const ClusterState::Demand wants = state.demand(job, pool);
    const std::int64_t given = std::min(free, wants.most - wants.running);
    free -= given;
    answer.set(job, static_cast<double>(given));
    given_[pool].push_back(job);
  }
}

void ClusterFinish::keep(const ClusterState& state, State& s) {
  s(slots_, given_, skipped_, again_, load_);
  if (!s.reading()) return;
  sort_loads();
  put_all(state);
}

}  // namespace malleable
