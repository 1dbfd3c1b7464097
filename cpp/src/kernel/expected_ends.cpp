#include "malleable/kernel/expected_ends.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <random>
#include <set>
#include <tuple>
#include <utility>

namespace malleable {
namespace {

// Terms: a draw is one simulated run; the scatter of a phase is the standard deviation of the
// logarithms of its tasks' seconds; row 2 j + p is phase p of job j; a pool is the slots of one
// kind (0: maps, 1: reduces; generic slots: all in pool 0); a piece is tasks that a slot takes at
// once. The fields of LeftPhase and LeftJob are explained in the header.
using ByScatter = std::array<double, kScatters>;
constexpr ByScatter kScatter{0.003, 0.03, 0.06, 0.12, 0.25, 0.5, 0.8, 1.1, 1.5, 2.0};
// Prior of the scatters.
constexpr ByScatter kLikely{0.02, 0.05, 0.1, 0.2, 0.25, 0.13, 0.1, 0.07, 0.05, 0.03};
// Sometimes later tasks of a phase take longer or shorter than those before, by a random factor.
constexpr double kJumpScatter = 1.5;       // standard deviation of its logarithm
constexpr double kLeastAge = 1e-3;         // [s]
constexpr double kLow = 0.1, kHigh = 0.9;  // quantiles of the ends
constexpr std::int64_t kPieces = 8;        // pieces of a slot's share of waiting tasks
constexpr std::int64_t kDrawn = 8;         // tasks of a piece that are drawn one by one

using Random = std::mt19937_64;

double uniform(Random& random) { return std::generate_canonical<double, 53>(random); }

// Draws from the normal distribution above z.
double draw_above(double z, Random& random) {
  if (z < 1.0) {
    std::normal_distribution<double> normal;
    for (;;) {
      const double drawn = normal(random);
      if (drawn > z) return drawn;
    }
  }
  const double rate = 0.5 * (z + std::sqrt(z * z + 4.0));
  for (;;) {
    const double drawn = z - std::log1p(-uniform(random)) / rate;
    const double off = drawn - rate;
    if (uniform(random) <= std::exp(-0.5 * off * off)) return drawn;
  }
}

// Draws an index with these chances.
std::size_t choose(const ByScatter& chances, Random& random) {
  double left = uniform(random);
  for (std::size_t k = 0; k + 1 < kScatters; ++k) {
    left -= chances[k];
    if (left < 0.0) return k;
  }
  return kScatters - 1;
}

// Turns log-likelihoods into chances that add up to 1, with the prior `first`.
ByScatter chances(ByScatter log, const ByScatter& first) {
  const double most = *std::max_element(log.begin(), log.end());
  double total = 0.0;
  for (std::size_t k = 0; k < kScatters; ++k) total += log[k] = first[k] * std::exp(log[k] - most);
  for (double& one : log) one /= total;
  return log;
}

// The chances of each scatter of a phase: half from all phases, half from its own samples.
std::vector<ByScatter> scatters(std::span<const LeftPhase> phases) {
  ByScatter all{};
  for (const LeftPhase& phase : phases) {
    // A single ended task does not show any scatter.
    for (std::size_t k = 0; k < kScatters && phase.shown >= 2.0; ++k) all[k] += phase.log[k];
  }
  const ByScatter common = chances(all, kLikely);
  std::vector<ByScatter> found;
  for (const LeftPhase& phase : phases) {
    ByScatter& both = found.emplace_back(chances(phase.log, kLikely));
    double sum = 0.0;
    for (std::size_t k = 0; k < kScatters; ++k) sum += both[k] *= common[k];
    for (std::size_t k = 0; k < kScatters; ++k) {
      both[k] = 0.5 * common[k] + (sum > 0.0 ? 0.5 * both[k] / sum : 0.5 * common[k]);
    }
  }
  return found;
}

// One draw: runs all tasks that are left.
class Run {
 public:
  Run(std::span<const LeftJob> jobs, const EndsRequest& request)
      : jobs_(jobs),
        request_(request),
        order_(jobs.size()),
        rank_(jobs.size()),
        before_(jobs.size()),
        children_(jobs.size()) {
    for (std::size_t j = 0; j < jobs.size(); ++j) order_[j] = static_cast<Index>(j);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](Index a, Index b) { return jobs[a].key < jobs[b].key; });
    std::int64_t tasks = 0;
    const std::int64_t slots = std::max<std::int64_t>(1, request.slots[0] + request.slots[1]);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      rank_[order_[k]] = static_cast<double>(k);
      before_[order_[k]] = tasks / slots;
      for (const LeftPhase& phase : jobs[order_[k]].phases) tasks += phase.waiting;
    }
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      for (const Index parent : jobs[j].parents) children_[parent].push_back(static_cast<Index>(j));
    }
  }

  // seconds(phase, tasks, age): the seconds of so many waiting tasks (age 0), one after the other,
  // or of a running task.
  template <typename Seconds>
  void run(const Seconds& seconds, std::span<double> end) {
    const std::size_t n = jobs_.size();
    waiting_.assign(2 * n, 0);
    open_.assign(2 * n, 0);
    running_.assign(2 * n, 0);
    holds_.assign(n, 0);
    missing_.assign(n, 0);
    ends_ = {};
    for (auto& ready : ready_) ready.clear();
    free_[0] = request_.slots[0];
    free_[1] = request_.slots[1];
    std::fill(end.begin(), end.end(), kInfinity);
    for (std::size_t j = 0; j < n; ++j) {
      missing_[j] = static_cast<std::int64_t>(jobs_[j].parents.size());
      for (const std::size_t p : {0, 1}) {
        const LeftPhase& phase = jobs_[j].phases[p];
        waiting_[2 * j + p] = phase.waiting;
        open_[2 * j + p] = phase.waiting + phase.running;
        running_[2 * j + p] = phase.running;
        holds_[j] += phase.running;
        free_[pool(p)] -= phase.running;
        for (std::int64_t k = 0; k < phase.running; ++k) {
          const double left = seconds(2 * j + p, 1, age(phase, k)) * slower(2 * j + p);
          ends_.push({request_.now + left, 2 * j + p, 1});
        }
      }
    }
    for (std::size_t j = 0; j < n; ++j) {
      if (open_[2 * j] + open_[2 * j + 1] == 0) {
        done(j, request_.now, end);
      } else {
        offer(j);
      }
    }
    fill(request_.now, seconds);
    while (!ends_.empty()) {
      const auto [now, row, tasks] = ends_.top();
      ends_.pop();
      const std::size_t j = row / 2;
      withdraw(j);
      ++free_[pool(row % 2)];
      --running_[row];
      --holds_[j];
      open_[row] -= tasks;
      if (open_[2 * j] + open_[2 * j + 1] == 0) {
        done(j, now, end);
      } else {
        offer(j);
      }
      fill(now, seconds);
    }
  }

 private:
  std::size_t pool(std::size_t phase) const { return request_.generic ? 0 : phase; }
  // The phase whose tasks may start.
  std::size_t phase_of(std::size_t j) const { return open_[2 * j] > 0 ? 0 : 1; }
  // The factor by which a task beside the others takes longer than alone.
  double slower(std::size_t row) const {
    return std::pow(static_cast<double>(running_[row]), 1.0 - jobs_[row / 2].speedup);
  }
  // The job's place among the jobs that could start a task, the least first.
  std::pair<double, Index> place(std::size_t j) const {
    // With none, half a slot counts.
    const double held = static_cast<double>(holds_[j]) + 0.5;
    return {request_.shared ? std::log(held) - jobs_[j].share : rank_[j], static_cast<Index>(j)};
  }
  bool may_start(std::size_t j) const {
    return missing_[j] == 0 && waiting_[2 * j + phase_of(j)] > 0 && holds_[j] < jobs_[j].most;
  }
  // Puts the job among them, or takes it out.
  void offer(std::size_t j) {
    if (may_start(j)) ready_[pool(phase_of(j))].insert(place(j));
  }
  void withdraw(std::size_t j) {
    for (auto& ready : ready_) ready.erase(place(j));
  }
  void done(std::size_t j, double now, std::span<double> end) {
    end[j] = now;
    for (const Index child : children_[j]) {
      if (--missing_[child] == 0) offer(child);
    }
  }
  // The age of the k-th running task: ages count as evenly spread.
  static double age(const LeftPhase& phase, std::int64_t k) {
    if (phase.age <= 0.0) return 0.0;
    const auto running = static_cast<double>(phase.running);
    const double place = (2.0 * static_cast<double>(k) + 1.0) / running - 1.0;
    return std::max(kLeastAge, phase.age + std::sqrt(3.0) * place * phase.ages);
  }
  // The number of waiting tasks that a slot of the pool takes at once: an eighth of its share, or,
  // with an order, an eighth of the tasks that the slot does before. If slots are shared, jobs end
  // later than by the order.
  std::int64_t piece(std::size_t j, std::size_t p, std::int64_t waiting) const {
    std::int64_t slots = std::min(jobs_[j].most, request_.slots[p]);
    if (request_.shared) slots /= static_cast<std::int64_t>(jobs_.size());
    const std::int64_t own = waiting / std::max<std::int64_t>(1, slots);
    return std::clamp<std::int64_t>(std::max(own, before_[j]) / kPieces, 1, waiting);
  }
  // Starts tasks in all free slots.
  template <typename Seconds>
  void fill(double now, const Seconds& seconds) {
    for (const std::size_t p : {0, 1}) {
      while (free_[p] > 0 && !ready_[p].empty()) {
        const std::size_t j = ready_[p].begin()->second;
        withdraw(j);
        const std::size_t row = 2 * j + phase_of(j);
        --free_[p];
        const std::int64_t tasks = piece(j, p, waiting_[row]);
        waiting_[row] -= tasks;
        ++running_[row];
        ++holds_[j];
        ends_.push({now + seconds(row, tasks, 0.0) * slower(row), row, tasks});
        offer(j);
      }
    }
  }

  std::span<const LeftJob> jobs_;
  const EndsRequest& request_;
  std::vector<Index> order_;
  std::vector<double> rank_;
  std::vector<std::int64_t> before_;  // by order: tasks that each slot does before those of a job
  std::vector<std::vector<Index>> children_;
  // By row: waiting, unfinished and running tasks; by job: its slots, and parents that it waits
  // for.
  std::vector<std::int64_t> waiting_, open_, running_, holds_, missing_;
  std::int64_t free_[2] = {0, 0};
  std::set<std::pair<double, Index>> ready_[2];
  using End = std::tuple<double, std::size_t, std::int64_t>;  // (time, row, tasks)
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

// This part is on average below the result, also if there are few numbers.
double quantile(std::span<double> sorted, double part) {
  const auto size = static_cast<double>(sorted.size());
  const double at = std::clamp(part * (size + 1.0) - 1.0, 0.0, size - 1.0);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  if (sorted[low] == sorted[high]) return sorted[low];  // also for two infinite values
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

// The seconds of a phase's tasks in one draw.
struct PhaseTimes {
  // mean and deviation of the logarithms; factor of a change, as a logarithm
  double middle = 0.0, deviation = 0.0, jump = 0.0;

  // The time left of a task that has run for `age`.
  double left(double age, Random& random) const {
    const double z = draw_above((std::log(std::max(age, kLeastAge)) - middle) / deviation, random);
    return std::max(0.0, std::exp(std::min(middle + deviation * z, 50.0)) - age);
  }
  // The time of so many more tasks, one after the other.
  double more(std::int64_t tasks, Random& random) const {
    std::normal_distribution<double> normal;
    const double s = deviation;
    double sum = 0.0;
    for (std::int64_t k = std::min(tasks, kDrawn); k > 0; --k) sum += std::exp(s * normal(random));
    // The sum of many is nearly normal.
    if (const std::int64_t rest = tasks - kDrawn; rest > 0) {
      const auto count = static_cast<double>(rest);
      const double one = std::exp(0.5 * s * s);
      const double apart = one * std::sqrt(std::expm1(s * s) * count);
      sum += std::max(0.0, count * one + apart * normal(random));
    }
    return std::exp(std::min(middle + jump, 50.0)) * sum;
  }
};

}  // namespace

double scatter_at(std::size_t k) { return kScatter[k]; }

std::vector<ExpectedEnd> expected_ends(std::span<const LeftJob> jobs, const EndsRequest& request) {
  const std::size_t n = jobs.size();
  std::vector<ExpectedEnd> found(n);
  if (n == 0) return found;
  std::vector<LeftPhase> phases;
  for (const LeftJob& job : jobs) phases.insert(phases.end(), job.phases, job.phases + 2);
  const std::vector<ByScatter> likely = scatters(phases);
  Random random(request.seed);
  Run run(jobs, request);
  const auto draws = static_cast<std::size_t>(request.draws);
  std::vector<PhaseTimes> times(2 * n);
  std::vector<double> ends(n * draws), end(n);
  const auto seconds = [&](std::size_t row, std::int64_t tasks, double age) {
    return age > 0.0 ? times[row].left(age, random) : times[row].more(tasks, random);
  };
  for (std::size_t d = 0; d < draws; ++d) {
    for (std::size_t row = 0; row < 2 * n; ++row) {
      if (phases[row].waiting + phases[row].running == 0) continue;
      // kept between draws, because it makes two numbers at once
      std::normal_distribution<double> normal;
      const LeftPhase& phase = phases[row];
      const std::size_t k = choose(likely[row], random);
      const bool changes = uniform(random) < request.jump;
      const LogMean& mean = phase.mean[k];
      times[row].middle = mean.mean + std::sqrt(mean.variance) * normal(random);
      times[row].deviation = kScatter[k];
      times[row].jump = phase.drift + (changes ? kJumpScatter * normal(random) : 0.0);
    }
    run.run(seconds, end);
    for (std::size_t j = 0; j < n; ++j) ends[j * draws + d] = end[j];
  }
  for (std::size_t j = 0; j < n; ++j) {
    const std::span<double> own(ends.data() + j * draws, draws);
    std::sort(own.begin(), own.end());
    found[j] = {quantile(own, 0.5), quantile(own, kLow), quantile(own, kHigh)};
  }
  return found;
}

}  // namespace malleable
