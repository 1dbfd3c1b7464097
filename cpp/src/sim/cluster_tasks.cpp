// Tasks from their start to their end: copying in seconds, attempts, groups that share an event
// (tasks of one phase that start and end together). Phase p of a job has the number 2 * job + p. A
// group is parked while its reduce tasks hold slots and wait for maps; `twin` is the other attempt
// at its task, and `beside` says that the scheduler does not count its slot. With copy-compute
// splitting, reduce tasks copy outside of slots and start when all is copied.
#include <algorithm>
#include <cmath>
#include <utility>

#include "malleable/model/jobs.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/sim/cluster.hpp"

namespace malleable {

void ClusterSimulation::arrive(Index job) {
  ++totals_.arrived;
  ++totals_.events;
  came[job] = state().now;
  scheduler_.announce(job);
  const auto maps = static_cast<std::size_t>(state().jobs.tasks[kMap][job]);
  if (options_.replicas > 0 && maps > 0) {
    const std::size_t copies =
        std::min(static_cast<std::size_t>(options_.replicas), state().cluster.size());
    std::vector<Index> places(maps * copies);
    for (std::size_t t = 0; t < maps; ++t) {
      const std::span<Index> own(places.data() + t * copies, copies);
      const auto task = static_cast<Index>(t);
      if (!scheduler_.place(job, task, own)) times_.place(job, task, own);
    }
    scheduler_.set_blocks(job, copies, places);
  }
  scheduler_.arrive(job);
  if (options_.split_copy && (maps == 0 || options_.start_at() <= 0.0)) begin_copying(job);
  if (maps == 0) maps_done(job);
}

void ClusterSimulation::leave(Index job) {
  completion[job] = state().now;
  if (std::isnan(start[job])) start[job] = state().now;
  ++totals_.completed;
  times_.forget(job);
  outputs_.forget(job);
  std::vector<Index>().swap(jobs_[job].parked);
  scheduler_.leave(job);
  arrivals_.finished(job);
}

// All maps of the job have ended: its reduce tasks go on, or the job is done.
void ClusterSimulation::maps_done(Index job) {
  map_completion[job] = state().now;
  Job& own = jobs_[job];
  if (phase(2 * job + 1).total == 0) {
    leave(job);
    return;
  }
  if (options_.split_copy && outputs_.copied(job) > state().now) {
    push(outputs_.copied(job), Kind::kReady, job);
    return;
  }
  scheduler_.make_ready(job, kReduce);
  for (const Index group : own.parked) {
    if (groups_[group].count > 0) unpark(group);
  }
  own.parked.clear();
}

// Makes a group's end an event, or, below linear speed-up, an end in its phase's own time.
void ClusterSimulation::schedule(Index group) {
  TaskGroup& g = groups_[group];
  const double now = state().now;
  g.began = now;
  if (clocks_.used()) {
    g.finish = clocks_.schedule(group, g.phase, g.finish - now, now);
  } else {
    push(g.finish, Kind::kFinish, group);
  }
}

// Frees the slots of a group that ends, node by node; fills nodes_ if the policy listens. Returns
// its last task.
inline Index ClusterSimulation::free_slots_of(Index group) {
  const TaskGroup& g = groups_[group];
  const Index phase = g.phase, job = phase / 2;
  const auto p = static_cast<Phase>(phase % 2);
  const int pool = scheduler_.pool_of(p);
  const bool mapped = p == kMap && !g.fails;
  const bool kept = mapped && outputs_.kept() && this->phase(phase + 1).total > 0;
  const bool listens = scheduler_.listens();
  if (state().jobs.restart_of(job) > 0.0) {
    Job& own = jobs_[job];
    if (std::exchange(own.freed_at, state().now) != state().now) own.freed = 0;
    own.freed += static_cast<std::int64_t>(g.count);
  }
  nodes_.clear();
  Index last = kNone;
  for (Index r = g.first; r != kNone; r = groups_.task(r).next) {
    const auto [next, node, task] = groups_.task(r);
    last = r;
    free_slot(node, pool);
    record(g.fails ? kFailed : kEnded, phase, task, node, g.attempt);
    if (kept) outputs_.put(job, task, node);
    if (listens) nodes_.push_back(node);
    if (g.fails) scheduler_.put_back(job, p, task);
  }
  return last;
}

// Seconds that the slot of the job's next task does nothing first. Slots of the job's tasks that
// end at this time go to it.
double ClusterSimulation::restart_now(Index job) {
  const double cost = state().jobs.restart_of(job);
  Job& own = jobs_[job];
  if (cost == 0.0 || own.freed_at != state().now || own.freed == 0) return cost;
  --own.freed;
  return 0.0;
}

// The tasks of a group end, well or in failure.
void ClusterSimulation::finish(Index group) {
  TaskGroup& g = groups_[group];
  if (g.count == 0 || ends_beside(group)) {  // all its tasks were killed, or it ended in vain
    groups_.release(group);
    return;
  }
  const Index phase = g.phase, job = phase / 2;
  const auto p = static_cast<Phase>(phase % 2);
  const auto done = static_cast<std::int64_t>(g.count);
  const PhaseState& s = this->phase(phase);
  totals_.events += done;
  const Index last = free_slots_of(group);
  if (clocks_.used()) clocks_.touch(phase, state().now);
  const bool fails = g.fails;
  // The seconds that an engine would measure.
  const double works = g.restart > 0.0 ? g.seconds / (g.restart + g.seconds) : 1.0;
  const double seconds = clocks_.used() ? (state().now - g.began) * works : g.seconds;
  const double copying = g.copying;
  groups_.clear(group, last);
  if (fails) {
    totals_.failed += done;
    scheduler_.returned(job, p, done);
  } else {
    succeed(job, p, done, seconds, copying);
  }
  if (outputs_.gone(job) > 0 && needs_outputs(job)) run_maps_again(job);
  if (fails || s.finished < s.total) return;
  if (p == kMap) {
    maps_done(job);
  } else {
    leave(job);
  }
}

// Notes that tasks that started together have ended well.
inline void ClusterSimulation::succeed(Index job, Phase p, std::int64_t tasks, double seconds,
                                       double copying) {
  totals_.tasks += tasks;
  if (p == kMap) {
    outputs_.ended(job, phase(2 * job).finished, state().now);
  } else {
    scheduler_.copied(job, copying);
  }
  scheduler_.ended(job, p, tasks, seconds, nodes_);
  if (p == kMap && options_.split_copy) maps_ended(job);
}

// With copy-compute splitting, copying begins when enough maps have ended, and ends after all its
// seconds at the earliest.
void ClusterSimulation::maps_ended(Index job) {
  const PhaseState& maps = phase(2 * job);
  const double enough = std::ceil(options_.start_at() * static_cast<double>(maps.total) - 1e-9);
  if (!jobs_[job].copies && static_cast<double>(maps.finished) >= enough) begin_copying(job);
}

// Kills the tasks of a group on a node that leaves; they will run again.
void ClusterSimulation::kill(Index group, Index node) {
  TaskGroup& g = groups_[group];
  if (g.twin != kNone || g.beside) {  // the other attempt goes on
    if (g.count > 0 && groups_.task(g.first).node == node) drop_attempt(group);
    return;
  }
  const Index job = g.phase / 2;
  const auto p = static_cast<Phase>(g.phase % 2);
  const auto killed = static_cast<std::int64_t>(groups_.take_from(group, node, [&](auto task) {
    scheduler_.put_back(job, p, task.task);
    record(kKilled, g.phase, task.task, node, g.attempt);
  }));
  if (killed == 0) return;
  if (g.parked) parked_ -= killed;
  totals_.killed += killed;
  if (clocks_.used()) clocks_.touch(g.phase, state().now);
  scheduler_.returned(job, p, killed);
  if (g.count > 0 || !(g.parked || g.reads)) return;
  // No end refers to it.
  if (g.parked) std::erase(jobs_[job].parked, group);
  drop_group(group);
}

// A node leaves or returns.
void ClusterSimulation::change_node(Index change) {
  const auto node = static_cast<Index>(changes_.node[change]);
  const std::uint8_t up = changes_.up[change];
  ++totals_.events;
  if (up_[node] == up) return;
  up_[node] = up;
  if (up != 0) {
    scheduler_.node_came(node);
    if (heartbeats_.used()) schedule_heartbeat(node);
  } else {
    for (Index group = 0; group < groups_.size(); ++group) kill(group, node);
    scheduler_.node_left(node);
    for (const Index job : state().present) {
      if (!outputs_.kept()) break;
      outputs_.node_left(job, node);
      if (outputs_.gone(job) > 0 && needs_outputs(job)) run_maps_again(job);
    }
  }
  scheduler_.mark_all();
}

void ClusterSimulation::begin(std::span<const TaskStart> starts) {
  totals_.events += static_cast<std::int64_t>(starts.size());
  for (const TaskStart& task : starts) begin(task);
}

// Notes whether a map's block is on its node, and whether the map must read it over a link.
inline void ClusterSimulation::note_block(StartedTask& begun) {
  if (begun.p != kMap || options_.replicas <= 0) return;
  const ClusterState& state = scheduler_.state();
  const auto [job, p, task, node] = TaskStart{begun.job, begun.p, begun.task, begun.node};
  begun.local = state.blocks.on_node(job, task, node);
  ++(begun.local ? totals_.local : totals_.remote);
  begun.reads = moves_ && state.jobs.block[job] > 0.0 &&
                !(begun.local && state.cluster.storage[node] == kInfinity);
}

// Whether a task starts and ends together with the last group.
inline bool ClusterSimulation::joins(const StartedTask& begun, Index group) const {
  if (group == kNone || begun.reads || options_.backups) return false;
  const TaskGroup& g = groups_[group];
  return g.count > 0 && g.phase == begun.phase && g.type == begun.type && g.start == state().now &&
         g.seconds == begun.seconds && g.fails == begun.fails && g.parked == begun.parks &&
         g.restart == begun.restart && !g.reads;
}

// The copy of a task's block on the node that serves the fewest reads.
Index ClusterSimulation::source_of(Index job, Index task) const {
  const auto places = state().blocks.replicas(job, task);
  return *std::min_element(places.begin(), places.end(), [&](Index a, Index b) {
    return reads_.reads_at(a) < reads_.reads_at(b);
  });
}

// Makes a new group, which reads, waits or has an end.
Index ClusterSimulation::make_group(const StartedTask& begun) {
  const double now = state().now;
  const Index group = groups_.make();
  TaskGroup& g = groups_[group];
  g = TaskGroup{};
  g.start = now;
  g.seconds = begun.seconds;
  g.copying = begun.copying;
  g.restart = begun.restart;
  g.phase = begun.phase;
  g.type = begun.type;
  g.fails = begun.fails;
  g.reads = begun.reads;
  if (begun.reads) {
    const Index source = begun.local ? begun.node : source_of(begun.job, begun.task);
    reads_.start(source, begun.node, state().jobs.block[begun.job], group, now);
  } else if (begun.parks) {
    park(group);
  } else {
    const double wait =
        begun.p == kReduce ? outputs_.wait(begun.job, now, outputs_.copied(begun.job)) : 0.0;
    g.finish = now + wait + begun.restart + begun.seconds;
    schedule(group);
  }
  return group;
}

// All that is known of a task that starts: its seconds, those of them that it copies, whether it
// will fail, its block, and whether it waits for maps.
ClusterSimulation::StartedTask ClusterSimulation::started_task(const TaskStart& started,
                                                               double seconds, double copying,
                                                               bool fails) {
  const auto [job, p, task, node] = started;
  const auto type = static_cast<Index>(state().cluster.type[node]);
  StartedTask begun{job, p, task, node, 2 * job + p, type, seconds, copying, fails};
  note_block(begun);
  begun.parks = p == kReduce && phase(2 * job).unfinished() > 0;
  begun.restart = restart_now(job);
  return begun;
}

void ClusterSimulation::begin(const TaskStart& started) {
  const auto [job, p, task, node] = started;
  const ClusterState& state = scheduler_.state();
  const auto [seconds, copying, fails] = times_.next(job, p, task, node);
  const StartedTask begun = started_task(started, seconds, copying, fails);
  if (std::isnan(start[job])) start[job] = state.now;
  const std::int64_t running = state.phases[2 * job].running + state.phases[2 * job + 1].running;
  most_slots[job] = std::max(most_slots[job], running);
  if (clocks_.used()) clocks_.touch(begun.phase, state.now);
  Index& last = groups_.last(begun.phase, begun.type);
  if (!joins(begun, last)) last = make_group(begun);
  groups_.add(last, node, task);
  if (options_.backups) groups_[last].attempt = ++attempts_;
  record(kStarted, begun.phase, task, node, groups_[last].attempt);
  parked_ += begun.parks;
}

// Lets a node report again, if it does not and could start a task.
void ClusterSimulation::schedule_heartbeat(Index node) {
  if (heartbeats_.beating(node) || !up_[node] || !Heartbeats::wanted(scheduler_, node)) return;
  push(heartbeats_.begin(node, state().now), Kind::kHeartbeat, node);
}

// A node reports and is offered tasks for its free slots.
void ClusterSimulation::heartbeat(Index node) {
  heartbeats_.stop(node);
  if (!up_[node]) return;
  ++totals_.events;
  const bool gathered = scheduler_.gathers();
  bool taken = false;
  for (int pool = 0; pool < 2; ++pool) {
    starts_.clear();
    taken |= scheduler_.offer(node, pool, starts_);
    begin(starts_);
  }
  heartbeats_.reported(taken || scheduler_.gathers() != gathered, state().now);
  if (!Heartbeats::wanted(scheduler_, node) || heartbeats_.hopeless()) return;
  const double next =
      heartbeats_.go_on(node, state().now, options_.delay, scheduler_.reconsiders());
  push(next, Kind::kHeartbeat, node);
}

// Ends the read of a block, whose task begins to work.
void ClusterSimulation::end_read() {
  const Index group = reads_.end_next();
  TaskGroup& g = groups_[group];
  const double now = state().now;
  g.reads = false;
  g.finish = now + g.restart + g.seconds;
  g.seconds += now - g.start;
  schedule(group);
}

// The group's reduce tasks hold their slots until all maps have ended.
void ClusterSimulation::park(Index group) {
  groups_[group].parked = true;
  jobs_[groups_[group].phase / 2].parked.push_back(group);
}

// Starts a group whose maps are done.
void ClusterSimulation::unpark(Index group) {
  TaskGroup& g = groups_[group];
  parked_ -= static_cast<std::int64_t>(g.count);
  g.parked = false;
  const Index job = g.phase / 2;
  const double wait = outputs_.wait(job, g.start, outputs_.copied(job));
  g.finish = std::max(state().now, g.start + wait + g.restart + g.seconds);
  schedule(group);
}

// Drops a group without tasks.
void ClusterSimulation::drop_group(Index group) {
  TaskGroup& g = groups_[group];
  if (std::exchange(g.reads, false)) reads_.stop(group);
  g.parked = false;
  groups_.release(group);
}

// Begins copying outside of slots.
void ClusterSimulation::begin_copying(Index job) {
  jobs_[job].copies = true;
  outputs_.copied_not_before(job, state().now + outputs_.shuffle(job));
}

}  // namespace malleable
