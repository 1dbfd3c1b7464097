#include "malleable/kernel/laxity_packing.hpp"

#include <algorithm>

#include "malleable/model/tolerance.hpp"

namespace malleable {

// Terms: p is a job's place in the order; its rate is the slots that it has; slack is free slots
// beyond all minima, room the slots beyond the minima that no urgent job holds; the latest start is
// the time from which a job needs its maximum to meet its deadline. From then on it is urgent and
// runs at its maximum, or hopeless if that does not fit. The frontier is the first job in the order
// below its maximum. A gang runs on at least its minimum, or not at all.

// Adds the events of a job if its rate stays: its end, and its latest start if it has one.
void LaxityPacking::push_events(Index p, std::vector<Event>& events) const {
  const Row& row = rows_[p];
  if (row.rate > 0.0) events.push_back({row.since + row.left / row.rate, false, p, row.version});
  if (row.urgent || row.hopeless || row.due == kInfinity || row.rate >= row.high) return;
  const double latest =
      (row.high * row.due - row.left - row.rate * row.since) / (row.high - row.rate);
  // A job within the tolerance of its deadline keeps its slots.
  const bool now = latest <= row.since + 2.0 * tolerance(now_ + row.due);
  events.push_back({now ? row.since : latest, true, p, row.version});
}

void LaxityPacking::load(const Problem& problem, std::span<const Index> order,
                         std::span<const double> due) {
  assert(!problem.gang && order.size() == problem.size() && due.size() == problem.size());
  now_ = problem.now;
  time_ = 0.0;
  slack_ = problem.slots;
  rows_.clear();
  rows_.push_back({0.0, 0.0, 0.0, 0.0, 0.0, kInfinity, kNone, 0, 1, 0, false, false});
  for (const Index j : order) {
    if (problem.work[j] == 0.0) continue;
    const auto p = static_cast<Index>(rows_.size());
    const double low = problem.low[j];
    slack_ -= low;
    rows_.push_back({problem.work[j], 0.0, low, low, problem.high[j], due[j], j, p - 1, p + 1, 0,
                     false, false});
  }
  const auto end = static_cast<Index>(rows_.size());
  rows_.push_back({0.0, 0.0, 0.0, 0.0, 0.0, kInfinity, kNone, end - 1, end, 0, false, false});
  room_ = slack_;
  frontier_ = 1;
  events_.clear();
  for (Index p = 1; p < end; ++p) push_events(p, events_);
  // Most times are known from the start: these are sorted, and only later ones use a heap.
  std::stable_partition(events_.begin(), events_.end(), [](const Event& e) { return !e.start; });
  key_.resize(events_.size());
  sorted_.resize(events_.size());
  for (std::size_t k = 0; k < events_.size(); ++k) key_[k] = events_[k].time;
  sorter_.sort(key_, sorted_);
  first_.clear();
  for (const Index k : sorted_) first_.push_back(events_[k]);
  next_first_ = 0;
  events_.clear();
  fill();
}

void LaxityPacking::set_rate(Index p, double rate) {
  Row& row = rows_[p];
  if (plan_ != nullptr && now_ + time_ > now_ + row.since) {
    if (row.rate > 0.0) plan_->pieces.add(row.job, now_ + row.since, now_ + time_, row.rate);
  }
  if (plan_ != nullptr && time_ == 0.0)
    plan_->allocation[row.job] = static_cast<std::int64_t>(rate);
  row.left = std::max(0.0, row.left - row.rate * (time_ - row.since));
  row.since = time_;
  row.rate = rate;
  ++row.version;
  const std::size_t before = events_.size();
  push_events(p, events_);
  for (std::size_t k = before; k < events_.size(); ++k) {
    std::push_heap(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(k + 1));
  }
}

// No job displaces it any more.
void LaxityPacking::unlink(Index p) {
  const Row& row = rows_[p];
  rows_[row.before].after = row.after;
  rows_[row.after].before = row.before;
  if (frontier_ == p) frontier_ = row.after;
}

// Gives the slack to the first jobs that can use it.
void LaxityPacking::fill() {
  const auto end = static_cast<Index>(rows_.size() - 1);
  while (slack_ > 0.0 && frontier_ != end) {
    const Row& row = rows_[frontier_];
    const double more = std::min(slack_, row.high - row.rate);
    slack_ -= more;
    if (more > 0.0) set_rate(frontier_, row.rate + more);
    if (row.rate == row.high) frontier_ = row.after;
  }
}

// Its latest start has come.
void LaxityPacking::make_urgent(Index p) {
  Row& row = rows_[p];
  const double more = row.high - row.low;
  if (more > room_) {
    row.hopeless = true;
    return;
  }
  room_ -= more;
  unlink(p);
  row.urgent = true;
  const double need = row.high - row.rate;
  while (slack_ < need) {  // from the last job that holds more than its minimum
    const Row& last = rows_[frontier_];
    const double taken = std::min(last.rate - last.low, need - slack_);
    if (taken > 0.0) {
      slack_ += taken;
      set_rate(frontier_, last.rate - taken);
    }
    if (slack_ < need) frontier_ = rows_[frontier_].before;
  }
  slack_ -= need;
  set_rate(p, row.high);
}

// The next event that is still valid. There is one as long as a job is left.
LaxityPacking::Event LaxityPacking::next_event() {
  for (;;) {
    Event event;
    if (events_.empty() ||
        (next_first_ < first_.size() && !(first_[next_first_] < events_.front()))) {
      assert(next_first_ < first_.size());
      event = first_[next_first_++];
    } else {
      event = events_.front();
      std::pop_heap(events_.begin(), events_.end());
      events_.pop_back();
    }
    if (rows_[event.place].version == event.version) return event;
  }
}

// Advances to the next end of a job and returns its place.
Index LaxityPacking::next_end() {
  for (;;) {
    const Event event = next_event();
    const Index p = event.place;
    time_ = std::max(time_, event.time);
    if (event.start) {
      make_urgent(p);
      fill();
      continue;
    }
    const Row& row = rows_[p];
    slack_ += row.rate;
    room_ += row.urgent ? row.high : row.low;
    if (!row.urgent) unlink(p);
    if (plan_ != nullptr && now_ + time_ > now_ + row.since) {
      plan_->pieces.add(row.job, now_ + row.since, now_ + time_, row.rate);
    }
    ++rows_[p].version;
    fill();
    return p;
  }
}

void LaxityPacking::run(const Problem& problem, std::span<const Index> order,
                        std::span<const double> due, std::span<double> completion, Plan* plan) {
  plan_ = plan;
  if (plan != nullptr) {
    plan->allocation.assign(problem.size(), 0);
    plan->pieces.clear();
    for (std::size_t j = 0; j < problem.size(); ++j) {
      if (problem.work[j] > 0.0) plan->allocation[j] = static_cast<std::int64_t>(problem.low[j]);
    }
  }
  std::fill(completion.begin(), completion.end(), 0.0);
  run_until(problem, order, due, [&](Index j, double time) {
    completion[j] = time;
    return true;
  });
  plan_ = nullptr;
  if (plan == nullptr) return;
  plan->start.resize(problem.size());
  for (std::size_t j = 0; j < problem.size(); ++j) plan->start[j] = problem.now + completion[j];
  for (std::size_t k = 0; k < plan->pieces.size(); ++k) {
    double& start = plan->start[static_cast<std::size_t>(plan->pieces.job[k])];
    start = std::min(start, plan->pieces.start[k]);
  }
}

}  // namespace malleable
