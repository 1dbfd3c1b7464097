// The slots now for jobs with keys: the least keys first, without sorting all.
#include "instances.hpp"
#include "malleable/kernel/priority_selection.hpp"

namespace malleable::check {
namespace test_priority_selection {

Doubles select_slowly(const Doubles& key, const Doubles& room, double slack) {
  Order order = identity(key.size());
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return key[a] < key[b]; });
  Doubles given(key.size(), 0.0);
  for (const Index j : order) {
    given[j] = std::min(room[j], std::max(0.0, slack));
    slack -= given[j];
  }
  return given;
}

void check_selection(PrioritySelection& selection, const Doubles& key, const Doubles& room,
                     double slack) {
  Doubles given(key.size(), 0.0);
  std::size_t twice = 0;
  selection.run(key, room, slack, [&](Index j, double slots) {
    twice += given[j] != 0.0 || !(slots > 0.0);
    given[j] = slots;
  });
  CHECK_EQUAL(twice, 0u);
  CHECK(given == select_slowly(key, room, slack));
}

double random_key(Random& random, bool ties) {
  if (chance(random, 0.05)) return kInfinity;
  if (ties) return static_cast<double>(integer(random, -3, 6));
  return std::pow(10.0, real(random, -3.0, 5.0));
}

TEST(by_hand) {
  PrioritySelection selection;
  check_selection(selection, {}, {}, 5.0);
  check_selection(selection, {3.0}, {4.0}, 0.0);
  check_selection(selection, {3.0}, {4.0}, -2.0);
  check_selection(selection, {3.0}, {4.0}, 2.0);
  check_selection(selection, {3.0}, {4.0}, 9.0);
  check_selection(selection, {3.0, 1.0, 1.0}, {4.0, 2.0, 2.0}, 3.0);
  check_selection(selection, {kInfinity, kInfinity}, {1.0, 1.0}, 1.0);
  check_selection(selection, {1.0, 2.0}, {0.0, 0.0}, 1.0);
}

// The threshold of the last call steers the next one, and must never decide it.
TEST(a_sequence_of_epochs) {
  trials(1, 60, [](Random& random) {
    PrioritySelection selection;
    const auto jobs = static_cast<std::size_t>(integer(random, 1, chance(random, 0.3) ? 6000 : 60));
    const bool ties = chance(random, 0.4);
    Doubles key(jobs), room(jobs);
    for (std::size_t j = 0; j < jobs; ++j) {
      key[j] = random_key(random, ties);
      room[j] = chance(random, 0.2) ? 0.0 : static_cast<double>(integer(random, 1, 30));
    }
    for (int epoch = 0; epoch < 30; ++epoch) {
      double total = 0.0;
      for (const double r : room) total += r;
      const double some[] = {0.0,
                             1.0,
                             total,
                             total + 5.0,
                             std::floor(real(random, 0.0, 1.2) * total),
                             std::floor(real(random, 0.0, 0.1) * total)};
      check_selection(selection, key, room, some[random() % 6]);
      const double drift = chance(random, 0.2) ? 100.0 : 1.05;
      for (double& k : key) {
        if (chance(random, 0.1)) k = random_key(random, ties);
        if (!ties) k /= real(random, 1.0, drift);
      }
      if (chance(random, 0.1)) {
        for (double& r : room) r = static_cast<double>(integer(random, 0, 3));
      }
      if (chance(random, 0.1)) selection.reset();
    }
  });
}

TEST(keys_of_either_sign) {
  trials(2, 100, [](Random& random) {
    PrioritySelection selection;
    Doubles key(3000), room(3000, 2.0);
    for (int epoch = 0; epoch < 10; ++epoch) {
      const double shift = real(random, -50.0, 50.0);
      for (double& k : key) k = shift + real(random, -10.0, 10.0);
      check_selection(selection, key, room, static_cast<double>(integer(random, 0, 6500)));
    }
  });
}

// A sample that misses the few jobs with room, or sees nothing but ties.
TEST(awkward_tables) {
  PrioritySelection selection;
  for (const std::size_t jobs : {1024u, 2048u, 2049u, 5000u}) {
    Doubles key(jobs, 7.0), room(jobs, 1.0);
    for (const double slack : {1.0, 31.0, 1000.0, 2500.0, 1e6}) {
      check_selection(selection, key, room, slack);
    }
    std::fill(room.begin(), room.end(), 0.0);
    room[jobs / 3] = room[jobs - 1] = 5.0;
    check_selection(selection, key, room, 7.0);
    for (std::size_t j = 0; j < jobs; ++j) key[j] = static_cast<double>(jobs - j);
    std::fill(room.begin(), room.end(), 3.0);
    check_selection(selection, key, room, 100.0);
  }
}

TEST(huge_rooms) {
  PrioritySelection selection;
  const auto most = static_cast<double>(kMostSlots);
  check_selection(selection, {2.0, 1.0, 3.0}, {most, most, most}, most);
  check_selection(selection, {2.0, 1.0, 3.0}, {most, 1.0, most}, most);
}

}  // namespace test_priority_selection
}  // namespace malleable::check
