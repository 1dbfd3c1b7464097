#include "malleable/policy/slotted_epoch.hpp"

#include <stdexcept>
#include <string>

#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"

namespace malleable {
namespace {

// Terms: a step is the unit of time, in which a machine does one unit of work; a decision with a
// period holds for several whole steps.
void check_slots(std::int64_t slots) {
  if (slots >= 0 && slots <= kMostUnits) return;
  throw std::invalid_argument("slots = " + std::to_string(slots) + ": must be from 0 to 2^40");
}

}  // namespace

void SlottedEpoch::Columns::check(bool) const {
  const auto count = [](const char* field, std::span<const std::int64_t> values) {
    check_counts(field, values, 0, kMostUnits, "must be from 0 to 2^40");
  };
  count("maps", maps);
  count("reduces", reduces);
  count("running", running);
  check_amounts("map_left", map_left, kLeftRange);
  check_amounts("reduce_left", reduce_left, kLeftRange);
}

SlottedEpoch::SlottedEpoch(std::int64_t slots, double step_seconds, const std::string& policy,
                           double period)
    : slots_(slots),
      step_seconds_(step_seconds),
      policy_name_(policy),
      policy_(make_slotted_policy(policy, /*preemptive=*/false)) {
  check_slots(slots);
  clock_.set(period);
  check_amount("step_seconds", step_seconds, kRateRange);
}

void SlottedEpoch::write(Index row, const Columns& columns, std::size_t k) {
  SlottedJob& job = jobs_[row];
  if (!columns.maps.empty()) {
    job.maps = columns.maps[k];
    job.map_left = static_cast<double>(job.maps) * map_task_[row];
  }
  overwrite(job.ready, columns.reduces, k);
  running_ -= job.running;
  overwrite(job.running, columns.running, k);
  running_ += job.running;
  if (job.running > 0) jobs_.held.note(row);
  if (!columns.map_left.empty()) {
    job.map_left = columns.map_left[k] / step_seconds_;
    if (job.maps > 0) map_task_[row] = job.map_left / static_cast<double>(job.maps);
  }
  if (!columns.reduce_left.empty()) job.reduce_left = columns.reduce_left[k] / step_seconds_;
}

void SlottedEpoch::add(std::span<const double> arrival, const Columns& columns,
                       std::span<std::int64_t> ids) {
  check_times("arrival", arrival);
  for (std::size_t k = 0; k < arrival.size(); ++k) {
    if (!in_reach(arrival[k], arrival[0])) {
      throw FieldError("arrival", k, arrival[k], "more than 2^50 steps after the first call");
    }
  }
  jobs_.add(arrival, columns, ids, [&](Index row, std::size_t k) {
    stands_ = false;
    if (!arrival.empty()) note_time(arrival[k]);
    if (now_ > -kInfinity) pass_steps(step_of(now_) - 1);
    map_task_.resize(jobs_.rows());
    map_task_[row] = 1.0;
    jobs_[row].sequence = sequence_++;
    write(row, columns, k);
    if (clock_.any()) {  // the machines that run its tasks for whole periods
      const double whole = std::max(1.0, period_steps());
      clock_.come(
          whole * step_seconds_ *
          (slot_periods(jobs_[row].map_left, whole) + slot_periods(jobs_[row].reduce_left, whole)));
    }
    policy_->arrive(jobs_.all(), row);
  });
}

void SlottedEpoch::update(std::span<const std::int64_t> ids, const Columns& columns) {
  jobs_.update(ids, columns, [&](Index row, std::size_t k) {
    stands_ = false;
    write(row, columns, k);
    policy_->update(jobs_.all(), row);
  });
}

void SlottedEpoch::leave(std::span<const std::int64_t> ids, bool cancelled) {
  jobs_.remove(ids, [&](Index row) {
    stands_ = false;
    policy_->leave(jobs_.all(), row, cancelled);
    running_ -= jobs_[row].running;
  });
}

// Waiting tasks as machines that run tasks of one job one after the other for `steps`.
std::span<const SlottedJob> SlottedEpoch::cap(double steps) {
  if (steps <= 1.0) return jobs_.all();
  const auto machines = [](std::int64_t tasks, double each) {
    const double needed = std::ceil(static_cast<double>(tasks) / each);
    return std::min(tasks, static_cast<std::int64_t>(needed));
  };
  capped_.assign(jobs_.all().begin(), jobs_.all().end());
  for (SlottedJob& job : capped_) {
    job.maps = machines(job.maps, steps);
    if (job.ready == 0) continue;
    const double length = std::max(1.0, job.reduce_left / static_cast<double>(job.ready));
    job.ready = machines(job.ready, std::max(1.0, std::floor(steps / length + kCount)));
  }
  return capped_;
}

// Gives machines that are left over to jobs whose waiting tasks end earlier by them.
std::int64_t SlottedEpoch::hand_out_rest(double steps, std::int64_t idle) {
  if (steps <= 1.0 || idle <= 0) return idle;
  for (auto* column : {&rest_work_, &rest_high_, &machines_}) column->clear();
  auto all = static_cast<double>(idle);
  for (const SlottedGrant& grant : grants_) {
    const SlottedJob& job = jobs_[grant.row];
    // Only one kind of task waits.
    rest_work_.push_back(job.maps > 0 ? static_cast<double>(job.maps) : job.reduce_left);
    rest_high_.push_back(static_cast<double>(job.maps > 0 ? job.maps : job.ready));
    machines_.push_back(static_cast<double>(grant.maps + grant.reduces));
    all += machines_.back();
  }
  left_over_.hand_out({all, steps, rest_work_, {}, rest_high_, {}}, machines_);
  for (std::size_t k = 0; k < grants_.size(); ++k) {
    SlottedGrant& grant = grants_[k];
    const auto more = static_cast<std::int64_t>(machines_[k]) - grant.maps - grant.reduces;
    (jobs_[grant.row].maps > 0 ? grant.maps : grant.reduces) += more;
    idle -= more;
  }
  return idle;
}

// Lists jobs in the order in which they get machines that become free within the period: the grants
// first, then by arrival.
void SlottedEpoch::line_up() {
  line_.clear();
  for (const SlottedGrant& grant : grants_) line_.push_back(grant.row);
  const std::size_t first = line_.size();
  for (Index row = 0; row < jobs_.rows(); ++row) {
    if (jobs_.has(row) && jobs_[row].maps + jobs_[row].ready > 0) line_.push_back(row);
  }
  std::sort(line_.begin() + static_cast<std::ptrdiff_t>(first), line_.end(),
            [this](Index a, Index b) { return jobs_[a].sequence < jobs_[b].sequence; });
  std::vector<std::uint8_t> seen(jobs_.rows(), 0);
  for (const Index row : line_) {
    if (seen[row]++ == 0) order_.push_back(jobs_.id_of(row));
  }
}

std::span<const SlottedEpoch::Grant> SlottedEpoch::decide(double now,
                                                          std::optional<std::int64_t> slots,
                                                          std::optional<double> period) {
  if (slots) check_slots(*slots);
  const double wanted = clock_.wanted(period);
  check_now(now, now_);
  if (!in_reach(now, now))
    throw FieldError("now", now, "more than 2^50 steps after the first call");
  const bool same = slots.value_or(slots_) == slots_ && wanted == clock_.period();
  if (stands_ && same && now == clock_.now()) {
    // The last decision again; jobs that lost all are left out.
    std::erase_if(shown_, [](const Grant& grant) { return grant.slots == 0; });
    for (Grant& grant : shown_) grant.changed = false;
    return shown_;
  }
  clock_.begin(now, wanted);
  note_time(now);
  const std::int64_t step = step_of(now);
  pass_steps(step - 1);
  slots_ = slots.value_or(slots_);
  grants_.clear();
  std::int64_t idle = std::max<std::int64_t>(slots_ - running_, 0);
  const double whole = period_steps();
  if (slots_ > 0) {
    policy_->decide(cap(whole), slots_, idle, passed_ < step, grants_);
    passed_ = step;
  }
  for (const SlottedGrant& grant : grants_) idle -= grant.maps + grant.reduces;
  idle = hand_out_rest(whole, idle);
  order_.clear();
  if (clock_.any()) line_up();
  shown_.clear();
  jobs_.held.begin();
  for (const SlottedGrant& grant : grants_) {
    if (grant.maps + grant.reduces == 0) continue;
    const AssignedSlots<1>::Slots held = {jobs_[grant.row].running + grant.maps + grant.reduces};
    write_grant(grant, held, jobs_.held.set(grant.row, held), idle);
  }
  jobs_.held.set_rest([this](Index row) { return AssignedSlots<1>::Slots{jobs_[row].running}; },
                      [&](Index row, const AssignedSlots<1>::Slots& held, bool changed) {
                        write_grant({row, 0, 0}, held, changed, idle);
                      });
  stands_ = true;
  return shown_;
}

void SlottedEpoch::write_grant(const SlottedGrant& grant, const AssignedSlots<1>::Slots& slots,
                               bool changed, std::int64_t idle) {
  const SlottedJob& job = jobs_[grant.row];
  const std::int64_t started = grant.maps + grant.reduces;
  Bound bound = idle > 0 ? Bound::kOrder : Bound::kNoSlots;
  if (job.maps + job.ready == started) bound = started > 0 ? Bound::kAll : Bound::kNothing;
  shown_.push_back({jobs_.id_of(grant.row), grant.maps, grant.reduces, slots[0], changed, bound});
}

void SlottedEpoch::state(State& s) {
  s(policy_name_);
  if (s.reading()) policy_ = make_slotted_policy(policy_name_, /*preemptive=*/false);
  policy_->state(s);
  s(slots_, step_seconds_, clock_, jobs_, map_task_, origin_, now_, sequence_, running_, passed_,
    stands_, shown_, order_);
}

}  // namespace malleable
