#include "malleable/kernel/set_exchange.hpp"

namespace malleable {
namespace {

// At the border of the set, each pass. Members that ask for an earlier step are slow to test.
constexpr std::size_t kMembers = 500, kOutside = 128, kEarlier = 8;
constexpr std::size_t kPasses = 3;
constexpr std::size_t kShifts = 6;  // an exchange moves no more jobs
constexpr int kLaterSteps = 4;
constexpr double kWorth = 1e-9;  // of what is lost: a smaller gain is rounding

}  // namespace

// Gives the job another target if there is room.
bool SetExchange::shift(Index j, double due) {
  const double before = target_[j];
  if (before < kInfinity) set_->drop(j, before);
  if (due < kInfinity && !set_->add(j, due)) {
    if (before < kInfinity && !set_->add(j, before)) target_[j] = kInfinity;  // by rounding
    return false;
  }
  target_[j] = due;
  shifts_.push_back({j, before});
  return true;
}

void SetExchange::take_back() {
  for (; !shifts_.empty(); shifts_.pop_back()) {
    const auto [j, before] = shifts_.back();
    if (target_[j] < kInfinity) set_->drop(j, target_[j]);
    target_[j] = before < kInfinity && set_->add(j, before) ? before : kInfinity;
  }
}

// True if the set is better without the job, or with the job at a later step.
bool SetExchange::eject(Index j) {
  const auto& [asks, by_key, pays, later, late] = *instance_;
  const double own = target_[j], paid = pays(j, own);
  shifts_.clear();
  shift(j, kInfinity);
  double won = 0.0;
  for (const Index k : outside_) {
    const DueAsk& ask = asks[k];
    const double target = target_[ask.job];
    if (ask.job == j || !(ask.due < target) || !shift(ask.job, ask.due)) continue;
    won += pays(ask.job, target) - pays(ask.job, ask.due);
    if (shifts_.size() >= kShifts) break;
  }
  double next = won > 0.0 ? later(j, own) : kInfinity;
  for (int step = 0; step < kLaterSteps && next < kInfinity && !shift(j, next); ++step) {
    next = later(j, next);
  }
  const double lost = pays(j, target_[j]) - paid;
  if (won > lost * (1.0 + kWorth) && won > kWorth * paid) return true;
  take_back();
  return false;
}

void SetExchange::improve(const Instance& instance, OnTimeSet& set, std::span<double> target) {
  instance_ = &instance;
  set_ = &set;
  target_ = target;
  const auto& asks = instance.asks;
  bool better = true;
  for (std::size_t pass = 0; better && pass < kPasses; ++pass) {
    better = false;
    outside_.clear();
    std::size_t earlier = 0;
    for (const Index k : instance.by_key) {
      if (outside_.size() == kOutside) break;
      const double due = target[asks[k].job];
      if (asks[k].due < due && (due == kInfinity || ++earlier <= kEarlier)) outside_.push_back(k);
    }
    if (outside_.empty()) return;
    std::size_t members = 0;
    for (std::size_t i = instance.by_key.size(); i-- > 0 && members < kMembers;) {
      const DueAsk& ask = asks[instance.by_key[i]];
      if (ask.due != target[ask.job]) continue;
      if (instance.late && instance.late()) return;
      ++members;
      better = eject(ask.job) || better;
    }
  }
}

}  // namespace malleable
