#include "malleable/kernel/flow_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "malleable/model/tolerance.hpp"

namespace malleable {
// Terms: a recipe says how a schedule is made (an order of flows, due times or keys); its score is
// the objective, and then the secondary objective; a descent moves flows within the order while
// that lowers the score. Ranks are places of jobs in a list, `tail` is the longest path of work
// behind a job, `inside_` the order of jobs within their flow.
void FlowSearch::begin(const FlowProblem& problem, const FlowChains& chains,
                       const Penalties& penalties, Aggregate aggregate,
                       std::span<const double> earliest) {
  problem_ = &problem;
  chains_ = &chains;
  penalties_ = &penalties;
  aggregate_ = aggregate;
  const std::size_t f = problem.flows(), n = problem.jobs();
  target_.clear();
  base_ = aggregate == Aggregate::kSum ? 0.0 : -kInfinity;
  least_.resize(f);
  active_.clear();
  double total = 0.0, longest = 0.0;
  for (std::size_t j = 0; j < f; ++j) {
    const bool idle = problem.volume[j] == 0.0;
    least_[j] = penalties(j, idle ? problem.idle_end[j] : problem.now + earliest[j]);
    if (aggregate == Aggregate::kSum) {
      base_ += least_[j];
    } else if (idle) {
      base_ = std::max(base_, least_[j]);
    }
    if (!idle) active_.push_back(static_cast<Index>(j));
    total += problem.volume[j];
    longest = std::max(longest, earliest[j]);
  }
  reach_ = std::max(0.05 * (total / problem.slots + longest), 1e-300);
  inside_.resize(n);
  std::iota(inside_.begin(), inside_.end(), Index{0});
  key_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    key_[i] = problem.tail[i] + problem.work[i] / problem.high[i];
  }
  for (std::size_t j = 0; j < f; ++j) {
    std::stable_sort(inside_.begin() + static_cast<std::ptrdiff_t>(problem.job_offset[j]),
                     inside_.begin() + static_cast<std::ptrdiff_t>(problem.job_offset[j + 1]),
                     [&](Index a, Index b) { return key_[a] > key_[b]; });
  }
  rank_.resize(n);
  by_key_.resize(n);
  end_.resize(n);
}

// Due times whose total lateness is the secondary objective of max objectives.
void FlowSearch::aim(std::span<const double> due) { target_.assign(due.begin(), due.end()); }

void FlowSearch::rank_by_order(std::span<const Index> order, std::span<Index> rank) const {
  Index next = 0;
  for (const Index j : order) {
    for (std::size_t k = problem_->job_offset[j]; k < problem_->job_offset[j + 1]; ++k) {
      rank[inside_[k]] = next++;
    }
  }
}

void FlowSearch::rank_by_due(std::span<const double> due, std::span<Index> rank) {
  for (std::size_t i = 0; i < problem_->jobs(); ++i) {
    const double path = problem_->tail[i] + problem_->work[i] / problem_->high[i];
    key_[i] = due[problem_->flow[i]] - path;
  }
  rank_by_key(key_, rank);
}

void FlowSearch::rank_by_key(std::span<const double> key, std::span<Index> rank) {
  sorter_.sort(key, by_key_);
  for (std::size_t k = 0; k < by_key_.size(); ++k) rank[by_key_[k]] = static_cast<Index>(k);
}

// Adds a flow that has ended to the score; false once that exceeds `cut`.
bool FlowSearch::count(Index j, double end, double cut, Score& score) const {
  const Penalties& penalties = *penalties_;
  const double t = problem_->now + end, paid = penalties(j, t);
  if (aggregate_ == Aggregate::kMax) {
    score.value = std::max(score.value, paid);
    score.secondary += target_.empty() ? paid : std::max(0.0, end - target_[j]);
    return score.value <= cut;
  }
  score.value += paid - least_[j];
  if (!penalties.linear() && !penalties.is_custom(j)) {
    const std::size_t first = penalties.offset()[j], last = penalties.offset()[j + 1];
    for (std::size_t r = first + 1; r < last && t > penalties.at()[r]; ++r) {
      const double late = t - penalties.at()[r];
      const double jump = penalties.value()[r] - penalties.line(r - 1, penalties.at()[r]);
      score.secondary += jump * late / (late + reach_);
    }
  }
  return score.value <= cut;
}

// The score of a recipe's schedule; infinite once it exceeds the limit.
Score FlowSearch::score(const FlowRecipe& recipe, const Score& limit) {
  const double cut = limit.value + kRounding * std::fabs(limit.value);
  Score score{base_, 0.0};
  const auto done = [&](Index j, double end) {
    if (problem_->volume[j] == 0.0) return true;
    if (count(j, end, cut, score)) return true;
    score.value = kInfinity;
    return false;
  };
  switch (recipe.scheduler) {
    case FlowScheduler::kChains:
      greedy_.run(*problem_, *chains_, recipe.order, done);
      return score;
    case FlowScheduler::kList:
      rank_by_order(recipe.order, rank_);
      break;
    case FlowScheduler::kSlack:
      rank_by_due(recipe.due, rank_);
      break;
    case FlowScheduler::kKeys:
      rank_by_key(recipe.key, rank_);
      break;
  }
  list_.run(*problem_, rank_, end_, done);
  return score;
}

// Moves within the order. Due times stay with the places: a flow takes over those of its new place.
void FlowSearch::apply(const OrderMove& move, FlowRecipe& recipe) {
  std::vector<Index>& order = recipe.order;
  if (recipe.scheduler == FlowScheduler::kSlack) {
    moved_.resize(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) moved_[k] = recipe.due[order[k]];
  }
  move.apply(order);
  if (recipe.scheduler == FlowScheduler::kSlack) {
    for (std::size_t k = 0; k < order.size(); ++k) recipe.due[order[k]] = moved_[k];
  }
}

bool FlowSearch::exhausted() { return tried_ >= effort_ || (*stop_)(); }

// All moves, or near ones and some far ones, in any order.
void FlowSearch::list_moves() {
  const auto n = static_cast<Index>(active_.size());
  moves_.clear();
  if (n <= 64) {
    for (Index a = 0; a < n; ++a) {
      for (Index b = 0; b < n; ++b) {
        if (a == b) continue;
        if (b != a + 1) moves_.push_back({a, b, false});
        if (a < b) moves_.push_back({a, b, true});
      }
    }
  } else {
    for (std::size_t k = 0; k < 4096; ++k) {
      const auto a = static_cast<Index>(random_() % n);
      const auto reach = static_cast<Index>(1 + random_() % std::min<Index>(n - 1, 32));
      const Index b =
          random_() % 2 == 0 ? (a >= reach ? a - reach : 0) : std::min(n - 1, a + reach);
      if (a != b) moves_.push_back({a, b, random_() % 2 == 0});
    }
  }
  for (std::size_t k = moves_.size(); k > 1; --k) std::swap(moves_[k - 1], moves_[random_() % k]);
}

void FlowSearch::descend(FlowRecipe& recipe, Score& score) {
  list_moves();
  std::size_t since = 0;
  for (std::size_t k = 0; since < moves_.size(); k = (k + 1) % moves_.size(), ++since) {
    if (exhausted() || score.value <= goal_) return;
    trial_ = recipe;
    apply(moves_[k], trial_);
    ++tried_;
    const Score found = this->score(trial_, score);
    if (OrderSearch::better(found, score)) {
      std::swap(recipe, trial_);
      score = found;
      since = 0;
    }
  }
}

// Descends from each recipe, then from random perturbations of the best; stops at a value near
// `bound`. The best recipe is then the first one. Returns the number of schedules made.
std::uint64_t FlowSearch::improve(std::vector<FlowRecipe>& recipes, Score& best,
                                  std::uint64_t effort, double bound,
                                  const std::function<bool()>& stop) {
  tried_ = 0;
  effort_ = effort;
  random_ = SearchRandom(1);
  stop_ = &stop;
  goal_ = bound > -kInfinity ? bound + 2e-9 * std::fabs(bound) : bound;
  if (active_.size() < 2 || best.value <= goal_) return 0;
  // Flows without work go last, where no move touches them.
  for (FlowRecipe& recipe : recipes) {
    std::stable_partition(recipe.order.begin(), recipe.order.end(),
                          [&](Index j) { return problem_->volume[j] > 0.0; });
  }
  FlowRecipe top = recipes[0];
  for (const FlowRecipe& start : recipes) {
    if (exhausted() || best.value <= goal_) break;
    // A start may take a third of the remaining effort, so that perturbations get their share.
    const std::uint64_t all = effort_;
    effort_ = std::min(all, tried_ + std::max<std::uint64_t>((all - tried_) / 3, 1));
    FlowRecipe recipe = start;
    Score found = score(recipe);
    descend(recipe, found);
    effort_ = all;
    if (OrderSearch::better(found, best)) {
      best = found;
      top = recipe;
    }
  }
  const auto n = active_.size();
  while (!exhausted() && best.value > goal_) {
    FlowRecipe recipe = top;
    const std::size_t kicks = 2 + random_() % 3;
    for (std::size_t k = 0; k < kicks; ++k) {
      const auto a = static_cast<Index>(random_() % n), b = static_cast<Index>(random_() % n);
      if (a != b) apply({a, b, false}, recipe);
    }
    Score found = score(recipe);
    ++tried_;
    descend(recipe, found);
    if (OrderSearch::better(found, best)) {
      best = found;
      top = recipe;
    }
  }
  recipes[0] = std::move(top);
  return tried_;
}

}  // namespace malleable
