#include <algorithm>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/live_waterline.hpp"
#include "malleable/kernel/waterline.hpp"

namespace malleable::check {
namespace test_live_waterline {

struct Member {
  Index item;
  std::int64_t low, high;
  std::size_t row;
};

// Jobs that come, go and change: always what the waterline of all of them says, and only changes
// are told.
TEST(agrees_with_the_waterline) {
  trials(1, 300, [](Random& random) {
    LiveWaterline live;
    std::vector<Member> members;  // in the order in which they were added
    std::vector<double> told(400, 0.0);
    Index next = 0;
    const bool minima = chance(random, 0.5);
    for (int step = 0; step < 60; ++step) {
      for (std::int64_t k = integer(random, 0, 6); k > 0 && next < 400; --k) {
        const std::int64_t high = integer(random, 1, chance(random, 0.2) ? 1000 : 8);
        const std::int64_t low = minima ? integer(random, 0, std::min<std::int64_t>(high, 2)) : 0;
        const std::size_t row = live.add(next, static_cast<double>(low), static_cast<double>(high));
        members.push_back({next++, low, high, row});
      }
      for (Member& member : members) {
        if (!chance(random, 0.2)) continue;
        member.high = std::max<std::int64_t>(integer(random, 1, 12), member.low);
        live.set(member.row, static_cast<double>(member.low), static_cast<double>(member.high));
      }
      std::erase_if(members, [&](const Member& member) {
        if (!chance(random, 0.15)) return false;
        live.erase(member.row);
        told[member.item] = 0.0;
        return true;
      });
      live.compact([&](Index item, std::size_t row) {
        const auto own = std::find_if(members.begin(), members.end(),
                                      [&](const Member& m) { return m.item == item; });
        CHECK(own != members.end());
        own->row = row;
      });
      std::vector<std::int64_t> low, high;
      std::int64_t least = 0;
      for (const Member& member : members) {
        low.push_back(member.low);
        high.push_back(member.high);
        least += member.low;
      }
      const std::int64_t slots = integer(random, 1, chance(random, 0.5) ? 40 : 400);
      const std::vector<double> ones(members.size(), 1.0);
      Problem problem;
      problem.build(ones, ones, low, high, slots, 0.0, MinMode::kGuarantee);
      std::vector<double> expected(members.size());
      Waterline waterline;
      waterline.allocate(problem, {}, expected);
      const auto tell = [&](Index item, double given) {
        CHECK(told[item] != given);
        told[item] = given;
      };
      const bool fits = live.allocate(static_cast<double>(slots), tell);
      CHECK_EQUAL(fits, least <= slots);
      if (!fits) {
        std::vector<double> by_row(live.items().size(), 0.0);
        for (std::size_t k = 0; k < members.size(); ++k) by_row[members[k].row] = expected[k];
        live.overrule(by_row, tell);
      }
      for (std::size_t k = 0; k < members.size(); ++k) {
        CHECK_EQUAL(told[members[k].item], expected[k]);
      }
    }
  });
}

}  // namespace test_live_waterline
}  // namespace malleable::check
