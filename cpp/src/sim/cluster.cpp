// The loop of the cluster simulation: time goes from event to event; at each, ends are handled
// first, then arrivals, the decision, and starts of tasks. A pool is the slots of one kind (0:
// maps, 1: reduces; generic slots: all in pool 0). Parked reduce tasks hold slots and wait for
// maps; lent slots run backup tasks, which the scheduler does not count. A group is running tasks
// of one phase that started together and end together; its end is an event, or in clocks_ if tasks
// slow each other down.
#include "malleable/sim/cluster.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/fetch.hpp"

namespace malleable {
namespace {

SchedulerOptions scheduler_options(const ClusterOptions& options) {
  SchedulerOptions own = options;
  own.offered = options.heartbeat > 0.0;  // free slots are used when their nodes report
  return own;
}

std::size_t types_of(const ClusterView& cluster) {
  std::int64_t most = 0;
  for (const std::int64_t type : cluster.type) most = std::max(most, type);
  return static_cast<std::size_t>(most) + 1;
}

// The estimated seconds of tasks that policies see at first: the given estimates, if
// there are any; with `learn` 0, which means unknown; otherwise the true means, or the prior for
// phases without tasks.
std::vector<double> believed(const ClusterJobsView& jobs, const ClusterOptions& options,
                             std::span<const double> estimate) {
  if (!estimate.empty()) return {estimate.begin(), estimate.end()};
  std::vector<double> seconds(2 * jobs.size(), options.learn ? 0.0 : options.prior);
  for (std::size_t job = 0; !options.learn && job < jobs.size(); ++job) {
    for (const Phase p : {kMap, kReduce}) {
      const std::int64_t tasks = jobs.tasks[p][job];
      if (tasks == 0) continue;
      double& own = seconds[2 * job + p];
      own = jobs.work_of(p, job) / static_cast<double>(tasks);
      const bool copies = p == kReduce && !options.split_copy && !jobs.shuffle.empty();
      if (copies) own += jobs.shuffle[job];
    }
  }
  return seconds;
}

}  // namespace

ClusterSimulation::ClusterSimulation(const ClusterView& cluster, const ClusterJobsView& jobs,
                                     const ClusterOptions& options, const ClusterChanges& changes,
                                     std::span<const double> estimate, ClusterPolicy& policy)
    : came(jobs.size(), kNan),
      start(jobs.size(), kNan),
      map_completion(jobs.size(), kNan),
      completion(jobs.size(), kNan),
      most_slots(jobs.size(), 0),
      options_(options),
      changes_(changes),
      arrivals_(jobs),
      scheduler_(cluster, jobs, arrivals_.ranks(), believed(jobs, options, estimate),
                 scheduler_options(options), policy),
      times_(cluster, jobs, options),
      groups_(jobs.size(), types_of(cluster)),
      clocks_(cluster, jobs, options),
      outputs_(jobs, options.lose_output && !changes.time.empty()),
      reads_(cluster),
      moves_(reads_.limited() && options.replicas > 0 && !jobs.block.empty()),
      heartbeats_(options.heartbeat, cluster.size()),
      users_(jobs),
      jobs_(jobs.size()),
      up_(cluster.size(), 1) {
  scheduler_.watch_shortage();
  for (std::size_t k = 0; k < changes.time.size(); ++k) {
    push(changes.time[k], Kind::kNode, static_cast<Index>(k));
  }
}

ClusterSimulation::Event ClusterSimulation::pop() {
  const Event event = events_.pop();
  // Prefetch the group that ends next, because it is far away in memory.
  if (!events_.empty() && events_.front().kind() == Kind::kFinish) {
    fetch(&groups_[events_.front().what]);
  }
  return event;
}

// Writes a row of the trace; `phase` is 2 * job + (0: map, 1: reduce).
void ClusterSimulation::write(std::uint8_t kind, Index phase, Index task, Index node,
                              Index attempt) {
  trace_time.push_back(state().now);
  trace_kind.push_back(kind);
  trace_phase.push_back(phase % 2);
  trace_job.push_back(phase / 2);
  trace_task.push_back(task);
  trace_node.push_back(node);
  trace_attempt.push_back(attempt);
}

// Moves the clock, and adds all measures that are integrals over time.
void ClusterSimulation::integrate(double until) {
  const ClusterState& state = scheduler_.state();
  const double step = until - state.now;
  if (step <= 0.0) return;
  totals_.wasted += step * static_cast<double>(in_vain_);
  totals_.jobs_seconds += step * static_cast<double>(state.present.size());
  for (int pool = 0; pool < 2; ++pool) {
    totals_.busy[pool] += step * static_cast<double>(scheduler_.running(pool) + lent_[pool]);
    totals_.offered[pool] += step * static_cast<double>(state.slots[pool]);
    totals_.lost[pool] += step * scheduler_.shortage(pool);
    // free, or held for a gang, while tasks are ready
    totals_.idle[pool] +=
        step * static_cast<double>(
                   std::min(state.free[pool] + scheduler_.held(pool), scheduler_.ready(pool)));
  }
  totals_.dissatisfaction += step * users_.dissatisfaction();
  totals_.fairness += step * users_.unfairness();
  totals_.now = until;
  scheduler_.set_now(until);
}

double ClusterSimulation::next_event() const {
  double next = events_.empty() ? kInfinity : events_.front().time();
  next =
      std::min({next, arrivals_.next_time(), clocks_.next_end(), next_search_, reads_.next_end()});
  // If no slot is free, or ever will be, long waits do not matter.
  if (next == kInfinity && state().free[0] + state().free[1] == 0) return kInfinity;
  return std::min(next, scheduler_.next_timer());
}

// Handles all ends now, and nodes that leave or return; true if there was any.
bool ClusterSimulation::end_tasks_and_reads() {
  const double now = state().now;
  bool any = false;
  while (clocks_.next_end() == now) {
    clocks_.end_next(now, [&](Index group) { finish(group); });
    any = true;
  }
  for (;;) {
    const bool more = !events_.empty() && events_.front().time() == now &&
                      events_.front().kind() != Kind::kHeartbeat;
    const bool moved = reads_.next_end() <= now;
    // Reads end after tasks end and reduces become ready, and before nodes come or go.
    if (moved && (!more || events_.front().kind() > Kind::kReady)) {
      end_read();
      any = true;
      continue;
    }
    if (!more) return any;
    any = true;
    const Event event = pop();
    switch (event.kind()) {
      case Kind::kFinish:
        finish(event.what);
        break;
      case Kind::kReady:
        // Unless maps run again now.
        if (outputs_.copied(event.what) <= now && phase(2 * event.what).unfinished() == 0) {
          scheduler_.make_ready(event.what, kReduce);
        }
        break;
      case Kind::kNode:
        change_node(event.what);
        break;
      default:
        break;
    }
  }
}

void ClusterSimulation::admit_arrivals() {
  const double now = state().now;
  while (arrivals_.any(now)) {
    const Index job = arrivals_.next(now);
    if (job != kNone) arrive(job);
  }
}

// Lets all nodes that report now ask for tasks.
void ClusterSimulation::take_heartbeats(bool news, bool happened) {
  const bool gave_up = (news || happened) && heartbeats_.note_event();
  if (news || gave_up) {  // new tasks can start: idle nodes report
    for (Index node = 0; node < up_.size(); ++node) schedule_heartbeat(node);
  }
  while (!events_.empty() && events_.front().time() == state().now &&
         events_.front().kind() == Kind::kHeartbeat) {
    heartbeat(pop().what);
  }
}

// Starts tasks in free slots; `happened`: there was an event or a decision.
void ClusterSimulation::give_slots(bool happened) {
  const bool news = scheduler_.take_news();
  for (int pool = 0; pool < 2; ++pool) {
    take_back_reduces(pool);
    if (options_.backups) end_backups(pool);
  }
  if (heartbeats_.used()) {
    take_heartbeats(news, happened);
  } else {
    for (int pool = 0; pool < 2; ++pool) {
      do {
        starts_.clear();
        scheduler_.assign(pool, starts_);
        begin(starts_);
      } while (take_back_reduces(pool));
    }
  }
  if (state().cluster.generic && parked_ > 0 && parked_ == scheduler_.running(0) && stuck()) {
    make_room();
  }
  if (options_.backups) begin_backups();
  start_early_reduces();
}

void ClusterSimulation::advance(double until) {
  const auto idle = [&] { return state().present.empty() && arrivals_.all_came(); };
  while (!idle()) {  // without jobs, nodes may still come and go
    const double event = next_event();
    const double next = std::min(event, scheduler_.due([event] { return event; }));
    if (next > until || next == kInfinity) break;
    integrate(next);
    bool happened = scheduler_.next_timer() == next;
    happened |= end_tasks_and_reads();
    scheduler_.expire();
    admit_arrivals();
    const bool decides = scheduler_.due([this] { return next_event(); }) == next;
    if (decides) scheduler_.decide(latency);
    happened |= decides;
    give_slots(happened);
    scheduler_.take_news();
    if (clocks_.used()) clocks_.settle(state());
    if (reads_.stale()) reads_.settle(state().now);
    if (users_.used()) users_.measure(scheduler_);
  }
  if (until < kInfinity && !idle()) integrate(until);
  totals_.decisions = scheduler_.decisions();
  totals_.moved = scheduler_.moved();
}

}  // namespace malleable
