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

// Work left of a phase; below 0: the overrun of an estimate.
constexpr Range kPhaseRange{-kLeftRange.most, kLeftRange.most, true, "must be from -1e15 to 1e15"};

void check_stations(std::span<const std::int64_t> slots) {
  check_counts("slots", slots, 0, kMostSlots, "must be from 0 to 2^50");
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

TandemEpoch::TandemEpoch(const TandemEpochOptions& options)
    : options_(options), split_(options.policy == TandemPolicy::kSplitSrpt) {
  check_stations(options.slots);
  clock_.set(options.period);
}

const char* TandemEpoch::rule() const { return find_policy(Model::kTandem, options_.policy).name; }

bool TandemEpoch::overloaded() const {
  return clock_.overloaded(options_.slots[kMapping], kMapping) ||
         clock_.overloaded(options_.slots[kShuffling], kShuffling);
}

void TandemEpoch::Columns::check(bool new_jobs) const {
  const Range& range = new_jobs ? kWorkRange : kPhaseRange;
  check_amounts("map", map, range);
  check_amounts("shuffle", shuffle, range);
  check_amounts("ready", ready, kLeftRange);
  check_most_slots("max_map_slots", max_map_slots);
  check_most_slots("max_shuffle_slots", max_shuffle_slots);
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
    for (const Station at : kStations) ranking_of(row, at).erase(row);
    imbalance_.erase(row);
  });
}

// Computes a job's ready shuffle work (unless it is given), and where it waits.
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
  const Both<bool> stands{maps, job.ready > 0.0 || (shuffles && !maps)};
  for (const Station at : kStations) {
    if (stands[at]) {
      ranking_of(row, at).set(row, rank_of(row, at));
    } else {
      ranking_of(row, at).erase(row);
    }
  }
  if (split_ && (maps || shuffles)) {
    imbalance_.set(row, imbalance_of(map_size, shuffle_size), job.sequence);
  } else {
    imbalance_.erase(row);
  }
}

TandemRank TandemEpoch::rank_of(Row row, Station at) const {
  const Job& job = jobs_[row];
  const double slack = kRounding * (job.size[kMapping] + job.size[kShuffling]);
  const auto left = [&](Station phase, bool any) {
    return any ? seen_left(job.left[phase], job.size[phase], slack) : 0.0;
  };
  const Seen seen{left(kMapping, job.left[kMapping] != 0.0),
                  left(kShuffling, job.left[kShuffling] != 0.0 || job.ready > 0.0)};
  TandemRank rank = (at == kMapping ? map_rank : shuffle_rank)(options_.policy, seen,
                                                               job.shuffle_heavy, job.sequence);
  if (options_.policy == TandemPolicy::kFcfs) rank.first = job.arrival;
  return rank;
}

// Gives a class up to `quota` of a station, job by job; returns what is left.
double TandemEpoch::fill(Station at, std::size_t group, double quota) {
  std::vector<Part>& parts = stations_[at].parts[group];
  if (!parts.empty()) {
    const double more = std::min(quota, parts.back().most - parts.back().share);
    parts.back().share += more;
    quota -= more;
  }
  const auto goes_on = [&] {
    return quota > kCount && (at == kMapping || lends_ || parts.empty());
  };
  if (!goes_on()) return quota;
  const std::size_t served = parts.size();
  std::size_t place = 0;
  stations_[at].ranking[group].visit_in_order([&](const auto& entry) {
    if (place++ < served) return true;
    const Row row = entry.item;
    double most = jobs_[row].most[at] / slots_at(at);
    Bound bound = most < 1.0 ? Bound::kMaximum : Bound::kWhole;
    most = std::min(1.0, most);
    const double flow = jobs_[row].flow;
    if (flow < most) bound = Bound::kProgress;
    if (!clock_.any()) {
      most = std::min(most, flow);
    } else {  // slots are whole, and no more than the job can use fully
      const double whole = std::floor(most * slots_at(at) + kCount);
      const double capped =
          cap_at_period(usable(row, at), clock_.period(), 1.0, whole) / slots_at(at);
      if (capped < most) bound = flow < kInfinity ? Bound::kProgress : Bound::kPeriod;
      most = capped;
    }
    const double share = std::min(quota, most);
    parts.push_back({row, share, most, bound});
    quota -= share;
    return goes_on();
  });
  return quota;
}

TandemEpoch::Service& TandemEpoch::service_of(Row row) {
  std::size_t& at = jobs_[row].service;
  if (at == 0) {
    service_.push_back({jobs_.id_of(row)});
    at = service_.size();
  }
  return service_[at - 1];
}

// Rounds by largest remainder, ties by order. The sum is rounded up, so that slow flows get a slot.
void TandemEpoch::to_slots(Station at) {
  const std::int64_t slots = options_.slots[at];
  double sum = 0.0;
  std::int64_t given = 0;
  remainder_.clear();
  each_part(at, [&](const Part& part) {
    Service& service = service_of(part.row);
    service.share[at] = part.share;
    service.bound[at] = part.share < part.most ? Bound::kRest : part.bound;
    // Rounding may make a share of many slots a slot too large, so it is cut to the job's maximum
    // and to all slots.
    const double wanted = std::min(part.share * slots_at(at), jobs_[part.row].most[at]);
    const double whole = std::min(std::floor(wanted + kCount), static_cast<double>(slots - given));
    service.slots[at] = static_cast<std::int64_t>(whole);
    given += service.slots[at];
    sum += wanted;
    if (wanted - whole > kCount) {
      remainder_.emplace_back(whole - wanted, jobs_[part.row].service - 1);
    }
  });
  const auto total = std::min(slots, static_cast<std::int64_t>(std::ceil(sum - kCount)));
  std::sort(remainder_.begin(), remainder_.end());
  for (std::size_t k = 0; k < remainder_.size() && given < total; ++k, ++given) {
    ++service_[remainder_[k].second].slots[at];
  }
}

// The work that a job can do at a station within the period, in slot-seconds. If a phase has
// overrun its estimate, a part of the work done counts as left.
double TandemEpoch::usable(Row row, Station at) const {
  const Job& job = jobs_[row];
  double left = job.left[at] >= 0.0 ? job.left[at] : still_left(job.size[at] - job.left[at]);
  if (at == kShuffling && job.left[kMapping] != 0.0) {
    const double maps = job.service == 0 ? 0.0 : service_[job.service - 1].share[kMapping];
    const double comes =
        std::min(maps * job.ratio() * clock_.period(), std::max(0.0, left - job.ready));
    left = job.ready + comes;
  }
  return left * slots_at(at);
}

// Gives slots that are left over to jobs that end a phase earlier by them. Shares follow the slots
// held.
void TandemEpoch::hand_out_rest(Station at) {
  for (auto* column : {&rest_work_, &rest_high_, &rest_slots_}) column->clear();
  each_part(at, [&](const Part& part) {
    rest_work_.push_back(part.bound == Bound::kProgress ? 0.0 : usable(part.row, at));
    rest_high_.push_back(std::min(slots_at(at), jobs_[part.row].most[at]));
    rest_slots_.push_back(static_cast<double>(service_of(part.row).slots[at]));
  });
  const PeriodicJobs jobs{slots_at(at), clock_.period(), rest_work_, {}, rest_high_, {}};
  if (lends_) left_over_.hand_out(jobs, rest_slots_);
  std::size_t k = 0;
  each_part(at, [&](Part& part) {
    Service& service = service_of(part.row);
    service.slots[at] = static_cast<std::int64_t>(rest_slots_[k]);
    service.share[at] = part.share = rest_slots_[k++] / slots_at(at);
  });
}

// Serves the jobs that wait for a station: gives each class its part, then the rest to jobs that
// can use it.
void TandemEpoch::serve(Station at, double heavy) {
  for (std::vector<Part>& parts : stations_[at].parts) parts.clear();
  if (options_.slots[at] == 0) return;
  const std::size_t groups = split_ ? 2 : 1;
  double left = 0.0;
  for (std::size_t c = 0; c < groups; ++c) {
    left += fill(at, c, !split_ ? 1.0 : c == at ? heavy : 1.0 - heavy);
  }
  for (std::size_t c = 0; c < groups && lends_ && left > 0.0; ++c) left = fill(at, c, left);
  to_slots(at);
  if (clock_.any()) hand_out_rest(at);
}

// Jobs that map now and have nothing ready stand at the shuffle station meanwhile.
void TandemEpoch::serve_shuffles(double heavy) {
  for (const std::vector<Part>& parts : stations_[kMapping].parts) {
    for (const Part& part : parts) {
      if (ranking_of(part.row, kShuffling).contains(part.row)) continue;
      const double rate = part.share * jobs_[part.row].ratio();
      // As printed in Lin et al. 2013, the first job keeps others from shuffling even if it has
      // nothing to shuffle.
      if (!(rate > 0.0) && lends_) continue;
      jobs_[part.row].flow = rate;
      ranking_of(part.row, kShuffling).set(part.row, rank_of(part.row, kShuffling));
    }
  }
  serve(kShuffling, heavy);
  for (const std::vector<Part>& parts : stations_[kMapping].parts) {
    for (const Part& part : parts) {
      if (std::exchange(jobs_[part.row].flow, kInfinity) == kInfinity) continue;
      ranking_of(part.row, kShuffling).erase(part.row);
    }
  }
}

std::span<const TandemEpoch::Service> TandemEpoch::decide(double now,
                                                          std::optional<Both<std::int64_t>> given,
                                                          std::optional<double> period) {
  check_now(now, clock_.now());
  const double held = clock_.wanted(period);
  const Both<std::int64_t> slots = given.value_or(options_.slots);
  check_stations(slots);
  if (latest_arrival_ > now) {  // that job may have left
    latest_arrival_ = -kInfinity;
    for (Row row = 0; row < jobs_.rows(); ++row) {
      if (jobs_.has(row)) latest_arrival_ = std::max(latest_arrival_, jobs_[row].arrival);
    }
  }
  if (latest_arrival_ > now) {
    throw std::invalid_argument("now = " + std::to_string(now) + ": a job arrives at " +
                                std::to_string(latest_arrival_));
  }
  for (Row row = 0; clock_.now() == -kInfinity && row < jobs_.rows(); ++row) {
    if (!jobs_.has(row) || jobs_[row].arrival > -kInfinity) continue;
    jobs_[row].arrival = latest_arrival_ = now;
    refresh(row);
  }
  clock_.begin(now, held);
  options_.slots = slots;
  // The least imbalance of all jobs sets the shares of classes.
  const double beta = imbalance_.empty() ? kInfinity : imbalance_.top_key();
  const double heavy = split_ ? split_share(beta) : 1.0;
  // If every job seems to have only one phase, the printed shares leave nothing for other jobs.
  lends_ = options_.conserving || (split_ && heavy == 1.0);
  service_.clear();
  serve(kMapping, heavy);
  serve_shuffles(heavy);
  note_services();
  return service_;
}

// Lists who waits by rank, what changed, and why jobs get nothing of a station; adds the jobs that
// lost their slots.
void TandemEpoch::note_services() {
  for (StationState& station : stations_) {
    station.turn.clear();
    if (!clock_.any()) continue;
    by_rank_.clear();
    for (const auto& ranking : station.ranking) {
      by_rank_.insert(by_rank_.end(), ranking.entries().begin(), ranking.entries().end());
    }
    std::sort(by_rank_.begin(), by_rank_.end());
    for (const auto& entry : by_rank_) station.turn.push_back(jobs_.id_of(entry.item));
  }
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
      if (service.share[at] > 0.0) continue;
      // Whether the work that it maps could be shuffled.
      const bool feeds =
          at == kShuffling && service.share[kMapping] > 0.0 && jobs_[row].size[kShuffling] > 0.0;
      service.bound[at] = options_.slots[at] == 0 ? Bound::kNoSlots : Bound::kOrder;
      if (!feeds && !ranking_of(row, at).contains(row)) service.bound[at] = Bound::kNothing;
    }
    jobs_[row].service = 0;
  }
}

void TandemEpoch::state(State& s) {
  s(options_, jobs_, clock_, sequence_);
  if (!s.reading()) return;
  split_ = options_.policy == TandemPolicy::kSplitSrpt;
  for (Row row = 0; row < jobs_.rows(); ++row) {
    if (jobs_.has(row)) refresh(row);
  }
  latest_arrival_ = kInfinity;  // unknown: the next decision looks
}

}  // namespace malleable
