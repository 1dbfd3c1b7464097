#include "malleable/kernel/fair_list.hpp"

#include <bit>

namespace malleable {
namespace {}  // namespace

void FairList::IndexSet::reset(std::size_t n) {
  std::size_t words = n, depth = 0;
  do {
    words = words / 64 + 1;
    if (levels.size() <= depth) levels.emplace_back();
    levels[depth++].assign(words, 0);
  } while (words > 1);
  levels.resize(depth);
}

void FairList::IndexSet::insert(Index i) {
  for (auto& level : levels) {
    level[i / 64] |= std::uint64_t{1} << (i % 64);
    i /= 64;
  }
}

void FairList::IndexSet::erase(Index i) {
  for (auto& level : levels) {
    level[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    if (level[i / 64] != 0) return;
    i /= 64;
  }
}

Index FairList::IndexSet::after(Index i) const {
  for (std::size_t depth = 0; depth < levels.size(); ++depth) {
    const auto& level = levels[depth];
    if (i / 64 >= level.size()) return kNone;
    const std::uint64_t word = level[i / 64] >> (i % 64);
    if (word != 0) {
      i += static_cast<Index>(std::countr_zero(word));
      while (depth-- > 0) {
        i = i * 64 + static_cast<Index>(std::countr_zero(levels[depth][i]));
      }
      return i;
    }
    i = i / 64 + 1;
  }
  return kNone;
}

Index FairList::IndexSet::before(Index i) const {
  for (std::size_t depth = 0; depth < levels.size(); ++depth) {
    const auto& level = levels[depth];
    const std::uint64_t word =
        i % 64 == 0 ? 0 : level[i / 64] & (~std::uint64_t{0} >> (64 - i % 64));
    if (word != 0) {
      i = i / 64 * 64 + 63 - static_cast<Index>(std::countl_zero(word));
      while (depth-- > 0) {
        i = i * 64 + 63 - static_cast<Index>(std::countl_zero(levels[depth][i]));
      }
      return i;
    }
    i /= 64;
  }
  return kNone;
}

void FairList::count(Index job, int sign) {
  all_ += static_cast<Index>(sign);
  const Wide most = static_cast<Wide>(problem_->high[job]) * sign;
  wanted_ += most;
  for (std::size_t k = class_of_[job] + 1; k <= maxima_.size(); k += k & (~k + 1)) {
    counts_[k] += static_cast<Index>(sign);
    sums_[k] += most;
  }
}

// The largest whole level that all ready jobs can have, and how many can have one slot more.
FairList::Level FairList::level() const {
  const auto slots = static_cast<Wide>(problem_->slots);
  if (wanted_ <= slots) return {kInfinity, 0};
  std::size_t k = 0;
  Index below = 0;  // jobs whose maximum is at most the level
  Wide theirs = 0;
  for (std::size_t step = std::bit_floor(maxima_.size()); step > 0; step /= 2) {
    if (k + step > maxima_.size()) continue;
    const Index more = below + counts_[k + step];
    const Wide sum = theirs + sums_[k + step];
    if (sum + static_cast<Wide>(maxima_[k + step - 1]) * (all_ - more) > slots) continue;
    k += step;
    below = more;
    theirs = sum;
  }
  const Wide rest = all_ - below, level = (slots - theirs) / rest;
  return {static_cast<double>(level), static_cast<Index>(slots - theirs - level * rest)};
}

double FairList::share(Index job) const {
  const double high = problem_->high[job];
  return high <= level_.slots ? high : job < boundary_ ? level_.slots + 1.0 : level_.slots;
}

void FairList::set_rate(Index job, double slots) {
  double& held = slots_[job];
  if (held == slots) return;
  if (held > 0.0) {
    // What is too short for the resolution of absolute time has no piece.
    const double from = problem_->now + since_[job], to = problem_->now + time_;
    if (to > from) pieces_->add(job, from, to, held);
    left_[job] = std::max(0.0, left_[job] - held * (time_ - since_[job]));
  }
  since_[job] = time_;
  held = slots;
  ++version_[job];
  if (slots == 0.0) return;
  ends_.push_back({time_ + left_[job] / slots, job, version_[job]});
  std::push_heap(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
    return a.time != b.time ? a.time > b.time : a.job > b.job;
  });
}

void FairList::enter(Index job) {
  ready_.insert(job);
  count(job, 1);
  if (job < boundary_ && problem_->high[job] > level_.slots) ++inside_;
}

void FairList::leave(Index job) {
  ready_.erase(job);
  count(job, -1);
  if (job < boundary_ && problem_->high[job] > level_.slots) --inside_;
}

// From the shares that hold to those of the jobs that are ready now.
void FairList::share_out() {
  const Level before = level_;
  level_ = level();
  const auto gains = [&](Index job) { return problem_->high[job] > level_.slots; };
  if (level_.slots != before.slots) {
    boundary_ = inside_ = 0;
    Index job = ready_.after(0);
    for (; inside_ < level_.extra; job = ready_.after(job + 1)) {
      inside_ += gains(job) ? 1 : 0;
      boundary_ = job + 1;
    }
    for (job = ready_.after(0); job != kNone; job = ready_.after(job + 1)) {
      set_rate(job, share(job));
    }
    return;
  }
  for (const Index job : jobs_.entering) set_rate(job, share(job));
  while (inside_ < level_.extra) {
    const Index job = ready_.after(boundary_);
    boundary_ = job + 1;
    if (!gains(job)) continue;
    ++inside_;
    set_rate(job, share(job));
  }
  while (inside_ > level_.extra) {
    const Index job = ready_.before(boundary_);
    boundary_ = job;
    if (!gains(job)) continue;
    --inside_;
    set_rate(job, share(job));
  }
}

void FairList::run(const FlowProblem& problem, std::span<double> end, std::span<double> flow_end,
                   Pieces& pieces) {
  const std::size_t n = problem.jobs();
  problem_ = &problem;
  pieces_ = &pieces;
  jobs_.begin(problem);
  ready_.reset(n);
  maxima_.assign(problem.high.begin(), problem.high.end());
  std::sort(maxima_.begin(), maxima_.end());
  maxima_.erase(std::unique(maxima_.begin(), maxima_.end()), maxima_.end());
  class_of_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    class_of_[i] = static_cast<Index>(
        std::lower_bound(maxima_.begin(), maxima_.end(), problem.high[i]) - maxima_.begin());
  }
  counts_.assign(maxima_.size() + 1, 0);
  sums_.assign(maxima_.size() + 1, 0);
  all_ = boundary_ = inside_ = 0;
  wanted_ = 0;
  level_ = {kInfinity, 0};
  left_.assign(problem.work.begin(), problem.work.end());
  since_.assign(n, 0.0);
  slots_.assign(n, 0.0);
  version_.assign(n, 0);
  ends_.clear();
  time_ = 0.0;
  const auto later = [](const End& a, const End& b) {
    return a.time != b.time ? a.time > b.time : a.job > b.job;
  };
  for (;;) {
    while (!ends_.empty() && ends_.front().version != version_[ends_.front().job]) {
      std::pop_heap(ends_.begin(), ends_.end(), later);
      ends_.pop_back();
    }
    const double next =
        std::min(jobs_.next_arrival(), ends_.empty() ? kInfinity : ends_.front().time);
    if (next == kInfinity) return;
    time_ = std::max(time_, next);
    gone_.clear();
    while (!ends_.empty() && ends_.front().time <= time_) {
      const End first = ends_.front();
      std::pop_heap(ends_.begin(), ends_.end(), later);
      ends_.pop_back();
      if (first.version != version_[first.job]) continue;
      set_rate(first.job, 0.0);
      gone_.push_back(first.job);
    }
    jobs_.entering.clear();
    jobs_.ended_flows.clear();
    for (const Index job : gone_) leave(job);
    for (const Index job : gone_) jobs_.finish(job, time_, end);
    jobs_.arrive(time_, end);
    for (const Index job : jobs_.entering) enter(job);
    for (const Index j : jobs_.ended_flows) flow_end[j] = time_;
    share_out();
  }
}

}  // namespace malleable
