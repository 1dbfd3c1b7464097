#include "malleable/kernel/key_search.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {
namespace {

// size of a step, as a share of the spread of all keys
constexpr double kReach[] = {0.01, 0.05, 0.2};

}  // namespace

void KeySearch::begin(const FlowProblem& problem) {
  problem_ = &problem;
  jobs_.clear();
  flows_.clear();
  for (std::size_t j = 0; j < problem.flows(); ++j) {
    if (problem.volume[j] > 0.0) flows_.push_back(static_cast<Index>(j));
  }
  for (std::size_t i = 0; i < problem.jobs(); ++i) {
    if (problem.work[i] > 0.0) jobs_.push_back(static_cast<Index>(i));
  }
  order_.resize(problem.jobs());
  rank_.resize(problem.jobs());
  end_.resize(problem.jobs());
  state_ = 1;
}

// Keys by slack: a job's due time less the longest path of work from it to its flow's end.
void KeySearch::keys_by_due(std::span<const double> due, std::vector<double>& key) const {
  double last = 0.0;
  for (const double d : due) last = d < kInfinity ? std::max(last, d) : last;
  for (const Index j : flows_) last = std::max(last, problem_->release[j] + problem_->alone[j]);
  key.resize(problem_->jobs());
  for (std::size_t i = 0; i < key.size(); ++i) {
    const double d = due[problem_->flow[i]];
    key[i] = (d < kInfinity ? d : 2.0 * last) - problem_->tail[i] -
             problem_->work[i] / problem_->high[i];
  }
}

void KeySearch::keys_by_rank(std::span<const Index> rank, std::vector<double>& key) const {
  key.assign(rank.begin(), rank.end());
}

// splitmix64
std::uint64_t KeySearch::random() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

double KeySearch::uniform() { return static_cast<double>(random() >> 11) * 0x1p-53; }

// Notes the range of the keys, the unit of steps.
void KeySearch::spread(std::span<const double> key) {
  double low = kInfinity, high = -kInfinity;
  for (const Index i : jobs_) {
    low = std::min(low, key[i]);
    high = std::max(high, key[i]);
  }
  spread_ = high > low ? high - low : 1.0;
}

// Changes the keys of up to three jobs, or of all jobs of a flow.
void KeySearch::step(std::vector<double>& key) {
  changes_.clear();
  const double reach = 2.0 * spread_ * kReach[random() % std::size(kReach)];
  const auto move = [&](Index i, double by) {
    changes_.push_back({i, key[i]});
    key[i] += by;
  };
  if (random() % 2 == 0) {
    for (std::size_t k = 1 + random() % 3; k > 0; --k) {
      // Not as arguments of one call, because the order of evaluation would depend on the compiler.
      const double by = reach * (uniform() - 0.5);
      move(jobs_[random() % jobs_.size()], by);
    }
    return;
  }
  const Index j = flows_[random() % flows_.size()];
  const double by = reach * (uniform() - 0.5);
  for (std::size_t i = problem_->job_offset[j]; i < problem_->job_offset[j + 1]; ++i) {
    move(static_cast<Index>(i), by);
  }
}

void KeySearch::undo(std::vector<double>& key) const {
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    key[change->job] = change->before;
  }
}

// The total lateness of all flows; infinite once it exceeds `limit`.
double KeySearch::missed(std::span<const double> due, std::span<const double> key, double limit) {
  sorter_.sort(key, order_);
  for (std::size_t k = 0; k < order_.size(); ++k) rank_[order_[k]] = static_cast<Index>(k);
  double sum = 0.0;
  list_.run(*problem_, rank_, end_, [&](Index j, double end) {
    sum += std::max(0.0, end - due[j]);
    return sum <= limit;
  });
  return sum <= limit ? sum : kInfinity;
}

// Looks for keys whose list schedule meets all due times; each schedule costs 1 of the effort.
bool KeySearch::meet_deadlines(std::span<const double> due, std::vector<double>& key,
                               std::uint64_t& effort, const std::function<bool()>& stop) {
  if (effort == 0 || jobs_.empty()) return false;
  double best = missed(due, key, kInfinity);
  --effort;
  spread(key);
  while (best > 0.0 && effort > 0 && !stop()) {
    step(key);
    --effort;
    const double found = missed(due, key, best);
    if (found <= best) {
      best = found;
    } else {
      undo(key);
    }
  }
  return best == 0.0;
}

// Improves the keys of a recipe by random steps until its value is at most `goal`.
void KeySearch::improve(FlowSearch& search, FlowRecipe& recipe, Score& score, std::uint64_t& effort,
                        double goal, const std::function<bool()>& stop) {
  if (jobs_.empty()) return;
  spread(recipe.key);
  while (score.value > goal && effort > 0 && !stop()) {
    step(recipe.key);
    --effort;
    const Score found = search.score(recipe, score);
    if (OrderSearch::better(score, found)) {
      undo(recipe.key);
    } else {
      score = found;
    }
  }
}

}  // namespace malleable
