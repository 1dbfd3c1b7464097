// Policies of two stations, map and shuffle, in a loop of the caller.
#include <algorithm>
#include <map>

#include "check.hpp"
#include "malleable/policy/tandem_epoch.hpp"
#include "malleable/sim/tandem.hpp"

namespace malleable::check {
namespace test_tandem_epoch {

struct Draw {
  std::mt19937_64 random;
  double operator()() { return std::ldexp(static_cast<double>(random() >> 11), -53); }
};

// Feeds both the simulator and an epoch that gets the work left of every job, and compares who
// runs after every arrival and in between.
void compare(TandemPolicy policy, bool conserving, bool estimated, std::uint64_t seed) {
  TandemOptions options;
  options.policy = policy;
  options.conserving = conserving;
  options.estimated = estimated;
  TandemQueue queue(options);
  TandemEpoch epoch({policy, conserving});
  Draw draw{std::mt19937_64(seed)};
  const bool errs_alike = !estimated || seed % 2 == 0;
  std::map<std::int64_t, std::int64_t> handle;  // simulator's id -> epoch's
  std::vector<std::array<double, 4>> size;      // truth and estimates
  double now = 0.0;
  for (int j = 0; j < 80; ++j) {
    now += draw() < 0.3 ? 0.0 : 0.9 * draw();
    const double map = draw() < 0.1 ? 0.0 : draw();
    const double shuffle = draw() < 0.1 ? 0.0 : 1.3 * draw();
    const double guess_map = estimated ? map * std::exp2(4.0 * draw() - 2.0) : map;
    // The work that a map phase releases now is known if both estimates have the same error.
    const double alike = map > 0.0 ? guess_map / map : 1.0;
    const double guess_shuffle =
        estimated ? shuffle * (errs_alike ? alike : std::exp2(4.0 * draw() - 2.0)) : shuffle;
    queue.feed({{&now, 1}, {&map, 1}, {&shuffle, 1}, {}, {&guess_map, 1}, {&guess_shuffle, 1}});
    size.push_back({map, shuffle, guess_map, guess_shuffle});
    if (map > 0.0 || shuffle > 0.0) {
      std::int64_t id = 0;
      epoch.add({&now, 1}, {{&guess_map, 1}, {&guess_shuffle, 1}, {}, {}, {}}, {&id, 1});
      handle[j] = id;
    }
    for (int look = 0; look < 2; ++look) {
      std::map<std::int64_t, std::int64_t> live;
      for (const FluidJob& job : queue.jobs()) {
        if (!job.alive) continue;
        const auto& s = size[static_cast<std::size_t>(job.id)];
        const double map_left = job.map == 0.0 ? 0.0 : s[2] - (s[0] - job.map);
        double shuffle_left = s[3] - (s[1] - job.shuffle());
        // Rounding of a job whose shuffle phase has nothing to do but is not known to.
        if (job.shuffle() == 0.0) shuffle_left = 0.0;
        live[job.id] = handle.at(job.id);
        epoch.update({&live[job.id], 1},
                     {{&map_left, 1}, {&shuffle_left, 1}, {&job.buffer, 1}, {}, {}});
      }
      for (auto it = handle.begin(); it != handle.end();) {
        if (live.contains(it->first)) {
          ++it;
        } else {
          epoch.remove({&it->second, 1});
          it = handle.erase(it);
        }
      }
      CHECK_EQUAL(epoch.size(), live.size());
      std::map<std::int64_t, std::array<double, 2>> expected, found;
      for (const auto& service : queue.decide()) {
        if (service.map + service.shuffle < 1e-9) continue;  // rounding
        auto& at = expected[live.at(queue.job(service.row).id)];
        at[0] += service.map;
        at[1] += service.shuffle;
      }
      for (const auto& service : epoch.decide(now, {{10, 10}})) {
        if (service.share[0] + service.share[1] == 0.0) continue;  // it ran until now
        found[service.id] = {service.share[0], service.share[1]};
      }
      CHECK(!errs_alike || found.size() == expected.size());
      for (const auto& [id, share] : expected) {
        CHECK(found.contains(id) || (!errs_alike && share[0] == 0.0));
        CHECK(std::abs(found[id][0] - share[0]) < 1e-9);
        CHECK(!errs_alike || std::abs(found[id][1] - share[1]) < 1e-9);
      }
      now += 0.05 * draw();
      queue.advance(now);
    }
  }
}

TEST(decides_as_the_simulator) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const auto policy :
         {TandemPolicy::kFcfs, TandemPolicy::kMaxSrpt, TandemPolicy::kSplitSrpt}) {
      compare(policy, true, false, seed);
      compare(policy, false, false, seed);
    }
    compare(TandemPolicy::kTwoSrpt, true, false, seed);
  }
}

TEST(decides_as_the_simulator_on_estimates) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const auto policy :
         {TandemPolicy::kMaxSrpt, TandemPolicy::kSplitSrpt, TandemPolicy::kTwoSrpt}) {
      compare(policy, true, true, seed);
    }
  }
}

// Slots that a job cannot use go down the order; all slots are given, none twice.
TEST(limits) {
  TandemEpoch epoch({TandemPolicy::kMaxSrpt, true});
  const std::vector<double> arrival(4, 0.0), map{1, 2, 3, 4}, shuffle{4, 3, 2, 1}, most{2, 3, 4, 9};
  std::vector<std::int64_t> ids(4);
  epoch.add(arrival, {map, shuffle, {}, most, {}}, ids);
  std::map<std::int64_t, std::int64_t> slots;
  for (const auto& service : epoch.decide(0.0, {{10, 7}})) slots[service.id] = service.slots[0];
  // Equal ranks 4 and 4 go by arrival, 3 and 3 as well: jobs 1, 2, 0, 3.
  CHECK_EQUAL(slots[ids[1]], 3);
  CHECK_EQUAL(slots[ids[2]], 4);
  CHECK_EQUAL(slots[ids[0]], 2);
  CHECK_EQUAL(slots[ids[3]], 1);
}

TEST(slots_add_up) {
  Draw draw{std::mt19937_64(5)};
  for (int round = 0; round < 200; ++round) {
    TandemEpoch epoch({TandemPolicy::kSplitSrpt, true});
    const std::size_t count = 1 + static_cast<std::size_t>(20 * draw());
    std::vector<double> arrival(count, 0.0), map, shuffle, most;
    for (std::size_t k = 0; k < count; ++k) {
      map.push_back(0.01 + draw());
      shuffle.push_back(0.01 + draw());
      most.push_back(1.0 + std::floor(20 * draw()));
    }
    std::vector<std::int64_t> ids(count);
    epoch.add(arrival, {map, shuffle, {}, most, most}, ids);
    const auto slots = static_cast<std::int64_t>(1 + 60 * draw());
    std::int64_t maps = 0, shuffles = 0;
    double wanted = 0.0, share = 0.0;
    for (const double m : most) wanted += m;
    for (const auto& service : epoch.decide(0.0, {{slots, slots}})) {
      maps += service.slots[0];
      shuffles += service.slots[1];
      share += service.share[1];
    }
    CHECK_EQUAL(maps, std::min(slots, static_cast<std::int64_t>(wanted)));
    CHECK_EQUAL(shuffles, std::min(slots, static_cast<std::int64_t>(std::ceil(
                                              share * static_cast<double>(slots) - 1e-9))));
  }
}

template <typename F>
bool refuses(F action) {
  try {
    action();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

// A share of 2^50 slots is a slot off by rounding: no job gets more than its maximum, and all
// together no more than there are.
TEST(limits_on_very_many_slots) {
  trials(7, 2000, [](Random& random) {
    TandemEpoch epoch({TandemPolicy::kMaxSrpt, true});
    const std::size_t count = 1 + random() % 12;
    std::vector<double> arrival(count, 0.0), map(count), shuffle(count), most(count);
    for (std::size_t j = 0; j < count; ++j) {
      map[j] = real(random, 1.0, 2.0);
      shuffle[j] = real(random, 1.0, 2.0);
      most[j] = static_cast<double>(integer(random, 1, std::int64_t{1} << integer(random, 0, 49)));
    }
    std::vector<std::int64_t> ids(count);
    epoch.add(arrival, {map, shuffle, {}, most, most}, ids);
    const std::int64_t slots = integer(random, 1, std::int64_t{1} << integer(random, 0, 50));
    std::int64_t maps = 0;
    for (const auto& service : epoch.decide(0.0, {{slots, slots}})) {
      const auto j =
          static_cast<std::size_t>(std::find(ids.begin(), ids.end(), service.id) - ids.begin());
      CHECK(static_cast<double>(service.slots[0]) <= most[j]);
      CHECK(service.slots[0] >= 0);
      maps += service.slots[0];
    }
    CHECK(maps <= slots);
  });
}

TEST(wrong_input_changes_nothing) {
  TandemEpoch epoch({TandemPolicy::kMaxSrpt, true});
  const std::vector<double> arrival{0, 3}, map{1, 1}, shuffle{1, 1}, bad{1, NAN}, half{1, 0.5};
  std::vector<std::int64_t> ids(2);
  CHECK(refuses([&] { epoch.add(arrival, {bad, shuffle, {}, {}, {}}, ids); }));
  CHECK(refuses([&] { epoch.add(arrival, {map, shuffle, {}, half, {}}, ids); }));
  CHECK_EQUAL(epoch.size(), std::size_t{0});
  epoch.add(arrival, {map, shuffle, {}, {}, {}}, ids);
  CHECK(refuses([&] { epoch.decide(1.0, {{1, 1}}); }));  // the second has not come yet
  CHECK(refuses([&] { epoch.update(ids, {bad, {}, {}, {}, {}}); }));
  const std::vector<std::int64_t> unknown{ids[0], 77};
  CHECK(refuses([&] { epoch.remove(unknown); }));
  CHECK_EQUAL(epoch.decide(3.0, {{1, 1}}).size(), std::size_t{1});
  epoch.remove(ids);
  CHECK(refuses([&] { epoch.remove(ids); }));
  CHECK(refuses([&] { epoch.decide(2.0, {{1, 1}}); }));  // times never fall
  CHECK(epoch.decide(3.0, {{1, 1}}).empty());
}

}  // namespace test_tandem_epoch
}  // namespace malleable::check
