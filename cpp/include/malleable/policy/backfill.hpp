// Backfill: rigid jobs, each of which runs on exactly so many slots or waits, and malleable ones
// between them.
//
// The queue stands in an order. FCFS starts its first jobs and stops at the first that does not
// fit. EASY gives that one a reservation: jobs that run are taken by their expected ends until it
// fits (the shadow time; what is left over then is spare), and later jobs start that end before, or
// that use no more than what is spare (Lifka 1995; as printed in Mu'alem and Feitelson 2001).
// Example: 4 slots, 3 of them busy until 10. The first job wants 4 slots, so its shadow time is 10
// and nothing is spare; behind it, one on 1 slot for 8 s starts at 1, one for 12 s does not.
// CONSERVATIVE gives every job the earliest place that those before it leave, anew at each event.
// Times are those that users ask for, and where they say nothing estimates; a job that outlives its
// time is expected to end at once.
//
// AUTO asks what would come of the jobs that are here: it plays EASY to its end with several orders
// of the queue and follows the one whose jobs end first by the objective, until the next event.
// Orders: arrival, shortest first, seconds times the square root of slots, and shortest first where
// only a job that waited for long has a reservation. In each of them a job goes first, by arrival,
// once it has waited for twenty times what all work that was here when it came takes on all slots.
//
// Orders WFP3 and UNICEF are from Tang et al. 2009, F1 from Carastan-Santos and de Camargo 2017.
//
// Tasks start in bundles of the job's `width`. A malleable job (width 1) starts as many as fit in
// its turn; each of them is like a job that ends when the task is expected to end.
//
// Per event, with Q jobs that wait and R bundles that run: O(Q + R), and O(Q log Q) where the order
// depends on time; conservative O(Q (Q + R)); auto O(Q (Q + R)) an order, only where orders differ
// in what they start now.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/policy_options.hpp"

namespace malleable {

enum class Reserve : std::uint8_t { kNobody, kFirst, kEach, kBest };

struct BackfillOptions {
  Reserve reserve = Reserve::kFirst;
  QueueOrder order = QueueOrder::kArrival;
  bool stretch = false;  // AUTO: ends count over the job's seconds
};

class Backfill final : public ClusterPolicy {
 public:
  explicit Backfill(const BackfillOptions& options) : options_(options) {}

  Style style() const override { return Style::kStarts; }
  void begin(const ClusterState& state) override;
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void estimate_said(const ClusterState& state, Index job, Phase, double) override;
  void counts_changed(const ClusterState& state, Index job, int pool) override;
  void starts(const ClusterState& state, int pool, std::vector<Start>& found) override;
  void keep(const ClusterState& state, State& s) override;

 private:
  struct Waiting {
    double key = 0.0;
    Index rank = 0, job = 0;
    Phase phase = kMap;
    std::int64_t width = 1, tasks = 0;  // that may start
    double seconds = 0.0, since = 0.0, weight = 1.0;
    double overdue = 0.0;  // from then on it goes first
  };
  struct Bundle {  // tasks that run, and are expected to end together
    double end;
    Index rank, job;
    std::int64_t slots;

    void state(State& s) { s(end, rank, job, slots); }
  };
  struct Job {
    double since = -1.0;  // it has waited
    double work = 0.0;    // slot-seconds that were here then
    double key[2] = {0.0, 0.0};
    std::int64_t running[2] = {0, 0};
    bool waits[2] = {false, false};

    void state(State& s) { s(since, work, key, running, waits); }
  };
  struct Pool {
    std::vector<Waiting> queue;   // by key, then rank
    std::vector<Bundle> running;  // by end, then rank

    void state(State& s) { s(running); }
  };
  struct Taken {  // of a place in the queue so many tasks
    Index place;
    std::int64_t tasks;

    friend bool operator==(const Taken&, const Taken&) = default;
  };
  struct Need {
    double now;
    std::int64_t free, slots;
  };
  // One of AUTO's orders, or EASY's only one.
  struct Play {
    std::vector<Index> order;  // places in the queue
    bool holds = true;         // the first job that does not fit has a reservation
    std::vector<Taken> first;  // what starts now, by place
  };

  std::size_t place_of(const Pool& pool, double key, Index rank) const;
  void leave_queue(int pool, Index job, Index rank);
  void join_queue(const ClusterState& state, Index job, int pool, Phase p, std::int64_t tasks);
  void settle_bundles(const ClusterState& state, Index job, int pool);
  double seconds_of(const ClusterState& state, Index job, Phase p) const;
  double key_of(const ClusterState& state, const Waiting& job) const;
  double work_here(const ClusterState& state, int pool) const;
  void reorder(const ClusterState& state, Pool& pool);
  void age_usage(const ClusterState& state);
  void pass(const Pool& pool, const Play& play, std::span<const Bundle> running, std::int64_t free,
            double now, std::vector<Taken>& taken);
  std::pair<double, std::int64_t> reserve(const Pool& pool, std::span<const Bundle> running,
                                          std::span<const Taken> taken, const Need& need);
  void conserve(const Pool& pool, std::int64_t free, double now);
  double play_out(const Pool& pool, Play& play, std::int64_t free, double now, double least);
  std::size_t earliest(const Waiting& job) const;
  double put_first(const Pool& pool, Play& play, double now) const;
  void count_left(const Pool& pool);
  void choose(const Pool& pool, std::int64_t free, double now);

  BackfillOptions options_;
  Pool pools_[2];
  std::vector<Job> jobs_;
  double first_ = kInfinity;   // arrival
  std::vector<double> usage_;  // by user, slot-seconds that fade
  double aged_ = 0.0;
  std::vector<Play> plays_;
  std::vector<Taken> taken_, step_;
  std::vector<Bundle> ends_, ahead_;
  std::vector<std::int64_t> left_;
  std::vector<std::pair<double, std::int64_t>> profile_;
};

}  // namespace malleable
