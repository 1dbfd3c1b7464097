// Calls of an engine: each checks its arguments, moves the clock, and changes the core (the
// scheduler without ids and checks). A job has a row as long as its flow (jobs that wait for each
// other) is there; ids are never used twice. A job is *here* once no job is missing for which it
// waits, and *gone* when it has left.
#include "malleable/scheduler/scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/scheduler/scheduler_checks.hpp"

namespace malleable {
namespace {

ClusterTable table_of(std::span<const Scheduler::Person> users) {
  ClusterTable table;
  for (const Scheduler::Person& user : users) {
    table.user_minimum.push_back(user.minimum);
    table.user_priority.push_back(user.priority);
  }
  return table;
}

}  // namespace

ClusterJobsView ClusterTable::view() const {
  ClusterJobsView view;
  each([](const ClusterColumn&, const auto& own, auto& seen) { seen = own; }, *this, view);
  view.id = id;
  return view;
}

void ClusterTable::resize(std::size_t rows) {
  each(
      [&](const ClusterColumn& column, auto& own) {
        if (column.read_by == ClusterColumn::ReadBy::kEverywhere) own.resize(rows);
      },
      *this);
  id.resize(rows);
}

void ClusterTable::state(State& s) {
  each([&](const ClusterColumn&, auto& own) { s(own); }, *this);
  s(id);
}

Scheduler::Scheduler(ClusterNodes nodes, std::span<const Person> users,
                     const SchedulerOptions& options, ClusterPolicy& policy)
    : nodes_(std::move(nodes)),
      table_(table_of(users)),
      core_(nodes_.view(), table_.view(), {}, {}, options, policy) {}

// The row of a job that has not left; kNone if there is none.
Index Scheduler::row_of(std::int64_t id) const {
  const Index row = JobIds::row_of(id);
  const bool known = id >= 0 && row < ids_.rows() && ids_.has(row) && ids_.id_of(row) == id;
  return known && !jobs_[row].gone ? row : kNone;
}

// Whether the id has ever been given to a job.
bool Scheduler::was_known(std::int64_t id) const {
  const Index row = JobIds::row_of(id);
  return id >= 0 && row < ids_.rows() && id <= ids_.id_of(row) &&
         (id < ids_.id_of(row) || ids_.has(row));
}

std::span<const Index> Scheduler::rows_of(std::span<const std::int64_t> ids) {
  return named_.of(ids, ids_.rows(), [this](std::int64_t id) { return row_of(id); });
}

void Scheduler::advance(double now) {
  core_.set_now(std::max(now, this->now()));
  core_.expire();
}

// An unused number for a flow.
Index Scheduler::new_flow() {
  if (free_flows_.empty()) {
    flows_.emplace_back();
    return static_cast<Index>(flows_.size() - 1);
  }
  const Index flow = free_flows_.back();
  free_flows_.pop_back();
  return flow;
}

// Makes rows for `count` jobs: row numbers in fresh_, ids in added_.
void Scheduler::make_rows(std::size_t count) {
  fresh_.clear();
  added_.clear();
  for (std::size_t k = 0; k < count; ++k) fresh_.push_back(ids_.add());
  const std::size_t rows = ids_.rows();
  table_.resize(rows);
  jobs_.resize(rows);
  decided_.resize(rows);
  was_listed_.resize(rows);
  for (const Index row : fresh_) {
    added_.push_back(table_.id[row] = ids_.id_of(row));
    jobs_[row] = Job{};
    decided_[row].row = Row{};
    was_listed_[row] = 0;
  }
}

void Scheduler::fill_rows(const Additions& jobs) {
  ClusterTable::each(
      [&]<typename T>(const ClusterColumn& column, std::vector<T>& own, std::span<const T> given) {
        if (column.read_by != ClusterColumn::ReadBy::kEverywhere) return;
        for (std::size_t k = 0; k < fresh_.size(); ++k) {
          own[fresh_[k]] = given.empty() ? static_cast<T>(column.fallback) : given[k];
        }
      },
      table_, static_cast<const ClusterJobsView&>(jobs));
  fill_node_rates(jobs.node_rates);
}

// The column exists from the first job with node_rates on.
void Scheduler::fill_node_rates(std::span<const double> given) {
  if (given.empty() && table_.node_rates.empty()) return;
  const std::size_t width = 2 * nodes_.view().types();
  table_.node_rates.resize(width * ids_.rows(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = 0; k < fresh_.size(); ++k) {
    for (std::size_t at = 0; at < width; ++at) {
      table_.node_rates[width * fresh_[k] + at] =
          given.empty() ? std::numeric_limits<double>::quiet_NaN() : given[width * k + at];
    }
  }
}

std::span<const std::int64_t> Scheduler::add(const Additions& jobs, double now) {
  const std::size_t count = jobs.arrival.size();
  check_time("now", now);
  check(jobs);
  if (count > kNone - next_rank_) throw std::length_error("more than 4 billion jobs");

  add_users(jobs.new_users);
  make_rows(count);
  fill_rows(jobs);
  std::vector<Index> rank(count), number(count, kNone);
  std::vector<double> believed(2 * count);
  std::vector<std::vector<Index>> parents(count);
  for (std::size_t k = 0; k < count; ++k) {
    const Index row = fresh_[k];
    rank[k] = next_rank_++;
    table_.arrival[row] = std::min(jobs.arrival[k], std::max(now, this->now()));
    Index& flow = number[static_cast<std::size_t>(jobs.flow[k])];
    if (flow == kNone) flow = new_flow();
    table_.flow[row] = flow;
    flows_[flow].rows.push_back(row);
    ++flows_[flow].left;
    for (const Phase p : {kMap, kReduce}) believed[2 * k + p] = jobs.seconds[p][k];
    const auto wait = [&](Index parent) {
      jobs_[parent].children.push_back(row);
      ++jobs_[row].missing;
    };
    for (std::int64_t a = jobs.after_offset[k]; a < jobs.after_offset[k + 1]; ++a) {
      const auto other = static_cast<std::size_t>(jobs.after[static_cast<std::size_t>(a)]);
      parents[k].push_back(fresh_[other]);
      wait(fresh_[other]);
    }
    if (jobs.parents_offset.empty()) continue;
    for (std::int64_t a = jobs.parents_offset[k]; a < jobs.parents_offset[k + 1]; ++a) {
      const Index parent = row_of(jobs.parents[static_cast<std::size_t>(a)]);
      if (parent != kNone) wait(parent);
    }
  }
  live_ += count;
  core_.add(fresh_, nodes_.view(), table_.view(), rank, believed, parents);
  advance(now);
  for (std::size_t k = 0; k < count; ++k) {
    if (jobs_[fresh_[k]].missing == 0) enter(fresh_[k]);
  }
  return added_;
}

void Scheduler::add_users(std::span<const Person> people) {
  for (const Person& user : people) {
    table_.user_minimum.push_back(user.minimum);
    table_.user_priority.push_back(user.priority);
  }
}

// The job waits for no other one any more: its maps are ready.
void Scheduler::enter(Index row) {
  jobs_[row].here = true;
  for (double& since : jobs_[row].since) since = now();
  core_.announce(row);
  core_.arrive(row);
}

void Scheduler::set_blocks(std::int64_t id, std::size_t copies,
                           std::span<const std::int64_t> node) {
  const Index row = rows_of({&id, 1})[0];
  if (core_.options().replicas == 0)
    throw std::invalid_argument("replicas = 0: tasks have no place");
  const auto nodes = static_cast<std::int64_t>(nodes_.rate.size());
  check_whole("nodes", node, 0, nodes - 1);
  const PhaseState& maps = core_.state().phase(row, kMap);
  const auto tasks = static_cast<std::size_t>(table_.tasks[kMap][row]);
  if (copies == 0 || node.size() != tasks * copies) {
    throw std::invalid_argument("nodes has " + std::to_string(node.size()) +
                                " entries, expected copies of " + std::to_string(tasks) +
                                " blocks");
  }
  if (maps.running + maps.finished > 0) {
    throw std::invalid_argument("nodes: map tasks of the job have started");
  }
  core_.set_blocks(row, copies, std::vector<Index>(node.begin(), node.end()));
}

void Scheduler::place(std::int64_t id, std::size_t copies, std::span<Index> node) {
  const Index row = rows_of({&id, 1})[0];
  if (copies == 0 || copies > nodes_.rate.size() || node.size() % copies != 0) {
    throw std::invalid_argument("copies = " + std::to_string(copies) + ": must be from 1 to " +
                                std::to_string(nodes_.rate.size()));
  }
  if (!jobs_[row].here) throw std::invalid_argument("ids: the job waits for others");
  for (std::size_t at = 0; at < node.size(); at += copies) {
    if (core_.place(row, static_cast<Index>(at / copies), node.subspan(at, copies))) continue;
    throw std::invalid_argument("the policy has no wish where blocks are");
  }
}

// Applies an event about tasks row by row; returns how many tasks were ignored.
template <typename Apply>
std::int64_t Scheduler::each(const Tasks& tasks, double now, const Apply& apply) {
  check_time("now", now);
  check(tasks);
  advance(now);
  std::int64_t ignored = 0;
  const std::size_t n = tasks.ids.size();
  for (std::size_t k = 0; k < n; ++k) {
    // Prefetches, because jobs are scattered in memory.
    const auto job_at = [&](std::size_t then) {
      const Index row = then < n ? JobIds::row_of(tasks.ids[then]) : kNone;
      return row < ids_.rows() ? row : kNone;
    };
    const std::size_t soon = k + kFetchAhead, later = soon + kFetchAhead;
    if (const Index job = job_at(later); job != kNone) {
      core_.fetch_phase(job, static_cast<Phase>(tasks.phase[later]));
    }
    if (const Index job = job_at(soon); job != kNone) {
      core_.fetch_rest(job, static_cast<Phase>(tasks.phase[soon]));
    }
    const Index row = row_of(tasks.ids[k]);
    const std::int64_t count = tasks.count.empty() ? 1 : tasks.count[k];
    ignored += row == kNone ? count : apply(row, static_cast<Phase>(tasks.phase[k]), count, k);
  }
  return ignored;
}

// `count` tasks have started, even if they were not ready; returns how many of them do not exist.
std::int64_t Scheduler::begin(Index row, Phase p, std::int64_t count) {
  if (!jobs_[row].here) enter(row);
  const PhaseState& s = core_.state().phase(row, p);
  if (count > 0 && s.waiting > 0) core_.make_ready(row, p);
  const std::int64_t begun = std::min(count, s.waiting);
  if (begun > 0) core_.started(row, p, begun);
  return count - begun;
}

std::int64_t Scheduler::started(const Tasks& tasks, double now) {
  return each(tasks, now, [&](Index row, Phase p, std::int64_t count, std::size_t) {
    return begin(row, p, count);
  });
}

std::int64_t Scheduler::ended(const Tasks& tasks, double now) {
  return each(tasks, now, [&](Index row, Phase p, std::int64_t count, std::size_t k) {
    const std::int64_t running = core_.state().phase(row, p).running;
    const std::int64_t ignored = begin(row, p, std::max<std::int64_t>(0, count - running));
    if (count == ignored) return ignored;
    const double seconds =
        tasks.seconds.empty() ? std::numeric_limits<double>::quiet_NaN() : tasks.seconds[k];
    const bool known = !tasks.node.empty() && tasks.node[k] >= 0;
    ended_on_.assign(known ? static_cast<std::size_t>(count - ignored) : 0,
                     known ? static_cast<Index>(tasks.node[k]) : 0);
    if (p == kReduce && !tasks.copying.empty() && !std::isnan(tasks.copying[k])) {
      core_.copied(row, tasks.copying[k]);
    }
    core_.ended(row, p, count - ignored, seconds, ended_on_);
    return ignored;
  });
}

std::int64_t Scheduler::failed(const Tasks& tasks, double now) {
  return each(tasks, now, [&](Index row, Phase p, std::int64_t count, std::size_t k) {
    const std::int64_t running = core_.state().phase(row, p).running;
    const std::int64_t back = std::min(count, running);
    if (back == 0) return count;
    put_back(row, p, tasks, k);
    core_.returned(row, p, back);
    return count - back;
  });
}

std::int64_t Scheduler::lost(const Tasks& tasks, double now) {
  check_whole("phase", tasks.phase, 0, 0);
  return each(tasks, now, [&](Index row, Phase p, std::int64_t count, std::size_t k) {
    const std::int64_t gone = std::min(count, core_.state().phase(row, p).finished);
    if (gone == 0) return count;
    put_back(row, p, tasks, k);
    core_.lost(row, gone);
    return count - gone;
  });
}

// A task with blocks that is named will run again.
void Scheduler::put_back(Index row, Phase p, const Tasks& tasks, std::size_t k) {
  const bool named = !tasks.task.empty() && tasks.task[k] >= 0 && p == kMap;
  if (named && core_.state().blocks.has_blocks(row) && tasks.task[k] < table_.tasks[p][row]) {
    core_.put_back(row, p, static_cast<Index>(tasks.task[k]));
  }
}

void Scheduler::ready(std::span<const std::int64_t> ids, std::span<const std::int64_t> phase,
                      double now) {
  each({ids, phase}, now, [&](Index row, Phase p, std::int64_t, std::size_t) {
    if (!jobs_[row].here) enter(row);
    core_.stated_ready(row, p);
    return std::int64_t{0};
  });
}

// Estimates the seconds of tasks from slot-seconds seen: running tasks are half done on average.
// Reduce tasks that wait for maps do no work.
void Scheduler::learn(Index row, Phase p, double running, double now) {
  Job& job = jobs_[row];
  const bool waits = p == kReduce && core_.state().phase(row, kMap).unfinished() > 0;
  if (!waits) job.busy[p] += running * std::max(0.0, now - job.since[p]);
  job.since[p] = now;
}

namespace {

// The mean seconds of a task: as reported, or from the busy slot-seconds while tasks ended.
double mean_seconds(const Scheduler::Counts& counts, Phase p, std::size_t k, double busy,
                    double ended) {
  if (!counts.seconds[p].empty() && !std::isnan(counts.seconds[p][k])) return counts.seconds[p][k];
  if (!counts.elapsed[p].empty()) return (busy - counts.elapsed[p][k]) / ended;
  return busy / (ended + 0.5 * static_cast<double>(counts.running[p][k]));
}

}  // namespace

// Takes over counts of tasks as an engine reports them now and then.
void Scheduler::observe(const Counts& counts, double now) {
  check_time("now", now);
  const auto rows = rows_of(counts.ids);
  check(counts);
  advance(now);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Index row = rows[k];
    if (!jobs_[row].here) enter(row);
    for (const Phase p : {kMap, kReduce}) {
      const PhaseState& s = core_.state().phase(row, p);
      const std::int64_t done = counts.done[p][k] + counts.failed[p][k];
      const std::int64_t running = counts.running[p][k];
      const bool timed = s.timed > 0;
      const std::int64_t more = done - s.finished;
      const auto before = static_cast<double>(s.running), after = static_cast<double>(running);
      const bool known = !counts.elapsed[p].empty();
      Job& job = jobs_[row];
      if (known && job.unseen[p] < 0) {
        job.unseen[p] = done;
        job.busy[p] = counts.elapsed[p][k];
        job.since[p] = this->now();
      } else {
        // Tasks began and ended in between, as many before as after the middle.
        learn(row, p, known ? 0.5 * (before + after) : before, this->now());
      }
      core_.set_counts(row, p, counts.pending[p][k], running, done);
      table_.tasks[p][row] = s.total;
      if (known) core_.set_running_seconds(row, p, counts.elapsed[p][k]);
      const std::int64_t seen = known ? done - job.unseen[p] : done;
      const double seconds = mean_seconds(counts, p, k, job.busy[p], static_cast<double>(seen));
      if (core_.options().learn && !timed && more > 0 && seen > 0 && seconds > 0.0) {
        core_.set_ended(row, p, seen, seconds);
      }
    }
  }
}

void Scheduler::update(std::span<const std::int64_t> ids, const Changes& changes, double now) {
  check_time("now", now);
  const auto rows = rows_of(ids);
  check(changes, rows);
  if (!changes.new_users.empty()) {
    add_users(changes.new_users);
    core_.add({}, nodes_.view(), table_.view(), {}, {}, {});
  }
  advance(now);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Index row = rows[k];
    if (!changes.weight.empty()) table_.weight[row] = changes.weight[k];
    if (!changes.deadline.empty()) table_.deadline[row] = changes.deadline[k];
    if (!changes.restart.empty()) table_.restart[row] = changes.restart[k];
    for (const Phase p : {kMap, kReduce}) {
      if (!changes.min_slots[p].empty()) table_.min_slots[p][row] = changes.min_slots[p][k];
      if (!changes.seconds[p].empty()) core_.set_estimate(row, p, changes.seconds[p][k]);
      if (jobs_[row].here) core_.mark(row, p);
    }
    if (!changes.user.empty()) set_user(row, changes.user[k]);
    if (changes.max_slots.empty()) continue;
    table_.max_slots[row] = changes.max_slots[k];
    if (!jobs_[row].here) continue;
    for (const Phase p : {kMap, kReduce}) core_.refresh(row, core_.pool_of(p));
  }
}

void Scheduler::set_user(Index row, std::int64_t user) {
  const auto before = static_cast<std::size_t>(std::exchange(table_.user[row], user));
  if (before != static_cast<std::size_t>(user)) core_.user_changed(row, before);
}

void Scheduler::set_users(std::span<const std::int64_t> users, std::span<const Person> people,
                          double now) {
  check_time("now", now);
  check_length("users", users.size(), people.size());
  check_people("users", people);
  check_whole("users", users, 0, static_cast<std::int64_t>(this->users()) - 1);
  advance(now);
  for (std::size_t k = 0; k < users.size(); ++k) {
    table_.user_minimum[static_cast<std::size_t>(users[k])] = people[k].minimum;
    table_.user_priority[static_cast<std::size_t>(users[k])] = people[k].priority;
  }
  core_.add({}, nodes_.view(), table_.view(), {}, {}, {});
  core_.mark_all();
}

void Scheduler::set_processors(SpeedupPrior prior, double now) {
  check_time("now", now);
  advance(now);
  core_.begin_with(prior);
}

void Scheduler::set_slots(std::span<const std::int64_t> nodes, std::span<const std::int64_t> maps,
                          std::span<const std::int64_t> reduces, double now) {
  check_time("now", now);
  check_whole("nodes", nodes, 0, static_cast<std::int64_t>(nodes_.rate.size()) - 1);
  const std::span<const std::int64_t> given[2] = {maps, reduces};
  static const char* const kFields[] = {"map_slots", "reduce_slots"};
  for (int pool = 0; pool < 2; ++pool) {
    check_given(kFields[pool], given[pool], nodes.size());
    check_whole(kFields[pool], given[pool], 0, pool == 1 && nodes_.generic ? 0 : kMostOnNode);
  }
  advance(now);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const auto node = static_cast<std::size_t>(nodes[k]);
    for (int pool = 0; pool < 2; ++pool) {
      if (given[pool].empty()) continue;
      core_.add_slots(static_cast<Index>(node), pool, given[pool][k] - nodes_.slots[pool][node]);
      nodes_.slots[pool][node] = given[pool][k];
    }
  }
  core_.mark_all();
}

void Scheduler::recall(const TaskEstimates::History& history) {
  if (ids_.rows() > 0) throw std::invalid_argument("history: jobs were here");
  core_.recall(history);
}

// The job leaves; jobs that wait for it come, or leave, too.
void Scheduler::leave(Index first, bool finished) {
  leaving_.assign(1, first);
  for (std::size_t k = 0; k < leaving_.size(); ++k) {
    const Index row = leaving_[k];
    Job& job = jobs_[row];
    if (job.gone) continue;
    job.gone = true;
    --live_;
    Flow& flow = flows_[static_cast<std::size_t>(table_.flow[row])];
    if (--flow.left == 0) left_flows_.push_back(static_cast<Index>(table_.flow[row]));
    // Policies know of flows' jobs before they come.
    if (!job.here) enter(row);
    if (finished) core_.completed(row);
    core_.drop(row);
    core_.leave(row);
    for (const Index child : std::exchange(job.children, {})) {
      if (!finished) {
        leaving_.push_back(child);
      } else if (--jobs_[child].missing == 0 && !jobs_[child].here && !jobs_[child].gone) {
        enter(child);
      }
    }
  }
}

void Scheduler::finish(std::span<const std::int64_t> ids, double now) {
  check_time("now", now);
  const auto rows = rows_of(ids);
  advance(now);
  for (const Index row : rows) leave(row, /*finished=*/true);
}

void Scheduler::remove(std::span<const std::int64_t> ids, double now) {
  check_time("now", now);
  const auto rows = rows_of(ids);
  advance(now);
  for (const Index row : rows) {
    if (!jobs_[row].gone) leave(row, /*finished=*/false);
  }
}

void Scheduler::set_free(double now, const std::span<const std::int64_t> (&free)[2]) {
  check_now(now, this->now());
  static const char* const kFields[] = {"free map slots", "free reduce slots"};
  for (int pool = 0; pool < 2; ++pool) {
    if (free[pool].size() != nodes_.rate.size()) {
      throw std::invalid_argument(std::string(kFields[pool]) + ": one entry a node is needed");
    }
    check_whole(kFields[pool], free[pool], 0, pool == 1 && nodes_.generic ? 0 : kMostOnNode);
  }
  advance(now);
  for (int pool = 0; pool < 2; ++pool) core_.set_free(pool, free[pool]);
}

std::span<const std::int64_t> Scheduler::take_back(double now,
                                                   const std::span<const std::int64_t> (&free)[2]) {
  set_free(now, free);
  taken_.clear();
  for (int pool = 0; pool < 2; ++pool) {
    std::int64_t freed = 0;
    for (Index row = kNone; (row = core_.to_take_back(pool, freed)) != kNone; ++freed) {
      core_.returned(row, kReduce, 1);
      taken_.push_back(ids_.id_of(row));
    }
  }
  return taken_;
}

std::span<const Scheduler::Start> Scheduler::assign(
    double now, const std::span<const std::int64_t> (&free)[2]) {
  set_free(now, free);
  starts_.clear();
  for (int pool = 0; pool < 2; ++pool) {
    begun_.clear();
    core_.assign(pool, begun_);
    core_.start_early(pool, begun_);
    for (const auto& [row, p, task, node] : begun_) {
      const bool placed = p == kMap && state().blocks.has_blocks(row);
      starts_.push_back({ids_.id_of(row), p, placed ? static_cast<std::int64_t>(task) : -1, node});
    }
  }
  return starts_;
}

void Scheduler::state(State& s) {
  s(nodes_, table_, ids_, jobs_, flows_, free_flows_, left_flows_, live_, next_rank_);
  if (s.reading()) {
    core_.set_views(nodes_.view(), table_.view());
    for (auto& order : order_) order.clear();
    decided_.assign(ids_.rows(), {});
    was_listed_.assign(ids_.rows(), 0);
  }
  for (Decided& decided : decided_) s(decided.row.slots);
  core_.state(s);
}

}  // namespace malleable
