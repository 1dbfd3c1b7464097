// Policies in steps, in a loop of the caller.
#include "malleable/policy/slotted_epoch.hpp"
#include "slotted_instances.hpp"

namespace malleable::check {
namespace test_slotted_epoch {

using Counts = std::vector<std::int64_t>;
using Work = std::vector<double>;

// A cluster that follows the epoch ends every job when the simulator does.
TEST(slotted_epoch_is_the_simulator) {
  trials(1, 200, [](Random& random) {
    const SlottedTable table = random_slotted(random, 12);
    const std::size_t n = table.map.size();
    const char* const names[] = {"asrpt", "unlock", "srpt", "lrpt", "fifo", "fair"};
    const char* name = names[integer(random, 0, 5)];
    SlottedOptions options;
    options.machines = integer(random, 1, 6);
    const auto expected = finish_of(table, options, make_slotted_policy(name, true));

    const double seconds = chance(random, 0.5) ? 1.0 : 0.25;
    const auto start = static_cast<double>(integer(random, 0, 1000));
    SlottedEpoch epoch(options.machines, seconds, name);
    Counts maps = table.map, left(n), finish(n), id(n, -1);
    std::map<std::int64_t, std::size_t> job_of;
    std::size_t open = 0;
    for (std::size_t j = 0; j < n; ++j) {
      left[j] = table.reduce(j);
      finish[j] = table.arrival[j] - 1;
      open += maps[j] + left[j] > 0;
    }
    for (std::int64_t slot = 1; open > 0; ++slot) {
      const double now = start + static_cast<double>(slot - 1) * seconds;
      for (std::size_t j = 0; j < n; ++j) {
        if (table.arrival[j] != slot || maps[j] + left[j] == 0) continue;
        const Counts m{maps[j]}, r{maps[j] > 0 ? 0 : left[j]}, none{0};
        const Work map{static_cast<double>(maps[j]) * seconds};
        const Work reduce{static_cast<double>(left[j]) * seconds};
        Counts got{0};
        epoch.add(Work{now}, {m, r, none, map, reduce}, got);
        id[j] = got[0];
        job_of[got[0]] = j;
      }
      std::int64_t used = 0;
      Counts ended;
      const auto span = epoch.decide(now);
      const std::vector<SlottedEpoch::Grant> grants(span.begin(), span.end());
      for (const SlottedEpoch::Grant& grant : grants) {
        if (grant.maps + grant.reduces == 0) continue;  // it ran until now
        const std::size_t j = job_of.at(grant.id);
        used += grant.maps + grant.reduces;
        maps[j] -= grant.maps;
        left[j] -= grant.reduces;
        CHECK(maps[j] >= 0 && left[j] >= 0);
        if (maps[j] + left[j] == 0) {
          finish[j] = slot;
          ended.push_back(grant.id);
          --open;
          continue;
        }
        const Counts which{grant.id}, m{maps[j]}, r{maps[j] > 0 ? 0 : left[j]};
        const Work map{static_cast<double>(maps[j]) * seconds};
        const Work reduce{static_cast<double>(left[j]) * seconds};
        epoch.update(which, {m, r, {}, map, reduce});
      }
      CHECK(used <= options.machines);
      epoch.finish(ended);
      CHECK(slot < 10'000);
    }
    CHECK(finish == expected);
    CHECK_EQUAL(epoch.size(), std::size_t{0});
  });
}

TEST(slotted_epoch_refuses_and_stays_as_it_was) {
  SlottedEpoch epoch(3, 2.0, "asrpt");
  const Counts two{1, 2}, zero{0, 0};
  const Work work{2.0, 4.0};
  Counts ids(2);
  const Work at{10.0, 9.0};  // the second is heard of late
  epoch.add(at, {two, zero, zero, work, work}, ids);
  Counts more(2);
  const Work never{10.0, std::nan("")};
  CHECK_THROWS(epoch.add(never, {two, zero, zero, work, work}, more), "arrival[1] = nan");
  const Counts bad{1, -1};
  CHECK_THROWS(epoch.add(at, {bad, zero, zero, work, work}, more), "maps[1] = -1");
  const Work nan{1.0, std::nan("")};
  CHECK_THROWS(epoch.add(at, {two, zero, zero, nan, work}, more), "map_left[1]");
  CHECK_THROWS(epoch.add(at, {two, zero, zero, work, {}}, more), "reduce_left has 0 entries");
  CHECK_THROWS(epoch.decide(INFINITY), "finite");
  const Counts stranger{ids[0], 12345};
  CHECK_THROWS(epoch.update(stranger, {two, {}, {}, {}, {}}), "ids[1]");
  const Counts twice{ids[0], ids[0]};
  CHECK_THROWS(epoch.remove(twice), "named twice");
  CHECK_THROWS(epoch.decide(8.0), "now = 8: before 10");
  CHECK_THROWS(epoch.decide(10.0, -1), "slots = -1");
  CHECK_THROWS(SlottedEpoch(3, 0.0, "asrpt"), "step_seconds");
  CHECK_EQUAL(epoch.size(), std::size_t{2});
  CHECK_EQUAL(epoch.decide(10.0).size(), std::size_t{2});
  epoch.remove(ids);
  CHECK_THROWS(epoch.remove(ids), "no such job");
}

}  // namespace test_slotted_epoch
}  // namespace malleable::check
