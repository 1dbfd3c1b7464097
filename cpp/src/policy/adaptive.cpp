#include "malleable/policy/adaptive.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "malleable/model/domain.hpp"

namespace malleable {
namespace {

// Terms: a resource is a type of nodes, or a node; a matching says which classes of jobs it
// suggests to each resource; a pool is the slots of one kind (0: maps, 1: reduces).
constexpr std::size_t kAskedJobs = 16;  // jobs that are searched for a local block
constexpr double kTurns = 8.0;          // most places of a node in a class's ring of blocks

}  // namespace

Adaptive::Adaptive(std::span<const std::int64_t> map_slots,
                   std::span<const std::int64_t> reduce_slots, std::vector<Index> resource,
                   bool generic, std::span<const double> user_minimum,
                   std::span<const double> user_priority, const AdaptiveOptions& options,
                   ClassMatcher matcher)
    : resources_(resource.empty() ? 0 : *std::ranges::max_element(resource) + std::size_t{1}),
      resource_(std::move(resource)),
      slots_{std::vector<std::int64_t>(resource_.size()),
             std::vector<std::int64_t>(resource_.size())},
      generic_(generic),
      options_(options),
      matcher_(std::move(matcher)),
      estimates_(resources_.size(), options.memory) {
  for (Index n = 0; n < resource_.size(); ++n) {
    add_slots(n, 0, map_slots[n]);
    add_slots(n, 1, reduce_slots[n]);
  }
  for (std::size_t u = 0; u < user_minimum.size(); ++u) add_user(user_minimum[u], user_priority[u]);
  for (auto& matching : matching_) matching.set.resize(resources_.size());
}

Index Adaptive::add_user(double minimum, double priority) {
  users_.emplace_back();
  users_.back().minimum = minimum;
  users_.back().priority = priority;
  any_minimum_ |= minimum > 0.0;
  return static_cast<Index>(users_.size() - 1);
}

void Adaptive::set_user_terms(Index user, double minimum, double priority) {
  users_[user].minimum = minimum;
  users_[user].priority = priority;
  any_minimum_ |= minimum > 0.0;
}

Index Adaptive::add_class() {
  const auto c = static_cast<Index>(estimates_.add_class());
  all_.push_back(c);
  rings_.emplace_back();
  matched_ = false;
  return c;
}

void Adaptive::add_slots(Index node, int pool, std::int64_t more) {
  AdaptiveResource& at = resources_[resource_[node]];
  at.nodes -= has_slots(node) ? 1 : 0;
  slots_[pool][node] += more;
  at.slots[pool] += more;
  at.nodes += has_slots(node) ? 1 : 0;
  matched_ = false;
}

void Adaptive::arrived(Index job_class, Index user, double now, const std::int64_t (&tasks)[2],
                       std::span<const double> seconds) {
  estimates_.arrived(job_class, now, users_[user].minimum > 0.0, tasks, seconds);
  match(now, /*always=*/false);
}

void Adaptive::add_job(Index job, Index job_class, Index user) {
  jobs_.resize(std::max<std::size_t>(jobs_.size(), job + std::size_t{1}));
  jobs_[job] = {.job_class = job_class, .user = user, .sequence = sequence_++};
}

// Puts a job at the end of the list of jobs that wait for a slot of the pool.
void Adaptive::link(Index job, int pool, double now) {
  Job& own = jobs_[job];
  own.stamp[pool] = now;
  own.before[pool] = newest_[pool];
  own.after[pool] = kNone;
  (newest_[pool] == kNone ? oldest_[pool] : jobs_[newest_[pool]].after[pool]) = job;
  newest_[pool] = job;
}

void Adaptive::unlink(Index job, int pool) {
  Job& own = jobs_[job];
  const Index before = own.before[pool], after = own.after[pool];
  (before == kNone ? oldest_[pool] : jobs_[before].after[pool]) = after;
  (after == kNone ? newest_[pool] : jobs_[after].before[pool]) = before;
}

void Adaptive::set_counts(Index job, int pool, std::int64_t waiting, std::int64_t running,
                          double now) {
  Job& own = jobs_[job];
  User& user = users_[own.user];
  user.running += running - own.running[pool];
  own.running[pool] = running;
  const std::int64_t old = own.waiting[pool];
  own.waiting[pool] = waiting;
  if ((old > 0) == (waiting > 0)) return;
  auto& queues = user.queue[pool];
  if (queues.size() <= own.job_class) queues.resize(own.job_class + std::size_t{1});
  auto& queue = queues[own.job_class];
  const auto place = std::lower_bound(queue.begin(), queue.end(), job, [this](Index a, Index b) {
    return jobs_[a].sequence < jobs_[b].sequence;
  });
  if (waiting > 0) {
    queue.insert(place, job);
    ++user.jobs[pool];
    link(job, pool, now);
  } else {
    queue.erase(place);
    --user.jobs[pool];
    unlink(job, pool);
  }
}

void Adaptive::set_user(Index job, Index user, double now) {
  const Job before = jobs_[job];
  for (const int pool : {0, 1}) set_counts(job, pool, 0, 0, now);
  jobs_[job].user = user;
  for (const int pool : {0, 1}) {
    set_counts(job, pool, before.waiting[pool], before.running[pool], now);
  }
}

void Adaptive::started(Index job, int pool, double now) {
  if (jobs_[job].waiting[pool] == 0) return;
  unlink(job, pool);
  link(job, pool, now);
}

void Adaptive::task_finished(Index job, Phase p, Index node, double seconds) {
  estimates_.finished(jobs_[job].job_class, p, resource_[node], seconds);
}

void Adaptive::correct(Index job, Phase p, std::span<const double> seconds) {
  for (Index r = 0; r < resources_.size(); ++r) {
    estimates_.correct(jobs_[job].job_class, p, r, seconds[r]);
  }
}

void Adaptive::remove_job(Index job) {
  for (const int pool : {0, 1}) set_counts(job, pool, 0, 0, 0.0);
}

// The user's earliest job with a waiting task in one of the classes; kNone: there is none.
Index Adaptive::first_of(const User& user, int pool, const std::vector<Index>& set) const {
  const auto& queues = user.queue[pool];
  Index first = kNone;
  for (const Index c : set) {
    if (c >= queues.size()) break;
    if (queues[c].empty()) continue;
    const Index job = queues[c].front();
    if (first == kNone || jobs_[job].sequence < jobs_[first].sequence) first = job;
  }
  return first;
}

// The first job, in one of these classes, of the user that lacks most of its minimum (`minimum`),
// or that runs least for its priority.
Index Adaptive::ask(bool minimum, const std::vector<Index>& set, int pool) const {
  Index chosen = kNone;
  double best = 0.0;
  for (const User& user : users_) {
    if (user.jobs[pool] == 0) continue;
    const auto running = static_cast<double>(user.running);
    double value = 0.0;
    if (minimum) {
      value = (user.minimum - running) * user.priority;
      if (value <= 0.0) continue;
    } else {
      value = -running / user.priority;
    }
    if (chosen != kNone && value <= best) continue;
    const Index job = first_of(user, pool, set);
    if (job == kNone) continue;
    chosen = job;
    best = value;
  }
  return chosen;
}

// The job itself, or another of its user and class that has a block on the node.
Index Adaptive::local(Index job, Index node, int pool, double now, LocalTasks* blocks) const {
  if (pool != 0 || blocks == nullptr || options_.patience <= 0.0) return job;
  if (!blocks->has_blocks(job) || blocks->first(job) == kNone) return job;
  if (blocks->find(job, node) != kNone) return job;
  const Job& own = jobs_[job];
  if (now >= own.stamp[pool] + options_.patience) return job;
  const auto& queue = users_[own.user].queue[pool][own.job_class];
  for (std::size_t k = 1; k < std::min(queue.size(), kAskedJobs); ++k) {
    const bool here = blocks->has_blocks(queue[k]) && blocks->find(queue[k], node) != kNone;
    if (here) return queue[k];
  }
  return job;
}

Index Adaptive::choose(Index node, int pool, double now, LocalTasks* blocks) const {
  const Index job = choose_on(resource_[node], pool, now);
  if (job == kNone || now >= overdue(pool)) return job;
  return local(job, node, pool, now, blocks);
}

Index Adaptive::choose_on(Index resource, int pool, double now) const {
  const Index oldest = oldest_[pool];
  if (oldest == kNone) return kNone;
  if (now >= overdue(pool)) return oldest;
  Index job = kNone;
  if (any_minimum_) job = ask(/*minimum=*/true, matching_[0].set[resource], pool);
  if (job == kNone && options_.fallback && any_minimum_) job = ask(/*minimum=*/true, all_, pool);
  if (job == kNone) job = ask(/*minimum=*/false, matching_[1].set[resource], pool);
  if (job == kNone && options_.fallback) job = ask(/*minimum=*/false, all_, pool);
  return job;
}

// When the job that has waited longest goes first.
double Adaptive::overdue(int pool) const {
  const Index oldest = oldest_[pool];
  return oldest == kNone ? kInfinity : jobs_[oldest].stamp[pool] + options_.max_wait;
}

bool Adaptive::suggested(int which, Index job_class, Index resource) const {
  return share(which, job_class, resource) > 0.0;
}

// The share of a resource that a class should get; `which`: 0 for users below their minima, 1 for
// all.
double Adaptive::share(int which, Index job_class, Index resource) const {
  if (resources_[resource].nodes == 0) return 0.0;
  const std::size_t place = job_class * resources_.size() + resource;
  const auto& given = matching_[which].share;
  return place < given.size() ? given[place] : 0.0;
}

// How many jobs of a class a node of the resource can run in a second.
double Adaptive::execution_rate(Index job_class, Index resource) const {
  const AdaptiveResource& at = resources_[resource];
  if (at.nodes == 0) return 0.0;
  const auto nodes = static_cast<double>(at.nodes);
  double all = 0.0, rate = kInfinity;
  for (const Phase p : {kMap, kReduce}) {
    const double work = estimates_.tasks(job_class, p) * estimates_.seconds(job_class, p, resource);
    all += work;
    const double slots = static_cast<double>(at.slots[p]) / nodes;
    if (!generic_ && work > 0.0 && slots > 0.0) rate = std::min(rate, slots / work);
  }
  if (!options_.by_slots) return 1.0 / std::max(all, kWorkRange.least);
  const double slots = static_cast<double>(std::max(at.slots[0], at.slots[1])) / nodes;
  if (generic_ || all == 0.0) return slots / std::max(all, kWorkRange.least);
  return std::isinf(rate) ? 0.0 : rate;  // no slots for the class's tasks
}

// Solves both matchings again if rates of arrival or execution have changed by more than the
// threshold.
void Adaptive::match(double now, bool always) {
  const std::size_t types = resources_.size(), count = classes();
  bool moved = always || !matched_ || options_.threshold <= 0.0;
  const auto differs = [&](double before, double after) {
    return std::fabs(after - before) > options_.threshold * before;
  };
  for (std::size_t c = 0; c < count && !moved; ++c) {
    for (const int which : {0, 1}) {
      moved |= differs(matching_[which].arrival[c], estimates_.rate(c, now, which == 0));
    }
    for (std::size_t r = 0; r < types && !moved; ++r) {
      const double rate = execution_rate(static_cast<Index>(c), static_cast<Index>(r));
      moved |= differs(execution_[c * types + r], rate);
    }
  }
  if (!moved) return;
  std::vector<double> execution(count * types);
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t r = 0; r < types; ++r) {
      execution[c * types + r] = execution_rate(static_cast<Index>(c), static_cast<Index>(r));
    }
  }
  Matching found[] = {solved(0, now, execution), solved(1, now, execution)};
  std::move(found, found + 2, matching_);
  execution_ = std::move(execution);
  for (Ring& ring : rings_) ring.node.clear();
  matched_ = true;
  ++solves_;
}

Adaptive::Matching Adaptive::solved(int which, double now,
                                    std::span<const double> execution) const {
  const std::size_t types = resources_.size(), count = classes();
  Matching matching;
  matching.set.resize(types);
  matching.arrival.resize(count);
  bool anybody = false;
  for (std::size_t c = 0; c < count; ++c) {
    const auto own = execution.subspan(c * types, types);
    const bool runs = std::ranges::any_of(own, [](double rate) { return rate > 0.0; });
    matching.arrival[c] = runs ? estimates_.rate(c, now, which == 0) : 0.0;
    anybody |= matching.arrival[c] > 0.0;
  }
  matching.share.assign(count * types, 0.0);
  if (anybody) {
    std::vector<double> nodes(types);
    for (std::size_t r = 0; r < types; ++r) nodes[r] = static_cast<double>(resources_[r].nodes);
    matching.share = matcher_(matching.arrival, execution, nodes);
    if (matching.share.size() != count * types) {
      throw std::logic_error("matching: one share is needed for each class and resource");
    }
  }
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t r = 0; r < types; ++r) {
      if (matching.share[c * types + r] > 0.0) matching.set[r].push_back(static_cast<Index>(c));
    }
  }
  return matching;
}

// Suggested nodes of a class in turn; nodes with larger shares of it come more often.
Adaptive::Ring& Adaptive::ring(Index job_class) {
  Ring& own = rings_[job_class];
  if (!own.node.empty()) return own;
  const auto weight = [&](Index node) {
    return share(1, job_class, resource_[node]) * static_cast<double>(slots_[0][node]);
  };
  double most = 0.0;
  for (Index n = 0; n < resource_.size(); ++n) most = std::max(most, weight(n));
  for (double turn = 0.0; turn < kTurns && most > 0.0; turn += 1.0) {
    for (Index n = 0; n < resource_.size(); ++n) {
      const double own_weight = weight(n);
      if (own_weight <= 0.0) continue;
      if (std::max(1.0, std::round(kTurns * own_weight / most)) > turn) own.node.push_back(n);
    }
  }
  return own;
}

void Adaptive::place(Index job_class, std::span<Index> node) {
  Ring& own = ring(job_class);
  std::size_t found = 0;
  const auto take = [&](Index n) {
    const auto end = node.begin() + static_cast<std::ptrdiff_t>(found);
    if (std::find(node.begin(), end, n) == end) node[found++] = n;
  };
  for (std::size_t k = 0; k < own.node.size() && found < node.size(); ++k) {
    take(own.node[(own.next + k) % own.node.size()]);
  }
  const std::size_t first = own.next;
  own.next += node.size();
  for (std::size_t k = 0; k < resource_.size() && found < node.size(); ++k) {
    take(static_cast<Index>((first + k) % resource_.size()));
  }
}

void Adaptive::state(State& s) {
  s(resources_, resource_, slots_, generic_, options_, estimates_, users_, jobs_, sequence_);
  s(any_minimum_, oldest_);
  s(newest_, all_, matching_, execution_, matched_, solves_, rings_);
}

}  // namespace malleable
