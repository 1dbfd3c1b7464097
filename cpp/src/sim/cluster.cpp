#include "malleable/sim/cluster.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>

#include "malleable/model/jobs.hpp"

namespace malleable {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kNoTarget = 1e300;  // key of jobs that have none: after all others, by arrival
constexpr std::uint32_t kFailure = 0, kFraction = 1, kNoise = 2, kStraggler = 4, kPlaces = 5;

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
      users_(!jobs.user_priority.empty()) {
  const std::size_t n = jobs.size(), nodes = cluster.size();
  for (const double link : cluster.link) network_ |= link < kInfinity;
  for (const double storage : cluster.storage) network_ |= storage < kInfinity;
  network_ = network_ && options.replicas > 0 && !jobs.block.empty();
  if (network_) links_.reset(cluster.link, cluster.storage);
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
  if (options_.speedup < 1.0) clocks_.resize(2 * n);
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
  events_.push_back({time, kind, what, sequence_++});
  std::push_heap(events_.begin(), events_.end(), Later());
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

double ClusterSimulation::key(Index job, int pool, std::int64_t more) const {
  if (!aged_[pool].empty() && aged_[pool][job]) return -kNoTarget;
  if (options_.gang) {
    for (const Phase p : {kMap, kReduce}) {
      // A gang that ran short fills up before anything else.
      if (pool_of(p) == pool && state_.phases[2 * job + p].running > 0 && needs(job, p) > 0) {
        return -kNoTarget;
      }
    }
  }
  const double value = value_[pool][job];
  if (style_ != ClusterPolicy::Style::kTargets) return value;
  if (value <= 0.0) return kNoTarget;
  std::int64_t running = more;
  if (state_.cluster.generic) {
    running += state_.phases[2 * job].running + state_.phases[2 * job + 1].running;
  } else {
    running += state_.phases[2 * job + static_cast<Index>(pool)].running;
  }
  return static_cast<double>(running) / value;
}

// How many tasks a gang has to start at once.
std::int64_t ClusterSimulation::needs(Index job, Phase p) const {
  const PhaseState& s = state_.phases[2 * job + p];
  const std::int64_t least = std::min(state_.jobs.minimum_of(p, job), s.running + s.waiting);
  return std::max<std::int64_t>(0, least - s.running);
}

void ClusterSimulation::watch_age(Index job, int pool, bool starves) {
  if (!starves) {
    starving_[pool][job] = -1.0;
    aged_[pool][job] = 0;
  } else if (starving_[pool][job] < 0.0) {
    starving_[pool][job] = state_.now;
    push(state_.now + options_.ageing, Kind::kAge, 2 * job + static_cast<Index>(pool));
  }
}

// Brings a job's place among those that wait, and what it lacks, up to its counts.
void ClusterSimulation::refresh(Index job, int pool) {
  std::int64_t ready = 0, running = 0;
  for (const Phase p : {kMap, kReduce}) {
    if (pool_of(p) != pool) continue;
    const PhaseState& s = state_.phases[2 * job + p];
    if (s.ready) ready += s.waiting;
    running += s.running;
  }
  if (options_.ageing > 0.0) watch_age(job, pool, ready > 0 && running == 0);
  if (ready > 0) {
    waiting_[pool].set(job, key(job, pool, 0));
  } else {
    waiting_[pool].erase(job);
  }
  if (style_ == ClusterPolicy::Style::kNode) policy_.counts_changed(state_, job, pool);
  if (style_ != ClusterPolicy::Style::kTargets) return;
  const double lacks =
      std::clamp(value_[pool][job] - static_cast<double>(running), 0.0, static_cast<double>(ready));
  all_short_[pool] += lacks - short_[pool][job];
  short_[pool][job] = lacks;
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
  }
  policy_.job_arrived(state_, job);
  make_ready(job, kMap);
  if (options_.split_copy && (maps == 0 || options_.slow_start <= 0.0)) {
    jobs_[job].copied = state_.now + (jobs.shuffle.empty() ? 0.0 : jobs.shuffle[job]);
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
  for (auto& again : jobs_[job].again) std::vector<Index>().swap(again);
  for (auto& attempts : jobs_[job].attempts) std::vector<std::uint16_t>().swap(attempts);
  std::vector<Index>().swap(jobs_[job].parked);
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
  if (options_.split_copy && own.copied > state_.now) {
    push(own.copied, Kind::kReady, job);
    return;
  }
  make_ready(job, kReduce);
  for (const Index group : own.parked) {
    if (groups_[group].count > 0) unpark(group, job);
  }
  own.parked.clear();
}

void ClusterSimulation::unpark(Index group, Index job) {
  Group& g = groups_[group];
  g.parked = false;
  const double shuffle = state_.jobs.shuffle.empty() ? 0.0 : state_.jobs.shuffle[job];
  const double wait = std::max(0.0, jobs_[job].copied - (g.start + shuffle));
  g.finish = std::max(state_.now, g.start + wait + g.seconds);
  schedule(group);
}

// The copy of a task's block at the node with the fewest transfers.
Index ClusterSimulation::source_of(Index job, Index task) const {
  const auto places = state_.blocks.replicas(job, task);
  return *std::min_element(places.begin(), places.end(), [&](Index a, Index b) {
    return links_.transfers_at(a) < links_.transfers_at(b);
  });
}

// A block has arrived: its task begins to work.
void ClusterSimulation::end_read(Index transfer) {
  Group& g = groups_[reader_[transfer]];
  links_.stop(transfer);
  g.transfer = kNone;
  g.finish = state_.now + g.seconds;
  g.seconds += state_.now - g.start;
  schedule(reader_[transfer]);
}

Index ClusterSimulation::new_group() {
  if (!free_groups_.empty()) {
    const Index group = free_groups_.back();
    free_groups_.pop_back();
    return group;
  }
  groups_.emplace_back();
  return static_cast<Index>(groups_.size() - 1);
}

void ClusterSimulation::release(Index group) {
  groups_[group].count = 0;
  groups_[group].first = kNone;
  free_groups_.push_back(group);
}

// A group's end becomes an event: now or, below linear speed-up, in its phase's own time.
void ClusterSimulation::schedule(Index group) {
  Group& g = groups_[group];
  if (clocks_.empty()) {
    push(g.finish, Kind::kFinish, group);
    return;
  }
  Clock& clock = clocks_[g.phase];
  touch(g.phase);
  g.finish = clock.at + (g.finish - state_.now);
  clock.ends.emplace_back(g.finish, group);
  std::push_heap(clock.ends.begin(), clock.ends.end(), std::greater<>());
}

// Brings a phase's own time up to now; its speed is set when the instant is over.
void ClusterSimulation::touch(Index phase) {
  Clock& clock = clocks_[phase];
  clock.at += (state_.now - clock.time) * clock.speed;
  clock.time = state_.now;
  if (clock.touched) return;
  clock.touched = true;
  touched_.push_back(phase);
}

void ClusterSimulation::settle() {
  for (const Index phase : touched_) {
    Clock& clock = clocks_[phase];
    clock.touched = false;
    const auto running = static_cast<double>(state_.phases[phase].running);
    clock.speed = running > 0.0 ? std::pow(running, options_.speedup - 1.0) : 0.0;
    reschedule(phase);
  }
  touched_.clear();
}

void ClusterSimulation::reschedule(Index phase) {
  Clock& clock = clocks_[phase];
  clock.stamp = sequence_;
  if (clock.ends.empty() || clock.speed == 0.0) {
    ++sequence_;
    return;
  }
  const double left = std::max(0.0, clock.ends.front().first - clock.at);
  push(state_.now + left / clock.speed, Kind::kPhase, phase);
}

void ClusterSimulation::finish(Index group) {
  Group& g = groups_[group];
  if (g.count == 0) {  // all its tasks were killed
    release(group);
    return;
  }
  const Index phase = g.phase, job = phase / 2;
  const auto p = static_cast<Phase>(phase % 2);
  const int pool = pool_of(p);
  const auto done = static_cast<std::int64_t>(g.count);
  PhaseState& s = state_.phases[phase];
  totals_.events += done;
  Index last = kNone;
  for (Index r = g.first; r != kNone; r = runs_[r].next) {
    const Run& run = runs_[r];
    last = r;
    ++state_.free_on[pool][run.node];
    if (options_.heartbeat > 0.0) {
      schedule_heartbeat(run.node);
    } else {
      std::size_t place = head_[pool] + queued_[pool]++;
      if (place >= queue_[pool].size()) place -= queue_[pool].size();
      queue_[pool][place] = run.node;
    }
    if (options_.trace) record(g.fails ? 2 : 1, phase, run.task, run.node);
    if (g.fails) put_back(job, p, run.task);
  }
  state_.free[pool] += done;
  if (!clocks_.empty()) touch(phase);
  if (g.fails) {
    totals_.failed += done;
    count(job, p, done, -done);
    news_ = true;
  } else {
    totals_.tasks += done;
    count(job, p, 0, -done);
    const std::int64_t before = s.finished;
    s.finished += done;
    s.measured += g.seconds * static_cast<double>(done);
    if (options_.learn) {
      s.estimate = s.measured / static_cast<double>(s.finished);
      if (!state_.jobs.group.empty()) {
        const std::size_t row = 4 * static_cast<std::size_t>(state_.jobs.group[job]) + 2 * p;
        learned_[row] += g.seconds * static_cast<double>(done);
        learned_[row + 1] += static_cast<double>(done);
      }
    }
    if (policy_.listens()) {
      for (Index r = g.first; r != kNone; r = runs_[r].next) {
        policy_.task_finished(state_, job, p, runs_[r].node, g.seconds);
      }
    }
    if (p == kMap && s.total > 0) {
      const auto maps = static_cast<double>(s.total);
      const double shuffle = state_.jobs.shuffle.empty() ? 0.0 : state_.jobs.shuffle[job];
      Job& own = jobs_[job];
      const double tail = (maps - static_cast<double>(before)) / maps * shuffle;
      own.copied = std::max(own.copied, state_.now + tail);
      const double enough = std::ceil(options_.slow_start * maps - 1e-9);
      if (static_cast<double>(s.finished) >= enough) {
        if (!options_.split_copy) {
          make_ready(job, kReduce);
        } else if (static_cast<double>(before) < enough) {
          // Copying begins: nothing can be there earlier than after all its seconds.
          own.copied = std::max(own.copied, state_.now + shuffle);
        }
      }
    }
  }
  mark(job, p);
  refresh(job, pool);
  runs_[last].next = free_run_;
  free_run_ = g.first;
  const bool ended = !g.fails && s.finished == s.total;
  release(group);
  if (ended) {
    if (p == kMap) {
      maps_done(job);
    } else {
      leave(job);
    }
  }
}

// A node leaves or returns. What ran there runs again.
void ClusterSimulation::change_node(Index change) {
  const auto node = static_cast<Index>(changes_.node[change]);
  const std::uint8_t up = changes_.up[change];
  ++totals_.events;
  if (up_[node] == up) return;
  up_[node] = up;
  const std::span<const std::int64_t> slots[2] = {state_.cluster.map_slots,
                                                  state_.cluster.reduce_slots};
  if (up != 0) {
    for (int pool = 0; pool < 2; ++pool) {
      const std::int64_t count = slots[pool][node];
      state_.free_on[pool][node] = count;
      state_.free[pool] += count;
      state_.slots[pool] += count;
      if (options_.heartbeat > 0.0) continue;
      for (std::int64_t k = 0; k < count; ++k) {
        queue_[pool][(head_[pool] + queued_[pool]++) % queue_[pool].size()] = node;
      }
    }
    if (options_.heartbeat > 0.0) schedule_heartbeat(node);
  } else {
    for (Index group = 0; group < groups_.size(); ++group) {
      Group& g = groups_[group];
      if (g.count == 0) continue;
      const Index job = g.phase / 2;
      const auto p = static_cast<Phase>(g.phase % 2);
      std::int64_t killed = 0;
      for (Index* link = &g.first; *link != kNone;) {
        const Index r = *link;
        if (runs_[r].node != node) {
          link = &runs_[r].next;
          continue;
        }
        put_back(job, p, runs_[r].task);
        if (options_.trace) record(3, g.phase, runs_[r].task, node);
        *link = runs_[r].next;
        runs_[r].next = free_run_;
        free_run_ = r;
        ++killed;
      }
      if (killed == 0) continue;
      g.count -= static_cast<Index>(killed);
      totals_.killed += killed;
      if (!clocks_.empty()) touch(g.phase);
      count(job, p, killed, -killed);
      mark(job, p);
      refresh(job, pool_of(p));
      if (g.count == 0 && (g.parked || g.transfer != kNone)) {  // no end refers to it
        if (g.transfer != kNone) {
          read_stamp_[g.transfer] = ~std::uint64_t{0};
          links_.stop(g.transfer);
          g.transfer = kNone;
        } else {
          std::erase(jobs_[job].parked, group);
        }
        g.parked = false;
        release(group);
      }
    }
    for (int pool = 0; pool < 2; ++pool) {
      state_.free[pool] -= state_.free_on[pool][node];
      state_.slots[pool] -= slots[pool][node];
      state_.free_on[pool][node] = 0;
      std::size_t kept = 0;
      const std::size_t size = queue_[pool].size();
      for (std::size_t k = 0; options_.heartbeat == 0.0 && k < queued_[pool]; ++k) {
        const Index other = queue_[pool][(head_[pool] + k) % size];
        if (other != node) queue_[pool][(head_[pool] + kept++) % size] = other;
      }
      queued_[pool] = kept;
    }
  }
  // Targets depend on the slots that there are.
  for (const Index job : state_.present) {
    for (const Phase p : {kMap, kReduce}) {
      if (state_.phases[2 * job + p].ready) mark(job, p);
    }
  }
  news_ = true;
}

void ClusterSimulation::put_back(Index job, Phase p, Index task) {
  if (p == kMap && options_.replicas > 0) {
    state_.blocks.put_back(job, task);
  } else {
    jobs_[job].again[p].push_back(task);
  }
}

Index ClusterSimulation::next_task(Index job, Phase p) {
  Job& own = jobs_[job];
  if (!own.again[p].empty()) {
    const Index task = own.again[p].back();
    own.again[p].pop_back();
    return task;
  }
  return own.started[p]++;
}

// Everything but the counts.
void ClusterSimulation::start_task(Index job, Phase p, Index task, Index node) {
  const Index phase = 2 * job + p;
  const ClusterView& cluster = state_.cluster;
  double seconds = state_.jobs.seconds_of(p, job, task) / cluster.rate[node];
  bool fails = false, reads = false;
  std::uint32_t attempt = 0;
  if (!uniform_) {
    auto& attempts = jobs_[job].attempts[p];
    if (attempts.empty()) {
      attempts.assign(static_cast<std::size_t>(state_.phases[phase].total), 0);
    }
    attempt = attempts[task]++;
    if (options_.noise > 0.0) {
      const double radius = std::sqrt(-2.0 * std::log1p(-uniform(phase, task, attempt, kNoise)));
      const double angle = 2.0 * std::numbers::pi * uniform(phase, task, attempt, kNoise + 1);
      seconds *= std::exp(options_.noise * radius * std::cos(angle) -
                          0.5 * options_.noise * options_.noise);
    }
    if (options_.straggler_share > 0.0 &&
        uniform(phase, task, attempt, kStraggler) < options_.straggler_share) {
      seconds *= options_.straggler_factor;
    }
  }
  if (p == kMap && options_.replicas > 0) {
    const bool local = state_.blocks.on_node(job, task, node);
    ++(local ? totals_.local : totals_.remote);
    if (network_ && local) seconds += state_.jobs.block[job] / cluster.storage[node];
    reads = network_ && !local && state_.jobs.block[job] > 0.0;
  }
  if (p == kReduce && !options_.split_copy && !state_.jobs.shuffle.empty()) {
    seconds += state_.jobs.shuffle[job];
  }
  if (options_.failure > 0.0 && uniform(phase, task, attempt, kFailure) < options_.failure) {
    fails = true;
    seconds *= uniform(phase, task, attempt, kFraction);
  }
  if (std::isnan(start[job])) start[job] = state_.now;

  const auto type = static_cast<Index>(cluster.type[node]);
  Index& last = last_group_[phase * types_ + type];
  const PhaseState& maps = state_.phases[2 * job];
  const bool parks = p == kReduce && maps.finished < maps.total;
  bool joins = last != kNone && !reads;
  if (joins) {
    const Group& g = groups_[last];
    joins = g.count > 0 && g.phase == phase && g.type == type && g.start == state_.now &&
            g.seconds == seconds && g.fails == fails && g.parked == parks && g.transfer == kNone;
  }
  if (!joins) {
    last = new_group();
    Group& g = groups_[last];
    g = Group{};
    g.start = state_.now;
    g.seconds = seconds;
    g.phase = phase;
    g.type = type;
    g.fails = fails;
    g.parked = parks;
    if (reads) {
      const Index transfer =
          links_.start(source_of(job, task), node, state_.jobs.block[job], state_.now);
      if (transfer >= reader_.size()) {
        reader_.resize(transfer + 1);
        read_stamp_.resize(transfer + 1);
      }
      reader_[transfer] = last;
      g.transfer = transfer;
    } else if (parks) {
      jobs_[job].parked.push_back(last);
    } else if (p == kReduce && jobs_[job].copied > state_.now && !options_.split_copy) {
      unpark(last, job);
    } else {
      g.finish = state_.now + seconds;
      schedule(last);
    }
  }
  Group& g = groups_[last];
  Index run = free_run_;
  if (run == kNone) {
    run = static_cast<Index>(runs_.size());
    runs_.emplace_back();
  } else {
    free_run_ = runs_[run].next;
  }
  runs_[run] = {g.first, node, task};
  g.first = run;
  ++g.count;
  if (options_.trace) record(0, phase, task, node);
}

// `amount` tasks of a phase on a node, or (node == kNone) on the first free slots of the queue.
void ClusterSimulation::start_tasks(Index job, Phase p, std::int64_t amount, Index node, int pool) {
  const bool queued = node == kNone;
  totals_.events += amount;
  for (std::int64_t k = 0; k < amount; ++k) {
    if (queued) {
      node = queue_[pool][head_[pool]];
      if (++head_[pool] == queue_[pool].size()) head_[pool] = 0;
      --queued_[pool];
    }
    Index task;
    if (p == kMap && options_.replicas > 0) {
      task = state_.blocks.find(job, node);
      if (task == LocalTasks::kNone) task = state_.blocks.first(job);
      state_.blocks.take(job, task);
    } else {
      task = next_task(job, p);
    }
    --state_.free_on[pool][node];
    start_task(job, p, task, node);
  }
  state_.free[pool] -= amount;
  if (!clocks_.empty()) touch(2 * job + p);
  count(job, p, -amount, amount);
}

// Tasks have no place: free slots are all alike but for their nodes' rates.
void ClusterSimulation::dispatch_queue(int pool) {
  IndexedHeap& waiting = waiting_[pool];
  skipped_.clear();
  while (state_.free[pool] > 0 && !waiting.empty()) {
    const Index job = waiting.top();
    const Phase p = state_.cluster.generic ? (state_.eligible(job, kMap) ? kMap : kReduce)
                                           : static_cast<Phase>(pool);
    const std::int64_t most = std::min(state_.free[pool], state_.phases[2 * job + p].waiting);
    const std::int64_t gang = options_.gang ? needs(job, p) : 0;
    if (gang > state_.free[pool]) {
      skipped_.push_back(job);
      waiting.erase(job);
      continue;
    }
    std::int64_t amount = most;
    if (style_ == ClusterPolicy::Style::kTargets && value_[pool][job] > 0.0) {
      amount = 1;
      while (amount < most && waiting.before_second(key(job, pool, amount), job)) ++amount;
    }
    if (!aged_[pool].empty() && aged_[pool][job]) amount = 1;
    start_tasks(job, p, std::max(amount, gang), kNone, pool);
    refresh(job, pool);
  }
  for (const Index job : skipped_) waiting.set(job, key(job, pool, 0));
}

// Offers one node's slots, at most so many; true if any was taken.
bool ClusterSimulation::offer(Index node, int pool, std::int64_t most) {
  IndexedHeap& waiting = waiting_[pool];
  bool taken = false;
  for (; most > 0 && state_.free_on[pool][node] > 0; --most) {
    Index job = ClusterPolicy::kNobody;
    Phase p = kMap;
    if (style_ == ClusterPolicy::Style::kNode) {
      if (ready_[pool] == 0) return taken;
      const ClusterPolicy::Choice choice = policy_.choose(state_, node, pool);
      if (choice.job == ClusterPolicy::kNobody) return taken;
      job = choice.job;
      p = choice.phase;
      if (pool_of(p) != pool || job >= jobs_.size() || !state_.eligible(job, p)) {
        throw std::invalid_argument("policy chose job " + std::to_string(job) +
                                    ", which has no task that this slot could start");
      }
    } else {
      skipped_.clear();
      while (!waiting.empty()) {
        job = waiting.top();
        p = state_.cluster.generic ? (state_.eligible(job, kMap) ? kMap : kReduce)
                                   : static_cast<Phase>(pool);
        Job& own = jobs_[job];
        if (p != kMap || options_.replicas == 0 || options_.delay <= 0.0) break;
        if (state_.blocks.find(job, node) != LocalTasks::kNone) {
          own.skipped = -1.0;
          break;
        }
        if (own.skipped < 0.0) {
          own.skipped = state_.now;
          if (options_.heartbeat == 0.0) push(state_.now + options_.delay, Kind::kTimer, 0);
        }
        if (state_.now >= own.skipped + options_.delay) break;
        skipped_.push_back(job);
        waiting.erase(job);
        job = ClusterPolicy::kNobody;
      }
      for (const Index other : skipped_) waiting.set(other, key(other, pool, 0));
      if (job == ClusterPolicy::kNobody) return taken;
    }
    start_tasks(job, p, 1, node, pool);
    refresh(job, pool);
    taken = true;
  }
  return taken;
}

// Every free slot in the order in which they became free, each offered once.
void ClusterSimulation::dispatch_nodes(int pool) {
  ++passes_;
  for (std::size_t left = queued_[pool]; left > 0 && ready_[pool] > 0; --left) {
    const Index node = queue_[pool][head_[pool]];
    if (++head_[pool] == queue_[pool].size()) head_[pool] = 0;
    --queued_[pool];
    // What was refused in this pass is refused again.
    if (refused_[node] != passes_) {
      if (offer(node, pool, 1)) continue;
      refused_[node] = passes_;
    }
    const std::size_t size = queue_[pool].size();
    queue_[pool][(head_[pool] + queued_[pool]++) % size] = node;
  }
}

void ClusterSimulation::schedule_heartbeat(Index node) {
  if (beating_[node] || !up_[node]) return;
  const bool wanted = (state_.free_on[0][node] > 0 && ready_[0] > 0) ||
                      (state_.free_on[1][node] > 0 && ready_[1] > 0);
  if (!wanted) return;
  const double period = options_.heartbeat;
  const double first =
      period * static_cast<double>(node) / static_cast<double>(state_.cluster.size());
  double beats = std::max(0.0, std::ceil((state_.now - first) / period));
  while (first + beats * period < state_.now) beats += 1.0;
  beating_[node] = 1;
  push(first + beats * period, Kind::kHeartbeat, node);
}

void ClusterSimulation::heartbeat(Index node) {
  beating_[node] = 0;
  if (!up_[node]) return;
  ++totals_.events;
  for (int pool = 0; pool < 2; ++pool) {
    const std::int64_t most =
        options_.tasks_per_heartbeat > 0 ? options_.tasks_per_heartbeat : kMostSlots;
    offer(node, pool, most);
  }
  const bool wanted = (state_.free_on[0][node] > 0 && ready_[0] > 0) ||
                      (state_.free_on[1][node] > 0 && ready_[1] > 0);
  if (!wanted) return;
  const double period = options_.heartbeat;
  const double first =
      period * static_cast<double>(node) / static_cast<double>(state_.cluster.size());
  double beats = std::floor((state_.now - first) / period) + 1.0;
  while (first + beats * period <= state_.now) beats += 1.0;
  beating_[node] = 1;
  push(first + beats * period, Kind::kHeartbeat, node);
}

// Tasks are there that were not there before: idle nodes report.
void ClusterSimulation::wake() {
  for (Index node = 0; node < up_.size(); ++node) schedule_heartbeat(node);
}

// When the next decision is due; infinity while nothing changed.
double ClusterSimulation::due() const {
  if (style_ == ClusterPolicy::Style::kNode) return kInfinity;
  const bool wanted = !state_.changed[0].empty() || !state_.changed[1].empty() ||
                      (policy_.depends_on_time() && !state_.present.empty() &&
                       (ready_[0] > 0 || ready_[1] > 0) && options_.epoch > 0.0);
  if (!wanted) return kInfinity;
  if (options_.epoch <= 0.0) return state_.now;
  double number = std::max(std::floor(state_.now / options_.epoch), last_decision_ + 1.0);
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
    totals_.idle[pool] += step * static_cast<double>(std::min(state_.free[pool], ready_[pool]));
  }
  totals_.dissatisfaction += step * users_now_[0];
  totals_.fairness += step * users_now_[1];
  state_.now = totals_.now = until;
}

void ClusterSimulation::advance(double until) {
  const auto pop = [&] {
    std::pop_heap(events_.begin(), events_.end(), Later());
    const Event event = events_.back();
    events_.pop_back();
    return event;
  };
  for (;;) {
    const bool idle = state_.present.empty() && next_arrival_ == order_.size();
    if (idle) break;  // nodes may still come and go, for nobody
    double next = events_.empty() ? kInfinity : events_.front().time;
    if (next_arrival_ < order_.size()) {
      next = std::min(next, state_.jobs.arrival[order_[next_arrival_]]);
    }
    next = std::min(next, due());
    if (next > until || next == kInfinity) break;
    integrate(next);
    while (!events_.empty() && events_.front().time == next &&
           events_.front().kind != Kind::kHeartbeat) {
      const Event event = pop();
      switch (event.kind) {
        case Kind::kFinish:
          finish(event.what);
          break;
        case Kind::kPhase: {
          Clock& clock = clocks_[event.what];
          if (clock.stamp != event.sequence) break;
          touch(event.what);
          clock.at = std::max(clock.at, clock.ends.front().first);
          while (!clock.ends.empty() && clock.ends.front().first <= clock.at) {
            const Index group = clock.ends.front().second;
            std::pop_heap(clock.ends.begin(), clock.ends.end(), std::greater<>());
            clock.ends.pop_back();
            finish(group);
          }
          break;
        }
        case Kind::kRead:
          if (read_stamp_[event.what] == event.sequence) end_read(event.what);
          break;
        case Kind::kReady:
          make_ready(event.what, kReduce);
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
    news_ = false;
    if (!touched_.empty()) settle();
    if (network_ && links_.stale()) {
      links_.settle(state_.now, [&](Index transfer, double end) {
        read_stamp_[transfer] = sequence_;
        push(std::max(end, state_.now), Kind::kRead, transfer);
      });
    }
    if (users_) watch_users();
  }
  if (until < kInfinity && until > state_.now) integrate(until);
}

}  // namespace malleable
