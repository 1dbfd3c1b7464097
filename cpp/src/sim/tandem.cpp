#include "malleable/sim/tandem.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace malleable {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kHistogramShift = 46;  // exponent and six bits of the fraction
constexpr std::size_t kHistogramSize = std::size_t{1} << 17;

}  // namespace

void TandemQueue::Ranking::insert(const Entry& entry) {
  auto place = entries_.end();
  while (place != entries_.begin() && std::prev(place)->rank < entry.rank) {
    if (entries_.end() - place == 16) {
      place =
          std::lower_bound(entries_.begin(), place, entry.rank,
                           [](const Entry& a, const OverlapRank& rank) { return rank < a.rank; });
      break;
    }
    --place;
  }
  entries_.insert(place, entry);
}

void TandemQueue::Ranking::erase(const OverlapRank& rank) {
  if (entries_.back().rank.id == rank.id) {
    entries_.pop_back();
    return;
  }
  entries_.erase(
      std::lower_bound(entries_.begin(), entries_.end(), rank,
                       [](const Entry& a, const OverlapRank& other) { return other < a.rank; }));
}

void TandemQueue::Ranking::change(const OverlapRank& old, const Entry& entry) {
  if (entries_.back().rank.id == old.id && !(old < entry.rank)) {
    entries_.back() = entry;
    return;
  }
  erase(old);
  insert(entry);
}

TandemQueue::TandemQueue(const TandemOptions& options)
    : options_(options),
      split_(options.policy == OverlapPolicy::kSplitSrpt),
      ranked_(options.policy != OverlapPolicy::kShare) {
  bucket_jobs.assign(static_cast<std::size_t>(options.buckets), 0);
  bucket_stretch.assign(static_cast<std::size_t>(options.buckets), 0.0);
  response_histogram.assign(kHistogramSize, 0);
}

void TandemQueue::feed(std::span<const double> arrival, std::span<const double> map,
                       std::span<const double> shuffle, std::span<const double> weight) {
  for (std::size_t j = 0; j < arrival.size(); ++j) {
    advance(arrival[j]);
    add(arrival[j], map[j], shuffle[j], weight.empty() ? 1.0 : weight[j]);
  }
}

void TandemQueue::add(double arrival, double map, double shuffle, double weight) {
  std::uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(jobs_.size());
    jobs_.emplace_back();
    rank_.emplace_back();
    listed_.push_back(0);
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  FluidJob& job = jobs_[slot];
  job = FluidJob{};
  job.map = map;
  job.weight = weight;
  job.arrival = job.map_completion = arrival;
  job.size = std::max(map, shuffle);
  job.id = totals_.arrived++;
  job.alive = true;
  job.shuffle_heavy = map < shuffle;
  job.imbalance = job.size > 0.0 ? job.size / std::min(map, shuffle) : 1.0;
  if (map == 0.0) {
    job.buffer = shuffle;
  } else if (options_.overlap) {
    job.ratio = shuffle / map;
  } else {
    job.tail = shuffle;
  }
  listed_[slot] = 0;
  ++totals_.events;
  if (job.size == 0.0) {
    complete(slot);
    return;
  }
  if (split_) imbalance_.push({job.imbalance, {job.id, slot}});
  if (ranked_) {
    refresh(slot);
  } else {
    present_.push_back(slot);
  }
}

void TandemQueue::complete(std::uint32_t slot) {
  FluidJob& job = jobs_[slot];
  job.alive = false;
  free_.push_back(slot);
  ++totals_.completed;
  const double response = totals_.now > job.arrival ? totals_.now - job.arrival : 0.0;
  const double stretch = job.size > 0.0 ? response / job.size : 0.0;
  totals_.response += response;
  totals_.weighted_response += job.weight * response;
  totals_.stretch += stretch;
  totals_.max_response = std::max(totals_.max_response, response);
  ++response_histogram[std::bit_cast<std::uint64_t>(response) >> kHistogramShift];
  if (!bucket_jobs.empty()) {
    const double bucket = job.size / options_.bucket_width;
    if (bucket < static_cast<double>(bucket_jobs.size())) {
      ++bucket_jobs[static_cast<std::size_t>(bucket)];
      bucket_stretch[static_cast<std::size_t>(bucket)] += stretch;
    }
  }
  if (options_.records) {
    done_id.push_back(job.id);
    done_start.push_back(job.start < 0.0 ? job.arrival : job.start);
    done_map.push_back(job.map_completion);
    done_completion.push_back(totals_.now);
  }
}

// Brings both rankings up to what is left of a job.
void TandemQueue::refresh(std::uint32_t slot) {
  const FluidJob& job = jobs_[slot];
  Class& group = class_of(job);
  const OverlapRank old = rank_[slot], fresh = overlap_rank(options_.policy, job);
  const char was = listed_[slot];
  const char is = static_cast<char>((job.map > 0.0 ? 1 : 0) | (job.buffer > 0.0 ? 2 : 0));
  const auto update = [&](Ranking& ranking, char bit) {
    if ((was & bit) != 0 && (is & bit) != 0) {
      ranking.change(old, {fresh, slot});
    } else if ((was & bit) != 0) {
      ranking.erase(old);
    } else if ((is & bit) != 0) {
      ranking.insert({fresh, slot});
    }
  };
  update(group.mapping, 1);
  update(group.buffered, 2);
  rank_[slot] = fresh;
  listed_[slot] = is;
}

double TandemQueue::beta() {
  while (!imbalance_.empty()) {
    const auto& [value, who] = imbalance_.top();
    const FluidJob& job = jobs_[who.second];
    if (job.alive && job.id == who.first) return value;
    imbalance_.pop();
  }
  return 1.0;
}

void TandemQueue::decide_ranked() {
  const std::size_t groups = split_ ? 2 : 1;
  std::array<double, 2> map_share{1.0, 0.0}, shuffle_share{1.0, 0.0};
  if (split_) {
    const double heavy = split_share(beta());
    map_share = {heavy, 1.0 - heavy};
    shuffle_share = {1.0 - heavy, heavy};
    if (options_.conserving) {
      if (classes_[0].mapping.empty()) map_share = {0.0, 1.0};
      if (classes_[1].mapping.empty()) map_share = {1.0, 0.0};
    }
  }
  // What a class can shuffle now: all there is if something waits, else what its map job releases.
  std::array<double, 2> flow{0.0, 0.0}, given{0.0, 0.0};
  double left = 1.0;
  for (std::size_t c = 0; c < groups; ++c) {
    if (!classes_[c].mapping.empty()) {
      const FluidJob& mapper = jobs_[classes_[c].mapping.best().slot];
      if (mapper.buffer == 0.0) flow[c] = map_share[c] * mapper.ratio;
    }
    const bool waits = !classes_[c].buffered.empty();
    given[c] = waits ? shuffle_share[c] : std::min(shuffle_share[c], flow[c]);
    left -= given[c];
  }
  for (std::size_t c = 0; c < groups && options_.conserving && left > 0.0; ++c) {
    const bool waits = !classes_[c].buffered.empty();
    const double more = waits ? left : std::min(left, flow[c] - given[c]);
    if (more == flow[c] - given[c] && !waits) {
      given[c] = flow[c];  // to the last bit, so that no buffer appears
    } else {
      given[c] += more;
    }
    left -= more;
  }
  for (std::size_t c = 0; c < groups; ++c) {
    const Class& group = classes_[c];
    const bool maps = !group.mapping.empty(), waits = !group.buffered.empty();
    double direct = 0.0, drained = given[c];
    if (maps && flow[c] > 0.0 &&
        (!waits || group.mapping.best().rank < group.buffered.best().rank)) {
      direct = std::min(flow[c], given[c]);
      drained = options_.conserving ? given[c] - direct : 0.0;
    } else if (maps && waits && !options_.conserving &&
               group.mapping.best().rank < group.buffered.best().rank) {
      drained = 0.0;  // the first job has nothing to shuffle, and nobody else may
    }
    if (maps) {
      const std::uint32_t slot = group.mapping.best().slot;
      if (waits && group.buffered.best().slot == slot) {
        service_.push_back({slot, map_share[c], drained});
        continue;
      }
      service_.push_back({slot, map_share[c], direct});
    }
    if (waits && drained > 0.0) service_.push_back({group.buffered.best().slot, 0.0, drained});
  }
}

void TandemQueue::decide_shares() {
  double mapping_weight = 0.0, waiting_weight = 0.0;
  std::int64_t places = options_.most_mapping;
  limit_.clear();
  for (const std::uint32_t slot : present_) {
    const FluidJob& job = jobs_[slot];
    const double weight = options_.weighted ? job.weight : 1.0;
    const bool maps = job.map > 0.0 && places != 0;
    if (maps) {
      mapping_weight += weight;
      --places;
    }
    service_.push_back({slot, maps ? weight : 0.0, 0.0});
  }
  for (Service& s : service_) {
    const FluidJob& job = jobs_[s.slot];
    if (s.map > 0.0) s.map /= mapping_weight;
    limit_.push_back(job.buffer > 0.0 ? kNever : s.map * job.ratio);
    if (limit_.back() > 0.0) waiting_weight += options_.weighted ? job.weight : 1.0;
  }
  // Max-min: jobs that cannot use their share get what they can use, the rest share what is left.
  double left = 1.0, level = 0.0;
  for (bool again = true; again && waiting_weight > 0.0;) {
    again = false;
    level = left / waiting_weight;
    waiting_weight = 0.0;
    for (std::size_t i = 0; i < service_.size(); ++i) {
      if (limit_[i] == 0.0) continue;
      const double weight = options_.weighted ? jobs_[service_[i].slot].weight : 1.0;
      if (limit_[i] < kNever && limit_[i] <= level * weight) {
        service_[i].shuffle = limit_[i];
        left = std::max(0.0, left - limit_[i]);
        limit_[i] = 0.0;
        again = true;
      } else {
        waiting_weight += weight;
      }
    }
  }
  for (std::size_t i = 0; i < service_.size(); ++i) {
    const double weight = options_.weighted ? jobs_[service_[i].slot].weight : 1.0;
    if (limit_[i] > 0.0) service_[i].shuffle = std::min(limit_[i], level * weight);
  }
}

const std::vector<TandemQueue::Service>& TandemQueue::decide() {
  service_.clear();
  if (present() == 0) return service_;
  if (ranked_) {
    decide_ranked();
  } else {
    decide_shares();
  }
  return service_;
}

void TandemQueue::advance(double until) {
  while (present() > 0 && totals_.now < until) {
    decide();
    double step = until - totals_.now;
    bool event = false;
    double map_used = 0.0, shuffle_used = 0.0;
    for (const Service& s : service_) {
      FluidJob& job = jobs_[s.slot];
      if (job.start < 0.0 && (s.map > 0.0 || s.shuffle > 0.0)) job.start = totals_.now;
      map_used += s.map;
      shuffle_used += s.shuffle;
      double next = s.map > 0.0 ? job.map / s.map : kNever;
      const double drain = s.shuffle - s.map * job.ratio;
      if (job.buffer > 0.0 && drain > 0.0) next = std::min(next, job.buffer / drain);
      if (next <= step) {
        step = next;
        event = true;
      }
    }
    if (step == kNever) return;  // nobody can run: weights that vanish beside others
    totals_.jobs_seconds += static_cast<double>(present()) * step;
    totals_.map_busy += map_used * step;
    totals_.shuffle_busy += shuffle_used * step;
    totals_.now = event ? totals_.now + step : until;
    bool left = false;
    for (const Service& s : service_) {
      FluidJob& job = jobs_[s.slot];
      const double drain = s.shuffle - s.map * job.ratio;
      if (job.buffer > 0.0 && drain > 0.0 && job.buffer / drain <= step) {
        job.buffer = 0.0;
        ++totals_.events;
      } else {
        job.buffer = std::max(0.0, job.buffer - drain * step);
      }
      if (s.map > 0.0) {
        if (job.map / s.map <= step) {
          job.map = 0.0;
          job.buffer += job.tail;
          job.tail = 0.0;
          job.map_completion = totals_.now;
          ++totals_.events;
        } else {
          job.map = std::max(job.map - s.map * step, std::numeric_limits<double>::min());
        }
      }
      if (ranked_) refresh(s.slot);
      if (job.map == 0.0 && job.buffer == 0.0) {
        ++totals_.events;
        complete(s.slot);
        left = true;
      }
    }
    if (left && !ranked_) {
      std::erase_if(present_, [&](std::uint32_t slot) { return !jobs_[slot].alive; });
    }
  }
  if (until > totals_.now && until < kNever) totals_.now = until;
}

}  // namespace malleable
