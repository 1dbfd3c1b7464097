#include "malleable/policy/epoch/learnt_powers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace malleable {
namespace {

constexpr double kAgree = 0.05;   // two p seen one after the other agree if they differ by less
constexpr double kSame = 0.01;    // p that differ by less are the same
constexpr double kStated = 0.05;  // what was known before weighs like this part of a job's size
constexpr double kLeastPower = 0.05;
constexpr double kFewest = 2.5;  // jobs that make a line
// The weights of a line without slope, and of one at 0, in squares of p and in jobs.
constexpr double kFlat = 0.1, kStraight = 2.0;
constexpr double kMemory = 256.0;  // jobs that a line remembers, and rates
// A rate is impossible if it passes its limit by more than the part kBeyond. If more than one rate,
// and more than the part kDoubt of all rates, is impossible, the work left counts as a guess.
constexpr double kBeyond = 0.2, kDoubt = 0.1;

}  // namespace

void LearntPowers::Line::add(double stated, double by) {
  for (double* sum : {&jobs, &x, &xx, &off, &x_off}) *sum *= 1.0 - 1.0 / kMemory;
  jobs += 1.0;
  x += stated;
  xx += stated * stated;
  off += by;
  x_off += stated * by;
}

double LearntPowers::Line::at(double stated) const {
  if (jobs < kFewest) return 0.0;
  const double mean = x / jobs, mean_off = off / jobs;
  const double slope = (x_off - mean * off) / (std::max(0.0, xx - mean * x) + kFlat);
  return (mean_off + slope * (stated - mean)) * jobs / (jobs + kStraight);
}

double LearntPowers::power(const JobTable& jobs, std::size_t r) const {
  const Row& row = rows_[r];
  if (!trusted_) return row.stated;
  const double prior = applied_.at(row.stated), weight = kStated * jobs.size[r];
  const double off = row.weight > 0.0 ? (row.sum + weight * prior) / (row.weight + weight) : prior;
  return off == 0.0 ? row.stated : std::clamp(row.stated + off, kLeastPower, 1.0);
}

void LearntPowers::come(JobTable& jobs, std::size_t count) {
  if (rows_.empty() && !jobs.concave()) return;
  const std::size_t first = jobs.rows() - count;
  rows_.resize(jobs.rows());
  for (std::size_t r = first; r < jobs.rows() && !jobs.exponent.empty(); ++r) {
    if (!jobs.rates[r].empty()) continue;
    rows_[r].stated = jobs.exponent[r];
    jobs.set_power(r, power(jobs, r));
  }
}

// The p of the job since its slots and its work were known; kUnseen if that cannot be told.
double LearntPowers::seen(const Scene& at, std::size_t r, double now) {
  const Row& row = rows_[r];
  const double did = row.work - at.jobs.work[r], slots = static_cast<double>(at.grants[r]);
  if (row.since == -kInfinity || did == 0.0 || slots < 1.0 || at.jobs.ran_out(r)) return kUnseen;
  const double seconds = at.jobs.seconds_of(r, row.since, now);
  if (!(seconds > 0.0)) return kUnseen;
  const double rate = did / seconds;
  for (double* sum : {&seen_, &impossible_}) *sum *= 1.0 - 1.0 / kMemory;
  seen_ += 1.0;
  if (rate * (1.0 + kBeyond) < 1.0 || rate > slots * (1.0 + kBeyond)) impossible_ += 1.0;
  if (slots < 2.0 || !(rate > 0.0)) return kUnseen;
  const double p = std::log(rate) / std::log(slots);
  if (std::fabs(p - row.stated) < kSame) return row.stated;
  return p >= 0.0 && p <= 1.0 ? p : kUnseen;
}

// Returns whether what was seen of the job counts.
bool LearntPowers::see(const Scene& at, std::size_t r, double now) {
  Row& row = rows_[r];
  const double p = seen(at, r, now), before = std::exchange(row.last, p);
  if (p == kUnseen || before == kUnseen || std::fabs(p - before) > kAgree) return false;
  if (row.weight == 0.0) line_.add(row.stated, p - row.stated);
  const double did = row.work - at.jobs.work[r];
  row.weight += did;
  row.sum += did * (p - row.stated);
  return true;
}

void LearntPowers::learn(const Scene& at, double now) {
  const JobTable& jobs = at.jobs;
  const bool learns = at.period == 0.0 && now > at.now;
  const auto offer = [&](std::size_t r) {
    if (jobs.exponent.empty()) return;
    const double p = power(jobs, r);
    if (p != jobs.exponent[r]) news_.push_back({r, p});
  };
  for (const std::int64_t id : noted_) {
    const Index r = jobs.find(id);
    if (r == kNone || rows_[r].stated == kKnown || !learns) continue;
    if (see(at, r, now)) offer(r);
  }
  const auto moved = [&](double x) { return std::fabs(line_.at(x) - applied_.at(x)) > kSame; };
  const bool trusts = impossible_ <= 1.0 + kDoubt * seen_;
  if (!moved(0.2) && !moved(1.0) && trusts == trusted_) return;
  trusted_ = trusts;
  applied_ = line_;
  news_.clear();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (rows_[r].stated != kKnown) offer(r);
  }
}

void LearntPowers::decided(const Scene& at) {
  for (const std::int64_t id : noted_) {
    const Index r = at.jobs.find(id);
    if (r == kNone) continue;
    rows_[r].noted = false;
    rows_[r].since = at.now;
    rows_[r].work = at.jobs.work[r];
  }
  noted_.clear();
}

}  // namespace malleable
