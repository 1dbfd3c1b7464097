#include "malleable/policy/adaptive_epoch.hpp"

namespace malleable {

AdaptiveEpoch::AdaptiveEpoch(Adaptive scheduler, std::vector<std::int64_t> node_slots, bool generic)
    : scheduler_(std::move(scheduler)), node_slots_(std::move(node_slots)), generic_(generic) {}

void AdaptiveEpoch::tell(Index job, int pool, double now) {
  const Counts& own = jobs_[job];
  std::int64_t waiting = own.waiting[pool], running = own.running[pool];
  if (generic_) {
    waiting += own.waiting[1];
    running += own.running[1];
  }
  scheduler_.set_counts(job, pool, waiting, running, now);
}

Index AdaptiveEpoch::add(Index job_class, Index user, double now, const std::int64_t (&tasks)[2],
                         std::span<const double> seconds) {
  const Index job = scheduler_.add_job(job_class, user, now, tasks, seconds);
  jobs_.emplace_back();
  blocks_.grow(jobs_.size());
  for (const Phase p : {kMap, kReduce}) jobs_[job].total[p] = tasks[p];
  set_waiting(job, kMap, tasks[kMap], now);
  if (tasks[kMap] == 0) set_waiting(job, kReduce, tasks[kReduce], now);
  return job;
}

void AdaptiveEpoch::set_blocks(Index job, std::size_t copies, std::span<const Index> node) {
  blocks_.add(job, static_cast<std::size_t>(jobs_[job].total[kMap]), copies, node);
}

void AdaptiveEpoch::set_waiting(Index job, Phase p, std::int64_t tasks, double now) {
  jobs_[job].waiting[p] = tasks;
  tell(job, pool_of(p), now);
}

void AdaptiveEpoch::finish(Index job, Phase p, Index node, Index task, double seconds, bool done,
                           double now) {
  Counts& own = jobs_[job];
  --own.running[p];
  if (done) {
    ++own.finished[p];
    scheduler_.task_finished(job, p, node, seconds);
    const bool mapped = p == kMap && own.finished[kMap] == own.total[kMap];
    const std::int64_t left = own.total[kReduce] - own.running[kReduce] - own.finished[kReduce];
    if (mapped) set_waiting(job, kReduce, left, now);
  } else {
    ++own.waiting[p];
    if (p == kMap && blocks_.has_blocks(job)) blocks_.put_back(job, task);
  }
  tell(job, pool_of(p), now);
}

void AdaptiveEpoch::remove(Index job) {
  scheduler_.remove_job(job);
  jobs_[job] = {};
  blocks_.remove(job);
}

bool AdaptiveEpoch::offer(Index node, int pool, double now, TaskStarts& starts) {
  const Index job = scheduler_.choose(node, pool, now, &blocks_);
  if (job == Adaptive::kNobody) return false;
  Counts& own = jobs_[job];
  Phase p = static_cast<Phase>(pool);
  if (generic_ && own.waiting[kMap] == 0) p = kReduce;
  std::int64_t number = -1;
  if (p == kMap && blocks_.has_blocks(job)) {
    Index task = blocks_.find(job, node);
    if (task == LocalTasks::kNone) task = blocks_.first(job);
    blocks_.take(job, task);
    number = task;
  }
  scheduler_.started(job, pool, now);
  --own.waiting[p];
  ++own.running[p];
  tell(job, pool, now);
  starts.job.push_back(job);
  starts.phase.push_back(p);
  starts.task.push_back(number);
  starts.node.push_back(node);
  return true;
}

void AdaptiveEpoch::decide(double now, const std::span<const std::int64_t> (&free)[2],
                           TaskStarts& starts) {
  for (auto* column : {&starts.job, &starts.phase, &starts.task, &starts.node}) column->clear();
  for (int pool = 0; pool < (generic_ ? 1 : 2); ++pool) {
    left_.assign(free[pool].begin(), free[pool].end());
    by_resource_.assign(scheduler_.resources(), 0);
    for (Index n = 0; n < left_.size(); ++n) by_resource_[scheduler_.resource_of(n)] += left_[n];
    for (Index r = 0; r < by_resource_.size(); ++r) {
      scheduler_.set_free(r, pool, by_resource_[r]);
    }
    for (bool any = true; any;) {
      any = false;
      for (Index n = 0; n < left_.size(); ++n) {
        if (left_[n] == 0) continue;
        if (!offer(n, pool, now, starts)) {
          left_[n] = 0;  // refused once, refused again
          continue;
        }
        any = true;
        --left_[n];
        const Index r = scheduler_.resource_of(n);
        scheduler_.set_free(r, pool, --by_resource_[r]);
      }
    }
  }
}

}  // namespace malleable
