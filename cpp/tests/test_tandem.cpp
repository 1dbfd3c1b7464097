// The queue of two stations, map and shuffle, in which a job shuffles while it still maps.
#include <algorithm>
#include <limits>

#include "check.hpp"
#include "malleable/sim/tandem.hpp"

namespace malleable::check {
namespace test_tandem {

constexpr double kEnd = std::numeric_limits<double>::infinity();

TandemQueue made(TandemPolicy policy, bool conserving = true, bool overlap = true) {
  TandemOptions options;
  options.policy = policy;
  options.conserving = conserving;
  options.overlap = overlap;
  return TandemQueue(options);
}

struct Sample {
  std::vector<double> arrival, map, shuffle, weight, map_guess, shuffle_guess;
};

Sample sample(std::uint64_t seed, int jobs) {
  std::mt19937_64 random(seed);
  const auto draw = [&] { return std::ldexp(static_cast<double>(random() >> 11), -53); };
  Sample s;
  double now = 0.0;
  for (int j = 0; j < jobs; ++j) {
    if (draw() < 0.7) now += draw();
    s.arrival.push_back(now);
    s.map.push_back(draw() < 0.1 ? 0.0 : draw());
    s.shuffle.push_back(draw() < 0.1 ? 0.0 : draw() * 1.5);
    s.weight.push_back(0.1 + draw());
    s.map_guess.push_back(s.map.back() * std::exp2(6.0 * draw() - 3.0));
    s.shuffle_guess.push_back(draw() < 0.1 ? 0.0 : draw());
  }
  return s;
}

// Section 2.1: maps end at 1, 4, 6; shuffle rate 1 to 2.5, 1/3 to 4, 1 to 6.
TEST(three_jobs_of_section_2_1) {
  TandemQueue queue = made(TandemPolicy::kFcfs);
  const std::vector<double> arrival{0, 0, 0}, map{1, 3, 2}, shuffle{2, 1, 2};
  queue.feed({arrival, map, shuffle});
  queue.advance(2.5);
  CHECK(std::abs(queue.totals().shuffle_busy - 2.5) < 1e-12);
  queue.advance(4.0);
  CHECK(std::abs(queue.totals().shuffle_busy - 3.0) < 1e-12);
  queue.advance(kEnd);
  CHECK(std::abs(queue.totals().shuffle_busy - 5.0) < 1e-12);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK_EQUAL(queue.done_id[i], static_cast<std::int64_t>(i));
    CHECK(std::abs(queue.done_map[i] - std::vector<double>{1, 4, 6}[i]) < 1e-12);
    CHECK(std::abs(queue.done_completion[i] - std::vector<double>{2, 4, 6}[i]) < 1e-12);
  }
}

TEST(three_jobs_without_overlap) {
  TandemQueue queue = made(TandemPolicy::kFcfs, true, false);
  const std::vector<double> arrival{0, 0, 0}, map{1, 3, 2}, shuffle{2, 1, 2};
  queue.feed({arrival, map, shuffle});
  queue.advance(kEnd);
  const std::vector<double> expected{3, 5, 8};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(std::abs(queue.done_completion[i] - expected[i]) < 1e-12);
  }
}

// A hair of one phase may be all of the other: nothing of it is lost when another job's event comes
// while it runs.
TEST(phases_of_very_different_lengths) {
  for (const auto policy : {TandemPolicy::kFcfs, TandemPolicy::kMaxSrpt, TandemPolicy::kTwoSrpt,
                            TandemPolicy::kSplitSrpt, TandemPolicy::kShare}) {
    for (const bool map_first : {true, false}) {
      // The second job cuts the short phase of the first, halfway through it.
      const std::vector<double> arrival{0.0, 0.5e-3}, weight{1.0, 1.0};
      const std::vector<double> shorter{1e-3, 2e-3}, longer{1e13, 1.0};
      TandemOptions options;
      options.policy = policy;
      TandemQueue queue(options);
      queue.feed({arrival, map_first ? shorter : longer, map_first ? longer : shorter, weight});
      queue.advance(kEnd);
      CHECK_EQUAL(queue.totals().completed, std::int64_t{2});
      const double work[] = {shorter[0] + shorter[1], longer[0] + longer[1]};
      CHECK_NEAR(queue.totals().map_busy, work[map_first ? 0 : 1], 1e-12 * work[map_first ? 0 : 1]);
      CHECK_NEAR(queue.totals().shuffle_busy, work[map_first ? 1 : 0],
                 1e-12 * work[map_first ? 1 : 0]);
    }
  }
}

// As printed, shares by estimates (or sizes) of which one is nothing beside the other; the other
// phase has work all the same, and it is done.
TEST(a_phase_that_seems_to_be_nothing_is_served) {
  const std::vector<double> arrival{0.0, 0.0}, weight{1.0, 1.0};
  const std::vector<double> map{2.0, 1e15}, shuffle{3.0, 1e-12};
  for (const bool estimated : {true, false}) {
    for (const bool swapped : {true, false}) {
      TandemOptions options;
      options.policy = TandemPolicy::kSplitSrpt;
      options.conserving = false;
      options.estimated = estimated;
      const std::vector<double> much{5.0, 4.0}, nothing{0.0, 0.0};
      const std::size_t from = estimated ? 0 : 1;
      const auto part = [from](const std::vector<double>& v) {
        return std::span<const double>(v).subspan(from, 1);
      };
      TandemQueue queue(options);
      queue.feed({part(arrival), part(swapped ? shuffle : map), part(swapped ? map : shuffle),
                  part(weight), part(swapped ? nothing : much), part(swapped ? much : nothing)});
      queue.advance(kEnd);
      CHECK_EQUAL(queue.totals().completed, std::int64_t{1});
    }
  }
}

// All work is done, stations are never faster than they are, and Little's law holds on every path.
TEST(conservation) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Sample s = sample(seed, 60);
    double map = 0.0, shuffle = 0.0;
    for (const double x : s.map) map += x;
    for (const double y : s.shuffle) shuffle += y;
    for (const auto policy : {TandemPolicy::kFcfs, TandemPolicy::kMaxSrpt, TandemPolicy::kTwoSrpt,
                              TandemPolicy::kSplitSrpt, TandemPolicy::kShare}) {
      for (int mode = 0; mode < 8; ++mode) {
        TandemOptions options;
        options.policy = policy;
        options.conserving = (mode & 1) != 0;
        options.overlap = (mode & 2) != 0;
        options.estimated = (mode & 4) != 0;
        TandemQueue queue(options);
        queue.feed({s.arrival, s.map, s.shuffle, s.weight, s.map_guess, s.shuffle_guess});
        queue.advance(kEnd);
        const TandemTotals& totals = queue.totals();
        CHECK_EQUAL(totals.completed, std::int64_t{60});
        CHECK(std::abs(totals.map_busy - map) < 1e-9);
        CHECK(std::abs(totals.shuffle_busy - shuffle) < 1e-9);
        CHECK(std::abs(totals.jobs_seconds - totals.response) < 1e-8);
        CHECK(totals.now >= std::max(map, shuffle) - 1e-9);
        for (std::size_t i = 0; i < queue.done_id.size(); ++i) {
          const auto j = static_cast<std::size_t>(queue.done_id[i]);
          CHECK(queue.done_completion[i] >= s.arrival[j] + std::max(s.map[j], s.shuffle[j]) - 1e-9);
          CHECK(queue.done_map[i] <= queue.done_completion[i]);
        }
      }
    }
  }
}

// Fed in pieces or looked at in between, the queue does the same.
TEST(advancing_in_steps_changes_nothing) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    const Sample s = sample(seed, 50);
    for (const auto policy : {TandemPolicy::kMaxSrpt, TandemPolicy::kSplitSrpt}) {
      TandemQueue whole = made(policy), pieces = made(policy);
      whole.feed({s.arrival, s.map, s.shuffle});
      whole.advance(kEnd);
      for (std::size_t j = 0; j < 50; ++j) {
        pieces.feed({{&s.arrival[j], 1}, {&s.map[j], 1}, {&s.shuffle[j], 1}});
        pieces.advance(s.arrival[j] + 0.01 > s.arrival[std::min<std::size_t>(j + 1, 49)]
                           ? s.arrival[j]
                           : s.arrival[j] + 0.01);
      }
      pieces.advance(kEnd);
      CHECK(std::abs(whole.totals().response - pieces.totals().response) < 1e-8);
    }
  }
}

// What throws in between stops the run; it goes on as if nothing had happened.
TEST(interrupted_and_resumed) {
  const std::size_t count = 3000;
  std::vector<double> arrival(count, 0.0), map, shuffle;
  for (std::size_t j = 0; j < count; ++j) {
    map.push_back(1.0 + static_cast<double>(j) / 997.0);
    shuffle.push_back(1.0 + static_cast<double>((j * 7) % count) / 991.0);
  }
  TandemQueue whole = made(TandemPolicy::kShare), parts = made(TandemPolicy::kShare);
  whole.feed({arrival, map, shuffle});
  whole.advance(kEnd);
  int polls = 0;
  struct Stop {};
  parts.set_poll([&] {
    ++polls;
    throw Stop{};
  });
  parts.feed({arrival, map, shuffle});
  for (bool done = false; !done;) {
    try {
      parts.advance(kEnd);
      done = true;
    } catch (const Stop&) {
      CHECK(parts.present() > 0);
    }
  }
  CHECK(polls > 0);
  CHECK_EQUAL(parts.totals().completed, static_cast<std::int64_t>(count));
  CHECK_EQUAL(parts.totals().response, whole.totals().response);
}

}  // namespace test_tandem
}  // namespace malleable::check
