#include "malleable/sim/task_times.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace malleable {
namespace {

// Each random quantity of an attempt has its own stream of draws: whether it fails, after which
// part of its time, its noise (two draws), whether it straggles, places of blocks, and for backup
// tasks the other task whose time is mixed in.
constexpr std::uint32_t kFailure = 0, kFraction = 1, kNoise = 2, kStraggler = 4, kPlaces = 5,
                        kOther = 6;
// Backup tasks have separate draws, so that first attempts draw the same with and without them.
constexpr std::uint32_t kBackup = 1U << 31;

// Steele, Lea, Flood 2014: a good mix of 64 bits.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

TaskTimes::TaskTimes(const ClusterView& cluster, const ClusterJobsView& jobs,
                     const ClusterOptions& options)
    : cluster_(cluster),
      jobs_(jobs),
      noise_(options.noise),
      straggler_share_(options.straggler_share),
      straggler_factor_(options.straggler_factor),
      failure_(options.failure),
      inherent_(options.inherent),
      copies_(!options.split_copy && !jobs.shuffle.empty()),
      seed_(options.seed) {
  if (noise_ != 0.0 || straggler_share_ != 0.0 || failure_ != 0.0) attempts_.resize(jobs.size());
}

TaskTimes::Draws::Draws(std::uint64_t seed, Index phase, Index task, std::uint32_t attempt)
    : bits_(mix(mix(seed ^ mix(phase)) ^ mix((static_cast<std::uint64_t>(task) << 32) | attempt))) {
}

double TaskTimes::Draws::operator()(std::uint32_t stream) const {
  return static_cast<double>(mix(bits_ ^ stream) >> 11) * 0x1p-53;
}

// The time of a task's next attempt.
TaskTimes::Time TaskTimes::next(Index job, Phase p, Index task, Index node) {
  const double seconds = jobs_.seconds_of(p, job, task) / jobs_.rate_on(cluster_, node, p, job);
  std::uint32_t attempt = 0;
  if (!attempts_.empty()) {
    auto& attempts = attempts_[job][p];
    if (attempts.empty()) attempts.assign(static_cast<std::size_t>(jobs_.tasks[p][job]), 0);
    attempt = attempts[task]++;
  }
  const Draws draw(seed_, 2 * job + p, task, attempt);
  return ends(job, p, slowed(seconds, draw), draw);
}

// The time of a second attempt at a running task: the part `inherent` of its logarithm is that of
// the first attempt, the rest that of a random other task.
TaskTimes::Time TaskTimes::backup(Index job, Phase p, Index task, Index node, Index number) const {
  const Index phase = 2 * job + p;
  const std::uint32_t attempt = attempts_.empty() ? 0 : attempts_[job][p][task] - 1U;
  const Draws first(seed_, phase, task, attempt), draw(seed_, phase, task, number | kBackup);
  const double others = static_cast<double>(jobs_.tasks[p][job] - 1);
  auto other = static_cast<Index>(draw(kOther) * others);
  if (other >= task && others > 0.0) ++other;
  const double same = slowed(jobs_.seconds_of(p, job, task), first);
  const double independent = slowed(jobs_.seconds_of(p, job, other), draw);
  const double seconds = std::pow(same, inherent_) * std::pow(independent, 1.0 - inherent_);
  return ends(job, p, seconds / jobs_.rate_on(cluster_, node, p, job), draw);
}

// Applies log-normal noise and stragglers.
double TaskTimes::slowed(double seconds, const Draws& draw) const {
  if (noise_ > 0.0) {
    const double radius = std::sqrt(-2.0 * std::log1p(-draw(kNoise)));
    const double angle = 2.0 * std::numbers::pi * draw(kNoise + 1);
    seconds *= std::exp(noise_ * radius * std::cos(angle) - 0.5 * noise_ * noise_);
  }
  if (straggler_share_ > 0.0 && draw(kStraggler) < straggler_share_) seconds *= straggler_factor_;
  return seconds;
}

// The time of `seconds` of work and the copying before it, cut short if the attempt fails.
TaskTimes::Time TaskTimes::ends(Index job, Phase p, double seconds, const Draws& draw) const {
  const bool fails = failure_ > 0.0 && draw(kFailure) < failure_;
  double copying = 0.0;
  if (p == kReduce && copies_) {
    copying = jobs_.shuffle[job];
    seconds += copying;
  }
  if (fails) seconds *= draw(kFraction);
  return {seconds, std::min(copying, seconds), fails};
}

// Draws different nodes for the copies of a task's block (Floyd's sampling).
void TaskTimes::place(Index job, Index task, std::span<Index> node) const {
  const std::size_t nodes = cluster_.size(), copies = node.size();
  for (std::size_t c = 0; c < copies; ++c) {
    const auto last = static_cast<double>(nodes - copies + c + 1);
    const Draws draw(seed_, 2 * job, task, static_cast<std::uint32_t>(c));
    const auto drawn = static_cast<Index>(draw(kPlaces) * last);
    const auto end = node.begin() + static_cast<std::ptrdiff_t>(c);
    node[c] =
        std::find(node.begin(), end, drawn) == end ? drawn : static_cast<Index>(nodes - copies + c);
  }
}

void TaskTimes::forget(Index job) {
  if (attempts_.empty()) return;
  for (auto& attempts : attempts_[job]) std::vector<std::uint16_t>().swap(attempts);
}

}  // namespace malleable
