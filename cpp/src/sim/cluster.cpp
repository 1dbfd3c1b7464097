#include "malleable/sim/cluster.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "malleable/model/jobs.hpp"

namespace malleable {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint32_t kPlaces = 5;

// Steele, Lea, Flood 2014: a good mix of 64 bits.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

// In [0, 1): the same for every policy, whatever was started before.
double ClusterSimulation::uniform(Index phase, Index task, std::uint32_t attempt,
                                  std::uint32_t stream) const {
  std::uint64_t x = mix(options_.seed ^ mix(phase));
  x = mix(x ^ mix((static_cast<std::uint64_t>(task) << 32) | attempt));
  return static_cast<double>(mix(x ^ stream) >> 11) * 0x1p-53;
}

ClusterSimulation::ClusterSimulation(const ClusterView& cluster, const ClusterJobsView& jobs,
                                     const ClusterOptions& options, const ClusterChanges& changes,
                                     std::span<const double> estimate, ClusterPolicy& policy)
    : options_(options),
      changes_(changes),
      estimate_(estimate),
      policy_(policy),
      style_(policy.style()),
      by_node_(options.heartbeat > 0.0 || options.replicas > 0 ||
               policy.style() == ClusterPolicy::Style::kNode),
      uniform_(options.noise == 0.0 && options.straggler_share == 0.0 && options.failure == 0.0),
      users_(!jobs.user_priority.empty()),
      outputs_(options.lose_output && !changes.time.empty()) {
  const std::size_t n = jobs.size(), nodes = cluster.size();
  network_ = ClusterNetwork::limits(cluster) &&
             ((options.replicas > 0 && !jobs.block.empty()) || !jobs.shuffle_bytes.empty());
  if (network_) net_.reset(cluster, jobs, options.shuffle_steps);
  for (const std::int64_t rack : cluster.rack) racks_ |= rack != cluster.rack[0];
  racks_ = racks_ && options.replicas > 0;
  if (racks_) rack_blocks_.reset(n);
  state_.cluster = cluster;
  state_.jobs = jobs;
  state_.phases.resize(2 * n);
  state_.size.assign(n, 0.0);
  state_.blocks.reset(n);
  came.assign(n, kNan);
  start.assign(n, kNan);
  map_completion.assign(n, kNan);
  completion.assign(n, kNan);
  most_slots.assign(n, 0);
  jobs_.resize(n);
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), Index{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](Index a, Index b) { return jobs.arrival[a] < jobs.arrival[b]; });
  std::vector<Index> rank(n);
  for (std::size_t k = 0; k < n; ++k) rank[order_[k]] = static_cast<Index>(k);
  validate_rates(options_.rates, 0);
  if (options_.speedup < 1.0 || !options_.rates.empty() || !jobs.rates.empty()) {
    clocks_.resize(2 * n);
    phase_ends_.reset(std::vector<Index>(2 * n, 0));
  }
  for (const std::int64_t type : cluster.type) {
    types_ = std::max(types_, static_cast<std::size_t>(type) + 1);
  }
  last_group_.assign(2 * n * types_, kNone);
  up_.assign(nodes, 1);
  beating_.assign(nodes, 0);
  refused_.assign(nodes, 0);
  for (int pool = 0; pool < 2; ++pool) {
    const auto slots = pool == 0 ? cluster.map_slots : cluster.reduce_slots;
    state_.free_on[pool].assign(slots.begin(), slots.end());
    for (const std::int64_t count : slots) state_.slots[pool] += count;
    state_.free[pool] = state_.slots[pool];
    waiting_[pool].reset(rank);
    value_[pool].resize(n, 0.0);
    if (style_ == ClusterPolicy::Style::kRanks) {
      for (std::size_t j = 0; j < n; ++j) value_[pool][j] = rank[j];
    }
    marked_[pool].assign(n, 0);
    short_[pool].assign(n, 0.0);
    if (options_.ageing > 0.0) {
      starving_[pool].assign(n, -1.0);
      aged_[pool].assign(n, 0);
    }
    queue_[pool].resize(static_cast<std::size_t>(state_.slots[pool]));
    // One slot of each node in turn.
    for (std::int64_t turn = 0; queued_[pool] < queue_[pool].size(); ++turn) {
      for (std::size_t k = 0; k < nodes; ++k) {
        if (slots[k] > turn) queue_[pool][queued_[pool]++] = static_cast<Index>(k);
      }
    }
  }
  if (!clocks_.empty()) {
    const auto most = static_cast<std::size_t>(std::max(state_.slots[0], state_.slots[1]));
    pace_.assign(most + 1, 0.0);
    for (std::size_t k = 1; k <= most; ++k) {
      const auto running = static_cast<double>(k);
      pace_[k] = options_.rates.empty()
                     ? std::pow(running, options_.speedup - 1.0)
                     : options_.rates[std::min(k, options_.rates.size()) - 1] / running;
    }
  }
  std::size_t users = jobs.user_priority.size(), groups = 0;
  for (const std::int64_t user : jobs.user) {
    users = std::max(users, static_cast<std::size_t>(user) + 1);
  }
  users = std::max<std::size_t>(users, 1);
  state_.user_running.assign(users, 0);
  user_ready_.assign(users, 0);
  std::vector<double> priorities(jobs.user_priority.begin(), jobs.user_priority.end());
  std::sort(priorities.begin(), priorities.end());
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  priority_sum_.assign(priorities.size(), 0.0);
  priority_count_.assign(priorities.size(), 0.0);
  for (const double priority : jobs.user_priority) {
    const auto place = std::lower_bound(priorities.begin(), priorities.end(), priority);
    priority_.push_back(static_cast<std::size_t>(place - priorities.begin()));
    priority_count_[priority_.back()] += 1.0;
  }
  for (const std::int64_t group : jobs.group) {
    groups = std::max(groups, static_cast<std::size_t>(group) + 1);
  }
  learned_.assign(4 * groups, 0.0);
  if (!jobs.after_offset.empty()) {
    missing_.assign(n, 0);
    held_.assign(n, 0);
    follower_offset_.assign(n + 1, 0);
    for (const std::int64_t other : jobs.after)
      ++follower_offset_[static_cast<std::size_t>(other) + 1];
    std::partial_sum(follower_offset_.begin(), follower_offset_.end(), follower_offset_.begin());
    follower_.resize(jobs.after.size());
    std::vector<std::size_t> place(follower_offset_.begin(), follower_offset_.end() - 1);
    for (std::size_t j = 0; j < n; ++j) {
      missing_[j] = jobs.after_offset[j + 1] - jobs.after_offset[j];
      for (std::int64_t k = jobs.after_offset[j]; k < jobs.after_offset[j + 1]; ++k) {
        const auto other = static_cast<std::size_t>(jobs.after[static_cast<std::size_t>(k)]);
        follower_[place[other]++] = static_cast<Index>(j);
      }
    }
  }
  for (std::size_t k = 0; k < changes.time.size(); ++k) {
    push(changes.time[k], Kind::kNode, static_cast<Index>(k));
  }
  policy_.begin(state_);
}

void ClusterSimulation::push(double time, Kind kind, Index what) {
  events_.push({time, kind, what, sequence_++});
}

void ClusterSimulation::record(std::uint8_t kind, Index phase, Index task, Index node) {
  trace_time.push_back(state_.now);
  trace_kind.push_back(kind);
  trace_phase.push_back(phase % 2);
  trace_job.push_back(phase / 2);
  trace_task.push_back(task);
  trace_node.push_back(node);
}

// What the next decision has to look at.
void ClusterSimulation::mark(Index job, Phase p) {
  const int pool = pool_of(p);
  if (marked_[pool][job]) return;
  marked_[pool][job] = 1;
  state_.changed[pool].push_back(job);
}

// Changes counts of a phase that is ready, and all sums over them.
void ClusterSimulation::count(Index job, Phase p, std::int64_t waiting, std::int64_t running) {
  PhaseState& s = state_.phases[2 * job + p];
  const int pool = pool_of(p);
  s.waiting += waiting;
  s.running += running;
  running_[pool] += running;
  ready_[pool] += waiting;
  const std::size_t user = state_.jobs.user_of(job);
  state_.user_running[user] += running;
  user_ready_[user] += waiting;
  jobs_[job].slots += running;
  most_slots[job] = std::max(most_slots[job], jobs_[job].slots);
}

void ClusterSimulation::make_ready(Index job, Phase p) {
  PhaseState& s = state_.phases[2 * job + p];
  if (s.ready || s.total == 0) return;
  s.ready = true;
  const std::int64_t waiting = s.waiting;
  s.waiting = 0;
  count(job, p, waiting, 0);
  mark(job, p);
  refresh(job, pool_of(p));
  news_ = true;
}

void ClusterSimulation::arrive(Index job) {
  ++totals_.arrived;
  came[job] = state_.now;
  ++totals_.events;
  const ClusterJobsView& jobs = state_.jobs;
  for (const Phase p : {kMap, kReduce}) {
    PhaseState& s = state_.phases[2 * job + p];
    s.total = s.waiting = jobs.tasks[p][job];
    if (s.total == 0) continue;
    if (!estimate_.empty()) {
      s.estimate = estimate_[2 * job + p];
    } else if (!options_.learn) {
      s.estimate = jobs.work_of(p, job) / static_cast<double>(s.total);
      if (p == kReduce && !options_.split_copy && !jobs.shuffle.empty()) {
        s.estimate += jobs.shuffle[job];
      }
    } else {
      s.estimate = options_.prior;
    }
    if (options_.learn && !jobs.group.empty()) {
      const std::size_t row = 4 * static_cast<std::size_t>(jobs.group[job]) + 2 * p;
      if (learned_[row + 1] > 0.0) s.estimate = learned_[row] / learned_[row + 1];
    }
    state_.size[job] += s.remaining();
  }
  state_.present.push_back(job);
  const auto maps = static_cast<std::size_t>(jobs.tasks[kMap][job]);
  if (options_.replicas > 0 && maps > 0) {
    const std::size_t nodes = state_.cluster.size();
    const std::size_t copies = std::min(static_cast<std::size_t>(options_.replicas), nodes);
    std::vector<Index> places(maps * copies);
    for (std::size_t t = 0; t < maps; ++t) {
      const std::span<Index> own(places.data() + t * copies, copies);
      if (policy_.place(state_, job, static_cast<Index>(t), own)) continue;
      for (std::size_t c = 0; c < copies; ++c) {  // distinct nodes, each set of them as likely
        const auto last = static_cast<double>(nodes - copies + c + 1);
        const double draw =
            uniform(2 * job, static_cast<Index>(t), static_cast<std::uint32_t>(c), kPlaces);
        const auto node = static_cast<Index>(draw * last);
        const auto end = own.begin() + static_cast<std::ptrdiff_t>(c);
        own[c] = std::find(own.begin(), end, node) == end ? node
                                                          : static_cast<Index>(nodes - copies + c);
      }
    }
    state_.blocks.add(job, maps, copies, places);
    if (racks_) {
      for (Index& place : places) place = static_cast<Index>(state_.cluster.rack[place]);
      rack_blocks_.add(job, maps, copies, places);
    }
  }
  policy_.job_arrived(state_, job);
  make_ready(job, kMap);
  if (options_.split_copy && (maps == 0 || options_.slow_start <= 0.0)) {
    jobs_[job].copied = state_.now + (jobs.shuffle.empty() ? 0.0 : jobs.shuffle[job]);
    begin_copying(job);
    jobs_[job].copies = true;
  }
  if (maps == 0) {
    maps_done(job);
  } else if (options_.slow_start <= 0.0 && !options_.split_copy) {
    make_ready(job, kReduce);
  }
}

void ClusterSimulation::leave(Index job) {
  completion[job] = state_.now;
  if (std::isnan(start[job])) start[job] = state_.now;
  ++totals_.completed;
  state_.present.erase(std::find(state_.present.begin(), state_.present.end(), job));
  if (options_.replicas > 0) state_.blocks.remove(job);
  if (racks_) rack_blocks_.remove(job);
  if (network_) net_.forget(job);
  for (auto& again : jobs_[job].again) std::vector<Index>().swap(again);
  for (auto& attempts : jobs_[job].attempts) std::vector<std::uint16_t>().swap(attempts);
  std::vector<Index>().swap(jobs_[job].parked);
  std::vector<Index>().swap(jobs_[job].output);
  policy_.job_finished(state_, job);
  if (missing_.empty()) return;
  for (std::size_t k = follower_offset_[job]; k < follower_offset_[job + 1]; ++k) {
    const Index next = follower_[k];
    if (--missing_[next] == 0 && held_[next]) released_.push_back(next);
  }
}

void ClusterSimulation::maps_done(Index job) {
  map_completion[job] = state_.now;
  Job& own = jobs_[job];
  if (state_.phases[2 * job + 1].total == 0) {
    leave(job);
    return;
  }
  if (own.copying) return;  // end_transfer() goes on
  if (options_.split_copy && own.copied > state_.now) {
    push(own.copied, Kind::kReady, job);
    return;
  }
  make_ready(job, kReduce);
  for (const Index group : own.parked) {
    Group& g = groups_[group];
    if (g.count > 0 && g.transfer != kNone) {  // it copies what is left
      g.parked = false;
      parked_ -= static_cast<std::int64_t>(g.count);
    } else if (g.count > 0) {
      unpark(group, job);
    }
  }
  own.parked.clear();
}

void ClusterSimulation::unpark(Index group, Index job) {
  Group& g = groups_[group];
  parked_ -= static_cast<std::int64_t>(g.count);
  g.parked = false;
  const double shuffle = state_.jobs.shuffle.empty() ? 0.0 : state_.jobs.shuffle[job];
  const double wait = std::max(0.0, jobs_[job].copied - (g.start + shuffle));
  g.finish = std::max(state_.now, g.start + wait + g.seconds);
  schedule(group);
}

// When the next decision is due; infinity while nothing changed.
double ClusterSimulation::due() const {
  if (style_ == ClusterPolicy::Style::kNode) return kInfinity;
  const bool wanted = !state_.changed[0].empty() || !state_.changed[1].empty() ||
                      (policy_.depends_on_time() && !state_.present.empty() &&
                       (ready_[0] > 0 || ready_[1] > 0) && options_.epoch > 0.0);
  if (!wanted) return kInfinity;
  if (options_.epoch <= 0.0) return state_.now;
  double number = last_decision_ + 1.0;
  if (number * options_.epoch >= state_.now) return number * options_.epoch;
  number = std::max(std::floor(state_.now / options_.epoch), number);
  while (number * options_.epoch < state_.now) number += 1.0;
  return number * options_.epoch;
}

void ClusterSimulation::decide() {
  for (int pool = 0; pool < 2; ++pool) {
    if (state_.changed[pool].empty() && !policy_.depends_on_time()) continue;
    moved_.clear();
    old_.clear();
    ClusterPolicy::Answer answer(value_[pool], moved_, old_);
    const auto begin = std::chrono::steady_clock::now();
    policy_.decide(state_, pool, answer);
    const std::chrono::duration<float> took = std::chrono::steady_clock::now() - begin;
    latency.push_back(took.count());
    ++totals_.decisions;
    for (std::size_t k = 0; k < moved_.size(); ++k) {
      const Index job = moved_[k];
      refresh(job, pool);
      if (style_ != ClusterPolicy::Style::kTargets) continue;
      const double most = static_cast<double>(state_.demand(job, pool).most);
      totals_.moved += std::max(0.0, std::min(old_[k], most) - value_[pool][job]);
    }
    for (const Index job : state_.changed[pool]) marked_[pool][job] = 0;
    state_.changed[pool].clear();
  }
  if (options_.epoch > 0.0) last_decision_ = std::round(state_.now / options_.epoch);
}

// How far users are from their minima, and from others of the same priority, from now on.
void ClusterSimulation::watch_users() {
  const ClusterJobsView& jobs = state_.jobs;
  const std::size_t users = jobs.user_priority.size();
  users_now_[0] = users_now_[1] = 0.0;
  std::fill(priority_sum_.begin(), priority_sum_.end(), 0.0);
  for (std::size_t u = 0; u < users; ++u) {
    const auto has = static_cast<double>(state_.user_running[u]);
    const double least = jobs.user_minimum[u];
    priority_sum_[priority_[u]] += has - least;
    if (user_ready_[u] > 0 && has < least) {
      users_now_[0] += (least - has) / least * jobs.user_priority[u];
    }
  }
  for (std::size_t u = 0; u < users; ++u) {
    const auto has = static_cast<double>(state_.user_running[u]);
    const double average = priority_sum_[priority_[u]] / priority_count_[priority_[u]];
    users_now_[1] += std::fabs(has - jobs.user_minimum[u] - average);
  }
}

void ClusterSimulation::integrate(double until) {
  const double step = until - state_.now;
  if (step <= 0.0) return;
  totals_.jobs_seconds += step * static_cast<double>(state_.present.size());
  for (int pool = 0; pool < 2; ++pool) {
    totals_.busy[pool] += step * static_cast<double>(running_[pool]);
    totals_.offered[pool] += step * static_cast<double>(state_.slots[pool]);
    totals_.lost[pool] += step * all_short_[pool];
    const auto held = static_cast<std::int64_t>(gathering_[pool].nodes.size());
    totals_.idle[pool] +=
        step * static_cast<double>(std::min(state_.free[pool] + held, ready_[pool]));
  }
  totals_.dissatisfaction += step * users_now_[0];
  totals_.fairness += step * users_now_[1];
  state_.now = totals_.now = until;
}

void ClusterSimulation::advance(double until) {
  const auto pop = [&] {
    const Event event = events_.pop();
    // The group that ends next will be far away in memory.
    if (!events_.empty() && events_.front().kind == Kind::kFinish) {
      __builtin_prefetch(&groups_[events_.front().what]);
    }
    return event;
  };
  const auto idle = [&] { return state_.present.empty() && next_arrival_ == order_.size(); };
  while (!idle()) {  // nodes may still come and go, for nobody
    double next = events_.empty() ? kInfinity : events_.front().time;
    if (next_arrival_ < order_.size()) {
      next = std::min(next, state_.jobs.arrival[order_[next_arrival_]]);
    }
    if (!phase_ends_.empty()) next = std::min(next, phase_ends_.top_key());
    next = std::min(next, due());
    if (network_) next = std::min(next, net_.next_end());
    if (next > until || next == kInfinity) break;
    integrate(next);
    while (!phase_ends_.empty() && phase_ends_.top_key() == next) end_of_phase(phase_ends_.top());
    for (;;) {
      const bool more = !events_.empty() && events_.front().time == next &&
                        events_.front().kind != Kind::kHeartbeat;
      if (ends_transfer(next) && (!more || events_.front().kind > Kind::kReady)) {
        end_transfer();
        continue;
      }
      if (!more) break;
      const Event event = pop();
      switch (event.kind) {
        case Kind::kFinish:
          finish(event.what);
          break;
        case Kind::kReady:
          // Unless maps run again in the meantime.
          if (jobs_[event.what].copied <= next &&
              state_.phases[2 * event.what].finished == state_.phases[2 * event.what].total) {
            make_ready(event.what, kReduce);
          }
          break;
        case Kind::kNode:
          change_node(event.what);
          break;
        case Kind::kAge: {
          const Index job = event.what / 2;
          const int pool = static_cast<int>(event.what % 2);
          const double since = starving_[pool][job];
          if (since < 0.0 || state_.now < since + options_.ageing) break;
          aged_[pool][job] = 1;
          refresh(job, pool);
          break;
        }
        default:
          news_ = true;
      }
    }
    while (next_arrival_ < order_.size() && state_.jobs.arrival[order_[next_arrival_]] == next) {
      const Index job = order_[next_arrival_++];
      if (!missing_.empty() && missing_[job] > 0) {
        held_[job] = 1;
      } else {
        arrive(job);
      }
    }
    for (std::size_t k = 0; k < released_.size(); ++k) arrive(released_[k]);
    released_.clear();
    if (due() == next) decide();
    if (options_.heartbeat > 0.0) {
      if (news_) wake();
      while (!events_.empty() && events_.front().time == next &&
             events_.front().kind == Kind::kHeartbeat) {
        heartbeat(pop().what);
      }
    } else {
      for (int pool = 0; pool < 2; ++pool) {
        if (state_.free[pool] == 0 || ready_[pool] == 0) continue;
        if (by_node_) {
          dispatch_nodes(pool);
        } else {
          dispatch_queue(pool);
        }
      }
    }
    if (state_.cluster.generic && parked_ > 0 && parked_ == running_[0]) make_room();
    news_ = false;
    if (!touched_.empty()) settle();
    if (network_ && net_.stale()) settle_transfers();
    if (users_) watch_users();
  }
  if (until < kInfinity && !idle()) integrate(until);
}

}  // namespace malleable
