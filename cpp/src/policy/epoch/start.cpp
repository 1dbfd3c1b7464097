#include "malleable/policy/epoch/start.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {
namespace {

// A job goes first once it has waited k D: k = kPatience / (1 - kSlack x share that can shrink).
// With rigid jobs only, 1.35 keeps the longest wait within 1.5 of EASY's, and the mean response is
// shorter the larger k is. If much can shrink, waits are short for any k.
constexpr double kPatience = 1.35, kSlack = 2.6, kEndless = 200.0;
// Apparent cost looks ahead by this many times the mean seconds of waiting jobs.
constexpr double kAhead = 2.0;
// Steps of growth, as a part of the job's slots, because single ones of many slots make no
// difference.
constexpr double kStep = 1.0;

// The next step of growth from so many slots.
double growth_from(const JobTable& jobs, std::size_t row, double has) {
  const double most = static_cast<double>(jobs.max_slots[row]) - has;
  return jobs.curved(row) ? std::min(most, std::max(1.0, std::floor(kStep * has))) : most;
}

bool by_arrival(const Scene& at) { return !at.flex() && at.options.policy != EpochPolicy::kHeSrpt; }

}  // namespace

Start::Start() = default;
Start::~Start() = default;

Start::Start(std::int64_t slots, const EpochOptions& options) {
  EpochOptions within = options;
  within.min_mode = MinMode::kGuarantee;
  inner_ = std::make_unique<Epoch>(slots, within);
  inner_->heed_minima();
}

void Start::check(const EpochOptions& options) {
  if (options.min_mode == MinMode::kGang) {
    throw std::invalid_argument("min_mode: gang goes without jobs that wait to start");
  }
  if (options.predictable) {
    throw std::invalid_argument("predictable: goes without jobs that wait to start");
  }
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

void Start::learn_pace(const Scene& at, std::size_t row) {
  const JobTable& jobs = at.jobs;
  const double has = least(at, row), one = std::max(1.0, has);
  const double step = growth_from(jobs, row, has);
  paces_[row] = {1.0 / jobs.rate(row, one), step, jobs.rate(row, has + step) - jobs.rate(row, has)};
}

void Start::come(const Scene& at, std::size_t row) {
  inner_id_.push_back(kNobody);
  turn_.push_back(0);
  for (auto* column : {&ahead_, &preferred_}) column->push_back(0.0);
  ahead_[row] = -1.0;
  told_.push_back(0);
  shares_.come();
  paces_.emplace_back();
  learn_pace(at, row);
}

void Start::change(const Scene& at, std::size_t row, bool faster) {
  learn_pace(at, row);
  if (faster) shares_.forget(row);
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
  for (auto* column : {&inner_id_, &turn_}) gone(*column);
  for (auto* column : {&ahead_, &preferred_}) gone(*column);
  gone(paces_);
  gone(told_);
  shares_.close(gone);
}

// The columns of these jobs for the inner epoch; valid until the next call.
JobsView Start::gather(const Scene& at, std::span<const Index> rows) {
  const JobTable& jobs = at.jobs;
  terms_.clear();
  terms_.sla.offset.assign(1, 0);
  speedup_.clear();
  for (auto* column : {&min_, &max_}) column->clear();
  work_.clear();
  kinds_.clear();
  for (const Index row : rows) {
    terms_.arrival.push_back(jobs.arrival[row]);
    terms_.weight.push_back(jobs.weight[row]);
    terms_.deadline.push_back(jobs.deadline[row]);
    terms_.original.push_back(jobs.size[row]);
    terms_.sla.add(jobs.steps.of(jobs.sla[row]));
    work_.push_back(jobs.work[row]);
    min_.push_back(static_cast<std::int64_t>(least(at, row) + preferred_[row]));
    max_.push_back(jobs.max_slots[row]);
    kinds_.push_back(jobs.kind[row]);
    if (jobs.curved(row)) {
      speedup_.add(jobs.exponent[row], jobs.rates[row]);
    } else {
      speedup_.add(1.0, {});
    }
  }
  return {terms_.terms(), work_, min_, max_, speedup_.view()};
}

void Start::add(const Scene& at, std::span<const Index> rows) {
  if (rows.empty()) return;
  const JobsView jobs = gather(at, rows);
  std::int64_t id = inner_->add(jobs, kinds_);
  for (const Index row : rows) {
    inner_id_[row] = id++;
    turn_[row] = turns_++;
  }
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
                        at.jobs.steps.empty() ? SlaView{} : jobs.sla, jobs.speedup});
}

double Start::started(const Scene& at) const {
  double sum = 0.0;
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    if (runs(row) && starts(at, row)) sum += least(at, row);
  }
  return sum;
}

// Reads changes since the last decision, and sums over present jobs on their minima.
void Start::look(const Scene& at) {
  area_ = shrinks_ = minima_ = guaranteed_ = mean_ = 0.0;
  std::size_t waiting = 0;
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    const double need = least(at, row), time = seconds(at, row);
    if (runs(row)) (starts(at, row) ? minima_ : guaranteed_) += need;
    if (!runs(row)) {
      ++waiting;
      mean_ += time;
    }
    if (ahead_[row] < 0.0) continue;
    area_ += time * std::max(1.0, need);
    if (static_cast<double>(at.jobs.max_slots[row]) > need) shrinks_ += time * std::max(1.0, need);
  }
  if (waiting > 0) mean_ /= static_cast<double>(waiting);
}

// Takes in new rows; D of each is the time of the work that was present before.
void Start::meet(const Scene& at) {
  rows_.clear();
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    const double need = least(at, row);
    if (ahead_[row] < 0.0) {
      const double area = seconds(at, row) * std::max(1.0, need);
      ahead_[row] = area_ / std::max(1.0, at.capacity());
      area_ += area;
      if (static_cast<double>(at.jobs.max_slots[row]) > need) shrinks_ += area;
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
  add(at, rows_);
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
  std::sort(rows_.begin(), rows_.end(), [&](Index a, Index b) { return turn_[a] > turn_[b]; });
  std::size_t stopped = 0;
  for (; minima_ > at.capacity(); ++stopped) minima_ -= least(at, rows_[stopped]);
  rows_.resize(stopped);
  leave(rows_, false);
}

// The key in the order of starting; the least is first.
double Start::key(const Scene& at, std::size_t row, double wait) const {
  const JobTable& jobs = at.jobs;
  const double time = seconds(at, row), weight = jobs.weight[row];
  const KindInfo& kind = info(jobs.kind[row]);
  if (!as_sum(at) && at.flex()) {
    const bool due = jobs.deadline[row] < kInfinity && (!kind.steady || kind.needs_deadline);
    const double since = due ? jobs.deadline[row] : jobs.arrival[row];
    const double size = kind.per_size && jobs.size[row] > 0.0 ? jobs.size[row] : 1.0;
    return -weight * (at.now + time - since) / size;
  }
  double value = 1.0;
  if (at.flex()) {
    const auto most = static_cast<double>(std::min(jobs.max_slots[row], at.slots));
    const double soonest = kind.steady ? time : left(at, row) / jobs.rate(row, most);
    value = stake(at, row, time, soonest, kAhead * mean_);
  }
  if (!(value > 0.0)) return kInfinity;
  const double age = 1.0 + wait / std::max(ahead_[row], kTiny);
  return time / (value * age * age);
}

void Start::line_up(const Scene& at) {
  line_.clear();
  const double share = area_ > 0.0 ? shrinks_ / area_ : 0.0;
  const double patience = kPatience / std::max(kPatience / kEndless, 1.0 - kSlack * share);
  // A stretch counts long waits in any case.
  const bool endless = at.flex() && !at.sums() && as_sum(at);
  const bool first_come = by_arrival(at);
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    const double need = least(at, row), time = seconds(at, row);
    if (runs(row)) {
      line_.run({need, time});
    } else if (need <= at.capacity()) {
      const double wait = at.now - at.jobs.arrival[row];
      const bool late = first_come || (!endless && wait > patience * ahead_[row]);
      const double gain = at.jobs.value_of_second(row) / std::max(time, kTiny);
      line_.wait({static_cast<Index>(row), late, late ? at.jobs.arrival[row] : key(at, row, wait),
                  need, time, gain});
    }
  }
}

// Lists how the running jobs would use the free slots: each step by its gain over the job's work
// left.
void Start::grow(const Scene& at, double free) {
  const bool steady = as_sum(at) && at.jobs.all_steady() && !by_arrival(at);
  if (!steady || !line_.asks(free)) return;
  const JobTable& jobs = at.jobs;
  struct Next {
    double gain, slots, has;
    std::size_t row;
  };
  const auto next_of = [&](std::size_t row, double has, double slots, double more) {
    const double gain = jobs.value_of_second(row) * more / (slots * jobs.work[row]);
    return Next{slots > 0.0 ? gain : 0.0, slots, has, row};
  };
  const auto step = [&](std::size_t row, double has) {
    const double slots = growth_from(jobs, row, has);
    return next_of(row, has, slots, jobs.rate(row, has + slots) - jobs.rate(row, has));
  };
  const auto less = [](const Next& a, const Next& b) {
    return a.gain != b.gain ? a.gain < b.gain : a.row > b.row;
  };
  std::vector<Next> next;
  for (std::size_t row = 0; row < jobs.rows(); ++row) {
    if (!runs(row) || !(jobs.work[row] > 0.0)) continue;
    const Next first = next_of(row, least(at, row), paces_[row].step, paces_[row].more);
    if (first.gain > 0.0) next.push_back(first);
  }
  std::make_heap(next.begin(), next.end(), less);
  while (!next.empty() && line_.grown() < free) {
    std::pop_heap(next.begin(), next.end(), less);
    const Next best = next.back();
    next.pop_back();
    line_.grow({best.gain, std::min(best.slots, free - line_.grown())});
    const Next more = step(best.row, best.has + best.slots);
    if (!(more.gain > 0.0)) continue;
    next.push_back(more);
    std::push_heap(next.begin(), next.end(), less);
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
  min_.assign(low.begin(), low.end());
  Epoch::Changes changes;
  changes.min_slots = min_;
  inner_->update(ids_, changes);
}

// Jobs that started at an earlier time keep only their minima.
void Start::end_preferences(const Scene& at) {
  for (const std::int64_t id : begun_) {
    const Index row = at.jobs.find(id);
    if (row == kNone) continue;
    preferred_[row] = 0.0;
    dirty_.push_back(id);
  }
  begun_.clear();
}

// Gives starting jobs their preferred slots, as long as there are slots that no minimum needs.
void Start::prefer(const Scene& at, std::span<const Index> started, double free) {
  if (at.jobs.preferred.empty()) return;
  for (const Index row : started) {
    const std::int64_t wanted = std::min(at.jobs.preferred[row], at.jobs.max_slots[row]);
    const auto most = static_cast<double>(std::min(wanted, at.slots));
    const double more = std::min(most - least(at, row), free);
    if (!(more > 0.0)) continue;
    preferred_[row] = more;
    free -= more;
    begun_.push_back(at.jobs.id[row]);
  }
}

void Start::share(Scene& at) {
  if (scaled_ || !StartShares::applies(at)) {
    inner_->set_slots(at.slots);
    inner_->decide_at(at.now, at.period);
    at.grants.give_all(
        [&](std::size_t row) { return runs(row) ? inner_->slots_of(inner_id_[row]) : 0; });
    return;
  }
  least_.resize(at.jobs.rows());
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) {
    least_[row] = runs(row) ? least(at, row) + preferred_[row] : -1.0;
  }
  const std::span<const double> slots = shares_.share(at, least_);
  at.grants.give_all([&](std::size_t row) { return slots[row]; });
}

void Start::decide(Scene& at) {
  end_preferences(at);
  tell_changes(at);
  look(at);
  stop_beyond(at);
  meet(at);
  line_up(at);
  const double free = at.capacity() - minima_ - guaranteed_;
  if (free > 0.0) {
    grow(at, free);
    const std::vector<Index>& started = line_.start(free);
    double need = 0.0;
    for (const Index row : started) need += least(at, row);
    minima_ += need;
    prefer(at, started, free - need);
    add(at, started);
  }
  scale_guarantees(at);
  share(at);
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
void Start::expect_nobody() { inner_->expect_nobody(); }

void Start::state(State& s, const Scene& at) {
  if (s.reading()) inner_ = std::make_unique<Epoch>(0, EpochOptions{});
  s(*inner_, inner_id_, turn_, ahead_, told_, turns_, scaled_, dirty_, oversized_);
  s(preferred_, begun_, shares_);
  if (!s.reading()) return;
  inner_->heed_minima();
  paces_.resize(at.jobs.rows());
  for (std::size_t row = 0; row < at.jobs.rows(); ++row) learn_pace(at, row);
}

}  // namespace malleable
