// The adaptive scheduler in a loop of one's own: jobs come, tasks end, free slots get tasks.
//
// Keeps how many tasks of each phase wait, run and have ended; reduce tasks may start when all map
// tasks have ended, or when told. A decision offers each free slot once, one slot of every node in
// turn, and takes for granted that what it answers is started; then it names every job that has
// tasks running, O(1) each. Policies: adaptive.
//
// All methods check what they are given, and throw before anything changes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "malleable/model/bound.hpp"
#include "malleable/model/held_slots.hpp"
#include "malleable/model/job_ids.hpp"
#include "malleable/model/terms.hpp"
#include "malleable/policy/adaptive.hpp"

namespace malleable {

struct TaskStarts {
  std::vector<std::int64_t> job, phase, task, node;  // task: -1 where tasks have no place
  std::size_t size() const { return job.size(); }
};

class AdaptiveEpoch {
 public:
  AdaptiveEpoch(Adaptive scheduler, std::size_t nodes, bool generic);

  struct Person {
    double minimum, priority;
  };
  // Nodes with copies of the blocks of a job's map tasks, task by task; `copies` 0: none.
  struct Blocks {
    std::size_t copies = 0;
    std::span<const std::int64_t> node;
  };
  // Jobs, one entry each, of users and classes that are there or are added with them, and the
  // seconds of their tasks at rate 1, to which reading `block` bytes comes for maps. A
  // job that arrives after the latest time heard of moves time on, one that arrived before counts
  // from then. Fills `ids`.
  struct Additions {
    std::span<const Person> new_users;
    std::size_t new_classes = 0;
    std::span<const std::int64_t> job_class, user, maps, reduces;
    std::span<const double> arrival, map_seconds, reduce_seconds, block;
    // By job, phase and resource, what its nodes do of those seconds in one; empty: their own
    // rates.
    std::span<const double> rates = {};
    std::span<const Blocks> blocks;  // or empty

    template <typename Self, typename Visit>
    static void each(Self& self, Visit&& visit) {
      visit("maps", self.maps, kAnyLength, false);
      const std::size_t rows = self.maps.size();
      visit("reduces", self.reduces, rows, false);
      visit("job_class", self.job_class, rows, false);
      visit("user", self.user, rows, false);
      visit("arrival", self.arrival, rows, false);
      visit("map_seconds", self.map_seconds, rows, false);
      visit("reduce_seconds", self.reduce_seconds, rows, false);
      visit("block", self.block, rows, false);
      visit("rates", self.rates, kAnyLength, true);
    }
  };
  void add(const Additions& jobs, std::span<std::int64_t> ids);
  // Before any of its tasks started.
  void set_blocks(std::int64_t id, const Blocks& blocks, const std::string& field);

  // Overwrites what is given (the others empty): tasks that may start now, from 0 to those that
  // neither run nor have ended; seconds of a task as estimated.
  struct Changes {
    std::span<const std::int64_t> maps, reduces;
    std::span<const double> map_seconds, reduce_seconds;

    template <typename Self, typename Visit>
    static void each(Self& self, std::size_t rows, Visit&& visit) {
      visit("maps", self.maps, rows, true);
      visit("reduces", self.reduces, rows, true);
      visit("map_seconds", self.map_seconds, rows, true);
      visit("reduce_seconds", self.reduce_seconds, rows, true);
    }
  };
  void update(std::span<const std::int64_t> ids, const Changes& changes);

  // Tasks that ended on a node, after so many seconds; not done: it failed and waits again (`task`:
  // its number if it has a block). `end`: when, as `arrival`; empty: at the latest time heard of.
  struct Ended {
    std::span<const std::int64_t> ids, phase, node, task;
    std::span<const double> seconds, end;
    std::span<const std::uint8_t> done;

    template <typename Self, typename Visit>
    static void each(Self& self, Visit&& visit) {
      visit("ids", self.ids, kAnyLength, false);
      const std::size_t rows = self.ids.size();
      visit("phase", self.phase, rows, false);
      visit("node", self.node, rows, false);
      visit("task", self.task, rows, false);
      visit("seconds", self.seconds, rows, false);
      visit("end", self.end, rows, true);
      visit("done", self.done, rows, false);
    }
  };
  void ended(const Ended& tasks);
  // Jobs that are done or given up.
  void remove(std::span<const std::int64_t> ids);

  // Jobs that have tasks running, or had after the decision before: how many now, by phase.
  struct Row {
    std::int64_t id;
    std::int64_t slots[2];
    bool changed;
    Bound bound[2];
  };
  // free[p][n]: slots of node n; with generic slots only free[0]. Times must not fall. The rows are
  // in the order of the starts, then others; valid until the next call.
  std::span<const Row> decide(double now, const std::span<const std::int64_t> (&free)[2],
                              TaskStarts& starts);

  // `copies` distinct nodes for each of as many blocks as `node` has room for.
  void place(std::int64_t id, std::size_t copies, std::span<Index> node);
  void match(double now);

  const Adaptive& scheduler() const { return scheduler_; }
  std::size_t nodes() const { return nodes_; }
  std::size_t size() const { return ids_.size(); }
  double now() const { return now_; }
  struct Counts {
    std::int64_t total[2] = {0, 0}, waiting[2] = {0, 0}, running[2] = {0, 0}, finished[2] = {0, 0};
    double seconds[2] = {0.0, 0.0};  // of a task at rate 1, as estimated
    std::vector<double> rates[2];    // by resource; empty: the resources' own
    void state(State& s) { s(total, waiting, running, finished, seconds, rates); }
  };
  const Counts& counts(std::int64_t id) const { return jobs_[row_of("job_id", id)]; }
  const Counts& counts_at(Index row) const { return jobs_[row]; }
  // Checks that all are known and named once.
  std::span<const Index> rows_of(std::span<const std::int64_t> ids) { return ids_.rows_of(ids); }

  // All but the matcher.
  void state(State& s);

 private:
  int pool_of(Phase p) const { return generic_ ? 0 : p; }
  Index row_of(const std::string& field, std::int64_t id) const;
  void check_additions(const Additions& jobs) const;
  void come(const Additions& jobs);
  void check_fit(const char* field, std::span<const std::int64_t> tasks, Phase p) const;
  void check_blocks(const std::string& field, const Blocks& blocks, std::int64_t tasks) const;
  void check_waiting(const char* field, std::span<const Index> rows,
                     std::span<const std::int64_t> tasks, Phase p) const;
  void check_ended(const Ended& tasks);
  void check_again(const Ended& tasks) const;
  void check_running(const Ended& tasks);
  void put_blocks(Index job, const Blocks& blocks);
  void set_waiting(Index job, Phase p, std::int64_t tasks);
  void tell(Index job, int pool);
  bool offer(Index node, int pool, TaskStarts& starts);
  Bound bound_of(const Counts& own, Phase p) const;
  HeldSlots<2>::Slots running(Index job) const;
  void show(Index job, bool changed);

  Adaptive scheduler_;
  std::size_t nodes_;
  bool generic_;
  LocalTasks blocks_;
  std::vector<Counts> jobs_;
  JobIds ids_;  // their rows are the scheduler's numbers
  HeldSlots<2> held_;
  double now_ = 0.0;          // the latest time heard of
  std::vector<Index> ended_;  // whose tasks end
  std::vector<std::int64_t> left_, by_resource_;
  std::vector<std::int64_t> ending_;  // by job and phase, 0 between calls
  bool refused_[2] = {false, false};  // free slots for which nobody was found, by pool
  std::vector<Index> starting_;
  std::vector<Row> rows_;
};

}  // namespace malleable
