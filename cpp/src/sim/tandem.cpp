// The fluid queue of two stations, map and shuffle. A job's map work releases shuffle work into its
// buffer, `ratio` for each unit of map work, or all (`tail`) at the end of its maps. Terms:
// `mapping` ranks jobs with map work, `buffered` jobs whose buffer holds work. A fall is how a rank
// decreases while its job runs. beta is the least imbalance of a job's two phases (Split-SRPT
// shares the stations by it between map-heavy and shuffle-heavy jobs).
#include "malleable/sim/tandem.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "malleable/model/tolerance.hpp"
#include "malleable/sim/histogram.hpp"

namespace malleable {
namespace {

constexpr std::size_t kWorkBetweenPolls = std::size_t{1} << 22;  // steps of work
constexpr int kHistogramShift = 46;  // exponent and six bits of the fraction
constexpr std::size_t kHistogramSize = std::size_t{1} << 17;

}  // namespace

TandemQueue::TandemQueue(const TandemOptions& options)
    : options_(options),
      split_(options.policy == TandemPolicy::kSplitSrpt),
      ranked_(options.policy != TandemPolicy::kShare),
      crossing_(options.policy == TandemPolicy::kTwoSrpt ||
                (options.estimated && (split_ || options.policy == TandemPolicy::kMaxSrpt))) {
  bucket_jobs.assign(static_cast<std::size_t>(options.buckets), 0);
  bucket_stretch.assign(static_cast<std::size_t>(options.buckets), 0.0);
  if (options.histogram) response_histogram.assign(kHistogramSize, 0);
}

double TandemQueue::response_quantile(double part) const {
  if (totals_.completed == 0) return std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t bin = quantile_bin(response_histogram, part);
  // The first bin is for 0 alone.
  return bin == 0 ? 0.0 : std::bit_cast<double>((bin + 1) << kHistogramShift);
}

void TandemQueue::feed(const TandemJobs& jobs) {
  for (std::size_t j = 0; j < jobs.arrival.size(); ++j) {
    advance(jobs.arrival[j]);
    add(jobs, j);
  }
}

void TandemQueue::add(const TandemJobs& jobs, std::size_t j) {
  const double map = jobs.map[j], shuffle = jobs.shuffle[j];
  std::uint32_t row;
  if (free_.empty()) {
    row = static_cast<std::uint32_t>(jobs_.size());
    jobs_.emplace_back();
    place_.emplace_back();
    if (options_.estimated) guess_.emplace_back();
    if (options_.policy == TandemPolicy::kOrder) given_place_.emplace_back();
  } else {
    row = free_.back();
    free_.pop_back();
  }
  FluidJob& job = jobs_[row];
  job = FluidJob{};
  job.map = map;
  job.weight = jobs.weight.empty() ? 1.0 : jobs.weight[j];
  job.arrival = job.map_completion = jobs.arrival[j];
  job.map_size = map;
  job.shuffle_size = shuffle;
  job.id = totals_.arrived++;
  job.alive = true;
  double map_seen = map, shuffle_seen = shuffle;
  if (options_.estimated) {
    map_seen = jobs.map_estimate[j];
    shuffle_seen = jobs.shuffle_estimate[j];
    guess_[row] = {map_seen - map, shuffle_seen - shuffle, map_seen, shuffle_seen,
                   kRounding * (map + shuffle + map_seen + shuffle_seen)};
  }
  if (options_.policy == TandemPolicy::kOrder) {
    given_place_[row] = {jobs.map_place[j], jobs.shuffle_place[j]};
  }
  job.shuffle_heavy = map_seen < shuffle_seen;
  if (map == 0.0) {
    job.buffer = shuffle;
  } else if (options_.overlap) {
    job.ratio = shuffle / map;
  } else {
    job.tail = shuffle;
  }
  ++totals_.events;
  if (job.size() == 0.0) {
    complete(row);
    return;
  }
  if (split_) imbalance_.set(row, imbalance_of(map_seen, shuffle_seen), job.id);
  if (ranked_) {
    refresh(row);
  } else {
    present_.push_back(row);
  }
}

void TandemQueue::complete(std::uint32_t row) {
  FluidJob& job = jobs_[row];
  job.alive = false;
  free_.push_back(row);
  imbalance_.erase(row);
  ++totals_.completed;
  const double response = totals_.now > job.arrival ? totals_.now - job.arrival : 0.0;
  const double stretch = job.size() > 0.0 ? response / job.size() : 0.0;
  totals_.response += response;
  totals_.weighted_response += job.weight * response;
  totals_.stretch += stretch;
  totals_.max_response = std::max(totals_.max_response, response);
  if (job.start > job.arrival) {
    totals_.longest_wait = std::max(totals_.longest_wait, job.start - job.arrival);
  }
  if (options_.histogram) {
    ++response_histogram[std::bit_cast<std::uint64_t>(response) >> kHistogramShift];
  }
  if (!bucket_jobs.empty()) {
    const double bucket = job.size() / options_.bucket_width;
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

Seen TandemQueue::seen(std::uint32_t row) const {
  const FluidJob& job = jobs_[row];
  if (!options_.estimated) return {job.map, job.shuffle()};
  const Guess& guess = guess_[row];
  // The end of a map phase is visible, even if its estimate was wrong.
  return {job.map > 0.0 ? seen_left(job.map + guess.map_error, guess.map, guess.slack) : 0.0,
          seen_left(job.shuffle() + guess.shuffle_error, guess.shuffle, guess.slack)};
}

// Updates both rankings by the work left of a job.
void TandemQueue::refresh(std::uint32_t row) {
  const FluidJob& job = jobs_[row];
  Class& group = class_of(job);
  Place& place = place_[row];
  if (options_.policy == TandemPolicy::kOrder) {
    place.map = {given_place_[row].first, 0.0, job.id};
    place.shuffle = {given_place_[row].second, 0.0, job.id};
  } else {
    const Seen left = seen(row);
    place.map = map_rank(options_.policy, left, job.shuffle_heavy, job.id);
    place.shuffle = shuffle_rank(options_.policy, left, job.shuffle_heavy, job.id);
  }
  const auto update = [row](Ranking& ranking, bool stands, const TandemRank& rank) {
    if (stands) {
      ranking.set(row, rank);
    } else {
      ranking.erase(row);
    }
  };
  update(group.mapping, job.map > 0.0, place.map);
  update(group.buffered, job.buffer > 0.0, place.shuffle);
}

// How fast the ranks of a running job fall. `next` is lowered to the time at which the work that
// the policy sees stops falling at this rate.
TandemQueue::Falls TandemQueue::falls_of(const Service& s, double& next) const {
  const TandemPolicy policy = options_.policy;
  const FluidJob& job = jobs_[s.row];
  const Seen left = seen(s.row);
  double map_rate = s.map, shuffle_rate = s.shuffle;
  double slack = kRounding * job.size();
  if (options_.estimated) {
    const Guess& guess = guess_[s.row];
    slack = guess.slack;
    const auto see = [&](double phase_left, double estimate, double& rate) {
      if (rate > 0.0) {
        next = std::min(next, until_jump(phase_left, estimate, slack) / rate);
      }
      if (phase_left <= slack) rate = 0.0;
    };
    see(job.map + guess.map_error, guess.map, map_rate);
    see(job.shuffle() + guess.shuffle_error, guess.shuffle, shuffle_rate);
  }
  if (policy == TandemPolicy::kSplitSrpt) {
    const Fall both = job.shuffle_heavy ? Fall{left.shuffle, shuffle_rate, 0.0, 0.0}
                                        : Fall{left.map, map_rate, left.shuffle, shuffle_rate};
    return {both, both};
  }
  const double ahead = left.map - left.shuffle, closing = map_rate - shuffle_rate;
  const bool level = std::abs(ahead) <= slack;
  const bool by_map = level ? closing < 0.0 : ahead > 0.0;
  if (!level && ahead / closing > 0.0) next = std::min(next, ahead / closing);
  const Fall larger{by_map ? left.map : left.shuffle, by_map ? map_rate : shuffle_rate, 0.0, 0.0};
  if (policy == TandemPolicy::kMaxSrpt) return {larger, larger};
  return {{left.map + kShuffleInMapRank * left.shuffle, map_rate + kShuffleInMapRank * shuffle_rate,
           0.0, 0.0},
          larger};
}

// Time until one rank has fallen below a smaller one, and slightly further, so that the order has
// surely changed.
double TandemQueue::until_overtaken(const Fall& back, const Fall& front, double slack) {
  const bool by_second = back.first == front.first && back.first_rate == front.first_rate;
  const double gap = by_second ? back.second - front.second : back.first - front.first;
  const double closing =
      by_second ? back.second_rate - front.second_rate : back.first_rate - front.first_rate;
  return closing > 0.0 && gap > -slack ? (gap + slack) / closing : kInfinity;
}

// Time until two running jobs change their order at a station, or until the work that the policy
// sees of a running job stops falling at its present rate. Only ranks of running jobs fall, and
// they rise only in jumps, so no other job can be overtaken.
double TandemQueue::next_change() const {
  double next = kInfinity;
  std::array<Falls, 4> falls{};
  for (std::size_t i = 0; i < service_.size(); ++i) falls[i] = falls_of(service_[i], next);
  for (std::size_t i = 0; i < service_.size(); ++i) {
    for (std::size_t k = 0; k < service_.size(); ++k) {
      const std::uint32_t own = service_[i].row, rival = service_[k].row;
      const FluidJob &one = jobs_[own], &other = jobs_[rival];
      if (i == k || (split_ && one.shuffle_heavy != other.shuffle_heavy)) continue;
      double slack = kRounding * (one.size() + other.size());
      if (options_.estimated) slack = std::max({slack, guess_[own].slack, guess_[rival].slack});
      const Place &back = place_[own], &front = place_[rival];
      if (one.map > 0.0 && other.map > 0.0 && front.map < back.map) {
        next = std::min(next, until_overtaken(falls[i].map, falls[k].map, slack));
      }
      if (front.shuffle < back.shuffle) {
        next = std::min(next, until_overtaken(falls[i].shuffle, falls[k].shuffle, slack));
      }
    }
  }
  return next;
}

// The shares of the classes at both stations, and whether a class lends what it cannot use.
TandemQueue::Portions TandemQueue::portions() const {
  Portions all;
  all.lends = options_.conserving;
  if (!split_) return all;
  // If every job seems to have only one phase, the shares of Lin et al. 2013 leave nothing for a
  // job that still has both: then it takes what is left over, even as printed.
  const double heavy = split_share(beta());
  all.lends |= heavy == 1.0;
  all.map = {heavy, 1.0 - heavy};
  all.shuffle = {1.0 - heavy, heavy};
  if (!all.lends) return all;
  if (classes_[0].mapping.empty()) all.map = {0.0, 1.0};
  if (classes_[1].mapping.empty()) all.map = {1.0, 0.0};
  return all;
}

// Serves the first jobs of a class, whose first mapper releases `flow`, with `given` to shuffle.
void TandemQueue::serve(const Class& group, double map_share, double flow, double given,
                        bool lends) {
  const bool maps = !group.mapping.empty(), waits = !group.buffered.empty();
  const Index mapper = maps ? group.mapping.top() : 0;
  // The first job to shuffle is the mapper: no other job may shuffle unless it lends.
  const bool first = maps && (!waits || place_[mapper].shuffle < group.buffered.top_key());
  const double direct = first ? std::min(flow, given) : 0.0;
  const double drained = first && !lends ? 0.0 : given - direct;
  if (maps && waits && group.buffered.top() == mapper) {
    service_.push_back({mapper, map_share, drained});
    return;
  }
  if (maps) service_.push_back({mapper, map_share, direct});
  if (waits && drained > 0.0) service_.push_back({group.buffered.top(), 0.0, drained});
}

// Serves the first jobs of each class, by its share of both stations.
void TandemQueue::decide_ranked() {
  const std::size_t groups = split_ ? 2 : 1;
  const Portions all = portions();
  // The rate at which a class can shuffle now: unlimited if work waits, otherwise the rate at which
  // its map job releases work.
  std::array<double, 2> flow{0.0, 0.0}, given{0.0, 0.0};
  double left = 1.0;
  for (std::size_t c = 0; c < groups; ++c) {
    if (!classes_[c].mapping.empty()) {
      const FluidJob& mapper = jobs_[classes_[c].mapping.top()];
      if (mapper.buffer == 0.0) flow[c] = all.map[c] * mapper.ratio;
    }
    const bool waits = !classes_[c].buffered.empty();
    given[c] = waits ? all.shuffle[c] : std::min(all.shuffle[c], flow[c]);
    left -= given[c];
  }
  for (std::size_t c = 0; c < groups && all.lends && left > 0.0; ++c) {
    const bool waits = !classes_[c].buffered.empty();
    const double more = waits ? left : std::min(left, flow[c] - given[c]);
    if (more == flow[c] - given[c] && !waits) {
      given[c] = flow[c];  // exactly, so that no buffer appears
    } else {
      given[c] += more;
    }
    left -= more;
  }
  for (std::size_t c = 0; c < groups; ++c) {
    serve(classes_[c], all.map[c], flow[c], given[c], all.lends);
  }
}

// Max-min: jobs that cannot use their share get what they can use, the rest share what is left.
void TandemQueue::share_shuffle(double waiting_weight) {
  double left = 1.0, level = 0.0;
  for (bool again = true; again && waiting_weight > 0.0;) {
    again = false;
    level = left / waiting_weight;
    waiting_weight = 0.0;
    for (std::size_t i = 0; i < service_.size(); ++i) {
      if (limit_[i] == 0.0) continue;
      const double weight = weight_of(jobs_[service_[i].row]);
      if (limit_[i] < kInfinity && limit_[i] <= level * weight) {
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
    const double weight = weight_of(jobs_[service_[i].row]);
    if (limit_[i] > 0.0) service_[i].shuffle = std::min(limit_[i], level * weight);
  }
}

// Serves all jobs at once, in proportion to their weights.
void TandemQueue::decide_shares() {
  double mapping_weight = 0.0, waiting_weight = 0.0;
  std::int64_t places = options_.most_mapping;
  limit_.clear();
  for (const std::uint32_t row : present_) {
    const FluidJob& job = jobs_[row];
    const double weight = weight_of(job);
    const bool maps = job.map > 0.0 && places != 0;
    if (maps) {
      mapping_weight += weight;
      --places;
    }
    service_.push_back({row, maps ? weight : 0.0, 0.0});
  }
  for (Service& s : service_) {
    const FluidJob& job = jobs_[s.row];
    if (s.map > 0.0) s.map /= mapping_weight;
    limit_.push_back(job.buffer > 0.0 ? kInfinity : s.map * job.ratio);
    if (limit_.back() > 0.0) waiting_weight += weight_of(job);
  }
  share_shuffle(waiting_weight);
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

// How long the service stays unchanged, at most `most`.
TandemQueue::Step TandemQueue::next_step(double most) {
  Step step{.seconds = most, .event = false, .map_used = 0.0, .shuffle_used = 0.0};
  const auto end = [&](double next) {
    step.seconds = next;
    step.event = true;
  };
  for (const Service& s : service_) {
    FluidJob& job = jobs_[s.row];
    if (job.start < 0.0 && (s.map > 0.0 || s.shuffle > 0.0)) job.start = totals_.now;
    step.map_used += s.map;
    step.shuffle_used += s.shuffle;
    double next = s.map > 0.0 ? job.map / s.map : kInfinity;
    const double drain = s.shuffle - s.map * job.ratio;
    if (job.buffer > 0.0 && drain > 0.0) next = std::min(next, job.buffer / drain);
    if (next <= step.seconds) end(next);
  }
  if (crossing_) {
    const double change = next_change();
    if (change < step.seconds) end(change);
  }
  return step;
}

// Does the work of a service in `seconds`. Work left by rounding counts as 0, because at
// simultaneous events it must not wait behind other jobs. It is compared with its own phase,
// because rounding of a long phase may be all work of a short one.
void TandemQueue::work(const Service& s, double seconds) {
  FluidJob& job = jobs_[s.row];
  const double drain = s.shuffle - s.map * job.ratio;
  if (job.buffer > 0.0 && drain > 0.0 &&
      job.buffer - drain * seconds <= kRounding * job.shuffle_size) {
    job.buffer = 0.0;
    ++totals_.events;
  } else {
    job.buffer = std::max(0.0, job.buffer - drain * seconds);
  }
  if (!(s.map > 0.0)) return;
  job.map -= s.map * seconds;
  if (!(job.map <= kRounding * job.map_size)) return;
  job.map = 0.0;
  job.buffer += job.tail;
  job.tail = 0.0;
  job.map_completion = totals_.now;
  ++totals_.events;
}

void TandemQueue::advance(double until) {
  while (present() > 0 && totals_.now < until) {
    if (worked_ >= kWorkBetweenPolls) {
      worked_ = 0;
      if (poll_) poll_();
    }
    decide();
    worked_ += 1 + service_.size();
    const Step step = next_step(until - totals_.now);
    // no job can run, because weights round to 0 beside others
    if (step.seconds == kInfinity) return;
    totals_.jobs_seconds += static_cast<double>(present()) * step.seconds;
    totals_.map_busy += step.map_used * step.seconds;
    totals_.shuffle_busy += step.shuffle_used * step.seconds;
    totals_.now = step.event ? totals_.now + step.seconds : until;
    bool left = false;
    for (const Service& s : service_) {
      work(s, step.seconds);
      if (ranked_) refresh(s.row);
      if (jobs_[s.row].map > 0.0 || jobs_[s.row].buffer > 0.0) continue;
      ++totals_.events;
      complete(s.row);
      left = true;
    }
    if (left && !ranked_) {
      std::erase_if(present_, [&](std::uint32_t row) { return !jobs_[row].alive; });
    }
  }
  if (until > totals_.now && until < kInfinity) totals_.now = until;
}

}  // namespace malleable
