// Tasks from their start to their end: copying in seconds, attempts, groups that share an event.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "malleable/model/tolerance.hpp"
#include "malleable/sim/cluster.hpp"

namespace malleable {
namespace {

constexpr std::uint32_t kFailure = 0, kFraction = 1, kNoise = 2, kStraggler = 4;

}  // namespace

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
    clock.speed = pace(phase);
    reschedule(phase);
  }
  touched_.clear();
}

void ClusterSimulation::reschedule(Index phase) {
  const Clock& clock = clocks_[phase];
  if (clock.ends.empty() || clock.speed == 0.0) {
    phase_ends_.erase(phase);
    return;
  }
  const double left = std::max(0.0, clock.ends.front().first - clock.at);
  phase_ends_.set(phase, state_.now + left / clock.speed, phase_order_++);
}

// How fast a phase's own time runs.
double ClusterSimulation::pace(Index phase) const {
  const auto running = static_cast<std::size_t>(state_.phases[phase].running);
  const ClusterJobsView& jobs = state_.jobs;
  if (running > 0 && !jobs.rates.empty()) {
    const auto first = static_cast<std::size_t>(jobs.rate_offset[phase / 2]);
    const auto last = static_cast<std::size_t>(jobs.rate_offset[phase / 2 + 1]);
    if (first < last) {
      return jobs.rates[std::min(first + running, last) - 1] / static_cast<double>(running);
    }
  }
  return pace_[running];
}

// A phase's own time has come to the end of tasks.
void ClusterSimulation::end_of_phase(Index phase) {
  phase_ends_.erase(phase);
  Clock& clock = clocks_[phase];
  touch(phase);
  clock.at = std::max(clock.at, clock.ends.front().first);
  while (!clock.ends.empty() && clock.ends.front().first <= clock.at) {
    const Index group = clock.ends.front().second;
    std::pop_heap(clock.ends.begin(), clock.ends.end(), std::greater<>());
    clock.ends.pop_back();
    finish(group);
  }
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
  const bool outputs = p == kMap && network_ && !g.fails && net_.shuffles(job);
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
    if (outputs) net_.map_ended(job, run.node);
    if (g.fails) put_back(job, p, run.task);
  }
  if (outputs_ && p == kMap && !g.fails && state_.phases[phase + 1].total > 0) {
    auto& output = jobs_[job].output;
    if (output.empty()) output.assign(static_cast<std::size_t>(s.total), kNone);
    for (Index r = g.first; r != kNone; r = runs_[r].next) output[runs_[r].task] = runs_[r].node;
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
      const double enough = std::ceil(options_.slow_start * maps - kCount);
      if (static_cast<double>(s.finished) >= enough) {
        if (!options_.split_copy) {
          make_ready(job, kReduce);
        } else if (!own.copies) {
          // Copying begins: nothing can be there earlier than after all its seconds.
          own.copies = true;
          own.copied = std::max(own.copied, state_.now + shuffle);
          begin_copying(job);
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
  if (jobs_[job].gone > 0 && needs_outputs(job)) run_maps_again(job);
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
      if (g.parked) parked_ -= killed;
      totals_.killed += killed;
      if (!clocks_.empty()) touch(g.phase);
      count(job, p, killed, -killed);
      mark(job, p);
      refresh(job, pool_of(p));
      if (g.count == 0 && (g.parked || g.transfer != kNone)) {  // no end refers to it
        if (g.transfer != kNone) {
          net_.stop(g.transfer, state_.now);
          g.transfer = kNone;
        }
        if (g.parked) std::erase(jobs_[job].parked, group);
        g.parked = false;
        release(group);
      }
    }
    for (int pool = 0; pool < 2; ++pool) {
      state_.free[pool] -= state_.free_on[pool][node];
      state_.slots[pool] -= slots[pool][node];
      state_.free_on[pool][node] = 0;
      std::erase(gathering_[pool].nodes, node);
      std::size_t kept = 0;
      const std::size_t size = queue_[pool].size();
      for (std::size_t k = 0; options_.heartbeat == 0.0 && k < queued_[pool]; ++k) {
        const Index other = queue_[pool][(head_[pool] + k) % size];
        if (other != node) queue_[pool][(head_[pool] + kept++) % size] = other;
      }
      queued_[pool] = kept;
    }
    if (outputs_) lose_outputs(node);
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
    if (racks_) rack_blocks_.put_back(job, task);
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
  double copying = 0.0;
  bool fails = false, reads = false, local = false;
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
    local = state_.blocks.on_node(job, task, node);
    ++(local ? totals_.local : totals_.remote);
    if (!local && in_rack(job, task, node)) ++totals_.rack;
    reads = network_ && !state_.jobs.block.empty() && state_.jobs.block[job] > 0.0 &&
            !(local && cluster.storage[node] == kInfinity);
  }
  const bool copies = p == kReduce && network_ && !options_.split_copy && net_.shuffles(job);
  if (p == kReduce && !options_.split_copy && !state_.jobs.shuffle.empty()) {
    copying = state_.jobs.shuffle[job];
    seconds += copying;
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
  bool joins = last != kNone && !reads && !copies;
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
    g.copying = std::min(copying, seconds);
    g.phase = phase;
    g.type = type;
    g.fails = fails;
    g.parked = parks;
    if (reads) {
      const Index source = local ? node : source_of(job, task, node);
      g.transfer = net_.read(source, node, state_.jobs.block[job], last, state_.now);
    } else if (copies) {
      g.transfer = net_.copy(job, node, last);
      if (parks) jobs_[job].parked.push_back(last);
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
  parked_ += parks;
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
      task = task_near(job, node);
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

}  // namespace malleable
