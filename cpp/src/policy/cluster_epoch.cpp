#include "malleable/policy/cluster_epoch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/power_shares.hpp"
#include "malleable/kernel/share_exponent.hpp"
#include "malleable/policy/cluster_urgency.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/policy/restart_slots.hpp"
#include "malleable/policy/user_shares.hpp"

namespace malleable {
namespace {

// Terms: a pool is the slots of one kind (0: maps, or generic slots, which run both; 1: reduces); a
// share is the jobs of one user, or of all, with their epoch; a part is a job's part of its share's
// slots; an unsure job is one of which little is known, and asks for a slot to learn more.

constexpr std::int64_t kNoId = -1;  // the job has no id in the epoch

// The order of filling is updated when a part changes by more than this.
constexpr double kSamePart = 1.0 / 16.0;

// A job gets a slot early if the variance of the logarithm of its tasks' seconds is above this. The
// statement of an unknown user has this variance, and is still believed.
constexpr double kUnsure = 0.5;

// The place of a first slot in the apportionment of kernel/power_shares, for p from 0.5 to 0.9.
constexpr double kFirstSlot = 0.3;

// The time by which the tasks of a pool must have ended so that the job can be on time: reduces
// with separate slots come after maps, in rounds of whole tasks.
double due_in(const ClusterState& state, Index job, int pool) {
  const double due = state.jobs.deadline_of(job);
  if (pool == 1 || state.slots[1] == 0) return due;
  const PhaseState& later = state.phase(job, kReduce);
  const auto slots = static_cast<double>(state.slots[1]);
  const double rounds = std::ceil(static_cast<double>(later.unfinished()) / slots);
  return std::max(due - later.estimate * rounds, -kLatestTime);
}

// Whether the penalties of all jobs are of such kinds.
bool all_kinds(const ClusterJobsView& jobs, Kind usual, auto such) {
  if (jobs.kind.empty()) return such(usual);
  return std::ranges::all_of(jobs.kind,
                             [&](std::uint8_t kind) { return such(static_cast<Kind>(kind)); });
}

// The phase whose tasks the job runs next in the pool.
Phase next_phase(const ClusterState& state, Index job, int pool) {
  const bool mapped = pool == kMap && state.phase(job, kMap).unfinished() == 0;  // generic slots
  return mapped ? kReduce : static_cast<Phase>(pool);
}

class Epochs final : public ClusterEpoch {
 public:
  explicit Epochs(const ClusterEpochOptions& options)
      : how_(options), promises_(find_policy(options.epoch.policy).promises) {
    how_.epoch.stable = true;
    const bool plain = how_.epoch.min_mode == MinMode::kGuarantee && how_.pool_minimum == 0.0;
    sizeless_ = plain && promises_.shares != Shares::kByOrder;
    may_share_ = plain && how_.asks && promises_.follows_objective;
  }

  Style style() const override { return Style::kTargets; }
  bool depends_on_time() const override { return time_matters_; }
  bool reads_estimate(const PhaseState&) const override { return !sizeless_; }
  // Only `auto` fills targets in its order, and lets slots of slow nodes idle if that pays.
  bool fills_in_order() const override { return how_.asks; }
  bool waits_for_speed() const override { return how_.asks; }
  bool reads_exponents() const override { return may_share_; }
  bool keeps(const ClusterState&, Index job, int pool) const override {
    return restarts_.any() && pools_[pool].jobs[job].keeps;
  }

  double share_exponent_now(const ClusterState& state) const override {
    const auto slots = static_cast<double>(state.slots[0] + state.slots[1]);
    return share_exponent(state.exponents_here(), coming_.load(state.now, slots));
  }

  std::string_view rule(const ClusterState& state) const override {
    if (!how_.asks) return {};
    if (by_urgency_) return "by urgency";
    if (!can_share_) return "flex";
    const auto is_wide = [&](Index job) {
      return state.demand(job, 0).most > 1 || state.demand(job, 1).most > 1;
    };
    if (!state.present.empty() && std::ranges::none_of(state.present, is_wide)) {
      return "one by one";
    }
    const double x = share_exponent_now(state);
    return x == 1.0 ? "in order" : x == 0.0 ? "equally" : "by size";
  }

  // FLEX's order if it is Smith's: work left over weight, for stretch times original size. With
  // shares by size: the job for which the next slot adds most, by the parts of the last decision.
  double precedence(const ClusterState& state, Index job, int pool,
                    std::int64_t running) const override {
    const EpochJob& own = pools_[pool].jobs[job];
    if (by_urgency_) return own.turn;
    if (!promises_.follows_objective || time_matters_) return 0.0;
    if (own.part <= 0.0) return key(state, job, pool);
    return (running > 0 ? static_cast<double>(running) + 0.5 : kFirstSlot) / own.part;
  }

  void begin(const ClusterState& state) override {
    for (Pool& pool : pools_) pool = {};
    restarts_ = {};
    starts_ = how_.epoch.min_mode == MinMode::kStart;
    std::vector<Index> all(state.jobs.size());
    std::iota(all.begin(), all.end(), Index{0});
    added(state, all);
  }

  void added(const ClusterState& state, std::span<const Index> jobs) override {
    for (const Index job : jobs) starts_ |= starts_together(state, job);
    restarts_.note(state, jobs);
    note_kinds(state);
    between_.begin(state, how_.by_user);
    for (int pool = 0; pool < 2; ++pool) {
      const std::int64_t slots = std::max<std::int64_t>(state.slots[pool], 1);
      std::vector<Share>& shares = pools_[pool].shares;
      while (shares.size() < between_.users()) shares.push_back({Epoch(slots, how_.epoch), {}});
      pools_[pool].jobs.resize(state.jobs.size());
    }
  }

  void job_arrived(const ClusterState& state, Index job) override {
    if (how_.asks) coming_.came(state.now, state.size[job]);
  }

  void job_finished(const ClusterState& state, Index job) override {
    if (!how_.asks) return;
    double took = 0.0;
    for (const Phase p : {kMap, kReduce}) {
      const PhaseState& s = state.phase(job, p);
      took += s.measured + s.estimate * static_cast<double>(s.finished - s.timed);
    }
    coming_.left(state.size[job], took);
  }

  // The job leaves the user's share, and joins the other user's at its next decision.
  void user_changed(const ClusterState&, Index job, std::size_t before) override {
    for (int pool = 0; how_.by_user && pool < 2; ++pool) {
      std::int64_t& id = pools_[pool].jobs[job].id;
      if (id == kNoId) continue;
      Share& share = pools_[pool].shares[before];
      share.epoch.remove({&id, 1});
      erase_row(share, pool, job);
      share.changed = true;
      id = kNoId;
    }
  }

  // Maps look at the reduces that come after them.
  void counts_changed(const ClusterState&, Index job, int pool) override {
    for (int of = 0; of <= pool; ++of) note_moved(job, of);
  }

  void keep(const ClusterState&, State& s) override { s(pools_, coming_); }

  void decide(const ClusterState& state, int pool, Answer& answer) override {
    gather_changed(state, pool);
    std::vector<Share>& shares = pools_[pool].shares;
    for (std::size_t first = 0, last = 0; first < changed_.size(); first = last) {
      const std::size_t user = share_of(state, changed_[first]);
      while (last < changed_.size() && share_of(state, changed_[last]) == user) ++last;
      const std::span<const Index> own(changed_.data() + first, last - first);
      update(state, pool, shares[user], own, answer);
    }
    pools_[pool].set &= by_urgency_;
    if (by_urgency_) set_rows(state, pool);
    usable_.clear();
    started_.clear();
    for (const Share& share : shares) {
      double& usable = usable_.emplace_back(0.0);
      if (!how_.by_user) break;
      for (const std::int64_t id : share.epoch.ids()) {
        usable += static_cast<double>(pools_[pool].jobs[share.job_of(id)].most);
      }
      started_.push_back(share.epoch.started());
    }
    const std::span<const double> parts = between_.of(state, pool, usable_, started_);
    for (std::size_t user = 0; user < shares.size(); ++user) {
      Share& share = shares[user];
      const auto slots = static_cast<std::int64_t>(parts[user]);
      if (share.changed || slots != share.before || time_matters_ || can_share_) {
        give(state, pool, share, slots, answer);
      }
      share.changed = false;
      share.before = slots;
    }
  }

 private:
  struct Share {  // of a user, or of all users
    Epoch epoch;
    std::vector<Index> job;  // by id
    ClusterUrgency urgency = {};
    bool changed = false;
    std::int64_t before = -1;  // slots at the last decision

    Index job_of(std::int64_t id) const { return job[static_cast<std::size_t>(id)]; }
    void state(State& s) { s(epoch, job, urgency, changed, before); }
  };
  // A job as its epoch knows it, in a pool.
  struct EpochJob {
    std::int64_t id = kNoId;
    std::int64_t most = 0;           // slots that it could use
    double part = 0.0;               // if slots are shared by size: its approximate part of them
    bool keeps = false;              // its slots, because a change costs more than it gains
    RestartSlots::Worth worth = {};  // if slots need a restart
    // By urgency: its place among the jobs with waiting tasks, 0: none; its minimum; its row in its
    // share's urgency, and whether that is to be set again.
    double turn = 0.0;
    std::int64_t low = 0;
    Index row = kNone;
    bool moved = false;

    void state(State& s) { s(id, most, part, keeps, worth, turn, low, row, moved); }
  };
  struct Pool {
    std::vector<Share> shares;  // by user
    std::vector<EpochJob> jobs;
    std::vector<Index> asked;  // by program, who shows what its tasks take
    bool few = true;           // no more jobs than slots, at the last decision
    bool is_new = true;        // there was no decision yet
    // By urgency: whether all rows are there, and the jobs whose rows are to be set again.
    bool set = false;
    std::vector<Index> moved = {};

    void state(State& s) {
      for (Share& share : shares) s(share);
      s(jobs, asked, few, is_new, set, moved);
    }
  };
  struct Row {  // of a job in the order of sizes; s of its tasks do s^p
    double most, given, p;
    Index job;
  };

  // Notes whether decisions change with time alone, and whether slots may be shared by size.
  // Smith's ratios do not depend on time.
  void note_kinds(const ClusterState& state) {
    const EpochOptions& options = how_.epoch;
    const auto all = [&](auto such) { return all_kinds(state.jobs, options.kind, such); };
    const bool sums = options.aggregate == Aggregate::kSum && !options.effort.has_value();
    const bool steady = all([](Kind kind) { return info(kind).steady; });
    time_matters_ = (promises_.depends_on_time && !(sums && steady)) || starts_;
    const bool may_order = may_share_ && !starts_ && !restarts_.any();
    can_share_ = may_order && !time_matters_;
    const auto known = [&](Kind kind) { return ClusterUrgency::knows(sums, kind); };
    strict_ = all([](Kind kind) { return kind == Kind::kStrict; });
    by_urgency_ = may_order && time_matters_ && !options.effort && options.hysteresis == 0.0 &&
                  (strict_ || all(known));
    // Jobs that wait to start need expected ends, and what a change gains depends on the work left.
    if (starts_ || restarts_.any()) sizeless_ = false;
  }

  // Whether jobs get only slots that are worth a restart; policies with equal shares only make
  // fewer changes (policy/epoch/costly_moves).
  bool counts_restarts() const { return restarts_.any() && promises_.follows_objective; }

  std::size_t share_of(const ClusterState& state, Index job) const {
    return how_.by_user ? state.jobs.user_of(job) : 0;
  }

  bool starts_together(const ClusterState& state, Index job) const {
    return state.jobs.starts_together(job, how_.epoch.min_mode == MinMode::kStart);
  }

  // Smith's ratio: work left over weight, for stretch times size.
  double key(const ClusterState& state, Index job, int pool) const {
    const EpochJob& own = pools_[pool].jobs[job];
    const bool counts = counts_restarts() && own.id != kNoId;
    const double work = state.demand(job, pool).work + (counts ? own.worth.restarts : 0.0);
    const Kind kind = state.jobs.kind_of(job, how_.epoch.kind);
    const double size = info(kind).per_size ? state.size[job] : 1.0;
    return work * size / state.jobs.weight_of(job);
  }

  // A job's minimum, or the slot for which an unsure job asks.
  std::int64_t least(const ClusterState::Demand& demand, const ClusterState& state, Index job,
                     int pool) const {
    const std::int64_t own =
        std::min(demand.most, std::max<std::int64_t>(how_.at_least_one ? 1 : 0, demand.minimum));
    if (own > 0 || !unsure(state, job, pool)) return own;
    const auto program = static_cast<std::size_t>(state.jobs.group_of(job));
    const std::vector<Index>& asked = pools_[pool].asked;
    const bool other = program < asked.size() && asked[program] != job;
    const bool alike = state.learned.between_runs[next_phase(state, job, pool)] <= kUnsure;
    return other && alike ? own : std::min<std::int64_t>(demand.most, 1);
  }

  // A job of which little is known needs a slot until its tasks have shown more. If decisions hold
  // for longer than a task takes, the slot would run many tasks, which costs more than they show.
  bool unsure(const ClusterState& state, Index job, int pool) const {
    if (!how_.asks || !pools_[pool].few || state.doubt.empty()) return false;
    const Phase p = next_phase(state, job, pool);
    const PhaseState& s = state.phase(job, p);
    const bool waits = p == kReduce && state.phase(job, kMap).unfinished() > 0;
    return !waits && s.total > 1 && state.doubt[2 * job + p] > kUnsure &&
           std::max(state.period, state.epoch) <= s.estimate;
  }

  // The unsure job of a program (the jobs that run the same code) that goes first asks for all of
  // them, unless another one's task runs.
  void ask(const ClusterState& state, Index job, int pool) {
    const std::int64_t program = state.jobs.group_of(job);
    const auto asks = [&](Index one) {
      return state.jobs.group_of(one) == program && state.demand(one, pool).most > 0 &&
             unsure(state, one, pool);
    };
    if (program < 0 || !asks(job)) return;
    const auto place = static_cast<std::size_t>(program);
    std::vector<Index>& asked = pools_[pool].asked;
    if (asked.size() <= place) asked.resize(place + 1, job);
    Index& first = asked[place];
    if (first != job && asks(first)) {
      if (state.demand(first, pool).running > 0) return;
      if (key(state, first, pool) <= key(state, job, pool)) return;
      changed_.push_back(first);
    }
    first = job;
  }

  // Lists jobs to update, user by user; new jobs are added in the order of arrivals.
  void gather_changed(const ClusterState& state, int pool) {
    const bool is_new = std::exchange(pools_[pool].is_new, false);
    changed_ = is_new ? state.present : state.changed[pool];
    if (restarts_.note(state, changed_)) note_kinds(state);
    const bool few = static_cast<std::int64_t>(state.present.size()) <= state.slots[pool];
    const bool others = std::exchange(pools_[pool].few, few) != few && how_.asks;
    if (counts_restarts()) restarts_.begin(state, pool);
    if (others || counts_restarts()) {
      // The minimum of all jobs has changed, or what a restart costs.
      changed_.insert(changed_.end(), state.present.begin(), state.present.end());
    }
    for (std::size_t k = 0, n = changed_.size(); k < n; ++k) ask(state, changed_[k], pool);
    std::sort(changed_.begin(), changed_.end(), [&](Index a, Index b) {
      if (share_of(state, a) != share_of(state, b)) return share_of(state, a) < share_of(state, b);
      return state.rank[a] < state.rank[b];
    });
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  }

  // A job should have no more slots than are worth a restart, and its work counts with the
  // restarts.
  void count_restarts(const ClusterState& state, Index job, int pool, double target,
                      std::int64_t low, ClusterState::Demand& demand) {
    if (!counts_restarts()) return;
    const double p = may_share_ ? state.exponent_of(job) : state.jobs.exponent_of(job);
    RestartSlots::Worth& worth = pools_[pool].jobs[job].worth;
    worth = restarts_.of(state, job, pool, p, std::floor(target));
    demand.most = std::max(low, worth.most);
    demand.work += worth.restarts;
  }

  // Brings a share's epoch up to date with changed jobs of the share.
  void update(const ClusterState& state, int pool, Share& share, std::span<const Index> jobs,
              Answer& answer) {
    for (auto* column : {&ids_, &gone_}) column->clear();
    for (auto* jobs_of : {&old_, &new_}) jobs_of->clear();
    new_kind_.clear();
    for (const Index job : jobs) {
      ClusterState::Demand demand = state.demand(job, pool);
      EpochJob& own = pools_[pool].jobs[job];
      const std::int64_t id = own.id;
      if (demand.most == 0) {
        if (id != kNoId) gone_.push_back(id);
        erase_row(share, pool, job);
        own = {};
        answer.set(job, 0.0);
        continue;
      }
      own.most = demand.most;
      const std::int64_t low = own.low = least(demand, state, job, pool);
      note_moved(job, pool);
      count_restarts(state, job, pool, answer.get(job), low, demand);
      // Tasks that take no time count as a little work, because they must be started, too. Work
      // learnt from stragglers on slow nodes may exceed the allowed range.
      const double little = 1e-9 * static_cast<double>(demand.most);
      const double work = std::clamp(demand.work, little, kWorkRange.most);
      JobColumns& columns = id != kNoId ? old_ : new_;
      columns.work.push_back(work);
      columns.min_slots.push_back(low);
      columns.max_slots.push_back(demand.most);
      columns.weight.push_back(state.jobs.weight_of(job));
      columns.deadline.push_back(due_in(state, job, pool));
      if (restarts_.any() && !counts_restarts())
        columns.restart.grow.push_back(state.jobs.restart_of(job));
      if (id != kNoId) {
        ids_.push_back(id);
        continue;
      }
      answer.set(job, 0.0);  // it may have been in another user's share
      own.id = static_cast<std::int64_t>(share.job.size());
      share.job.push_back(job);
      new_.original.push_back(std::clamp(state.size[job], work, kWorkRange.most));
      new_.arrival.push_back(state.jobs.arrival[job]);
      new_.sla.add(state.jobs.steps_of(job));
      if (!may_share_ && !sizeless_) new_.speedup.add(state.jobs.exponent_of(job), {});
      if (starts_) {
        const bool waits = starts_together(state, job);
        new_.min_mode.push_back(
            static_cast<std::int64_t>(waits ? MinMode::kStart : MinMode::kGuarantee));
      }
      new_kind_.push_back(state.jobs.kind_of(job, how_.epoch.kind));
    }
    pass_changes(share.epoch);
    if (how_.pool_minimum > 0.0) share_minimum(state, pool, share);
    share.changed = true;
  }

  // Tells the epoch what update() has collected: gone, changed and new jobs.
  void pass_changes(Epoch& epoch) {
    if (!gone_.empty()) epoch.remove(gone_);
    if (!ids_.empty()) {
      Epoch::Changes changes{{}, old_.weight, {}, old_.min_slots, old_.max_slots};
      if (!sizeless_) {
        changes.work = old_.work;
        changes.deadline = old_.deadline;
      }
      changes.restart = old_.restart.view();
      epoch.update(ids_, changes);
    }
    if (!new_kind_.empty()) epoch.add(new_.view(), new_kind_);
  }

  // Sets every job's minimum again, because its part of the pool's minimum depends on the number of
  // jobs.
  void share_minimum(const ClusterState& state, int pool, Share& share) {
    const JobTable& jobs = share.epoch.jobs();
    if (jobs.rows() == 0) return;
    const auto part = static_cast<std::int64_t>(
        std::floor(how_.pool_minimum * static_cast<double>(state.slots[pool]) /
                   static_cast<double>(jobs.rows())));
    std::vector<std::int64_t>& low = old_.min_slots;
    low.clear();
    for (std::size_t row = 0; row < jobs.rows(); ++row) {
      const Index job = share.job_of(jobs.id[row]);
      const std::int64_t own = least(state.demand(job, pool), state, job, pool);
      low.push_back(std::min(jobs.max_slots[row], std::max(own, part)));
    }
    share.epoch.update(share.epoch.ids(), {{}, {}, {}, low, {}});
  }

  // Shares the slots by size (kernel/power_shares): smaller jobs get more, by the share exponent.
  void give_by_size(const ClusterState& state, int pool, const Share& share, std::int64_t slots,
                    double share_exponent, Answer& answer) {
    const JobTable& jobs = share.epoch.jobs();
    keys_.clear();
    for (std::size_t row = 0; row < jobs.rows(); ++row) keys_.push_back(jobs.smith_ratio(row));
    sorted_.resize(keys_.size());
    sorter_.sort(keys_, sorted_);
    rows_.clear();
    for (const Index row : sorted_) {
      const Index job = share.job_of(jobs.id[row]);
      rows_.push_back({static_cast<double>(jobs.max_slots[row]),
                       static_cast<double>(jobs.min_slots[row]), state.exponent_of(job), job});
    }
    by_size_.give(share_exponent, static_cast<double>(slots), std::span(rows_));
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      const Index job = rows_[k].job;
      double& part = pools_[pool].jobs[job].part;
      if (std::fabs(by_size_.part(k) - part) > kSamePart * part) {
        part = by_size_.part(k);
        answer.reorder(job);
      }
      answer.set(job, rows_[k].given);
    }
  }

  void note_moved(Index job, int pool) {
    if (!by_urgency_ || std::exchange(pools_[pool].jobs[job].moved, true)) return;
    pools_[pool].moved.push_back(job);
  }

  void erase_row(Share& share, int pool, Index job) {
    const Index row = std::exchange(pools_[pool].jobs[job].row, kNone);
    const Index other = share.urgency.erase(row);
    if (other != kNone) pools_[pool].jobs[other].row = row;
  }

  // Sets the rows of jobs that changed since the last decision.
  void set_rows(const ClusterState& state, int pool) {
    Pool& own = pools_[pool];
    for (const Index job : own.set ? state.changed[1] : state.present) note_moved(job, pool);
    own.set = true;
    for (const Index job : own.moved) {
      EpochJob& moved = own.jobs[job];
      moved.moved = false;
      if (moved.id == kNoId) continue;
      ClusterUrgency& urgency = own.shares[share_of(state, job)].urgency;
      moved.row = urgency.set(moved.row, state, pool, job, moved.low, how_.epoch.kind);
    }
    own.moved.clear();
  }

  // The most urgent jobs get most (policy/cluster_urgency). Minima come first, and jobs whose tasks
  // all run keep their slots. So many jobs take turns that others need no order until the next
  // decision.
  void give_by_urgency(const ClusterState& state, int pool, Share& share, std::int64_t slots,
                       Answer& answer) {
    const auto set = [&](const ClusterUrgency::Row& row, std::int64_t given) {
      answer.set(row.job, static_cast<double>(given));
      double& turn = pools_[pool].jobs[row.job].turn;
      if (std::exchange(turn, row.turn) != row.turn) answer.reorder(row.job);
    };
    const Aggregate aggregate = strict_ ? Aggregate::kSum : how_.epoch.aggregate;
    slots -= share.urgency.decide(state, pool, aggregate, state.slots[pool]);
    share.urgency.each_other([&](const auto& row) { set(row, row.low); });
    share.urgency.each_first([&](const auto& row) {
      const auto more = std::clamp<std::int64_t>(slots, 0, row.most - row.low);
      slots -= more;
      set(row, row.low + more);
    });
  }

  // Decides about the slots of a share, and writes the targets.
  void give(const ClusterState& state, int pool, Share& share, std::int64_t slots, Answer& answer) {
    Epoch& epoch = share.epoch;
    const JobTable& jobs = epoch.jobs();
    if (slots == 0 && !sizeless_) {
      for (const std::int64_t id : jobs.id) answer.set(share.job_of(id), 0.0);
      share.urgency.unsettle();
      return;
    }
    const auto is_wide = [](std::int64_t most) { return most > 1; };
    const bool shares = can_share_ && std::ranges::any_of(jobs.max_slots, is_wide);
    const double share_exponent = shares ? share_exponent_now(state) : 1.0;
    if (share_exponent < 1.0) {
      give_by_size(state, pool, share, slots, share_exponent, answer);
      return;
    }
    if (by_urgency_) {
      give_by_urgency(state, pool, share, slots, answer);
      return;
    }
    // A simulation with very long tasks may go beyond the latest time.
    epoch.decide(std::min(state.now, kLatestTime), slots);
    const auto given = epoch.given();
    const auto changed = epoch.changed();
    for (std::size_t row = 0; row < given.size(); ++row) {
      if (sizeless_ && !changed[row]) continue;
      const Index job = share.job_of(jobs.id[row]);
      EpochJob& own = pools_[pool].jobs[job];
      const bool had_part = std::exchange(own.part, 0.0) > 0.0;
      if (note_keeps(own, epoch.keeps(row), given[row]) || had_part) answer.reorder(job);
      answer.set(job, static_cast<double>(given[row]));
    }
  }

  // Notes whether the job keeps its slots because a change costs more than it gains; true if its
  // place in the order may be another one.
  bool note_keeps(EpochJob& own, bool rule_keeps, std::int64_t slots) const {
    const bool few = counts_restarts() && slots > 0 && slots < own.most;
    const bool keeps = rule_keeps || (few && (slots == own.worth.most || slots == own.worth.held));
    return std::exchange(own.keeps, keeps) != keeps || counts_restarts();
  }

  ClusterEpochOptions how_;
  const Promises& promises_;
  bool time_matters_ = false;  // decisions change with time alone
  bool sizeless_;              // shares need no sizes
  bool starts_ = false;        // some phase may have a start condition
  // may share slots by size, with these options; with the present jobs
  bool may_share_, can_share_ = false;
  bool by_urgency_ = false;  // of waiting tasks (policy/cluster_urgency)
  bool strict_ = false;      // all deadlines are
  Pool pools_[2];
  RestartSlots restarts_;
  PowerShares by_size_;
  ComingLoad coming_;
  UserShares between_;
  // Workspace: changed jobs; of one share's epoch: changed, gone and new jobs, and jobs by size.
  std::vector<Index> changed_, sorted_;
  std::vector<std::int64_t> ids_, gone_;
  JobColumns old_, new_;
  std::vector<Kind> new_kind_;
  std::vector<double> keys_;
  std::vector<Row> rows_;
  KeySort sorter_;
  // By share: slots that its jobs can use; slots that cannot be taken back from started jobs.
  std::vector<double> usable_, started_;
};

}  // namespace

std::unique_ptr<ClusterEpoch> make_cluster_epoch(const ClusterEpochOptions& options) {
  return std::make_unique<Epochs>(options);
}

}  // namespace malleable
