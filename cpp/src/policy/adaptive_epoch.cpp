#include "malleable/policy/adaptive_epoch.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/map_reduce.hpp"

namespace malleable {
namespace {

// A column that may be left out.
template <typename T>
void check_length(const char* field, std::span<const T> column, std::size_t count) {
  if (column.empty() || column.size() == count) return;
  throw std::invalid_argument(std::string(field) + " has " + std::to_string(column.size()) +
                              " entries, expected " + std::to_string(count));
}

void check_counts(const char* field, std::span<const std::int64_t> values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] >= 0 && values[k] <= kMostUnits) continue;
    throw FieldError(field, k, static_cast<long long>(values[k]), "must be from 0 to 2^40");
  }
}

}  // namespace

AdaptiveEpoch::AdaptiveEpoch(Adaptive scheduler, std::size_t nodes, bool generic)
    : scheduler_(std::move(scheduler)), nodes_(nodes), generic_(generic) {}

Index AdaptiveEpoch::row_of(const std::string& field, std::int64_t id) const {
  if (const Index row = ids_.find(id); row != kNone) return row;
  throw std::invalid_argument(field + " = " + std::to_string(id) + ": no such job");
}

void AdaptiveEpoch::tell(Index job, int pool) {
  const Counts& own = jobs_[job];
  std::int64_t waiting = own.waiting[pool], running = own.running[pool];
  if (generic_) {
    waiting += own.waiting[1];
    running += own.running[1];
  }
  scheduler_.set_counts(job, pool, waiting, running, now_);
}

void AdaptiveEpoch::set_waiting(Index job, Phase p, std::int64_t tasks) {
  jobs_[job].waiting[p] = tasks;
  tell(job, pool_of(p));
}

void AdaptiveEpoch::check_fit(const char* field, std::span<const std::int64_t> tasks,
                              Phase p) const {
  check_counts(field, tasks);
  if (scheduler_.slots(pool_of(p)) > 0) return;
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    if (tasks[k] == 0) continue;
    throw FieldError(field, k, static_cast<long long>(tasks[k]),
                     "the cluster has no slots for them");
  }
}

void AdaptiveEpoch::check_blocks(const std::string& field, const Blocks& blocks,
                                 std::int64_t tasks) const {
  if (blocks.copies == 0) throw std::invalid_argument(field + ": no copies");
  if (blocks.node.size() != blocks.copies * static_cast<std::size_t>(tasks)) {
    throw std::invalid_argument(
        field + " has " + std::to_string(blocks.node.size() / blocks.copies) +
        " rows, expected one for each of " + std::to_string(tasks) + " maps");
  }
  for (const std::int64_t node : blocks.node) {
    if (node >= 0 && node < static_cast<std::int64_t>(nodes_)) continue;
    throw std::invalid_argument(field + ": names a node that the cluster has not, " +
                                std::to_string(node));
  }
}

void AdaptiveEpoch::put_blocks(Index job, const Blocks& blocks) {
  const std::vector<Index> node(blocks.node.begin(), blocks.node.end());
  blocks_.add(job, static_cast<std::size_t>(jobs_[job].total[kMap]), blocks.copies, node);
}

void AdaptiveEpoch::check_additions(const Additions& jobs) const {
  const std::size_t count = jobs.arrival.size();
  for (const auto size : {jobs.job_class.size(), jobs.user.size(), jobs.maps.size(),
                          jobs.reduces.size(), jobs.map_seconds.size(), jobs.reduce_seconds.size(),
                          jobs.block.size(), jobs.blocks.empty() ? count : jobs.blocks.size()}) {
    if (size != count) throw std::invalid_argument("jobs: one entry a job in every column");
  }
  check_times("arrival", jobs.arrival);
  check_fit("maps", jobs.maps, kMap);
  check_fit("reduces", jobs.reduces, kReduce);
  check_amounts("map_seconds", jobs.map_seconds, kLeftRange);
  check_amounts("reduce_seconds", jobs.reduce_seconds, kLeftRange);
  check_amounts("block", jobs.block, kBytesRange);
  if (!jobs.rates.empty()) check_length("rates", jobs.rates, 2 * count * scheduler_.resources());
  check_amounts("rates", jobs.rates, kRateRange);
  for (std::size_t k = 0; k < jobs.blocks.size(); ++k) {
    if (jobs.blocks[k].copies == 0) continue;
    check_blocks("blocks[" + std::to_string(k) + "]", jobs.blocks[k], jobs.maps[k]);
  }
}

// What the scheduler learns of jobs that come; its matcher may throw.
void AdaptiveEpoch::come(const Additions& jobs) {
  const std::size_t types = scheduler_.resources();
  for (const Person& user : jobs.new_users) scheduler_.add_user(user.minimum, user.priority);
  for (std::size_t c = 0; c < jobs.new_classes; ++c) scheduler_.add_class();
  std::vector<double> seconds(2 * types);
  double now = now_;
  for (std::size_t k = 0; k < jobs.maps.size(); ++k) {
    now = std::max(now, jobs.arrival[k]);
    for (Index g = 0; g < types; ++g) {
      const AdaptiveResource& resource = scheduler_.resource(g);
      const auto rate = [&](Phase p) {
        return jobs.rates.empty() ? resource.rate : jobs.rates[(2 * k + p) * types + g];
      };
      seconds[g] = jobs.map_seconds[k] / rate(kMap) + jobs.block[k] / resource.storage;
      seconds[types + g] = jobs.reduce_seconds[k] / rate(kReduce);
    }
    scheduler_.arrived(static_cast<Index>(jobs.job_class[k]), static_cast<Index>(jobs.user[k]), now,
                       {jobs.maps[k], jobs.reduces[k]}, seconds);
  }
}

void AdaptiveEpoch::add(const Additions& jobs, std::span<std::int64_t> ids) {
  check_additions(jobs);
  scheduler_.together([&] { come(jobs); });
  for (std::size_t k = 0; k < ids.size(); ++k) {
    now_ = std::max(now_, jobs.arrival[k]);
    const Index job = ids_.add();
    scheduler_.add_job(job, static_cast<Index>(jobs.job_class[k]),
                       static_cast<Index>(jobs.user[k]));
    jobs_.resize(ids_.rows());
    blocks_.grow(jobs_.size());
    held_.grow(jobs_.size());
    ids[k] = ids_.id_of(job);
    Counts& own = jobs_[job] = {.total = {jobs.maps[k], jobs.reduces[k]},
                                .seconds = {jobs.map_seconds[k], jobs.reduce_seconds[k]},
                                .rates = {}};
    for (const Phase p : {kMap, kReduce}) {
      const std::size_t types = jobs.rates.empty() ? 0 : scheduler_.resources();
      const auto rates = jobs.rates.subspan((2 * k + p) * types, types);
      own.rates[p].assign(rates.begin(), rates.end());
    }
    set_waiting(job, kMap, own.total[kMap]);
    if (own.total[kMap] == 0) set_waiting(job, kReduce, own.total[kReduce]);
    if (!jobs.blocks.empty() && jobs.blocks[k].copies > 0) put_blocks(job, jobs.blocks[k]);
  }
}

void AdaptiveEpoch::set_blocks(std::int64_t id, const Blocks& blocks, const std::string& field) {
  const Index job = row_of("job_id", id);
  const Counts& own = jobs_[job];
  check_blocks(field, blocks, own.total[kMap]);
  if (own.waiting[kMap] < own.total[kMap] || blocks_.has_blocks(job)) {
    throw std::invalid_argument("job_id = " + std::to_string(id) +
                                ": has started map tasks, or blocks");
  }
  put_blocks(job, blocks);
}

void AdaptiveEpoch::check_waiting(const char* field, std::span<const Index> rows,
                                  std::span<const std::int64_t> tasks, Phase p) const {
  check_length(field, tasks, rows.size());
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    const Counts& own = jobs_[rows[k]];
    const std::int64_t most = own.total[p] - own.running[p] - own.finished[p];
    if (tasks[k] >= 0 && tasks[k] <= most) continue;
    throw FieldError(
        field, k, static_cast<long long>(tasks[k]),
        "must be from 0 to the tasks that neither run nor have ended, " + std::to_string(most));
  }
}

void AdaptiveEpoch::update(std::span<const std::int64_t> ids, const Changes& changes) {
  const std::span<const Index> rows = rows_of(ids);
  check_waiting("maps", rows, changes.maps, kMap);
  check_waiting("reduces", rows, changes.reduces, kReduce);
  check_length("map_seconds", changes.map_seconds, rows.size());
  check_length("reduce_seconds", changes.reduce_seconds, rows.size());
  check_amounts("map_seconds", changes.map_seconds, kWorkRange);
  check_amounts("reduce_seconds", changes.reduce_seconds, kWorkRange);
  const std::span<const std::int64_t> tasks[2] = {changes.maps, changes.reduces};
  const std::span<const double> seconds[2] = {changes.map_seconds, changes.reduce_seconds};
  for (const Phase p : {kMap, kReduce}) {
    for (std::size_t k = 0; k < tasks[p].size(); ++k) set_waiting(rows[k], p, tasks[p][k]);
    for (std::size_t k = 0; k < seconds[p].size(); ++k) {
      Counts& own = jobs_[rows[k]];
      if (own.total[p] > 0) {
        scheduler_.correct(rows[k], p, own.seconds[p], seconds[p][k], own.rates[p]);
      }
      own.seconds[p] = seconds[p][k];
    }
  }
}

// Tasks that wait once more must run, each named once.
void AdaptiveEpoch::check_again(const Ended& tasks) const {
  std::set<std::pair<Index, std::int64_t>> again;
  for (std::size_t k = 0; k < tasks.ids.size(); ++k) {
    const std::int64_t task = tasks.task[k];
    const Index job = ended_[k];
    if (tasks.phase[k] != kMap || !blocks_.has_blocks(job) || tasks.done[k] != 0) continue;
    const bool started =
        task >= 0 && task < jobs_[job].total[kMap] && blocks_.taken(job, static_cast<Index>(task));
    if (!started) throw FieldError("task", k, static_cast<long long>(task), "runs not");
    if (!again.insert({job, task}).second) {
      throw FieldError("task", k, static_cast<long long>(task), "named twice");
    }
  }
}

// Of no job and phase may more tasks end than run.
void AdaptiveEpoch::check_running(const Ended& tasks) {
  const auto counter = [&](std::size_t k) -> std::int64_t& {
    return ending_[2 * ended_[k] + static_cast<std::size_t>(tasks.phase[k])];
  };
  ending_.resize(2 * jobs_.size(), 0);
  std::size_t fits = 0;  // that many tasks do run
  while (fits < tasks.ids.size() &&
         counter(fits) < jobs_[ended_[fits]].running[tasks.phase[fits]]) {
    ++counter(fits++);
  }
  for (std::size_t k = 0; k < fits; ++k) counter(k) = 0;
  if (fits == tasks.ids.size()) return;
  throw FieldError("ids", fits, static_cast<long long>(tasks.ids[fits]), "runs no such task");
}

// Fills ended_.
void AdaptiveEpoch::check_ended(const Ended& tasks) {
  const std::size_t count = tasks.ids.size();
  ended_.resize(count);
  for (std::size_t k = 0; k < count; ++k) {  // several tasks of one job may end
    ended_[k] = row_of("ids[" + std::to_string(k) + "]", tasks.ids[k]);
  }
  for (const auto size :
       {tasks.phase.size(), tasks.node.size(), tasks.task.size(), tasks.seconds.size(),
        tasks.done.size(), tasks.end.empty() ? count : tasks.end.size()}) {
    if (size != count) throw std::invalid_argument("ids: one entry a task in every column");
  }
  check_times("end", tasks.end);
  check_amounts("seconds", tasks.seconds, kWorkRange);
  for (std::size_t k = 0; k < count; ++k) {
    const std::int64_t phase = tasks.phase[k];
    if (phase != kMap && phase != kReduce) {
      throw FieldError("phase", k, static_cast<long long>(phase), "must be 0 (map) or 1 (reduce)");
    }
    if (tasks.node[k] < 0 || tasks.node[k] >= static_cast<std::int64_t>(nodes_)) {
      throw FieldError("node", k, static_cast<long long>(tasks.node[k]), "no such node");
    }
  }
  check_again(tasks);
  check_running(tasks);
}

void AdaptiveEpoch::ended(const Ended& tasks) {
  check_ended(tasks);
  for (std::size_t k = 0; k < tasks.ids.size(); ++k) {
    const Index job = ended_[k];
    const auto p = static_cast<Phase>(tasks.phase[k]);
    if (!tasks.end.empty()) now_ = std::max(now_, tasks.end[k]);
    Counts& own = jobs_[job];
    --own.running[p];
    if (tasks.done[k] != 0) {
      ++own.finished[p];
      scheduler_.task_finished(job, p, static_cast<Index>(tasks.node[k]), tasks.seconds[k]);
      const bool mapped = p == kMap && own.finished[kMap] == own.total[kMap];
      const std::int64_t left = own.total[kReduce] - own.running[kReduce] - own.finished[kReduce];
      if (mapped) set_waiting(job, kReduce, left);
    } else {
      ++own.waiting[p];
      if (p == kMap && blocks_.has_blocks(job)) {
        blocks_.put_back(job, static_cast<Index>(tasks.task[k]));
      }
    }
    tell(job, pool_of(p));
  }
}

void AdaptiveEpoch::remove(std::span<const std::int64_t> ids) {
  for (const Index job : rows_of(ids)) {
    scheduler_.remove_job(job);
    jobs_[job] = {};
    blocks_.remove(job);
    held_.forget(job);
    ids_.remove(job);
  }
}

bool AdaptiveEpoch::offer(Index node, int pool, TaskStarts& starts) {
  const Index job = scheduler_.choose(node, pool, now_, &blocks_);
  if (job == kNone) return false;
  Counts& own = jobs_[job];
  Phase p = static_cast<Phase>(pool);
  if (generic_ && own.waiting[kMap] == 0) p = kReduce;
  std::int64_t number = -1;
  if (p == kMap && blocks_.has_blocks(job)) {
    Index task = blocks_.find(job, node);
    if (task == kNone) task = blocks_.first(job);
    blocks_.take(job, task);
    number = task;
  }
  scheduler_.started(job, pool, now_);
  --own.waiting[p];
  ++own.running[p];
  tell(job, pool);
  starts.job.push_back(ids_.id_of(job));
  starts.phase.push_back(p);
  starts.task.push_back(number);
  starts.node.push_back(node);
  starting_.push_back(job);
  return true;
}

// What keeps a job from running more tasks.
Bound AdaptiveEpoch::bound_of(const Counts& own, Phase p) const {
  if (own.waiting[p] > 0) return refused_[pool_of(p)] ? Bound::kRefused : Bound::kNoSlots;
  if (own.total[p] > own.running[p] + own.finished[p]) return Bound::kUnready;
  return own.running[p] > 0 ? Bound::kAll : Bound::kNothing;
}

std::span<const AdaptiveEpoch::Row> AdaptiveEpoch::decide(
    double now, const std::span<const std::int64_t> (&free)[2], TaskStarts& starts) {
  check_now(now, now_);
  for (int pool = 0; pool < (generic_ ? 1 : 2); ++pool) {
    if (free[pool].size() != nodes_) {
      throw std::invalid_argument("slots has " + std::to_string(free[pool].size()) +
                                  " entries, expected " + std::to_string(nodes_));
    }
    check_counts("slots", free[pool]);
  }
  now_ = now;
  starting_.clear();
  for (auto* column : {&starts.job, &starts.phase, &starts.task, &starts.node}) column->clear();
  for (int pool = 0; pool < (generic_ ? 1 : 2); ++pool) {
    refused_[pool] = false;
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
        if (!offer(n, pool, starts)) {
          left_[n] = 0;  // refused once, refused again
          refused_[pool] = true;
          continue;
        }
        any = true;
        --left_[n];
        const Index r = scheduler_.resource_of(n);
        scheduler_.set_free(r, pool, --by_resource_[r]);
      }
    }
  }
  rows_.clear();
  held_.begin();
  for (const Index job : starting_) {
    if (!held_.named(job)) show(job, held_.name(job, running(job)));
  }
  held_.name_rest(
      [this](Index job) { return running(job); },
      [this](Index job, const HeldSlots<2>::Slots&, bool changed) { show(job, changed); });
  return rows_;
}

HeldSlots<2>::Slots AdaptiveEpoch::running(Index job) const {
  return {jobs_[job].running[kMap], jobs_[job].running[kReduce]};
}

void AdaptiveEpoch::show(Index job, bool changed) {
  const Counts& own = jobs_[job];
  rows_.push_back({ids_.id_of(job),
                   {own.running[kMap], own.running[kReduce]},
                   changed,
                   {bound_of(own, kMap), bound_of(own, kReduce)}});
}

void AdaptiveEpoch::place(std::int64_t id, std::size_t copies, std::span<Index> node) {
  const Index job = row_of("job_id", id);
  if (copies == 0 || copies > nodes_ || node.size() % copies != 0) {
    throw std::invalid_argument("copies = " + std::to_string(copies) + ": must be from 1 to " +
                                std::to_string(nodes_));
  }
  const Index job_class = scheduler_.class_of(job);
  for (std::size_t at = 0; at < node.size(); at += copies) {
    scheduler_.place(job_class, node.subspan(at, copies));
  }
}

void AdaptiveEpoch::match(double now) {
  check_now(now, now_);
  scheduler_.match(now, true);
  now_ = now;
}

void AdaptiveEpoch::state(State& s) {
  s(scheduler_, nodes_, generic_, blocks_, jobs_, ids_, held_, now_);
}

}  // namespace malleable
