// The order in which jobs with a start condition start, with one reservation.
#include <algorithm>

#include "instances.hpp"
#include "malleable/policy/epoch/start_line.hpp"

namespace malleable::check {
namespace test_epoch_start_line {

using Waiting = StartLine::Waiting;

struct Case {
  std::vector<Waiting> waiting;
  std::vector<StartLine::Running> running;
  std::vector<std::pair<double, double>> growth;  // gain, slots
  double free = 0.0;
};

// Gains of single slots, the best first; 0 if no job wants them.
Doubles gains_of(const Case& of) {
  Doubles gains;
  for (const auto& [gain, slots] : of.growth) gains.insert(gains.end(), std::size_t(slots), gain);
  std::sort(gains.rbegin(), gains.rend());
  gains.resize(std::max(gains.size(), std::size_t(of.free)), 0.0);
  return gains;
}

// The same in the plainest way: one job after the other, slot by slot.
std::vector<Index> one_by_one(Case of) {
  std::sort(of.waiting.begin(), of.waiting.end(), [](const Waiting& a, const Waiting& b) {
    return a.key != b.key ? a.key < b.key : a.row < b.row;
  });
  const Doubles gains = gains_of(of);
  std::vector<Index> started;
  double until = kInfinity, spare = kInfinity, free = of.free;
  bool reserved = false;
  const auto worth = [&](const Waiting& job) {
    double loss = 0.0;
    for (double slot = free - job.need; slot < free; ++slot) loss += gains[std::size_t(slot)];
    return !job.patient || job.gain >= 0.7 * loss;
  };
  // A job that fits at first and is not worth its slots has no reservation.
  std::erase_if(of.waiting, [&](const Waiting& job) { return job.need <= free && !worth(job); });
  for (const Waiting& job : of.waiting) {
    if (free <= 0.0) break;
    if (job.need > free) {
      if (!job.reserves || reserved) continue;
      reserved = true;
      std::sort(of.running.begin(), of.running.end(),
                [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
      double there = free;
      for (const auto& other : of.running) {
        if (there >= job.need && other.seconds > until) break;
        if (there < job.need) until = other.seconds;
        there += other.need;
      }
      spare = there - job.need;
      continue;
    }
    const bool delays = reserved && job.seconds > until;
    if (delays && job.need > spare) continue;
    if (!worth(job)) continue;
    if (delays) spare -= job.need;
    free -= job.need;
    of.running.push_back({job.need, job.seconds});
    started.push_back(job.row);
  }
  return started;
}

TEST(as_one_by_one) {
  Random random(5);
  StartLine line;
  std::size_t some = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    context = text("trial ", trial);
    Case of;
    of.free = double(integer(random, 1, 12));
    const std::int64_t slots = integer(random, 12, 20);
    double held = 0.0;
    while (held < double(slots) - of.free) {
      const double need = double(integer(random, 1, 4));
      of.running.push_back({need, double(integer(random, 1, 30))});
      held += need;
    }
    for (std::int64_t k = integer(random, 0, 4); k > 0; --k) {
      of.growth.push_back({double(integer(random, 0, 8)), double(integer(random, 1, 6))});
    }
    for (std::int64_t k = integer(random, 0, 9); k > 0; --k) {
      of.waiting.push_back({Index(k), integer(random, 0, 2) == 0, integer(random, 0, 1) == 0,
                            double(integer(random, 0, 5)), double(integer(random, 1, 12)),
                            double(integer(random, 1, 40)), double(integer(random, 0, 6))});
    }
    line.clear();
    for (const auto& job : of.waiting) line.wait(job);
    for (const auto& job : of.running) line.run(job);
    for (const auto& [gain, slots] : of.growth) line.grow(gain, slots);
    const std::vector<Index> expected = one_by_one(of);
    CHECK(line.start(of.free) == expected);
    some += expected.size();
  }
  CHECK(some > 2000);
}

}  // namespace test_epoch_start_line
}  // namespace malleable::check
