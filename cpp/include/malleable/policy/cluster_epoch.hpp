// FLEX, FAIR, WDEQ and FIFO on a cluster: epochs of maps and of reduces (Wolf et al. 2010, section
// 4.2). An epoch (policy/epoch.hpp) is an object that decides the slots of present jobs.
//
// Each pool (the slots of one kind: 0 maps, 1 reduces; generic slots, which run both, are pool 0)
// has an epoch of its own, which sees a job while a phase of it is ready there: its work left as
// estimated, as many slots at most as it has unfinished tasks. Ties go to the job whose phase
// became ready first, then to the one that arrived first. Between users, slots are shared first:
// water-filling weighted by priority over what their jobs could use, each user's minimum first
// (policy/user_shares); then each user has an epoch. A decision costs what the epochs' do and O(log
// n) for each job that changed. If slots need a restart before they work for another job, FLEX
// gives a job no more than are worth it (policy/restart_slots); equal shares only change less
// (policy/epoch/costly_moves). FIFO over all users needs no decisions: jobs rank by arrival. Jobs
// with a stated p below 1 share slots by policy/concave, except with FAIR and WDEQ without start
// conditions and pool minima. A phase that starts together waits in its epoch (policy/epoch/start),
// and its user has at least the minima of such phases that have started. Kernels: power_shares,
// incremental_order; policies: epoch.
//
// AUTO is FLEX that fills targets in its order and uses what ended tasks have shown
// (scheduler/job_estimates). It does so if its order is Smith's and all minima are guarantees of
// single jobs. If s tasks of a phase do s^p, jobs share slots by size (kernel/power_shares), with
// the exponent of least expected cost given the posterior of p and the load
// (kernel/share_exponent): from equal shares to the order. If no job can use two slots, p does not
// matter and the order is best. While there are no more jobs than slots, and a decision holds no
// longer than a task takes, a job of which little is known gets one slot until its tasks have shown
// more, because the order of all other jobs depends on that. One job of a program does so for all,
// unless runs of programs differ as much. If delays cost at deadlines, or the largest response
// counts, `auto` goes by the urgency of waiting tasks (policy/cluster_urgency).
#pragma once

#include <vector>

#include "malleable/kernel/incremental_order.hpp"
#include "malleable/kernel/power_shares.hpp"
#include "malleable/kernel/share_exponent.hpp"
#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/cluster_urgency.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/restart_slots.hpp"
#include "malleable/policy/user_shares.hpp"

namespace malleable {

class ClusterFifo final : public ClusterPolicy {
 public:
  Style style() const override { return Style::kRanks; }
  bool reads_estimate(const PhaseState&) const override { return false; }
  double first_rank(const ClusterState& state, Index job, int /*pool*/) override {
    return state.rank[job];
  }
};

class ClusterEpoch final : public ClusterPolicy {
 public:
  // With `at_least_one`, minima are at least 1: a task of every ready phase runs soon, so that its
  // work can be estimated. With `by_user`, users share first. `pool_minimum` is a part of each
  // pool's slots that its jobs are guaranteed in equal shares, rounded down, beyond their own
  // minima (section 4.2: all jobs in one pool that has a minimum). With `asks`, FLEX uses what was
  // learnt of tasks, and unsure jobs ask for a slot.
  ClusterEpoch(const EpochOptions& options, bool at_least_one, bool by_user,
               double pool_minimum = 0.0, bool asks = false);

  Style style() const override { return Style::kTargets; }
  bool depends_on_time() const override { return time_matters_; }
  bool reads_estimate(const PhaseState&) const override { return !sizeless_; }
  // Only `auto` fills targets in its order, and lets slots of slow nodes idle if that pays.
  bool fills_in_order() const override { return asks_; }
  bool waits_for_speed() const override { return asks_; }
  std::string_view rule(const ClusterState& state) const override;
  void begin(const ClusterState& state) override;
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void job_arrived(const ClusterState& state, Index job) override;
  void job_finished(const ClusterState& state, Index job) override;
  void keep(const ClusterState& state, State& s) override;
  void user_changed(const ClusterState& state, Index job, std::size_t before) override;
  bool reads_exponents() const override { return may_share_; }
  bool keeps(const ClusterState&, Index job, int pool) const override {
    return restarts_.any() && epoch_job(pool, job).keeps;
  }
  // How unequal shares by size are best (kernel/share_exponent); 1: in order.
  double share_exponent_now(const ClusterState& state) const;
  void decide(const ClusterState& state, int pool, Answer& answer) override {
    decide(state, pool, state.changed[pool], answer);
  }
  // Updates jobs that changed since the last decision.
  void decide(const ClusterState& state, int pool, std::span<const Index> changed, Answer& answer);
  double precedence(const ClusterState& state, Index job, int pool,
                    std::int64_t running) const override;

 private:
  static constexpr std::int64_t kAbsent = -1;  // the job has no id in the epoch, or no place
  struct Placed {                              // a job in the order by size; s of its tasks do s^p
    double key, low, most, given, p;
    Index rank, job;
    std::int64_t stamp;

    bool operator<(const Placed& other) const {
      return key != other.key ? key < other.key : rank < other.rank;
    }
  };
  struct Share {  // of a user, or of all users
    Epoch epoch;
    std::vector<Index> job;  // by id
    // jobs by size, if slots are shared by size; rebuilt from the epoch's jobs when a state is read
    IncrementalOrder<Placed> by_size;
    double most = 0.0;      // slots that its jobs could use
    std::int64_t wide = 0;  // jobs that could use several
    bool changed = false;
    std::int64_t before = -1;  // slots at the last decision

    void state(State& s) {
      s(epoch, job, most, wide, changed, before);
      if (s.reading()) by_size.clear();
    }
  };
  // A job as its epoch knows it, in a pool.
  struct EpochJob {
    std::int64_t id = kAbsent, most = 0;
    // If slots are shared by size: its approximate part of its share's slots; the stamp of its
    // entry in by_size; whether its work or counts changed since by_size was updated.
    double part = 0.0;
    std::int64_t placed = kAbsent;
    bool stale = false;
    bool keeps = false;  // its slots, because a change costs more than it gains
    double turn = 0.0;   // by urgency: its place among the jobs that have waiting tasks; 0: none
    RestartSlots::Worth worth = {};  // if slots need a restart

    void state(State& s) {
      s(id, most, part, keeps, turn, worth.most, worth.restarts, worth.held);
      if (s.reading()) placed = kAbsent;
    }
  };
  struct Pool {
    std::vector<Share> shares;  // by user
    std::vector<EpochJob> jobs;
    std::vector<Index> asked;  // by program, who shows what its tasks take
    bool few = true;           // no more jobs than slots, at the last decision

    void state(State& s) {
      for (Share& share : shares) s(share);
      s(jobs, asked, few);
    }
  };

  // Notes whether decisions change with time alone, and whether slots may be shared by size.
  void note_kinds(const ClusterState& state);
  // Notes whether a change of slots costs some job time.
  void note_restarts(const ClusterState& state, std::span<const Index> jobs) {
    if (restarts_.note(state, jobs)) note_kinds(state);
  }
  // Whether jobs get only slots that are worth a restart; policies with equal shares only make
  // fewer changes (policy/epoch/costly_moves).
  bool counts_restarts() const { return restarts_.any() && follows_objective_; }
  // s of its tasks do s^p: as stated, or as learnt.
  double exponent_of(const ClusterState& state, Index job) const {
    return may_share_ ? state.exponent_of(job) : state.jobs.exponent_of(job);
  }
  void count_restarts(const ClusterState& state, Index job, int pool, std::int64_t low,
                      double target, ClusterState::Demand& demand);
  bool note_keeps(EpochJob& own, bool rule_keeps, std::int64_t slots);
  // Brings a share's epoch up to date with changed jobs.
  void update(const ClusterState& state, int pool, Share& share, std::span<const Index> jobs,
              Answer& answer);
  // Tells the epoch what update() has collected: gone, changed and new jobs.
  void pass_changes(int pool, Share& share, std::size_t first_new);
  // Sets the part of the pool's minimum that each job has.
  void share_minimum(const ClusterState& state, int pool, Share& share);
  // Notes the slots that a job can use, and updates the sums of its share.
  void set_most(Share& share, int pool, Index job, std::int64_t most);
  // Smaller jobs get more slots, by the share exponent (1: the order alone decides).
  void give_by_size(const ClusterState& state, int pool, Share& share, std::int64_t slots,
                    double share_exponent, Answer& answer);
  // The most urgent jobs get most (policy/cluster_urgency).
  void give_by_urgency(const ClusterState& state, int pool, Share& share, std::int64_t slots,
                       Answer& answer);
  // Smith's ratio.
  double key(const ClusterState& state, Index job, int pool) const;
  std::size_t share_of(const ClusterState& state, Index job) const;
  bool starts_together(const ClusterState& state, Index job) const;
  // Sets changed_, with jobs whose minimum changed because they ask for a slot.
  void gather_changed(const ClusterState& state, int pool, std::span<const Index> changed);
  // A job's minimum; with the job, also the slot for which an unsure job asks.
  std::int64_t least(const ClusterState::Demand& demand) const;
  std::int64_t least(const ClusterState::Demand& demand, const ClusterState& state, Index job,
                     int pool) const;
  // Whether so little is known of a job that it should get one slot at once.
  bool unsure(const ClusterState& state, Index job, int pool) const;
  // Chooses the job that asks for its program (the jobs that run the same code).
  void ask(const ClusterState& state, Index job, int pool);
  // Decides one share, and writes the targets.
  void give(const ClusterState& state, int pool, Share& share, std::int64_t slots, Answer& answer);

  Placed entry_by_size(const ClusterState& state, int pool, Index job) const;
  const EpochJob& epoch_job(int pool, Index job) const { return pools_[pool].jobs[job]; }
  EpochJob& epoch_job(int pool, Index job) { return pools_[pool].jobs[job]; }

  EpochOptions options_;
  bool at_least_one_, by_user_;
  // Decisions of the rule may change with time alone; they do, for these kinds of penalties.
  bool depends_on_time_ = false, time_matters_ = false;
  bool sizeless_ = false;           // shares need no sizes
  bool follows_objective_ = false;  // the rule decides by the objective
  bool starts_ = false;             // some phase may have a start condition
  double pool_minimum_;
  // uses what was learnt; may share slots by size, with these options; with the present jobs
  bool asks_, may_share_ = false, can_share_ = false;
  bool by_urgency_ = false;  // of waiting tasks (policy/cluster_urgency)
  Pool pools_[2];
  std::int64_t stamps_ = 0;  // the last stamp
  RestartSlots restarts_;
  PowerShares by_size_;
  ComingLoad coming_;
  ClusterUrgency urgency_;
  std::vector<Index> changed_;
  // Workspace for one share's epoch: changed jobs, new jobs, gone jobs.
  std::vector<std::int64_t> ids_, gone_;
  JobColumns old_, new_;
  std::vector<Kind> new_kind_;
  // Between users.
  UserShares between_;
  // By share: slots that its jobs can use; slots that cannot be taken back from started jobs.
  std::vector<double> usable_, started_;
};

}  // namespace malleable
