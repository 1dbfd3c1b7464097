// Slots of users, by priority and minimum, before those of jobs.
#include <vector>

#include "check.hpp"
#include "malleable/policy/user_shares.hpp"

namespace malleable::check {
namespace test_user_shares {

// Three users on 12 map and 4 reduce slots.
struct Fixture {
  std::vector<double> minimum{0.0, 0.0, 0.0}, priority{1.0, 1.0, 2.0};
  ClusterState state;
  UserShares shares;

  Fixture() {
    state.slots[0] = 12;
    state.slots[1] = 4;
    state.user_running.assign(3, 0);
  }
  std::vector<double> of(int pool, const std::vector<double>& most) {
    state.jobs.user_minimum = minimum;
    state.jobs.user_priority = priority;
    shares.begin(state);
    const auto found = shares.of(state, pool, most);
    return {found.begin(), found.end()};
  }
};

TEST(slots_follow_priorities) {
  Fixture f;
  CHECK((f.of(0, {20, 20, 20}) == std::vector<double>{3, 3, 6}));
  // Slots that a user cannot use go to the others, and a user without demand gets none.
  CHECK((f.of(0, {20, 20, 2}) == std::vector<double>{5, 5, 2}));
  CHECK((f.of(0, {0, 20, 20}) == std::vector<double>{0, 4, 8}));
  CHECK((f.of(0, {0, 0, 0}) == std::vector<double>{0, 0, 0}));
}

// A minimum of 8 is 6 of the 12 map and 2 of the 4 reduce slots.
TEST(minima_count_in_proportion) {
  Fixture f;
  f.minimum[0] = 8.0;
  CHECK((f.of(0, {20, 20, 20}) == std::vector<double>{6, 2, 4}));
  CHECK((f.of(1, {20, 0, 20}) == std::vector<double>{2, 0, 2}));
  CHECK((f.of(0, {1, 20, 0}) == std::vector<double>{1, 11, 0}));
}

TEST(no_slots) {
  Fixture f;
  f.state.slots[0] = 0;
  CHECK((f.of(0, {5, 5, 5}) == std::vector<double>{0, 0, 0}));
}

}  // namespace test_user_shares
}  // namespace malleable::check
