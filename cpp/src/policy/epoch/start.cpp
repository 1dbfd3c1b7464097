#include "malleable/policy/epoch/start.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {
namespace {

// A job may have a reservation after a wait of D / (1 - kSlack x share that can shrink), at most
// kEndless D. On windows of lublin (hpc_jobs, seeds 0, 500 .. 8500) the longest wait of rigid jobs
// is 1.31 times EASY's, and their mean response 0.92 of the better of EASY and first fit; after
// 1.4 D the two would be 1.52 and 0.86. From 2.5 to 4 kSlack hardly matters.
constexpr double kSlack = 3.0, kEndless = 200.0;
// A stretch counts long waits of short jobs itself. Its mean would double with 1.
constexpr double kStretchPatience = 5.0;
// The key falls by this power of 1 + wait / D: with 3 the longest wait is longer, with 5 the mean.
constexpr double kAgeing = 4.0;
// Apparent cost looks ahead by this many times the mean seconds of waiting jobs.
constexpr double kAhead = 2.0;

bool by_arrival(const Scene& at) { return !at.flex() && at.options.policy != EpochPolicy::kHeSrpt; }

}  // namespace

Start::Start() = default;
Start::~Start() = default;

Start::Start(std::int64_t slots, const EpochOptions& options) {
  EpochOptions within = options;
  within.min_mode = MinMode::kGuarantee;
  within.started = true;
  inner_ = std::make_unique<Epoch>(slots, within);
}

bool Start::starts(const Scene& at, std::size_t row) const {
  if (at.jobs.min_mode.empty()) return at.options.min_mode == MinMode::kStart;
  return at.jobs.min_mode[row] == static_cast<std::int64_t>(MinMode::kStart);
}

// Slots that the job has while it runs, unless guarantees are scaled.
double Start::least(const Scene& at, std::size_t row) const {
  if (at.ignores_minima && !starts(at, row)) return 0.0;
  return static_cast<double>(at.jobs.min_slots[row]);
}

double Start::left(const Scene& at, std::size_t row) const {
  const double told = at.jobs.work[row];
  return told > 0.0 ? told : still_left(at.jobs.size[row]);
}

void Start::come() {
  inner_id_.push_back(kNobody);
  ahead_.push_back(-1.0);
  told_.push_back(0);
}

void Start::change(const Scene& at, std::size_t row) {
  if (runs(row)) dirty_.push_back(at.jobs.id[row]);
}

void Start::leave(std::span<const Index> rows, bool ended) {
  ids_.clear();
  for (const Index row : rows) {
    if (runs(row)) ids_.push_back(inner_id_[row]);
    inner_id_[row] = kNobody;
  }
  if (ended) {
    inner_->finish(ids_);
  } else {
    inner_->remove(ids_);
  }
}

void Start::close(const RowsGone& gone) {
  gone(inner_id_);
  gone(ahead_);
  gone(told_);
}

// The columns of these jobs for the inner epoch; valid until the next call.
JobsView Start::gather(const Scene& at, std::span<const Index> rows) {
  const JobTable& jobs = at.jobs;
  columns_.clear();
  kinds_.clear();
  for (const Index row : rows) {
    columns_.arrival.push_back(jobs.arrival[row]);
    columns_.weight.push_back(jobs.weight[row]);
    columns_.deadline.push_back(jobs.deadline[row]);
    columns_.original.push_back(jobs.size[row]);
    columns_.sla.add(jobs.steps_of(row));
    columns_.work.push_back(jobs.work[row]);
    columns_.min_slots.push_back(static_cast<std::int64_t>(least(at, row)));
    columns_.max_slots.push_back(jobs.max_slots[row]);
    kinds_.push_back(jobs.kind[row]);
    if (!jobs.restart.empty()) columns_.restart.add(jobs.restart[row]);
    if (jobs.exponent.empty()) {
      columns_.speedup.add(1.0, {});
    } else {
      columns_.speedup.add(jobs.exponent[row], jobs.rates[row]);
    }
  }
  return columns_.view();
}

// At this decision each job has its preferred slots, while some are free.
void Start::add(const Scene& at, std::span<const Index> rows, double free) {
  if (rows.empty()) return;
  const JobsView jobs = gather(at, rows);
  for (std::size_t k = 0; k < rows.size() && !at.jobs.preferred.empty(); ++k) {
    std::int64_t& least = columns_.min_slots[k];
    const std::int64_t most = std::min(at.jobs.max_slots[rows[k]], at.slots);
    const std::int64_t wanted = std::min(at.jobs.preferred[rows[k]], most);
    const double more = std::min(static_cast<double>(wanted - least), free);
    if (!(more > 0.0)) continue;
    least += static_cast<std::int64_t>(more);
    free -= more;
    dirty_.push_back(at.jobs.id[rows[k]]);
  }
  std::int64_t id = inner_->add(jobs, kinds_);
  for (const Index row : rows) inner_id_[row] = id++;
}

void Start::tell_changes(const Scene& at) {
  std::sort(dirty_.begin(), dirty_.end());
  dirty_.erase(std::unique(dirty_.begin(), dirty_.end()), dirty_.end());
  rows_.clear();
  ids_.clear();
  for (const std::int64_t id : dirty_) {
    const Index row = at.jobs.find(id);
    if (row == kNone || !runs(row)) continue;
    rows_.push_back(row);
    ids_.push_back(inner_id_[row]);
  }
  dirty_.clear();
  if (rows_.empty()) return;
  const JobsView jobs = gather(at, rows_);
  inner_->update(ids_, {jobs.work, jobs.weight, jobs.deadline, jobs.min_slots, jobs.max_slots,
                        at.jobs.sla.empty() ? SlaView{} : jobs.sla, jobs.speedup, jobs.restart});
}

double Start::started(const Scene& at) const {
  double sum = 0.0;
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    if (runs(row) && starts(at, row)) sum += least(at, row);
  }
  return sum;
}

// Adds the work of a job on its minimum.
void Start::count_area(const Scene& at, std::size_t row) {
  const double need = least(at, row), area = seconds_[row] * std::max(1.0, need);
  area_ += area;
  if (static_cast<double>(at.jobs.max_slots[row]) > need) shrinks_ += area;
}

// Reads changes since the last decision, and sums over present jobs on their minima. Jobs with a
// negative D_j (ahead_) have come since.
void Start::look(const Scene& at) {
  area_ = shrinks_ = minima_ = guaranteed_ = mean_ = longest_ = 0.0;
  waiting_ = 0;
  seconds_.resize(at.jobs.rows());
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    const double need = least(at, row);
    const double time = left(at, row) / at.jobs.rate(row, std::max(1.0, need));
    seconds_[row] = time;
    if (runs(row)) (starts(at, row) ? minima_ : guaranteed_) += need;
    if (!runs(row)) {
      ++waiting_;
      mean_ += time;
      longest_ = std::max(longest_, ahead_[row]);
    }
    if (ahead_[row] >= 0.0) count_area(at, row);
  }
  if (waiting_ > 0) mean_ /= static_cast<double>(waiting_);
}

// Takes in new rows. D_j of each (ahead_) is the time that all slots need for the work present
// before it.
void Start::meet(const Scene& at) {
  rows_.clear();
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    const double need = least(at, row);
    if (ahead_[row] < 0.0) {
      ahead_[row] = area_ / std::max(1.0, at.capacity());
      longest_ = std::max(longest_, ahead_[row]);
      count_area(at, row);
      if (!starts(at, row) || need == 0.0) {  // it need not wait
        rows_.push_back(static_cast<Index>(row));
        if (!starts(at, row)) guaranteed_ += need;
      }
    }
    if (starts(at, row) && need > at.capacity() && !told_[row]) {
      told_[row] = 1;
      oversized_.push_back(at.jobs.id[row]);
    }
  }
  add(at, rows_, 0.0);
}

// Stops the jobs that started last.
void Start::stop_beyond(const Scene& at) {
  if (minima_ <= at.capacity()) return;
  rows_.clear();
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    if (runs(row) && starts(at, row) && least(at, row) > 0.0) {
      rows_.push_back(static_cast<Index>(row));
    }
  }
  std::sort(rows_.begin(), rows_.end(),
            [&](Index a, Index b) { return inner_id_[a] > inner_id_[b]; });
  std::size_t stopped = 0;
  for (; minima_ > at.capacity(); ++stopped) minima_ -= least(at, rows_[stopped]);
  rows_.resize(stopped);
  leave(rows_, false);
}

// The key in the order of starting; the least is first.
double Start::key(const Scene& at, std::size_t row, double wait) const {
  const JobTable& jobs = at.jobs;
  const double time = seconds_[row];
  const KindInfo& kind = info(jobs.kind[row]);
  if (!as_sum(at) && at.flex()) return -lateness_at(at, row, at.now + time);
  double value = 1.0;
  if (at.flex()) {
    const auto most = static_cast<double>(std::min(jobs.max_slots[row], at.slots));
    const double soonest = kind.steady ? time : left(at, row) / jobs.rate(row, most);
    value = stake(at, row, time, soonest, kAhead * mean_);
  }
  if (!(value > 0.0)) return kInfinity;
  return time / (value * std::pow(1.0 + wait / std::max(longest_, kTiny), kAgeing));
}

// How a running job would use free slots, by the gain over its work left.
void Start::line_up_growth(const Scene& at, std::size_t row) {
  const double has = least(at, row), work = at.jobs.work[row];
  const double more = static_cast<double>(std::min(at.jobs.max_slots[row], at.slots)) - has;
  if (!(more > 0.0 && work > 0.0)) return;
  const double faster = at.jobs.rate(row, has + more) - at.jobs.rate(row, has);
  line_.grow(at.jobs.value_of_second(row) * faster / (more * work), more);
}

void Start::line_up(const Scene& at) {
  line_.clear();
  const double share = area_ > 0.0 ? shrinks_ / area_ : 0.0;
  const double waits = at.jobs.all(Kind::kStretch) ? kStretchPatience : 1.0;
  const double patience = waits * longest_ / std::max(1.0 / kEndless, 1.0 - kSlack * share);
  const bool first_come = by_arrival(at);
  const bool grow = waiting_ > 0 && as_sum(at) && at.jobs.all_steady() && !first_come;
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    const double need = least(at, row), time = seconds_[row];
    if (runs(row)) {
      line_.run({need, time});
      if (grow) line_up_growth(at, row);
    } else if (need <= at.capacity()) {
      const double arrival = at.jobs.arrival[row], wait = at.now - arrival;
      const double gain = at.jobs.value_of_second(row) / std::max(time, kTiny);
      line_.wait({static_cast<Index>(row), first_come || wait >= patience,
                  first_come ? arrival : key(at, row, wait), need, time, gain});
    }
  }
}

// Scales guarantees to the slots that the minima of started jobs leave.
void Start::scale_guarantees(const Scene& at) {
  const double room = at.capacity() - minima_;
  if (guaranteed_ <= room && !scaled_) return;
  std::vector<double> low;
  ids_.clear();
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    if (starts(at, row)) continue;
    ids_.push_back(inner_id_[row]);
    low.push_back(least(at, row));
  }
  scaled_ = guaranteed_ > room;
  if (scaled_) scale_minima(low, room);
  columns_.min_slots.assign(low.begin(), low.end());
  Epoch::Changes changes;
  changes.min_slots = columns_.min_slots;
  inner_->update(ids_, changes);
}

void Start::decide(Scene& at) {
  tell_changes(at);
  look(at);
  stop_beyond(at);
  meet(at);
  line_up(at);
  const double free = at.capacity() - minima_ - guaranteed_;
  if (free > 0.0) {
    const std::vector<Index>& started = line_.start(free);
    double need = 0.0;
    for (const Index row : started) need += least(at, row);
    minima_ += need;
    add(at, started, free - need);
  }
  scale_guarantees(at);
  inner_->set_slots(at.slots);
  inner_->decide_at(at.now, at.period);
  at.grants.give_all(
      [&](std::size_t row) { return runs(row) ? inner_->slots_of(inner_id_[row]) : 0; });
}

std::vector<std::int64_t> Start::order(const Scene& at) {
  std::vector<std::int64_t> ids = inner_->order();
  std::vector<std::pair<std::int64_t, std::int64_t>> known;  // (id in the inner epoch, id)
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    if (runs(row)) known.push_back({inner_id_[row], at.jobs.id[row]});
  }
  std::sort(known.begin(), known.end());
  for (std::int64_t& id : ids) {
    id = std::lower_bound(known.begin(), known.end(), std::pair(id, kNobody))->second;
  }
  return ids;
}

bool Start::overloaded() const { return inner_->overloaded(); }

void Start::state(State& s) {
  if (s.reading()) inner_ = std::make_unique<Epoch>(0, EpochOptions{});
  s(*inner_, inner_id_, ahead_, told_, scaled_, dirty_, oversized_);
}

}  // namespace malleable
