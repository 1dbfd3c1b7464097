#include "malleable/policy/overlap_epoch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// What is left of a phase, or below 0: by how much it has overrun its estimate.
void check_left(const char* field, std::span<const double> values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!kLeftRange.holds(std::fabs(values[k]))) {
      throw FieldError(field, k, values[k],
                       std::isfinite(values[k]) ? "must be from -1e15 to 1e15" : "must be finite");
    }
  }
}

void check_station(std::size_t station, std::int64_t slots) {
  if (slots >= 0 && slots <= kMostSlots) return;
  throw FieldError("slots", station, static_cast<long long>(slots), "must be from 0 to 2^50");
}

void check_most_slots(const char* field, std::span<const double> values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!(values[k] >= 1.0) || values[k] != std::floor(values[k])) {
      throw FieldError(field, k, values[k], "must be a whole number, at least 1, or infinite");
    }
  }
}

}  // namespace

double OverlapEpoch::Parts::extend(double quota) {
  if (parts.empty()) return quota;
  Part& last = parts.back();
  const double more = std::min(quota, last.most - last.share);
  last.share += more;
  return quota - more;
}

double OverlapEpoch::Parts::add(Row row, double quota, double most, Bound bound) {
  const double share = std::min(quota, most);
  parts.push_back({row, share, most, bound});
  return quota - share;
}

OverlapEpoch::OverlapEpoch(const OverlapEpochOptions& options)
    : options_(options), split_(options.policy == OverlapPolicy::kSplitSrpt) {
  check_station(0, options.map_slots);
  check_station(1, options.shuffle_slots);
  set_period(options.period);
}

void OverlapEpoch::set_period(double period) {
  check_amount("period", period, kWeightRange);
  options_.period = period;
}

bool OverlapEpoch::overloaded() const {
  return period_ > 0.0 && (load_[0].overloaded(static_cast<double>(options_.map_slots)) ||
                           load_[1].overloaded(static_cast<double>(options_.shuffle_slots)));
}

void OverlapEpoch::Columns::check(bool anew) const {
  if (anew) {
    check_amounts("map", map, kWorkRange);
    check_amounts("shuffle", shuffle, kWorkRange);
  } else {
    check_left("map", map);
    check_left("shuffle", shuffle);
  }
  check_amounts("ready", ready, kLeftRange);
  check_most_slots("max_map_slots", max_map_slots);
  check_most_slots("max_shuffle_slots", max_shuffle_slots);
}

// For what is derived of all rows.
void OverlapEpoch::make_room() {
  const std::size_t rows = jobs_.rows();
  for (auto* column : {&map_first_, &shuffle_first_, &imbalance_}) column->resize(rows, kInfinity);
  for (auto* column : {&map_rank_, &shuffle_rank_}) column->resize(rows);
  service_at_.resize(rows, 0);
}

// A job comes while decisions are held.
void OverlapEpoch::count_arrival(const Job& job) {
  if (!(period_ > 0.0)) return;
  for (const bool map : {true, false}) {
    const auto slots = static_cast<double>(map ? options_.map_slots : options_.shuffle_slots);
    const double work = slots * (map ? job.map : job.shuffle);
    load_[map ? 0 : 1].arrive(period_ * slot_periods(work, period_));
  }
}

void OverlapEpoch::write(Row row, const Columns& columns, std::size_t k) {
  Job& job = jobs_[row];
  overwrite(job.map, columns.map, k);
  overwrite(job.shuffle, columns.shuffle, k);
  overwrite(job.most_map, columns.max_map_slots, k);
  overwrite(job.most_shuffle, columns.max_shuffle_slots, k);
  overwrite(job.ready, columns.ready, k);
  job.ready_given |= !columns.ready.empty();
}

void OverlapEpoch::add(std::span<const double> arrival, const Columns& columns,
                       std::span<std::int64_t> ids) {
  jobs_.add(arrival, columns, ids, [&](Row row, std::size_t k) {
    write(row, columns, k);
    Job& job = jobs_[row];
    job.map_size = job.map;
    job.shuffle_size = job.shuffle;
    job.shuffle_heavy = job.map_size < job.shuffle_size;
    job.arrival = arrival.empty() ? now_ : arrival[k];
    job.sequence = sequence_++;
    latest_arrival_ = std::max(latest_arrival_, job.arrival);
    count_arrival(job);
    make_room();
    refresh(row);
  });
}

void OverlapEpoch::update(std::span<const std::int64_t> ids, const Columns& columns) {
  jobs_.update(ids, columns, [&](Row row, std::size_t k) {
    write(row, columns, k);
    refresh(row);
  });
}

void OverlapEpoch::remove(std::span<const std::int64_t> ids) {
  jobs_.remove(ids, [this](Row row) {
    map_first_[row] = shuffle_first_[row] = imbalance_[row] = kInfinity;
  });
  latest_stale_ = true;
}

void OverlapEpoch::refresh(Row row) {
  Job& job = jobs_[row];
  if (!job.ready_given) {
    const double ahead =
        job.map > 0.0 ? job.shuffle - job.map * (job.shuffle_size / job.map_size) : job.shuffle;
    job.ready = ahead > kUnseen * job.shuffle_size ? ahead : 0.0;
  }
  const bool maps = job.map != 0.0, shuffles = job.shuffle != 0.0;
  // More may be ready than an estimate knows of.
  const bool waits = job.ready > 0.0 || (shuffles && !maps);
  const double slack = kRounding * (job.map_size + job.shuffle_size);
  const auto left = [&](double work, double size) {
    return work == 0.0 ? 0.0 : seen_left(work, size, options_.bounce, slack);
  };
  const Seen seen{left(job.map, job.map_size), left(job.shuffle, job.shuffle_size)};
  map_rank_[row] = map_rank(options_.policy, seen, job.shuffle_heavy, job.sequence);
  shuffle_rank_[row] = shuffle_rank(options_.policy, seen, job.shuffle_heavy, job.sequence);
  if (options_.policy == OverlapPolicy::kFcfs) {
    map_rank_[row].first = shuffle_rank_[row].first = job.arrival;
  }
  map_first_[row] = maps ? map_rank_[row].first : kInfinity;
  shuffle_first_[row] = waits ? shuffle_rank_[row].first : kInfinity;
  imbalance_[row] = maps || shuffles ? imbalance_of(job.map_size, job.shuffle_size) : kInfinity;
}

double OverlapEpoch::beta() const {
  double least = kInfinity;
  for (const double value : imbalance_) least = std::min(least, value);
  return least;
}

void OverlapEpoch::line_up(const std::vector<double>& first, const std::vector<OverlapRank>& rank) {
  line_first_ = &first;
  line_rank_ = &rank;
  for (Line& line : line_) {
    line.heap.clear();
    line.best = line.taken = kNone;
    line.count = 0;
    line.gathered = false;
  }
  const double* const value = first.data();
  const auto rows = static_cast<Row>(first.size());
  double least[2] = {kInfinity, kInfinity};
  std::size_t count[2] = {0, 0};
  for (Row row = 0; row < rows; ++row) {
    if (value[row] == kInfinity) continue;
    const std::size_t c = class_of(row);
    ++count[c];
    if (value[row] > least[c]) continue;
    Row& best = line_[c].best;
    if (value[row] < least[c] || rank[row] < rank[best]) best = row;
    least[c] = value[row];
  }
  for (const std::size_t c : {0, 1}) line_[c].count = count[c];
}

// The first that is left of a line, or kNone.
OverlapEpoch::Row OverlapEpoch::head(std::size_t group) {
  Line& line = line_[group];
  if (line.count == 0) return kNone;
  if (line.best != kNone) return line.best;
  if (!line.gathered) {
    for (Row row = 0; row < line_first_->size(); ++row) {
      if ((*line_first_)[row] < kInfinity && class_of(row) == group && row != line.taken) {
        line.heap.push_back({(*line_rank_)[row], row});
      }
    }
    std::make_heap(line.heap.begin(), line.heap.end());
    line.gathered = true;
  }
  return line.best = line.heap.front().row;
}

void OverlapEpoch::drop_head(std::size_t group) {
  Line& line = line_[group];
  if (line.gathered) {
    std::pop_heap(line.heap.begin(), line.heap.end());
    line.heap.pop_back();
  } else {
    line.taken = line.best;
  }
  line.best = kNone;
  --line.count;
}

double OverlapEpoch::fill_map(std::size_t group, double quota, double slots) {
  quota = map_[group].extend(quota);
  while (quota > kCount) {
    const Row row = head(group);
    if (row == kNone) break;
    drop_head(group);
    double most = jobs_[row].most_map / slots;
    Bound bound = most < 1.0 ? Bound::kMaximum : Bound::kWhole;
    if (cap(row, true, slots, most)) bound = Bound::kPeriod;
    quota = map_[group].add(row, quota, std::min(1.0, most), bound);
  }
  return quota;
}

double OverlapEpoch::fill_shuffle(std::size_t group, double quota, double slots) {
  Parts& parts = shuffle_[group];
  std::vector<Flow>& flow = flow_[group];
  quota = parts.extend(quota);
  while (quota > kCount && (lends_ || parts.parts.empty())) {
    Row row = head(group);
    const bool flows =
        !flow.empty() && (row == kNone || shuffle_rank_[flow.back().row] < shuffle_rank_[row]);
    if (flows) row = flow.back().row;
    if (row == kNone) break;
    double most = jobs_[row].most_shuffle / slots;
    Bound bound = most < 1.0 ? Bound::kMaximum : Bound::kWhole;
    most = std::min(1.0, most);
    if (flows) {
      if (flow.back().rate < most) bound = Bound::kProgress;
      // Slots that are held are whole ones.
      if (period_ == 0.0) most = std::min(most, flow.back().rate);
      if (cap(row, false, slots, most)) bound = Bound::kProgress;
      flow.pop_back();
    } else {
      if (cap(row, false, slots, most)) bound = Bound::kPeriod;
      drop_head(group);
    }
    quota = parts.add(row, quota, most, bound);
  }
  return quota;
}

// Each class its part, then what is left over to whoever can use it.
void OverlapEpoch::share(bool map, double heavy, double slots) {
  const std::size_t groups = split_ ? 2 : 1;
  double left = 0.0;
  for (std::size_t c = 0; c < groups; ++c) {
    const double quota = !split_ ? 1.0 : (c == 0) == map ? heavy : 1.0 - heavy;
    left += map ? fill_map(c, quota, slots) : fill_shuffle(c, quota, slots);
  }
  for (std::size_t c = 0; c < groups && lends_ && left > 0.0; ++c) {
    left = map ? fill_map(c, left, slots) : fill_shuffle(c, left, slots);
  }
}

OverlapEpoch::Service& OverlapEpoch::service_of(Row row) {
  if (service_at_[row] == 0) {
    service_.push_back({jobs_.id_of(row), 0.0, 0.0, 0, 0, false, Bound::kOrder, Bound::kOrder});
    service_at_[row] = static_cast<std::uint32_t>(service_.size());
  }
  return service_[service_at_[row] - 1];
}

// Largest remainder; equal ones by order. The sum is rounded up, so that what flows slowly flows.
void OverlapEpoch::to_slots(const Parts (&groups)[2], std::int64_t slots, bool map) {
  const double all = static_cast<double>(slots);
  double sum = 0.0;
  std::int64_t given = 0;
  remainder_.clear();
  for (const Parts& group : groups) {
    for (const Part& part : group.parts) {
      if (part.share <= 0.0) continue;
      Service& service = service_of(part.row);
      (map ? service.map : service.shuffle) = part.share;
      (map ? service.map_bound : service.shuffle_bound) =
          part.share < part.most ? Bound::kRest : part.bound;
      // A share of many slots is a slot off by rounding: neither the job's most nor all may grow.
      const Job& job = jobs_[part.row];
      const double wanted = std::min(part.share * all, map ? job.most_map : job.most_shuffle);
      const double whole =
          std::min(std::floor(wanted + kCount), static_cast<double>(slots - given));
      (map ? service.map_slots : service.shuffle_slots) = static_cast<std::int64_t>(whole);
      given += static_cast<std::int64_t>(whole);
      sum += wanted;
      if (wanted - whole > kCount) {
        remainder_.push_back({wanted - whole, service_at_[part.row] - 1});
      }
    }
  }
  const auto total = std::min(slots, static_cast<std::int64_t>(std::ceil(sum - kCount)));
  std::sort(remainder_.begin(), remainder_.end(), [](const Remainder& a, const Remainder& b) {
    return a.fraction != b.fraction ? a.fraction > b.fraction : a.service < b.service;
  });
  for (const Remainder& next : remainder_) {
    if (given >= total) break;
    ++(map ? service_[next.service].map_slots : service_[next.service].shuffle_slots);
    ++given;
  }
}

// What a job can do at a station within the period, in slot-seconds. Of a phase that has overrun
// its estimate a part of what was done counts as left.
double OverlapEpoch::usable(Row row, bool map, double slots) const {
  const Job& job = jobs_[row];
  const double seconds = map ? job.map : job.shuffle, size = map ? job.map_size : job.shuffle_size;
  double left = seconds >= 0.0 ? seconds : still_left(size - seconds);
  if (!map && job.map != 0.0) {
    const double share = service_at_[row] == 0 ? 0.0 : service_[service_at_[row] - 1].map;
    const double ratio = job.map_size > 0.0 ? job.shuffle_size / job.map_size : 0.0;
    const double comes = std::min(share * ratio * period_, std::max(0.0, left - job.ready));
    left = job.ready + comes;
  }
  return left * slots;
}

// Cuts what a job may have of a station (a share) to whole slot-periods; whether that cut it.
bool OverlapEpoch::cap(Row row, bool map, double slots, double& most) const {
  if (period_ == 0.0) return false;
  const double whole = std::floor(std::min(1.0, most) * slots + kCount);
  const double capped = cap_at_period(usable(row, map, slots), period_, 1.0, whole) / slots;
  return std::exchange(most, capped) > capped;
}

// Slots that are left over go to jobs that end a phase earlier by them. Shares are what is held.
void OverlapEpoch::hand_out_rest(bool map, double slots) {
  if (period_ == 0.0) return;
  Parts(&groups)[2] = map ? map_ : shuffle_;
  std::vector<Part*> parts;
  for (auto* column : {&rest_.work, &rest_.high, &held_slots_}) column->clear();
  for (Parts& group : groups) {
    for (Part& part : group.parts) {
      const Job& job = jobs_[part.row];
      if (part.share <= 0.0) continue;
      const Service& service = service_of(part.row);
      const bool flows = part.bound == Bound::kProgress;
      parts.push_back(&part);
      rest_.work.push_back(flows ? 0.0 : usable(part.row, map, slots));
      rest_.high.push_back(std::min(slots, map ? job.most_map : job.most_shuffle));
      held_slots_.push_back(static_cast<double>(map ? service.map_slots : service.shuffle_slots));
    }
  }
  rest_.low.assign(parts.size(), 0.0);
  rest_.slots = slots;
  if (lends_) left_over_.hand_out(rest_, period_, {}, held_slots_);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    Service& service = service_of(parts[k]->row);
    (map ? service.map_slots : service.shuffle_slots) = static_cast<std::int64_t>(held_slots_[k]);
    (map ? service.map : service.shuffle) = parts[k]->share = held_slots_[k] / slots;
  }
}

// Everybody who waits at a station, by rank.
void OverlapEpoch::order_all(bool map) {
  std::vector<std::int64_t>& turn = turn_[map ? 0 : 1];
  turn.clear();
  if (period_ == 0.0) return;
  const std::vector<double>& first = map ? map_first_ : shuffle_first_;
  const std::vector<OverlapRank>& rank = map ? map_rank_ : shuffle_rank_;
  by_rank_.clear();
  for (Row row = 0; row < first.size(); ++row) {
    if (first[row] < kInfinity) by_rank_.push_back(row);
  }
  std::sort(by_rank_.begin(), by_rank_.end(), [&](Row a, Row b) { return rank[a] < rank[b]; });
  for (const Row row : by_rank_) turn.push_back(jobs_.id_of(row));
}

void OverlapEpoch::find_latest() {
  latest_arrival_ = -kInfinity;
  for (Row row = 0; row < jobs_.rows(); ++row) {
    if (jobs_.has(row)) latest_arrival_ = std::max(latest_arrival_, jobs_[row].arrival);
  }
  latest_stale_ = false;
}

// What is put down when a decision begins.
void OverlapEpoch::begin_decision(double now, std::int64_t map_slots, std::int64_t shuffle_slots,
                                  double period) {
  if (period_ > 0.0) {
    for (PeriodHistory& load : load_) load.pass(now - now_);
  }
  for (Row row = 0; now_ == -kInfinity && row < jobs_.rows(); ++row) {
    if (!jobs_.has(row) || jobs_[row].arrival > -kInfinity) continue;
    jobs_[row].arrival = latest_arrival_ = now;
    refresh(row);
  }
  now_ = now;
  period_ = period;
  options_.map_slots = map_slots;
  options_.shuffle_slots = shuffle_slots;
  for (std::size_t c = 0; c < 2; ++c) {
    map_[c].parts.clear();
    shuffle_[c].parts.clear();
    flow_[c].clear();
  }
  service_.clear();
}

// A station serves who waits for it.
void OverlapEpoch::serve(bool map, double heavy) {
  const std::int64_t slots = map ? options_.map_slots : options_.shuffle_slots;
  if (slots == 0) return;
  line_up(map ? map_first_ : shuffle_first_, map ? map_rank_ : shuffle_rank_);
  share(map, heavy, static_cast<double>(slots));
  to_slots(map ? map_ : shuffle_, slots, map);
  hand_out_rest(map, static_cast<double>(slots));
}

// Jobs that map now and have nothing ready: what they map flows into the shuffle station.
void OverlapEpoch::line_up_flows() {
  for (std::size_t c = 0; c < 2; ++c) {
    for (const Part& part : map_[c].parts) {
      const Job& job = jobs_[part.row];
      if (shuffle_first_[part.row] < kInfinity) continue;  // stands in line itself
      const double ratio = job.map_size > 0.0 ? job.shuffle_size / job.map_size : 0.0;
      const double rate = part.share * ratio;
      // As printed, the first job keeps others from shuffling even if it has nothing itself.
      if (rate > 0.0 || !lends_) flow_[c].push_back({part.row, rate});
    }
    std::sort(flow_[c].begin(), flow_[c].end(), [this](const Flow& a, const Flow& b) {
      return shuffle_rank_[b.row] < shuffle_rank_[a.row];
    });
  }
}

std::span<const OverlapEpoch::Service> OverlapEpoch::decide(
    double now, std::optional<std::int64_t> new_map_slots,
    std::optional<std::int64_t> new_shuffle_slots, std::optional<double> period) {
  check_now(now, now_);
  if (period) check_amount("period", *period, kWeightRange);
  const std::int64_t map_slots = new_map_slots.value_or(options_.map_slots);
  const std::int64_t shuffle_slots = new_shuffle_slots.value_or(options_.shuffle_slots);
  check_station(0, map_slots);
  check_station(1, shuffle_slots);
  if (latest_arrival_ > now && latest_stale_) find_latest();
  if (latest_arrival_ > now) {
    throw std::invalid_argument("now = " + std::to_string(now) + ": a job arrives at " +
                                std::to_string(latest_arrival_));
  }
  begin_decision(now, map_slots, shuffle_slots, period.value_or(options_.period));
  const double heavy = split_ ? split_share(beta()) : 1.0;
  lends_ = options_.conserving || (split_ && heavy == 1.0);  // see sim/tandem
  serve(true, heavy);
  line_up_flows();
  serve(false, heavy);
  for (const bool map : {true, false}) order_all(map);
  return told();
}

// Of a job that gets nothing of a station.
Bound OverlapEpoch::bound_of(Row row, const Service& service, bool map) const {
  const Job& job = jobs_[row];
  const bool feeds = service.map > 0.0 && job.shuffle_size > 0.0;  // what it maps could be shuffled
  const bool waits = map ? map_first_[row] < kInfinity : shuffle_first_[row] < kInfinity || feeds;
  if (!waits) return Bound::kNothing;
  return (map ? options_.map_slots : options_.shuffle_slots) > 0 ? Bound::kOrder : Bound::kNoSlots;
}

// The services, and those that lost their slots behind them.
std::span<const OverlapEpoch::Service> OverlapEpoch::told() {
  jobs_.held.begin();
  for (Service& service : service_) {
    service.changed =
        jobs_.held.name(JobIds::row_of(service.id), {service.map_slots, service.shuffle_slots});
  }
  jobs_.held.name_rest([](Row) { return HeldSlots<2>::Slots{}; },
                       [this](Row row, const HeldSlots<2>::Slots&, bool changed) {
                         service_of(row).changed = changed;
                       });
  for (Service& service : service_) {
    const Row row = JobIds::row_of(service.id);
    if (service.map <= 0.0) service.map_bound = bound_of(row, service, true);
    if (service.shuffle <= 0.0) service.shuffle_bound = bound_of(row, service, false);
    service_at_[row] = 0;
  }
  return service_;
}

void OverlapEpoch::state(State& s) {
  s(options_, jobs_, now_, sequence_, period_, load_[0], load_[1]);
  if (!s.reading()) return;
  split_ = options_.policy == OverlapPolicy::kSplitSrpt;
  for (auto* column : {&map_first_, &shuffle_first_, &imbalance_}) column->clear();
  service_at_.clear();
  make_room();
  for (Row row = 0; row < jobs_.rows(); ++row) {
    if (jobs_.has(row)) refresh(row);
  }
  find_latest();
}

}  // namespace malleable
