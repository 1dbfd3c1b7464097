#include "malleable/policy/backfill.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <tuple>
#include <utility>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Terms: a play is a simulated schedule of the present jobs in one order of the queue; a cell is
// nodes of the same partitions, or one node if memory or GPUs are given; a bundle is tasks that
// start together; the shadow time is the time at which a reservation begins; a place is a job's
// number in the queue.

// Another order than that of arrival must cost less by this part: plays do not know the jobs that
// come later, and these are often worse for it.
constexpr double kClearly = 0.1;
// A job goes first after it has waited this many times the time of all work that was present, on
// all slots. Smaller numbers make the longest wait shorter and, under overload, the mean response
// longer; slowdowns are small only if large jobs wait.
constexpr double kPatience = 4.0;  // and if penalties are slowdowns:
constexpr double kStretchPatience = 20.0;
constexpr double kBound = 10.0;  // s: shorter jobs count as running so long
// waiting jobs; with more, AUTO follows its queue (shortest first)
constexpr std::size_t kMostPlayed = 256;
// AUTO chooses again after one change per so many waiting jobs
constexpr std::size_t kSteady = 32;
constexpr double kOldest = 7 * 86400.0;  // s: ages count up to this
constexpr double kHalf = 7 * 86400.0;    // s: half-life of usage

// By end, then by arrival.
template <typename Bundle>
bool ends_before(const Bundle& a, const Bundle& b) {
  return a.end != b.end ? a.end < b.end : a.rank < b.rank;
}

}  // namespace

void Backfill::begin(const ClusterState& state) {
  for (Pool& pool : pools_) pool = Pool{};
  jobs_.assign(state.jobs.size(), Job{});
  first_ = kInfinity;
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    jobs_[job].needs = state.jobs.needs_of(job);
    first_ = std::min(first_, state.jobs.arrival[job]);
  }
  usage_.assign(state.user_running.size(), Usage{});
  aged_ = state.now;
  asked_ = used_ = 0.0;
  make_cells(state.cluster);
}

// A cell has the nodes of the same partitions; if memory or GPUs are given, single nodes.
void Backfill::make_cells(const ClusterView& cluster) {
  const bool apart = !cluster.memory.empty() || !cluster.gpus.empty();
  const auto partitions = [&](Index node) {
    return cluster.partitions.empty() ? ~std::uint64_t{0} : cluster.partitions[node];
  };
  std::vector<Index> nodes(cluster.size());
  std::iota(nodes.begin(), nodes.end(), Index{0});
  if (apart || !cluster.partitions.empty()) {
    std::ranges::stable_sort(nodes, {}, [&](Index node) {
      const NodeRoom room = cluster.room_on(node);
      const std::uint64_t in = partitions(node);
      return std::tuple(std::popcount(in), in, room.gpus, room.memory);
    });
  }
  cells_.clear();
  cell_of_.resize(nodes.size());
  for (const Index node : nodes) {
    const std::uint64_t in = partitions(node);
    if (cells_.empty() || apart || in != cells_.back().partitions) cells_.push_back({in, {}});
    cells_.back().nodes.push_back(node);
    cell_of_[node] = static_cast<Index>(cells_.size() - 1);
  }
  apart_ = apart || cells_.size() > 1;
  shadow_.assign(cells_.size(), -kInfinity);
}

// Fills room_ with the free slots of each cell.
void Backfill::count_free(const ClusterState& state, int pool) {
  room_.free = state.free[pool];
  room_.cell.assign(cells_.size(), NodeRoom{});
  if (!apart_) {
    room_.cell[0].slots = room_.free;
    return;
  }
  free_on_ = state.free_on[pool];
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    NodeRoom& room = room_.cell[c];
    room = state.cluster.room_on(cells_[c].nodes[0]);
    for (const Bundle& bundle : pools_[pool].running) {
      if (bundle.cell == c) room.give(jobs_[bundle.job].needs, -bundle.slots);
    }
    room.slots = 0;
    for (const Index node : cells_[c].nodes) room.slots += free_on_[node];
  }
}

// The number of tasks with these needs that the room of all cells holds.
std::int64_t Backfill::most(std::span<const NodeRoom> room, const TaskNeeds& needs) const {
  std::int64_t tasks = 0;
  for (std::size_t c = 0; c < room.size(); ++c) tasks += fit(room[c], c, needs);
  return tasks;
}

// The number of tasks with room until `end`, also beside reservations that begin before.
std::int64_t Backfill::most(const Room& room, const Room& later, const TaskNeeds& needs,
                            double end) const {
  std::int64_t tasks = 0;
  for (std::size_t c = 0; c < room.cell.size(); ++c) {
    const std::int64_t own = fit(room.cell[c], c, needs);
    tasks += end > shadow_[c] ? std::min(own, fit(later.cell[c], c, needs)) : own;
  }
  return tasks;
}

// Takes room for `tasks` until `end`, cell by cell.
void Backfill::take(Room& room, Room& later, Index place, const TaskNeeds& needs, double end,
                    std::int64_t tasks, std::vector<Taken>& taken) const {
  room.free -= tasks;
  for (std::size_t c = 0; tasks > 0; ++c) {
    const bool beside = end > shadow_[c];
    std::int64_t own = std::min(tasks, fit(room.cell[c], c, needs));
    if (beside) own = std::min(own, fit(later.cell[c], c, needs));
    if (own == 0) continue;
    room.cell[c].give(needs, -own);
    if (beside) later.cell[c].give(needs, -own);
    taken.push_back({place, static_cast<Index>(c), own});
    tasks -= own;
  }
}

void Backfill::added(const ClusterState& state, std::span<const Index> jobs) {
  jobs_.resize(state.jobs.size());
  usage_.resize(state.user_running.size());
  for (const Index job : jobs) {
    jobs_[job] = Job{};
    jobs_[job].needs = state.jobs.needs_of(job);
    first_ = std::min(first_, state.jobs.arrival[job]);
  }
}

// The time for which a task's slots are reserved: requested, stated or estimated.
double Backfill::seconds_of(const ClusterState& state, Index job, Phase p) const {
  const double requested = state.jobs.requested_of(p, job);
  if (requested > 0.0) return requested;
  const double said = state.believed[2 * job + p];
  return said > 0.0 ? said : state.phase(job, p).estimate;
}

// A job's key in the queue, the least first. WFP3, UNICEF and F1 are known rules of HPC schedulers
// (Tang et al. 2009, Carastan-Santos and de Camargo 2017).
double Backfill::key_of(const ClusterState& state, const Waiting& job) const {
  const double seconds = std::max(job.seconds, 1e-9);
  const auto slots = static_cast<double>(job.width);
  const double wait = state.now - job.since;
  switch (options_.order) {
    case QueueOrder::kArrival:
      return 0.0;
    case QueueOrder::kShortest:
      return job.seconds;
    case QueueOrder::kSmallest:
      return job.seconds * static_cast<double>(job.tasks);
    case QueueOrder::kWfp3:
      return -std::pow(wait / seconds, 3.0) * slots;
    case QueueOrder::kUnicef:
      return -wait / (std::log2(std::max(slots, 2.0)) * seconds);
    case QueueOrder::kF1:
      return std::log10(seconds) * slots +
             870.0 * std::log10(state.jobs.arrival[job.job] - first_ + 1.0);
    case QueueOrder::kFactors: {
      // Three numbers up to 1 with equal weights: age, size, and 2^-(usage over an equal share).
      const auto all = static_cast<double>(std::max<std::int64_t>(state.slots[0], 1));
      double whole = 0.0;
      for (const Usage& user : usage_) whole += user.used;
      const double own = usage_[state.jobs.user_of(job.job)].used;
      const double share = whole > 0.0 ? own / whole * static_cast<double>(usage_.size()) : 0.0;
      return -(std::min(wait / kOldest, 1.0) + slots / all + std::exp2(-share));
    }
  }
  return 0.0;
}

std::size_t Backfill::place_of(const Pool& pool, double key, Index rank) const {
  const auto place = std::lower_bound(
      pool.queue.begin(), pool.queue.end(), rank, [&](const Waiting& other, Index own) {
        return other.key != key ? other.key < key : other.rank < own;
      });
  return static_cast<std::size_t>(place - pool.queue.begin());
}

void Backfill::leave_queue(int pool, Index job, Index rank) {
  if (!std::exchange(jobs_[job].waits[pool], false)) return;
  auto& queue = pools_[pool].queue;
  queue.erase(queue.begin() +
              static_cast<std::ptrdiff_t>(place_of(pools_[pool], jobs_[job].key[pool], rank)));
}

// Requested slot-seconds of jobs that wait or run on a pool.
double Backfill::work_here(const ClusterState& state, int pool) const {
  double work = 0.0;
  for (const Waiting& job : pools_[pool].queue) {
    work += job.seconds * static_cast<double>(job.tasks);
  }
  for (const Bundle& bundle : pools_[pool].running) {
    work += std::max(0.0, bundle.end - state.now) * static_cast<double>(bundle.slots);
  }
  return work;
}

void Backfill::join_queue(const ClusterState& state, Index job, int pool, Phase p,
                          std::int64_t tasks) {
  Job& own = jobs_[job];
  const std::int64_t width = std::min(state.jobs.width_of(p, job), tasks);
  Waiting entry{0.0, state.rank[job], job, p, width, tasks, seconds_of(state, job, p)};
  if (own.since < 0.0) {
    ++pools_[pool].changes;
    own.since = state.now;
    const double more = entry.seconds * static_cast<double>(tasks);
    const double part = asked_ > 0.0 ? std::clamp(used_ / asked_, 0.01, 1.0) : 1.0;
    if (options_.reserve == Reserve::kBest) own.work = part * (work_here(state, pool) + more);
  }
  entry.since = own.since;
  entry.weight = state.jobs.weight_of(job);
  const auto slots = static_cast<double>(std::max<std::int64_t>(state.slots[pool], 1));
  const double patience = options_.stretch ? kStretchPatience : kPatience;
  entry.overdue = own.holds ? -kInfinity : own.since + patience * own.work / slots;
  entry.key = own.key[pool] = key_of(state, entry);
  own.waits[pool] = true;
  auto& queue = pools_[pool].queue;
  const std::size_t place = place_of(pools_[pool], entry.key, entry.rank);
  queue.insert(queue.begin() + static_cast<std::ptrdiff_t>(place), entry);
}

// Removes `tasks` that ended, on nodes of a cell if it is known: those with the earliest expected
// ends.
void Backfill::drop(const ClusterState& state, Index job, Phase p, std::int64_t tasks, Index cell) {
  const int pool = state.cluster.generic ? 0 : p;
  std::int64_t& known = jobs_[job].running[pool];
  tasks = std::min(tasks, known);
  age_usage(state.now);
  usage_[state.jobs.user_of(job)].slots -= tasks;
  known -= tasks;
  const double seconds = seconds_of(state, job, p);
  auto& running = pools_[pool].running;
  for (Bundle& bundle : running) {
    if (bundle.job != job || tasks == 0 || (cell != kNone && bundle.cell != cell)) continue;
    const std::int64_t some = std::min(tasks, bundle.slots);
    asked_ += seconds * static_cast<double>(some);
    used_ += (state.now - bundle.end + seconds) * static_cast<double>(some);
    bundle.slots -= some;
    tasks -= some;
  }
  known += tasks;  // no task of that cell is known
  usage_[state.jobs.user_of(job)].slots += tasks;
  std::erase_if(running, [](const Bundle& bundle) { return bundle.slots == 0; });
  if (known == 0) ++pools_[pool].changes;
}

void Backfill::task_finished(const ClusterState& state, Index job, Phase p, Index node, double) {
  drop(state, job, p, 1, cell_of_[node]);
}

// Updates a job's running bundles to its count of running tasks.
void Backfill::settle_bundles(const ClusterState& state, Index job, int pool) {
  std::int64_t now = 0;
  Phase last = kMap;
  for (const Phase p : {kMap, kReduce}) {
    if (!state.cluster.generic && p != pool) continue;
    now += state.phase(job, p).running;
    if (state.phase(job, p).running > 0) last = p;
  }
  std::int64_t& known = jobs_[job].running[pool];
  if (now < known) drop(state, job, last, known - now, kNone);
  if (now > known) jobs_[job].holds = false;
  age_usage(state.now);
  usage_[state.jobs.user_of(job)].slots += std::max<std::int64_t>(0, now - known);
  auto& running = pools_[pool].running;
  const double end = state.now + seconds_of(state, job, last);
  while (known < now) {
    Bundle more{end, state.rank[job], job, now - known, 0};
    const auto found_start = std::ranges::find(announced_, job, &std::pair<Index, Taken>::first);
    if (found_start != announced_.end()) {
      more.cell = found_start->second.cell;
      more.slots = std::min(more.slots, found_start->second.tasks);
      announced_.erase(found_start);
    }
    known += more.slots;
    running.insert(std::upper_bound(running.begin(), running.end(), more, ends_before<Bundle>),
                   more);
  }
}

void Backfill::counts_changed(const ClusterState& state, Index job, int pool) {
  settle_bundles(state, job, pool);
  leave_queue(pool, job, state.rank[job]);
  for (const Phase p : {kMap, kReduce}) {
    if ((!state.cluster.generic && p != pool) || !state.eligible(job, p)) continue;
    join_queue(state, job, pool, p, std::min(state.phase(job, p).waiting, state.room(job, pool)));
    return;
  }
}

void Backfill::stated_time_changed(const ClusterState& state, Index job, Phase p, double) {
  counts_changed(state, job, state.cluster.generic ? 0 : p);
}

// Adds to each user's usage the slots held since the last change.
void Backfill::age_usage(double now) {
  if (options_.order != QueueOrder::kFactors || now == aged_) return;
  const double part = std::exp2(-(now - std::exchange(aged_, now)) / kHalf);
  const double held = kHalf / std::numbers::ln2 * (1.0 - part);
  for (Usage& user : usage_) {
    user.used = user.used * part + held * static_cast<double>(user.slots);
  }
}

// Sorts the queue again if keys depend on time.
void Backfill::reorder(const ClusterState& state, Pool& pool) {
  const int number = &pool == &pools_[1] ? 1 : 0;
  for (Waiting& job : pool.queue) job.key = jobs_[job.job].key[number] = key_of(state, job);
  std::sort(pool.queue.begin(), pool.queue.end(), [](const Waiting& a, const Waiting& b) {
    return a.key != b.key ? a.key < b.key : a.rank < b.rank;
  });
}

// Finds the jobs that start now in this order. `left_`: tasks of each place in the queue. In each
// partition the first job that does not fit has a reservation.
void Backfill::pass(const Pool& pool, const Play& play, std::span<const Bundle> running,
                    const Room& room, double now, std::vector<Taken>& taken) {
  taken.clear();
  holders_.clear();
  passed_ = room;
  later_.cell.resize(cells_.size());
  shadow_.assign(cells_.size(), kInfinity);
  std::size_t open = cells_.size();  // cells without a reservation
  for (const Index place : play.order) {
    if (passed_.free == 0) return;
    const Waiting& job = pool.queue[place];
    const std::int64_t width = std::min(job.width, left_[place]);
    if (width == 0) continue;
    const double end = now + job.seconds;
    std::int64_t free = passed_.free;
    if (cells_.size() == 1 && end > shadow_[0]) free = std::min(free, later_.cell[0].slots);
    if (open == 0 && width > free) continue;
    const TaskNeeds& needs = jobs_[job.job].needs;
    const std::int64_t room_for = most(passed_, later_, needs, end);
    const std::int64_t tasks = std::min(room_for, left_[place]) / width * width;
    take(passed_, later_, place, needs, end, tasks, taken);
    if (tasks == left_[place] || open == 0) continue;
    if (!play.holds && job.overdue > now) continue;
    const std::int64_t rest = std::min(job.width, left_[place] - tasks);
    const std::size_t held = reserve(pool, running, taken, now, needs, rest);
    if (held > 0) holders_.push_back(place);
    open -= held;
    if (open == 0 && options_.reserve == Reserve::kNone) return;
  }
}

// Reserves for `tasks`: the time at which they have room, if running and started tasks end as
// expected, becomes the shadow time of all cells where they may run, unless a cell has one.
// `later_`: the room beside them then. Returns the number of these cells.
std::size_t Backfill::reserve(const Pool& pool, std::span<const Bundle> running,
                              std::span<const Taken> taken, double now, const TaskNeeds& needs,
                              std::int64_t tasks) {
  const auto own_cell = [&](std::size_t c) { return needs.may_run_in(cells_[c].partitions); };
  std::size_t cells = 0;
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    if (!own_cell(c)) continue;
    if (shadow_[c] < kInfinity) return 0;
    ++cells;
  }
  const bool none = options_.reserve == Reserve::kNone;
  const double shadow = none ? -kInfinity : find_room(pool, running, taken, now, needs, tasks);
  if (shadow == kInfinity) return 0;
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    if (!own_cell(c)) continue;
    shadow_[c] = shadow;
    later_.cell[c] = none ? NodeRoom{} : then_.cell[c];
  }
  return cells;
}

// The time at which `tasks` have room; infinity if there are not enough nodes. `then_`: the room
// beside them.
double Backfill::find_room(const Pool& pool, std::span<const Bundle> running,
                           std::span<const Taken> taken, double now, const TaskNeeds& needs,
                           std::int64_t tasks) {
  ahead_.clear();
  for (const Taken& own : taken) {
    const Waiting& job = pool.queue[own.place];
    ahead_.push_back({now + job.seconds, job.rank, job.job, own.tasks, own.cell});
  }
  std::size_t late = 0;  // bundles that outlived their time, which count as ending at once
  for (; late < running.size() && running[late].end < now; ++late) {
    ahead_.push_back(running[late]);
    ahead_.back().end = now;
  }
  std::sort(ahead_.begin(), ahead_.end(), ends_before<Bundle>);
  then_ = passed_;
  std::int64_t fits = most(then_.cell, needs);
  std::size_t k = 0;
  for (std::size_t r = late; k < ahead_.size() || r < running.size();) {
    const bool own =
        r == running.size() || (k < ahead_.size() && ends_before(ahead_[k], running[r]));
    const Bundle& first = own ? ahead_[k++] : running[r++];
    NodeRoom& room = then_.cell[first.cell];
    fits -= fit(room, first.cell, needs);
    room.give(jobs_[first.job].needs, first.slots);
    fits += fit(room, first.cell, needs);
    if (fits < tasks) continue;
    step_taken_.clear();
    take(then_, then_, 0, needs, now, tasks, step_taken_);
    return first.end;
  }
  return kInfinity;
}

// Adds a step of the profile before step k.
void Backfill::add_step(std::size_t k, double time) {
  times_.insert(times_.begin() + static_cast<std::ptrdiff_t>(k), time);
  const std::size_t cells = cells_.size();
  steps_.resize(times_.size() * cells);
  const auto from = steps_.begin() + static_cast<std::ptrdiff_t>((k - 1) * cells);
  std::copy_backward(from, steps_.end() - static_cast<std::ptrdiff_t>(cells), steps_.end());
}

// Finds a place for each job, one after the other; a job whose place begins now starts. The search
// ends once all later jobs are wider than the slots that are free now.
void Backfill::conserve(const Pool& pool, double now) {
  taken_.clear();
  left_.resize(pool.queue.size());  // by place: the least width of the jobs from there on
  std::int64_t narrowest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t k = left_.size(); k-- > 0;) {
    left_[k] = narrowest = std::min(narrowest, pool.queue[k].width);
  }
  times_.assign(1, now);
  steps_ = room_.cell;
  for (const Bundle& bundle : pool.running) {
    const double end = std::max(bundle.end, now);
    if (end > times_.back()) add_step(times_.size(), end);
    step(times_.size() - 1)[bundle.cell].give(jobs_[bundle.job].needs, bundle.slots);
  }
  for (Index place = 0; place < pool.queue.size() && left_[place] <= room_.free; ++place) {
    const Waiting& job = pool.queue[place];
    const TaskNeeds& needs = jobs_[job.job].needs;
    const std::size_t first = earliest(job);
    if (first == times_.size()) continue;  // without enough nodes it never fits
    const double end = times_[first] + job.seconds;
    window_.free = job.tasks;  // so many may be taken
    std::int64_t tasks = job.width;
    step_taken_.clear();
    if (first == 0) {
      const std::int64_t now_too = std::min(most(room_, window_, needs, end), job.tasks);
      tasks = std::max(job.width, now_too / job.width * job.width);
      if (tasks <= now_too) {  // tasks that outlived their time may not have ended
        take(room_, window_, place, needs, end, tasks, step_taken_);
        taken_.insert(taken_.end(), step_taken_.begin(), step_taken_.end());
      }
    }
    // window_ alone says where there is room: an end of -infinity means that no other room counts.
    if (step_taken_.empty()) take(window_, window_, place, needs, -kInfinity, tasks, step_taken_);
    auto last = static_cast<std::size_t>(std::ranges::lower_bound(times_, end) - times_.begin());
    if (last == times_.size() || times_[last] > end) add_step(last, end);
    for (std::size_t k = first; k < last; ++k) {
      for (const Taken& own : step_taken_) step(k)[own.cell].give(needs, -own.tasks);
    }
  }
}

// The first step from which there is room for a job for all its seconds. `window_`: the room during
// all that time.
std::size_t Backfill::earliest(const Waiting& job) {
  const TaskNeeds& needs = jobs_[job.job].needs;
  std::size_t first = 0;
  while (first < times_.size()) {
    window_.cell.assign(step(first).begin(), step(first).end());
    const double end = times_[first] + job.seconds;
    bool fits = true;
    std::size_t k = first;
    for (; fits && k < times_.size() && (k == first || times_[k] < end); ++k) {
      for (std::size_t c = 0; c < cells_.size(); ++c) window_.cell[c].narrow(step(k)[c]);
      fits = most(window_.cell, needs) >= job.width;
    }
    if (fits) return first;
    first = most(step(k - 1), needs) < job.width ? k : first + 1;
  }
  return first;
}

// Puts jobs that have waited too long first, by arrival. Returns the time at which the next job
// will have.
double Backfill::put_first(const Pool& pool, Play& play, double now) const {
  const auto rest = std::stable_partition(play.order.begin(), play.order.end(), [&](Index place) {
    return pool.queue[place].overdue <= now;
  });
  std::sort(play.order.begin(), rest,
            [&](Index a, Index b) { return pool.queue[a].rank < pool.queue[b].rank; });
  double next = kInfinity;
  for (auto place = rest; place != play.order.end(); ++place) {
    next = std::min(next, pool.queue[*place].overdue);
  }
  return next;
}

// The sum of all ends if no jobs come and jobs take their requested times; infinity once it must
// exceed `least`, because waiting jobs start now at the earliest. `step_` starts first.
double Backfill::play_out(const Pool& pool, Play& play, double now, double least) {
  double cost = 0.0, next_overdue = now;
  double rate = 0.0, since = 0.0;  // lower bound for waiting jobs: `rate` x now + `since`
  const auto count = [&](const Waiting& job, std::int64_t tasks) {
    const double size = options_.stretch ? std::max(job.seconds, kBound) : 1.0;
    const double part = static_cast<double>(tasks) / static_cast<double>(job.tasks);
    const double own = part * job.weight / size;
    rate += own;
    since += own * (job.seconds - job.since);
    return own;
  };
  for (const Waiting& job : pool.queue) count(job, job.tasks);
  ends_.assign(pool.running.begin(), pool.running.end());
  std::size_t ended = 0;
  played_ = room_;
  while (true) {
    for (const auto& [place, cell, tasks] : step_) {
      const Waiting& job = pool.queue[place];
      left_[place] -= tasks;
      played_.free -= tasks;
      played_.cell[cell].give(jobs_[job.job].needs, -tasks);
      const Bundle more{now + job.seconds, job.rank, job.job, tasks, cell};
      const auto from = ends_.begin() + static_cast<std::ptrdiff_t>(ended);
      ends_.insert(std::upper_bound(from, ends_.end(), more, ends_before<Bundle>), more);
      cost -= count(job, -tasks) * (now + job.seconds - job.since);
    }
    std::erase_if(play.order, [&](Index place) { return left_[place] == 0; });
    if (play.order.empty()) return cost;
    if (cost + rate * now + since > least * (1.0 + kAmple) || ended == ends_.size()) {
      return kInfinity;
    }
    now = std::max(now, ends_[ended].end);
    for (; ended < ends_.size() && ends_[ended].end <= now; ++ended) {
      const Bundle& own = ends_[ended];
      played_.free += own.slots;
      played_.cell[own.cell].give(jobs_[own.job].needs, own.slots);
    }
    if (now >= next_overdue) next_overdue = put_first(pool, play, now);
    pass(pool, play, std::span(ends_).subspan(ended), played_, now, step_);
  }
}

// Fills taken_ with the starts of the best order, which is kept for some changes. The queue of AUTO
// is shortest first, and plays 1 and 3 keep its order; play 3 reserves slots only for jobs that
// have waited for long.
void Backfill::choose(Pool& pool, double now) {
  const auto less = [&](auto key) {
    return [&pool, key](Index a, Index b) {
      const double own = key(pool.queue[a]), other = key(pool.queue[b]);
      return own != other ? own < other : pool.queue[a].rank < pool.queue[b].rank;
    };
  };
  plays_.resize(4);
  for (Play& play : plays_) {
    play.holds = &play != &plays_[3];
    play.order.resize(pool.queue.size());
    std::iota(play.order.begin(), play.order.end(), Index{0});
  }
  std::ranges::sort(plays_[0].order, less([](const Waiting&) { return 0.0; }));
  std::ranges::sort(plays_[2].order, less([](const Waiting& job) {
                      return job.seconds * std::sqrt(static_cast<double>(job.width));
                    }));
  count_left(pool);
  if (pool.changes * kSteady >= pool.queue.size()) pool.follows = kNone;
  for (std::size_t k = 0; k < plays_.size(); ++k) {
    Play& play = plays_[k];
    if (pool.follows != kNone && pool.follows != k) continue;
    put_first(pool, play, now);
    pass(pool, play, pool.running, room_, now, play.first);
    play.holders = holders_;
    std::ranges::sort(play.first);
    taken_ = play.first;
  }
  if (pool.follows != kNone) return keep_reservations(pool, plays_[pool.follows]);
  pool.changes = 0;
  if (std::ranges::all_of(plays_, [&](const Play& play) { return play.first == taken_; })) return;
  double least = kInfinity;
  // The order of arrival is first; another one must be clearly better (kClearly).
  for (std::size_t k = 0; k < plays_.size(); ++k) {
    count_left(pool);
    step_ = plays_[k].first;
    const double cost = play_out(pool, plays_[k], now, least);
    if (k > 0 && cost >= least) continue;
    pool.follows = static_cast<Index>(k);
    least = k == 0 ? (1.0 - kClearly) * cost : cost;
  }
  taken_ = plays_[pool.follows].first;
  keep_reservations(pool, plays_[pool.follows]);
}

// Jobs with reservations keep them. For slowdowns short jobs go first at any time.
void Backfill::keep_reservations(Pool& pool, const Play& play) {
  if (options_.stretch) return;
  for (const Index place : play.holders) {
    Waiting& job = pool.queue[place];
    jobs_[job.job].holds = true;
    job.overdue = -kInfinity;
  }
}

// Sets left_, by place in the queue: the tasks that have not started.
void Backfill::count_left(const Pool& pool) {
  left_.resize(pool.queue.size());
  for (std::size_t k = 0; k < left_.size(); ++k) left_[k] = pool.queue[k].tasks;
}

// Lists starts with their nodes; any node if all are equal.
void Backfill::list_starts(int number, std::vector<Start>& found) {
  announced_.clear();
  for (Taken own : taken_) {
    const Waiting& job = pools_[number].queue[own.place];
    if (!apart_) {
      found.push_back({job.job, job.phase, own.tasks, kNone});
      continue;
    }
    for (const Index node : cells_[own.cell].nodes) {
      const std::int64_t some = std::min(own.tasks, free_on_[node]);
      if (some == 0) continue;
      free_on_[node] -= some;
      own.tasks -= some;
      found.push_back({job.job, job.phase, some, node});
      announced_.push_back({job.job, {own.place, own.cell, some}});
    }
  }
}

void Backfill::starts(const ClusterState& state, int number, std::vector<Start>& found) {
  Pool& pool = pools_[number];
  age_usage(state.now);
  if (pool.queue.empty() || state.free[number] <= 0) return;
  if (options_.order >= QueueOrder::kWfp3) reorder(state, pool);
  count_free(state, number);
  if (options_.reserve == Reserve::kEach) {
    conserve(pool, state.now);
  } else if (options_.reserve == Reserve::kBest && pool.queue.size() <= kMostPlayed) {
    choose(pool, state.now);
  } else {
    count_left(pool);
    plays_.resize(1);
    plays_[0].holds = true;
    plays_[0].order.resize(pool.queue.size());
    std::iota(plays_[0].order.begin(), plays_[0].order.end(), Index{0});
    if (options_.reserve == Reserve::kBest) put_first(pool, plays_[0], state.now);
    pass(pool, plays_[0], pool.running, room_, state.now, taken_);
  }
  list_starts(number, found);
}

void Backfill::keep(const ClusterState& state, State& s) {
  s(pools_, jobs_, first_, usage_, aged_, asked_, used_);
  if (!s.reading()) return;
  for (int pool = 0; pool < 2; ++pool) {
    pools_[pool].queue.clear();
    for (const Index job : state.present) {
      if (!std::exchange(jobs_[job].waits[pool], false)) continue;
      counts_changed(state, job, pool);
    }
  }
}

}  // namespace malleable
