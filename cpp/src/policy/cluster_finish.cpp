#include "malleable/policy/cluster_finish.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace malleable {
namespace {

constexpr std::size_t kMostAsked = 256;  // jobs of a user below his minimum

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
  put_all(state);
}

void ClusterFinish::put_all(const ClusterState& state) {
  for (const int pool : {0, 1}) {
    order_[pool].clear();
    own_[pool].assign(state.user_running.size(), {});
    inside_[pool].assign(state.jobs.size(), 0);
    key_[pool].resize(state.jobs.size());
    user_[pool].resize(state.jobs.size());
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
}

void ClusterFinish::job_finished(const ClusterState&, Index job) {
  for (const int pool : {0, 1}) take_out(job, pool);
}

void ClusterFinish::user_changed(const ClusterState& state, Index job, std::size_t) {
  for (const int pool : {0, 1}) put(state, job, pool);
}

// What is left of it, and in which phase it starts, may have changed for both kinds of slots.
void ClusterFinish::counts_changed(const ClusterState& state, Index job, int) {
  for (const int pool : {0, 1}) put(state, job, pool);
}

void ClusterFinish::slots_changed(const ClusterState& state, Index node, int pool,
                                  std::int64_t more) {
  std::int64_t& own = slots_[pool][of_[node]];
  const bool had = own > 0;
  own += more;
  if (had != (own > 0)) put_all(state);  // the best rates are others
}

double ClusterFinish::seconds(const ClusterState& state, Index job, Phase p, Index kind) const {
  const Index node = example_[kind];
  double found = state.phase(job, p).estimate / state.jobs.rate_on(state.cluster, node, p, job);
  if (p == kMap && !state.jobs.block.empty()) {
    found += state.jobs.block[job] / state.cluster.storage[node];
  }
  return found;
}

// On the fastest kind that has slots; 0: none has, or its tasks take no time.
double ClusterFinish::best_seconds(const ClusterState& state, Index job, Phase p) const {
  double best = kInfinity;
  for (Index kind = 0; kind < example_.size(); ++kind) {
    if (slots_[state.cluster.generic ? 0 : p][kind] == 0) continue;
    best = std::min(best, seconds(state, job, p, kind));
  }
  return best < kInfinity ? best : 0.0;
}

double ClusterFinish::key(const ClusterState& state, Index job) const {
  const double arrival = state.jobs.arrival[job];
  if (kind_ == Kind::kTardy || kind_ == Kind::kTardiness || kind_ == Kind::kLateness ||
      kind_ == Kind::kStrict) {
    return state.jobs.deadline_of(job);
  }
  if (is_max_ && kind_ != Kind::kStretch) return arrival;
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

// A job of the user who lacks most of his minimum share, the one that suits the kind best for what
// it has left; kNone: nobody lacks any.
Index ClusterFinish::below_minimum(const ClusterState& state, Index kind, int pool) const {
  const Places* jobs = nullptr;
  double most = 0.0;
  for (std::size_t user = 0; user < state.jobs.user_minimum.size(); ++user) {
    const auto running = static_cast<double>(state.user_running[user]);
    const double lack = (state.jobs.user_minimum[user] - running) * state.jobs.user_priority[user];
    if (lack <= most || own_[pool][user].empty()) continue;
    most = lack;
    jobs = &own_[pool][user];
  }
  if (jobs == nullptr) return kNone;
  Index found = kNone;
  double least = kInfinity;
  std::size_t asked = 0;
  for (auto place = jobs->begin(); place != jobs->end() && asked < kMostAsked; ++place, ++asked) {
    const auto [key, job] = *place;
    const Phase p = next_phase(state, job, pool);
    const double best = best_seconds(state, job, p);
    const double value = best > 0.0 ? key * (seconds(state, job, p, kind) / best) : key;
    if (found != kNone && !(value < least)) continue;
    found = job;
    least = value;
  }
  return found;
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
    first = std::min(first, there + (ahead_[other] + there) / slots);
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

ClusterPolicy::Choice ClusterFinish::choose(const ClusterState& state, Index node, int pool) {
  const Index needy = below_minimum(state, of_[node], pool);
  if (needy != kNone) return {needy, next_phase(state, needy, pool)};
  ahead_.assign(example_.size(), 0.0);
  for (const auto& [key, job] : order_[pool]) {
    const Phase p = next_phase(state, job, pool);
    if (!refuses(state, job, p, of_[node], pool)) return {job, p};
  }
  return {};
}

void ClusterFinish::decide(const ClusterState& state, int pool, Answer& answer) {
  for (const Index job : state.changed[pool]) put(state, job, pool);  // estimates may be others
  for (const Index job : std::exchange(told_[pool], {})) answer.set(job, 0.0);
  std::int64_t free = state.free[pool];
  for (auto place = order_[pool].begin(); place != order_[pool].end() && free > 0; ++place) {
    const Index job = place->second;
    const ClusterState::Demand wants = state.demand(job, pool);
    const std::int64_t given = std::min(free, wants.most - wants.running);
    free -= given;
    answer.set(job, static_cast<double>(given));
    told_[pool].push_back(job);
  }
}

void ClusterFinish::keep(const ClusterState& state, State& s) {
  s(slots_, told_);
  if (s.reading()) put_all(state);
}

}  // namespace malleable
