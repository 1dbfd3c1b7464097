#include "malleable/policy/cluster_epoch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "malleable/policy/registry.hpp"

namespace malleable {
namespace {

// Terms: a pool is the slots of one kind (0: maps, or generic slots, which run both; 1: reduces); a
// share is the jobs of one user, or of all, with their epoch; a part is a job's part of its share's
// slots; an unsure job is one of which little is known, and asks for a slot to learn more.

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
bool all_kinds(const ClusterJobsView& jobs, Kind usual, bool (*such)(Kind)) {
  if (jobs.kind.empty()) return such(usual);
  return std::ranges::all_of(jobs.kind,
                             [&](std::uint8_t kind) { return such(static_cast<Kind>(kind)); });
}

// The phase whose tasks the job runs next in the pool.
Phase next_phase(const ClusterState& state, Index job, int pool) {
  const bool mapped = pool == kMap && state.phase(job, kMap).unfinished() == 0;  // generic slots
  return mapped ? kReduce : static_cast<Phase>(pool);
}

}  // namespace

ClusterEpoch::ClusterEpoch(const EpochOptions& options, bool at_least_one, bool by_user,
                           double pool_minimum, bool asks)
    : options_(options),
      at_least_one_(at_least_one),
      by_user_(by_user),
      pool_minimum_(pool_minimum),
      asks_(asks) {
  const Promises& promises = find_policy(options.policy).promises;
  options_.stable = true;
  sizeless_ = promises.shares != Shares::kByOrder && options.min_mode == MinMode::kGuarantee &&
              pool_minimum == 0.0;
  follows_objective_ = promises.follows_objective;
  depends_on_time_ = promises.depends_on_time;
  may_share_ =
      asks && follows_objective_ && pool_minimum == 0.0 && options.min_mode == MinMode::kGuarantee;
}

// Smith's ratios do not depend on time.
void ClusterEpoch::note_kinds(const ClusterState& state) {
  const ClusterJobsView& jobs = state.jobs;
  const bool sums = options_.aggregate == Aggregate::kSum && !options_.effort.has_value();
  const bool steady = all_kinds(jobs, options_.kind, [](Kind kind) { return info(kind).steady; });
  time_matters_ = (depends_on_time_ && !(sums && steady)) || starts_;
  const bool may_order = may_share_ && !starts_ && !restarts_.any();
  can_share_ = may_order && !time_matters_;
  by_urgency_ = may_order && time_matters_ && !options_.effort && options_.hysteresis == 0.0 &&
                all_kinds(jobs, options_.kind,
                          sums ? ClusterUrgency::knows_in_sum : ClusterUrgency::knows_in_maximum);
  // Jobs that wait to start need expected ends, and what a change gains depends on the work left.
  if (starts_ || restarts_.any()) sizeless_ = false;
}

double ClusterEpoch::share_exponent_now(const ClusterState& state) const {
  const auto slots = static_cast<double>(state.slots[0] + state.slots[1]);
  return share_exponent(state.exponents_here(), coming_.load(state.now, slots));
}

std::string_view ClusterEpoch::rule(const ClusterState& state) const {
  if (!asks_) return {};
  if (by_urgency_) return "by urgency";
  if (!can_share_) return "flex";
  const auto is_wide = [&](Index job) {
    return state.demand(job, 0).most > 1 || state.demand(job, 1).most > 1;
  };
  if (!state.present.empty() && std::none_of(state.present.begin(), state.present.end(), is_wide)) {
    return "one by one";
  }
  const double x = share_exponent_now(state);
  return x == 1.0 ? "in order" : x == 0.0 ? "equally" : "by size";
}

// FLEX's order if it is Smith's: work left over weight, for stretch times original size. With
// shares by size: the job for which the next slot adds most, by the parts of the last decision.
double ClusterEpoch::precedence(const ClusterState& state, Index job, int pool,
                                std::int64_t running) const {
  if (by_urgency_) return epoch_job(pool, job).turn;
  if (!follows_objective_ || time_matters_) return 0.0;
  const double part = epoch_job(pool, job).part;
  if (part <= 0.0) return key(state, job, pool);
  return (running > 0 ? static_cast<double>(running) + 0.5 : kFirstSlot) / part;
}

// Smith's ratio: work left over weight, for stretch times size.
double ClusterEpoch::key(const ClusterState& state, Index job, int pool) const {
  const EpochJob& own = epoch_job(pool, job);
  const bool counts = counts_restarts() && own.id != kAbsent;
  const double work = state.demand(job, pool).work + (counts ? own.worth.restarts : 0.0);
  const Kind kind = state.jobs.kind_of(job, options_.kind);
  const double size = info(kind).per_size ? state.size[job] : 1.0;
  return work * size / state.jobs.weight_of(job);
}

bool ClusterEpoch::starts_together(const ClusterState& state, Index job) const {
  return state.jobs.starts_together(job, options_.min_mode == MinMode::kStart);
}

void ClusterEpoch::begin(const ClusterState& state) {
  for (Pool& pool : pools_) pool = {};
  restarts_ = {};
  starts_ = options_.min_mode == MinMode::kStart;
  std::vector<Index> all(state.jobs.size());
  std::iota(all.begin(), all.end(), Index{0});
  added(state, all);
}

void ClusterEpoch::added(const ClusterState& state, std::span<const Index> jobs) {
  for (const Index job : jobs) starts_ |= starts_together(state, job);
  note_restarts(state, jobs);
  note_kinds(state);
  const std::size_t users = by_user_ ? state.user_running.size() : 1;
  for (int pool = 0; pool < 2; ++pool) {
    auto& [shares, epoch_jobs, asked, few] = pools_[pool];
    const std::int64_t slots = std::max<std::int64_t>(state.slots[pool], 1);
    while (shares.size() < users) shares.push_back({Epoch(slots, options_), {}, {}});
    epoch_jobs.resize(state.jobs.size());
  }
  if (by_user_) between_.begin(state);
}

void ClusterEpoch::job_arrived(const ClusterState& state, Index job) {
  if (asks_) coming_.came(state.now, state.size[job]);
}

void ClusterEpoch::job_finished(const ClusterState& state, Index job) {
  if (!asks_) return;
  double took = 0.0;
  for (const Phase p : {kMap, kReduce}) {
    const PhaseState& s = state.phase(job, p);
    took += s.measured + s.estimate * static_cast<double>(s.finished - s.timed);
  }
  coming_.left(state.size[job], took);
}

void ClusterEpoch::keep(const ClusterState&, State& s) { s(pools_, coming_); }

std::int64_t ClusterEpoch::least(const ClusterState::Demand& demand) const {
  return std::min(demand.most, std::max<std::int64_t>(at_least_one_ ? 1 : 0, demand.minimum));
}

// A job of which little is known needs a slot until its tasks have shown more. If decisions hold
// for longer than a task takes, the slot would run many tasks, which costs more than they show.
bool ClusterEpoch::unsure(const ClusterState& state, Index job, int pool) const {
  if (!asks_ || !pools_[pool].few || state.doubt.empty()) return false;
  const Phase p = next_phase(state, job, pool);
  const PhaseState& s = state.phase(job, p);
  const bool waits = p == kReduce && state.phase(job, kMap).unfinished() > 0;
  return !waits && s.total > 1 && state.doubt[2 * job + p] > kUnsure &&
         std::max(state.period, state.epoch) <= s.estimate;
}

// The unsure job of a program that goes first asks for all of them, unless another one's task runs.
void ClusterEpoch::ask(const ClusterState& state, Index job, int pool) {
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

std::int64_t ClusterEpoch::least(const ClusterState::Demand& demand, const ClusterState& state,
                                 Index job, int pool) const {
  const std::int64_t own = least(demand);
  if (own > 0 || !unsure(state, job, pool)) return own;
  const auto program = static_cast<std::size_t>(state.jobs.group_of(job));
  const std::vector<Index>& asked = pools_[pool].asked;
  const bool other = program < asked.size() && asked[program] != job;
  const bool alike = state.learned.between_runs[next_phase(state, job, pool)] <= kUnsure;
  return other && alike ? own : std::min<std::int64_t>(demand.most, 1);
}

// Sets the most slots that the job can use now.
void ClusterEpoch::set_most(Share& share, int pool, Index job, std::int64_t most) {
  std::int64_t& before = epoch_job(pool, job).most;
  share.most += static_cast<double>(most - before);
  share.wide += (most > 1 ? 1 : 0) - (before > 1 ? 1 : 0);
  before = most;
}

// The job leaves the user's share, and joins the other user's at its next decision.
void ClusterEpoch::user_changed(const ClusterState&, Index job, std::size_t before) {
  for (int pool = 0; by_user_ && pool < 2; ++pool) {
    EpochJob& own = epoch_job(pool, job);
    if (own.id == kAbsent) continue;
    Share& share = pools_[pool].shares[before];
    share.epoch.remove({&own.id, 1});
    set_most(share, pool, job, 0);
    share.changed = true;
    own.id = own.placed = kAbsent;
  }
}

// A job should have no more slots than are worth a restart, and its work counts with the restarts.
void ClusterEpoch::count_restarts(const ClusterState& state, Index job, int pool, std::int64_t low,
                                  double target, ClusterState::Demand& demand) {
  if (!counts_restarts()) return;
  RestartSlots::Worth& worth = epoch_job(pool, job).worth;
  worth = restarts_.of(state, job, pool, exponent_of(state, job), std::floor(target));
  demand.most = std::max(low, worth.most);
  demand.work += worth.restarts;
}

// Notes whether the job keeps its slots because a change costs more than it gains; true if its
// place in the order may be another one.
bool ClusterEpoch::note_keeps(EpochJob& own, bool rule_keeps, std::int64_t slots) {
  const bool few = counts_restarts() && slots > 0 && slots < own.most;
  const bool keeps = rule_keeps || (few && (slots == own.worth.most || slots == own.worth.held));
  return std::exchange(own.keeps, keeps) != keeps || counts_restarts();
}

// Updates a share's epoch by changed jobs of the share.
void ClusterEpoch::update(const ClusterState& state, int pool, Share& share,
                          std::span<const Index> jobs, Answer& answer) {
  for (auto* column : {&ids_, &gone_}) column->clear();
  for (auto* jobs_of : {&old_, &new_}) jobs_of->clear();
  new_kind_.clear();
  const std::size_t first_new = share.job.size();
  for (const Index job : jobs) {
    ClusterState::Demand demand = state.demand(job, pool);
    EpochJob& own = epoch_job(pool, job);
    const std::int64_t id = own.id;
    set_most(share, pool, job, demand.most);
    own.stale = true;
    if (demand.most == 0) {
      if (id != kAbsent) gone_.push_back(id);
      own = {};
      answer.set(job, 0.0);
      continue;
    }
    const std::int64_t low = least(demand, state, job, pool);
    count_restarts(state, job, pool, low, answer.get(job), demand);
    // Tasks that take no time count as a little work, because they must be started, too. Work
    // learnt from stragglers on slow nodes may exceed the allowed range.
    const double little = 1e-9 * static_cast<double>(demand.most);
    const double work = std::clamp(demand.work, little, kWorkRange.most);
    JobColumns& columns = id != kAbsent ? old_ : new_;
    columns.work.push_back(work);
    columns.min_slots.push_back(low);
    columns.max_slots.push_back(demand.most);
    columns.weight.push_back(state.jobs.weight_of(job));
    columns.deadline.push_back(due_in(state, job, pool));
    if (restarts_.any() && !counts_restarts())
      columns.restart.grow.push_back(state.jobs.restart_of(job));
    if (id != kAbsent) {
      ids_.push_back(id);
      continue;
    }
    answer.set(job, 0.0);  // it may have been in another user's share
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
    new_kind_.push_back(state.jobs.kind_of(job, options_.kind));
  }
  pass_changes(pool, share, first_new);
  if (pool_minimum_ > 0.0) share_minimum(state, pool, share);
  share.changed = true;
}

// Passes on the jobs that left, changed and came, as update() gathered them.
void ClusterEpoch::pass_changes(int pool, Share& share, std::size_t first_new) {
  if (!gone_.empty()) share.epoch.remove(gone_);
  if (!ids_.empty()) {
    Epoch::Changes changes{{}, old_.weight, {}, old_.min_slots, old_.max_slots};
    if (!sizeless_) {
      changes.work = old_.work;
      changes.deadline = old_.deadline;
    }
    changes.restart = old_.restart.view();
    share.epoch.update(ids_, changes);
  }
  if (!new_kind_.empty()) {
    std::int64_t id = share.epoch.add(new_.view(), new_kind_);
    for (std::size_t k = first_new; k < share.job.size(); ++k)
      epoch_job(pool, share.job[k]).id = id++;
  }
}

// Sets every job's minimum again, because its part depends on the number of jobs.
void ClusterEpoch::share_minimum(const ClusterState& state, int pool, Share& share) {
  const auto ids = share.epoch.ids();
  if (ids.empty()) return;
  const double part = std::floor(pool_minimum_ * static_cast<double>(state.slots[pool]) /
                                 static_cast<double>(ids.size()));
  ids_.assign(ids.begin(), ids.end());
  std::vector<std::int64_t>& low = old_.min_slots;
  low.clear();
  for (const std::int64_t id : ids_) {
    const Index job = share.job[static_cast<std::size_t>(id)];
    const std::int64_t own = least(state.demand(job, pool));
    low.push_back(
        std::min(epoch_job(pool, job).most, std::max(own, static_cast<std::int64_t>(part))));
  }
  share.epoch.update(ids_, {{}, {}, {}, low, {}});
}

ClusterEpoch::Placed ClusterEpoch::entry_by_size(const ClusterState& state, int pool,
                                                 Index job) const {
  const ClusterState::Demand demand = state.demand(job, pool);
  return {key(state, job, pool),
          static_cast<double>(least(demand, state, job, pool)),
          static_cast<double>(demand.most),
          0.0,
          0.0,
          state.rank[job],
          job,
          epoch_job(pool, job).placed};
}

// Shares the slots by size (kernel/power_shares): smaller jobs get more, by the share exponent.
void ClusterEpoch::give_by_size(const ClusterState& state, int pool, Share& share,
                                std::int64_t slots, double share_exponent, Answer& answer) {
  IncrementalOrder<Placed>& order = share.by_size;
  using Place = IncrementalOrder<Placed>::Place;
  order.each([&](Placed& row) {
    EpochJob& own = epoch_job(pool, row.job);
    if (own.placed != row.stamp) return Place::kGone;
    if (!std::exchange(own.stale, false)) return Place::kSame;
    const double before = std::exchange(row, entry_by_size(state, pool, row.job)).key;
    return row.key == before ? Place::kSame : Place::kOther;
  });
  for (const std::int64_t id : share.epoch.ids()) {
    const Index job = share.job[static_cast<std::size_t>(id)];
    EpochJob& own = epoch_job(pool, job);
    if (own.placed != kAbsent) continue;
    own.placed = stamps_++;
    own.stale = false;
    order.add(entry_by_size(state, pool, job));
  }
  order.settle();
  const std::span<Placed> rows = order.entries();
  for (Placed& row : rows) {
    row.given = row.low;
    row.p = state.exponent_of(row.job);
  }
  by_size_.give(share_exponent, static_cast<double>(slots), rows);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Index job = rows[k].job;
    double& part = epoch_job(pool, job).part;
    if (std::fabs(by_size_.part(k) - part) > kSamePart * part) {
      part = by_size_.part(k);
      answer.reorder(job);
    }
    answer.set(job, rows[k].given);
  }
}

// Minima come first, and jobs whose tasks all run keep their slots. So many jobs take turns that
// others need no order until the next decision.
void ClusterEpoch::give_by_urgency(const ClusterState& state, int pool, Share& share,
                                   std::int64_t slots, Answer& answer) {
  const auto set = [&](Index job, double turn, std::int64_t given) {
    answer.set(job, static_cast<double>(given));
    if (std::exchange(epoch_job(pool, job).turn, turn) != turn) answer.reorder(job);
  };
  urgency_.clear();
  for (const std::int64_t id : share.epoch.ids()) {
    const Index job = share.job[static_cast<std::size_t>(id)];
    const ClusterState::Demand demand = state.demand(job, pool);
    const bool waits = demand.most > demand.running;
    urgency_.count(demand.work);
    const std::int64_t low = waits ? least(demand, state, job, pool) : demand.most;
    slots -= low;
    if (waits) {
      urgency_.add(state, pool, job, low, demand.most);
    } else {
      set(job, 0.0, low);
    }
  }
  const auto first = static_cast<std::size_t>(state.slots[pool]);
  std::size_t turn = 0;
  for (const auto& row : urgency_.sort(state, pool, options_.aggregate, options_.kind, first)) {
    ++turn;
    const auto more = std::clamp<std::int64_t>(slots, 0, row.most - row.low);
    slots -= more;
    set(row.job, turn <= first ? static_cast<double>(turn) : 0.0, row.low + more);
  }
}

// Decides about the slots of a share.
void ClusterEpoch::give(const ClusterState& state, int pool, Share& share, std::int64_t slots,
                        Answer& answer) {
  const auto ids = share.epoch.ids();
  if (slots == 0 && !sizeless_) {
    for (const std::int64_t id : ids) answer.set(share.job[static_cast<std::size_t>(id)], 0.0);
    return;
  }
  const double share_exponent = can_share_ && share.wide > 0 ? share_exponent_now(state) : 1.0;
  if (share_exponent < 1.0) {
    give_by_size(state, pool, share, slots, share_exponent, answer);
    return;
  }
  if (by_urgency_) {
    give_by_urgency(state, pool, share, slots, answer);
    return;
  }
  // A simulation with very long tasks may go beyond the latest time.
  share.epoch.decide(std::min(state.now, kLatestTime), slots);
  const auto given = share.epoch.given();
  const auto changed = share.epoch.changed();
  for (std::size_t row = 0; row < ids.size(); ++row) {
    if (sizeless_ && !changed[row]) continue;
    const Index job = share.job[static_cast<std::size_t>(ids[row])];
    if (std::exchange(epoch_job(pool, job).part, 0.0) > 0.0) answer.reorder(job);
    if (note_keeps(epoch_job(pool, job), share.epoch.keeps(row), given[row])) answer.reorder(job);
    answer.set(job, static_cast<double>(given[row]));
  }
}

// Lists jobs to update, user by user; new jobs are added in the order of arrivals.
void ClusterEpoch::gather_changed(const ClusterState& state, int pool,
                                  std::span<const Index> changed) {
  note_restarts(state, changed);
  changed_.assign(changed.begin(), changed.end());
  const bool few = static_cast<std::int64_t>(state.present.size()) <= state.slots[pool];
  const bool others = std::exchange(pools_[pool].few, few) != few && asks_;
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

std::size_t ClusterEpoch::share_of(const ClusterState& state, Index job) const {
  return by_user_ ? state.jobs.user_of(job) : 0;
}

void ClusterEpoch::decide(const ClusterState& state, int pool, std::span<const Index> changed,
                          Answer& answer) {
  gather_changed(state, pool, changed);
  std::vector<Share>& shares = pools_[pool].shares;
  for (std::size_t first = 0, last = 0; first < changed_.size(); first = last) {
    const std::size_t user = share_of(state, changed_[first]);
    while (last < changed_.size() && share_of(state, changed_[last]) == user) ++last;
    const std::span<const Index> own(changed_.data() + first, last - first);
    update(state, pool, shares[user], own, answer);
  }
  if (!by_user_) {
    give(state, pool, shares[0], state.slots[pool], answer);
    return;
  }
  usable_.clear();
  started_.clear();
  for (const Share& share : shares) {
    usable_.push_back(share.most);
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

}  // namespace malleable
