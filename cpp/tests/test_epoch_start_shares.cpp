// Slots of started jobs with speed-ups below linear: step by step to the job that gains most.
#include <algorithm>

#include "instances.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable::check {
namespace test_epoch_start_shares {

// Jobs of random speed-ups that all run, and what they get.
struct World {
  std::int64_t slots;
  std::vector<std::int64_t> low, high;
  Doubles work, weight, arrival, deadline;
  SpeedupColumns speedup;

  explicit World(Random& random) : slots(integer(random, 8, 40)) {
    const auto n = static_cast<std::size_t>(integer(random, 2, 6));
    const bool concave = integer(random, 0, 1) == 0;
    for (std::size_t j = 0; j < n; ++j) {
      low.push_back(integer(random, 0, slots / std::int64_t(n)));
      high.push_back(std::max<std::int64_t>(low[j], 1) + integer(random, 0, 12));
      work.push_back(double(integer(random, 1, 60)));
      weight.push_back(double(integer(random, 1, 3)));
      arrival.push_back(0.0);
      deadline.push_back(double(integer(random, 1, 60)));
      Doubles rates;
      if (integer(random, 0, 2) > 0) {
        double step = 1.0, rate = 0.0;
        for (std::int64_t s = 1; s <= high[j]; ++s) {
          rates.push_back(rate += s == 1 ? 1.0 : step);
          step = concave ? step * 0.9 : double(integer(random, 0, 2)) / 2.0;
        }
      }
      speedup.add(rates.empty() ? 0.7 : 1.0, rates);
    }
  }
  JobsView view() const {
    JobsView jobs{};
    jobs.arrival = arrival;
    jobs.weight = weight;
    jobs.deadline = deadline;
    jobs.work = work;
    jobs.min_slots = low;
    jobs.max_slots = high;
    jobs.speedup = speedup.view();
    return jobs;
  }
  double end_of(std::size_t j, double slots) const { return work[j] / speedup.view().at(j, slots); }
};

Epoch decided(const World& world, Aggregate aggregate, Kind kind) {
  EpochOptions options;
  options.min_mode = MinMode::kStart;
  options.aggregate = aggregate;
  options.kind = kind;
  Epoch epoch(world.slots, options);
  epoch.add_columns(world.view());
  epoch.decide(0.0);
  return epoch;
}

// All slots that a running job can use are given, within limits.
TEST(slots_are_used_within_limits) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    context = text("seed ", seed);
    Random random(seed);
    const World world(random);
    const Kind kinds[] = {Kind::kResponse, Kind::kTardiness, Kind::kTardy, Kind::kStretch};
    const Kind kind = kinds[integer(random, 0, 3)];
    const Epoch epoch = decided(world, Aggregate::kSum, kind);
    std::int64_t free = world.slots;
    for (const std::int64_t slots : epoch.given()) free -= slots;
    CHECK(free >= 0);
    for (std::size_t j = 0; j < world.low.size(); ++j) {
      const std::int64_t given = epoch.given()[j];
      if (given == 0) continue;  // it waits, as others are worth more
      CHECK(given >= world.low[j] && given <= world.high[j]);
      if (world.speedup.view().table(j).empty()) CHECK(free == 0 || given == world.high[j]);
    }
  }
}

// The job that ends last could end earlier only by slots that leave another job no better off.
TEST(the_worst_is_as_good_as_can_be) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    context = text("seed ", seed);
    Random random(seed);
    World world(random);
    world.speedup = {};
    for (std::size_t j = 0; j < world.low.size(); ++j) world.speedup.add(0.5, {});
    std::fill(world.weight.begin(), world.weight.end(), 1.0);
    const Epoch epoch = decided(world, Aggregate::kMax, Kind::kResponse);
    double worst = 0.0;
    std::size_t last = 0;
    std::int64_t free = world.slots;
    for (std::size_t j = 0; j < world.low.size(); ++j) {
      free -= epoch.given()[j];
      const double end = world.end_of(j, double(epoch.given()[j]));
      if (end > worst) last = j;
      worst = std::max(worst, end);
    }
    if (epoch.given()[last] == world.high[last]) continue;
    CHECK(free == 0);
    for (std::size_t j = 0; j < world.low.size(); ++j) {
      if (j == last || epoch.given()[j] == world.low[j]) continue;
      CHECK(world.end_of(j, double(epoch.given()[j] - 1)) >= worst * (1.0 - 1e-9));
    }
  }
}

}  // namespace test_epoch_start_shares
}  // namespace malleable::check
