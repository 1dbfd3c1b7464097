// Which job does a free slot of a heterogeneous cluster run? The adaptive scheduler (Rasooli and
// Down 2011).
//
// Jobs belong to classes. A matching (linear programs, section 6.2, 3) suggests classes for each
// resource: a node type by default, a single node as printed. Choosing for a slot of node n
// (section 6.2, 4, whose text leaves out the rule; docs/internals/deviations.md has ours):
//   1. of the users below their minimum share with a waiting job in a class suggested by the first
//      matching (jobs of users with a minimum share only), the one with the largest (minimum -
//      running) x priority;
//   2. with fallback: the same question for any class, since minimum shares come first;
//   3. else of all users with a waiting job in a class suggested by the second matching (all jobs),
//      the one with the least running / priority;
//   4. with fallback: the same for any class, so that no slot idles while a task waits.
// Then the user's earliest job; or, for up to `patience` seconds since the earliest one last had a
// task started, the first of its next few jobs with a local block. Ties: the lower number of the
// user. A job that had no task started for `max_wait` seconds goes before everything.
//
// A choice takes O(users x suggested classes); counts change in O(log jobs of the user's class),
// beside the shift of a short array. Estimates: kernel/class_estimates. The caller's function
// solves the programs, again only when a rate moved by more than `threshold` or a class is new.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "malleable/kernel/class_estimates.hpp"
#include "malleable/kernel/local_tasks.hpp"
#include "malleable/model/cluster.hpp"
#include "malleable/model/domain.hpp"
#include "malleable/model/option.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

struct AdaptiveOptions {
  // What an option means stands in the docstring of `malleable.AdaptiveLiteral`, too.
  bool grouped = false;   // equal nodes are one resource
  bool by_slots = false;  // execution rate = slots / task time; false, as printed: 1 / task time
  bool fallback = false;
  double threshold = 0.0;       // 0: solve at every arrival
  double memory = kInfinity;    // [s] over which arrival rates are averaged
  double max_wait = kInfinity;  // [s]
  double patience = 0.0;        // 0: the earliest job, wherever its blocks are
  bool placement = true;        // blocks go to suggested nodes

  template <typename Self, typename Visit>
  static void each(Self& self, Visit&& visit) {
    visit(flag("grouped", "adaptive-literal", ""), self.grouped);
    visit(flag("by_slots", "adaptive-literal", ""), self.by_slots);
    visit(flag("fallback", "adaptive-literal", ""), self.fallback);
    visit(Option{"threshold", 0.0, kWeightRange.most, "", "adaptive-literal", ""}, self.threshold);
    visit(Option{"memory", kRateRange.least, kNoLimit, "s", "adaptive-literal", ""}, self.memory);
    visit(Option{"max_wait", 0.0, kNoLimit, "s", "adaptive-literal", ""}, self.max_wait);
    visit(Option{"patience", 0.0, kWeightRange.most, "s", "adaptive-literal", ""}, self.patience);
    visit(flag("placement", "adaptive-literal", ""), self.placement);
  }
  void state(State& s) {
    s(grouped, by_slots, fallback, threshold, memory, max_wait, patience, placement);
  }
};

// A group of equal nodes.
struct AdaptiveResource {
  std::int64_t nodes = 0;  // that have slots
  std::int64_t slots[2] = {0, 0};

  void state(State& s) { s(nodes, slots); }
};

// Shares by class and resource (row-major) with which all arrival rates could grow by
// the largest common factor and still be served.
using ClassMatcher = std::function<std::vector<double>(std::span<const double> arrival_rates,
                                                       std::span<const double> execution_rates,
                                                       std::span<const double> nodes)>;

class Adaptive {
 public:
  // `resource[n]` is the resource that node n belongs to; slots are by node. With `generic` slots
  // pool 0 runs both phases. Users are numbered from 0; all their columns have equal length.
  Adaptive(std::span<const std::int64_t> map_slots, std::span<const std::int64_t> reduce_slots,
           std::vector<Index> resource, bool generic, std::span<const double> user_minimum,
           std::span<const double> user_priority, const AdaptiveOptions& options,
           ClassMatcher matcher);

  Index add_user(double minimum, double priority);
  void set_user_terms(Index user, double minimum, double priority);
  Index add_class();
  // A node has more slots, or fewer. The next call of match() solves the programs again.
  void add_slots(Index node, int pool, std::int64_t more);
  // A job comes; seconds[p * resources + g] is the stated time of a task of phase p on a node of
  // resource g. Solves the programs if needed. If the matcher throws, the job has still come, and
  // its class is suggested to no resource until a later call of match() solves the programs.
  void arrived(Index job_class, Index user, double now, const std::int64_t (&tasks)[2],
               std::span<const double> seconds);
  // Adds a job that has arrived, under a new number.
  void add_job(Index job, Index job_class, Index user);
  // Sets the number of tasks of the job that a slot of this pool could start now, and of its
  // running tasks there.
  void set_counts(Index job, int pool, std::int64_t waiting, std::int64_t running, double now);
  // Moves the job to another user.
  void set_user(Index job, Index user, double now);
  void task_finished(Index job, Phase p, Index node, double seconds);
  // A job's stated time of its tasks was too short by `seconds`, one entry a resource.
  void correct(Index job, Phase p, std::span<const double> seconds);
  void remove_job(Index job);
  // A job with a waiting task, or kNone. `blocks`: where tasks have their blocks; null: nowhere.
  // Tell what you start by `started` and `set_counts`.
  Index choose(Index node, int pool, double now, LocalTasks* blocks) const;
  void started(Index job, int pool, double now);
  // Chooses for the free slots of each resource, one after the other, as if tasks had no blocks;
  // calls give(job) for each slot. Those tasks count as started.
  template <typename Give>
  void fill(std::span<const std::int64_t> free, int pool, double now, const Give& give) {
    for (Index r = 0; r < free.size(); ++r) {
      for (std::int64_t slot = 0; slot < free[r]; ++slot) {
        const Index job = choose_on(r, pool, now);
        if (job == kNone) break;
        started(job, pool, now);
        set_counts(job, pool, waiting(job, pool) - 1, running(job, pool) + 1, now);
        give(job);
      }
    }
  }

  // `copies` distinct nodes for the next block of a class: in turn over the nodes of its suggested
  // resources, in proportion to share and slots; other nodes if there are too few.
  void place(Index job_class, std::span<Index> node);

  std::size_t classes() const { return estimates_.classes(); }
  std::size_t resources() const { return resources_.size(); }
  std::size_t nodes() const { return resource_.size(); }
  std::size_t users() const { return users_.size(); }
  std::int64_t waiting(Index job, int pool) const { return jobs_[job].waiting[pool]; }
  std::int64_t running(Index job, int pool) const { return jobs_[job].running[pool]; }
  Index resource_of(Index node) const { return resource_[node]; }
  const AdaptiveResource& resource(Index number) const { return resources_[number]; }
  bool has_slots(Index node) const { return slots_[0][node] + slots_[1][node] > 0; }
  Index class_of(Index job) const { return jobs_[job].job_class; }
  std::int64_t solves() const { return solves_; }
  // The time from which a node with a free slot gets a job in any case; infinity if none waits.
  double overdue(int pool) const;
  // `which` is 0 for the first matching, 1 for the second one.
  bool suggested(int which, Index job_class, Index resource) const;
  // The share of a resource that a class should get.
  double share(int which, Index job_class, Index resource) const;
  double arrival_rate(Index job_class, double now, bool minimum) const {
    return estimates_.rate(job_class, now, minimum);
  }
  // Jobs a second that a node could serve (mu in Rasooli and Down). The scarcer pool decides.
  double execution_rate(Index job_class, Index resource) const;
  const ClassEstimates& estimates() const { return estimates_; }
  // Solves again if a rate moved, or `always`. A matcher that throws changes nothing.
  void match(double now, bool always);

  // The state without the matcher.
  void state(State& s);

 private:
  struct Job {
    Index job_class = 0, user = 0;
    std::int64_t waiting[2] = {0, 0}, running[2] = {0, 0};
    double stamp[2] = {0.0, 0.0};  // last start of a task, or the time since which tasks wait
    Index before[2] = {kNone, kNone}, after[2] = {kNone, kNone};
    std::int64_t sequence = 0;  // order in which jobs come

    void state(State& s) { s(job_class, user, waiting, running, stamp, before, after, sequence); }
  };
  struct User {
    double minimum = 0.0, priority = 1.0;
    std::int64_t running = 0;
    std::int64_t jobs[2] = {0, 0};  // with waiting tasks
    // by class: jobs with waiting tasks, in order of arrival
    std::vector<std::vector<Index>> queue[2];

    void state(State& s) { s(minimum, priority, running, jobs, queue); }
  };
  struct Matching {
    std::vector<double> share;            // by class and resource
    std::vector<std::vector<Index>> set;  // by resource: classes, ascending
    std::vector<double> arrival;          // rates that the matching is for

    void state(State& s) { s(share, set, arrival); }
  };
  struct Ring {               // the nodes for the blocks of a class, in turn
    std::vector<Index> node;  // computed when needed
    std::size_t next = 0;

    void state(State& s) { s(next); }
  };

  // The list of jobs with waiting tasks, by the last start of a task.
  void link(Index job, int pool, double now);
  void unlink(Index job, int pool);
  // The user's earliest job with a waiting task in one of the classes.
  Index first_of(const User& user, int pool, const std::vector<Index>& set) const;
  // A choice for any node of a resource, without regard to blocks.
  Index choose_on(Index resource, int pool, double now) const;
  // The job that steps 1 (`minimum`) or 3 of the rule choose among these classes.
  Index ask(bool minimum, const std::vector<Index>& set, int pool) const;
  // The job itself, or another of its user and class that has a block on the node.
  Index local(Index job, Index node, int pool, double now, LocalTasks* blocks) const;
  Matching solved(int which, double now, std::span<const double> execution) const;
  // Suggested nodes of a class; nodes with larger shares of it come more often.
  Ring& ring(Index job_class);

  std::vector<AdaptiveResource> resources_;
  std::vector<Index> resource_;         // by node
  std::vector<std::int64_t> slots_[2];  // by node
  bool generic_;                        // slots run maps and reduces alike
  AdaptiveOptions options_;
  ClassMatcher matcher_;
  ClassEstimates estimates_;
  std::vector<User> users_;
  std::vector<Job> jobs_;
  std::int64_t sequence_ = 0;                                      // of the next job
  bool any_minimum_ = false;                                       // some user has one
  Index oldest_[2] = {kNone, kNone}, newest_[2] = {kNone, kNone};  // ends of that list, by pool
  std::vector<Index> all_;                                         // classes, all of them
  Matching matching_[2];
  std::vector<double> execution_;  // rates that the matchings are for
  bool matched_ = false;           // matching_ is there
  std::int64_t solves_ = 0;
  std::vector<Ring> rings_;
};

}  // namespace malleable
