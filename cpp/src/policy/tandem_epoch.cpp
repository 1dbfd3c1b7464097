#include "malleable/policy/tandem_epoch.hpp"

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
#include "malleable/policy/registry.hpp"

namespace malleable {
namespace {

// Terms: a station is all slots of one phase (map, shuffle); a line is the jobs of one class that
// wait there, by rank; a part is a job's share of a station; a flow is shuffle work that comes from
// a job whose maps run. Split-SRPT serves two classes, jobs with more map and jobs with more
// shuffle work, and gives them parts by beta, the least imbalance of a job's two phases; a class
// lends what it cannot use.

// Checks the work left of phases; below 0: the overrun of an estimate.
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

constexpr auto kMapping = TandemEpoch::kMapping, kShuffling = TandemEpoch::kShuffling;
constexpr TandemEpoch::Station kStations[] = {kMapping, kShuffling};

}  // namespace

// Gives more to the last job, up to its maximum; returns the rest.
double TandemEpoch::Parts::extend(double quota) {
  if (parts.empty()) return quota;
  Part& last = parts.back();
  const double more = std::min(quota, last.most - last.share);
  last.share += more;
  return quota - more;
}

// Adds a job; returns what is left of the quota.
double TandemEpoch::Parts::add(Row row, double quota, double most, Bound bound) {
  const double share = std::min(quota, most);
  parts.push_back({row, share, most, bound});
  return quota - share;
}

TandemEpoch::TandemEpoch(const TandemEpochOptions& options)
    : options_(options), split_(options.policy == TandemPolicy::kSplitSrpt) {
  for (const Station at : kStations) check_station(at, options.slots[at]);
  clock_.set(options.period);
}

const char* TandemEpoch::rule() const { return find_policy(Model::kTandem, options_.policy).name; }

bool TandemEpoch::overloaded() const {
  return clock_.overloaded(options_.slots[kMapping], kMapping) ||
         clock_.overloaded(options_.slots[kShuffling], kShuffling);
}

void TandemEpoch::Columns::check(bool new_jobs) const {
  if (new_jobs) {
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

// Makes room for derived data of all rows.
void TandemEpoch::make_room() {
  const std::size_t rows = jobs_.rows();
  for (StationState& station : stations_) {
    station.first.resize(rows, kInfinity);
    station.rank.resize(rows);
  }
  imbalance_.resize(rows, kInfinity);
  service_at_.resize(rows, 0);
}

void TandemEpoch::write(Row row, const Columns& columns, std::size_t k) {
  Job& job = jobs_[row];
  overwrite(job.left[kMapping], columns.map, k);
  overwrite(job.left[kShuffling], columns.shuffle, k);
  overwrite(job.most[kMapping], columns.max_map_slots, k);
  overwrite(job.most[kShuffling], columns.max_shuffle_slots, k);
  overwrite(job.ready, columns.ready, k);
  job.ready_given |= !columns.ready.empty();
}

void TandemEpoch::add(std::span<const double> arrival, const Columns& columns,
                      std::span<std::int64_t> ids) {
  jobs_.add(arrival, columns, ids, [&](Row row, std::size_t k) {
    write(row, columns, k);
    Job& job = jobs_[row];
    job.size = job.left;
    job.shuffle_heavy = job.size[kMapping] < job.size[kShuffling];
    job.arrival = arrival.empty() ? clock_.now() : arrival[k];
    job.sequence = sequence_++;
    latest_arrival_ = std::max(latest_arrival_, job.arrival);
    const double period = clock_.period();
    for (const Station at : kStations) {
      if (period > 0.0) clock_.come(period * slot_periods(slots_at(at) * job.left[at], period), at);
    }
    make_room();
    refresh(row);
  });
}

void TandemEpoch::update(std::span<const std::int64_t> ids, const Columns& columns) {
  jobs_.update(ids, columns, [&](Row row, std::size_t k) {
    write(row, columns, k);
    refresh(row);
  });
}

void TandemEpoch::remove(std::span<const std::int64_t> ids) {
  jobs_.remove(ids, [this](Row row) {
    for (StationState& station : stations_) station.first[row] = kInfinity;
    imbalance_[row] = kInfinity;
  });
}

// Computes a job's ready shuffle work (unless it is given) and its ranks.
void TandemEpoch::refresh(Row row) {
  Job& job = jobs_[row];
  const auto [map, shuffle] = job.left;
  const auto [map_size, shuffle_size] = job.size;
  if (!job.ready_given) {
    const double ahead = map > 0.0 ? shuffle - map * (shuffle_size / map_size) : shuffle;
    job.ready = ahead > kUnseen * shuffle_size ? ahead : 0.0;
  }
  const bool maps = map != 0.0, shuffles = shuffle != 0.0;
  // More work may be ready than an estimate has left.
  const bool waits = job.ready > 0.0 || (shuffles && !maps);
  const double slack = kRounding * (map_size + shuffle_size);
  const auto left = [&](Station at, bool any) {
    return any ? seen_left(job.left[at], job.size[at], slack) : 0.0;
  };
  const Seen seen{left(kMapping, maps), left(kShuffling, shuffles || job.ready > 0.0)};
  Both<TandemRank> rank{map_rank(options_.policy, seen, job.shuffle_heavy, job.sequence),
                        shuffle_rank(options_.policy, seen, job.shuffle_heavy, job.sequence)};
  for (const Station at : kStations) {
    if (options_.policy == TandemPolicy::kFcfs) rank[at].first = job.arrival;
    const bool stands = at == kMapping ? maps : waits;
    stations_[at].rank[row] = rank[at];
    stations_[at].first[row] = stands ? rank[at].first : kInfinity;
  }
  imbalance_[row] = maps || shuffles ? imbalance_of(map_size, shuffle_size) : kInfinity;
}

double TandemEpoch::beta() const {
  double least = kInfinity;
  for (const double value : imbalance_) least = std::min(least, value);
  return least;
}

// Finds the first job of each class at a station.
void TandemEpoch::line_up(const StationState& of) {
  lined_up_ = &of;
  for (Line& line : line_) {
    line.heap.clear();
    line.best = line.taken = kNone;
    line.count = 0;
    line.gathered = false;
  }
  const double* const value = of.first.data();
  const auto rows = static_cast<Row>(of.first.size());
  double least[2] = {kInfinity, kInfinity};
  std::size_t count[2] = {0, 0};
  for (Row row = 0; row < rows; ++row) {
    if (value[row] == kInfinity) continue;
    const std::size_t c = class_of(row);
    ++count[c];
    if (value[row] > least[c]) continue;
    Row& best = line_[c].best;
    if (value[row] < least[c] || of.rank[row] < of.rank[best]) best = row;
    least[c] = value[row];
  }
  for (const std::size_t c : {0, 1}) line_[c].count = count[c];
}

// The first remaining job of a line, or kNone.
TandemEpoch::Row TandemEpoch::head(std::size_t group) {
  Line& line = line_[group];
  if (line.count == 0) return kNone;
  if (line.best != kNone) return line.best;
  if (!line.gathered) {
    for (Row row = 0; row < lined_up_->first.size(); ++row) {
      if (lined_up_->first[row] < kInfinity && class_of(row) == group && row != line.taken) {
        line.heap.push_back({lined_up_->rank[row], row});
      }
    }
    std::make_heap(line.heap.begin(), line.heap.end());
    line.gathered = true;
  }
  return line.best = line.heap.front().row;
}

void TandemEpoch::drop_head(std::size_t group) {
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

// Gives a class up to `quota` of a station, job by job; returns what is left.
double TandemEpoch::fill(Station at, std::size_t group, double quota) {
  const StationState& station = stations_[at];
  Parts& parts = stations_[at].parts[group];
  std::vector<Flow>& flow = flow_[group];  // empty while maps are served
  quota = parts.extend(quota);
  while (quota > kCount && (at == kMapping || lends_ || parts.parts.empty())) {
    Row row = head(group);
    const bool flows =
        !flow.empty() && (row == kNone || station.rank[flow.back().row] < station.rank[row]);
    if (flows) row = flow.back().row;
    if (row == kNone) break;
    double most = jobs_[row].most[at] / slots_at(at);
    Bound bound = most < 1.0 ? Bound::kMaximum : Bound::kWhole;
    most = std::min(1.0, most);
    if (flows) {
      if (flow.back().rate < most) bound = Bound::kProgress;
      // With a period slots are whole.
      if (!clock_.any()) most = std::min(most, flow.back().rate);
      if (cap(row, at, most)) bound = Bound::kProgress;
      flow.pop_back();
    } else {
      if (cap(row, at, most)) bound = Bound::kPeriod;
      drop_head(group);
    }
    quota = parts.add(row, quota, most, bound);
  }
  return quota;
}

// Gives each class its part, then the rest to jobs that can use it.
void TandemEpoch::share(Station at, double heavy) {
  const std::size_t groups = split_ ? 2 : 1;
  double left = 0.0;
  for (std::size_t c = 0; c < groups; ++c) {
    left += fill(at, c, !split_ ? 1.0 : c == at ? heavy : 1.0 - heavy);
  }
  for (std::size_t c = 0; c < groups && lends_ && left > 0.0; ++c) left = fill(at, c, left);
}

TandemEpoch::Service& TandemEpoch::service_of(Row row) {
  if (service_at_[row] == 0) {
    service_.push_back({jobs_.id_of(row)});
    service_at_[row] = static_cast<std::uint32_t>(service_.size());
  }
  return service_[service_at_[row] - 1];
}

// Rounds by largest remainder, ties by order. The sum is rounded up, so that slow flows get a slot.
void TandemEpoch::to_slots(Station at) {
  const std::int64_t slots = options_.slots[at];
  double sum = 0.0;
  std::int64_t given = 0;
  remainder_.clear();
  for (const Parts& group : stations_[at].parts) {
    for (const Part& part : group.parts) {
      if (part.share <= 0.0) continue;
      Service& service = service_of(part.row);
      service.share[at] = part.share;
      service.bound[at] = part.share < part.most ? Bound::kRest : part.bound;
      // Rounding may make a share of many slots a slot too large, so it is cut to the job's maximum
      // and to all slots.
      const double wanted = std::min(part.share * slots_at(at), jobs_[part.row].most[at]);
      const double whole =
          std::min(std::floor(wanted + kCount), static_cast<double>(slots - given));
      service.slots[at] = static_cast<std::int64_t>(whole);
      given += service.slots[at];
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
  for (std::size_t k = 0; k < remainder_.size() && given < total; ++k, ++given) {
    ++service_[remainder_[k].service].slots[at];
  }
}

// The work that a job can do at a station within the period, in slot-seconds. If a phase has
// overrun its estimate, a part of the work done counts as left.
double TandemEpoch::usable(Row row, Station at) const {
  const Job& job = jobs_[row];
  double left = job.left[at] >= 0.0 ? job.left[at] : still_left(job.size[at] - job.left[at]);
  if (at == kShuffling && job.left[kMapping] != 0.0) {
    const double maps =
        service_at_[row] == 0 ? 0.0 : service_[service_at_[row] - 1].share[kMapping];
    const double comes =
        std::min(maps * job.ratio() * clock_.period(), std::max(0.0, left - job.ready));
    left = job.ready + comes;
  }
  return left * slots_at(at);
}

// Cuts a job's maximum share of a station to whole slot-periods; returns whether it changed.
bool TandemEpoch::cap(Row row, Station at, double& most) const {
  if (!clock_.any()) return false;
  const double whole = std::floor(most * slots_at(at) + kCount);
  const double capped = cap_at_period(usable(row, at), clock_.period(), 1.0, whole) / slots_at(at);
  return std::exchange(most, capped) > capped;
}

// Gives slots that are left over to jobs that end a phase earlier by them. Shares follow the slots
// held.
void TandemEpoch::hand_out_rest(Station at) {
  if (!clock_.any()) return;
  rest_parts_.clear();
  for (auto* column : {&rest_.work, &rest_.high, &assigned_slots_}) column->clear();
  for (Parts& group : stations_[at].parts) {
    for (Part& part : group.parts) {
      if (part.share <= 0.0) continue;
      rest_parts_.push_back(&part);
      rest_.work.push_back(part.bound == Bound::kProgress ? 0.0 : usable(part.row, at));
      rest_.high.push_back(std::min(slots_at(at), jobs_[part.row].most[at]));
      assigned_slots_.push_back(static_cast<double>(service_of(part.row).slots[at]));
    }
  }
  rest_.slots = slots_at(at);
  if (lends_) left_over_.hand_out(rest_, clock_.period(), {}, assigned_slots_);
  for (std::size_t k = 0; k < rest_parts_.size(); ++k) {
    Service& service = service_of(rest_parts_[k]->row);
    service.slots[at] = static_cast<std::int64_t>(assigned_slots_[k]);
    service.share[at] = rest_parts_[k]->share = assigned_slots_[k] / slots_at(at);
  }
}

// Orders all jobs that wait at a station by rank.
void TandemEpoch::order_all(Station at) {
  auto& [first, rank, parts, turn] = stations_[at];
  turn.clear();
  if (!clock_.any()) return;
  by_rank_.clear();
  for (Row row = 0; row < first.size(); ++row) {
    if (first[row] < kInfinity) by_rank_.push_back(row);
  }
  std::sort(by_rank_.begin(), by_rank_.end(),
            [&ranks = rank](Row a, Row b) { return ranks[a] < ranks[b]; });
  for (const Row row : by_rank_) turn.push_back(jobs_.id_of(row));
}

void TandemEpoch::find_latest() {
  latest_arrival_ = -kInfinity;
  for (Row row = 0; row < jobs_.rows(); ++row) {
    if (jobs_.has(row)) latest_arrival_ = std::max(latest_arrival_, jobs_[row].arrival);
  }
}

// Begins a decision: stores its time, slots and period.
void TandemEpoch::begin_decision(double now, const Both<std::int64_t>& slots, double period) {
  for (Row row = 0; clock_.now() == -kInfinity && row < jobs_.rows(); ++row) {
    if (!jobs_.has(row) || jobs_[row].arrival > -kInfinity) continue;
    jobs_[row].arrival = latest_arrival_ = now;
    refresh(row);
  }
  clock_.begin(now, period);
  options_.slots = slots;
  for (std::size_t c = 0; c < 2; ++c) {
    for (StationState& station : stations_) station.parts[c].parts.clear();
    flow_[c].clear();
  }
  service_.clear();
}

// Serves the jobs that wait for a station.
void TandemEpoch::serve(Station at, double heavy) {
  if (options_.slots[at] == 0) return;
  line_up(stations_[at]);
  share(at, heavy);
  to_slots(at);
  hand_out_rest(at);
}

// Lists jobs that map now and have nothing ready: the work they map flows into the shuffle station.
void TandemEpoch::line_up_flows() {
  for (std::size_t c = 0; c < 2; ++c) {
    for (const Part& part : stations_[kMapping].parts[c].parts) {
      // the job waits at the station itself
      if (stations_[kShuffling].first[part.row] < kInfinity) continue;
      const double rate = part.share * jobs_[part.row].ratio();
      // As printed in Lin et al. 2013, the first job keeps others from shuffling even if it has
      // nothing to shuffle.
      if (rate > 0.0 || !lends_) flow_[c].push_back({part.row, rate});
    }
    const std::vector<TandemRank>& rank = stations_[kShuffling].rank;
    std::sort(flow_[c].begin(), flow_[c].end(),
              [&](const Flow& a, const Flow& b) { return rank[b.row] < rank[a.row]; });
  }
}

std::span<const TandemEpoch::Service> TandemEpoch::decide(
    double now, std::optional<std::int64_t> new_map_slots,
    std::optional<std::int64_t> new_shuffle_slots, std::optional<double> period) {
  check_now(now, clock_.now());
  const double held = clock_.wanted(period);
  const Both<std::int64_t> slots{new_map_slots.value_or(options_.slots[kMapping]),
                                 new_shuffle_slots.value_or(options_.slots[kShuffling])};
  for (const Station at : kStations) check_station(at, slots[at]);
  if (latest_arrival_ > now) find_latest();  // that job may have left
  if (latest_arrival_ > now) {
    throw std::invalid_argument("now = " + std::to_string(now) + ": a job arrives at " +
                                std::to_string(latest_arrival_));
  }
  begin_decision(now, slots, held);
  const double heavy = split_ ? split_share(beta()) : 1.0;
  // If every job seems to have only one phase, the printed shares leave nothing for other jobs.
  lends_ = options_.conserving || (split_ && heavy == 1.0);
  serve(kMapping, heavy);
  line_up_flows();
  serve(kShuffling, heavy);
  for (const Station at : kStations) order_all(at);
  return all_services();
}

// The reason why a job gets nothing of a station.
Bound TandemEpoch::bound_of(Row row, const Service& service, Station at) const {
  // Whether the work that it maps could be shuffled.
  const bool feeds =
      at == kShuffling && service.share[kMapping] > 0.0 && jobs_[row].size[kShuffling] > 0.0;
  if (stations_[at].first[row] == kInfinity && !feeds) return Bound::kNothing;
  return options_.slots[at] > 0 ? Bound::kOrder : Bound::kNoSlots;
}

// The services, then jobs that lost their slots.
std::span<const TandemEpoch::Service> TandemEpoch::all_services() {
  jobs_.held.begin();
  for (Service& service : service_) {
    service.changed = jobs_.held.set(JobIds::row_of(service.id), service.slots);
  }
  jobs_.held.set_rest([](Row) { return AssignedSlots<2>::Slots{}; },
                      [this](Row row, const AssignedSlots<2>::Slots&, bool changed) {
                        service_of(row).changed = changed;
                      });
  for (Service& service : service_) {
    const Row row = JobIds::row_of(service.id);
    for (const Station at : kStations) {
      if (service.share[at] <= 0.0) service.bound[at] = bound_of(row, service, at);
    }
    service_at_[row] = 0;
  }
  return service_;
}

void TandemEpoch::state(State& s) {
  s(options_, jobs_, clock_, sequence_);
  if (!s.reading()) return;
  split_ = options_.policy == TandemPolicy::kSplitSrpt;
  make_room();
  for (Row row = 0; row < jobs_.rows(); ++row) {
    if (jobs_.has(row)) refresh(row);
  }
  find_latest();
}

}  // namespace malleable
