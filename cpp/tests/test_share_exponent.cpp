// How unequal shares by size are, if the exponent p (s tasks do s^p) is not sure.
#include <cmath>

#include "check.hpp"
#include "malleable/kernel/share_exponent.hpp"
#include "malleable/kernel/speedup_posterior.hpp"

namespace malleable::check {
namespace test_share_exponent {

SpeedupCurve surely(std::size_t g) {
  SpeedupCurve chances{};
  chances[g] = 1.0;
  return chances;
}

TEST(as_steep_as_p_where_it_is_known) {
  CHECK(share_exponent(surely(kSpeedups - 1), 0.0) == 1.0);
  for (std::size_t g = 1; g + 3 < kSpeedups; ++g) {
    CHECK_NEAR(std::log(1.0 - share_exponent(surely(g), 0.0)), std::log(1.0 - speedup_at(g)), 0.12);
  }
}

TEST(flatter_where_work_keeps_coming) {
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    double before = 1.0;
    for (const double load : {0.0, 0.3, 0.6, 0.9}) {
      const double now = share_exponent(surely(g), load);
      CHECK(now <= before);
      before = now;
    }
  }
  // Sizes carry information: shares are never quite equal.
  CHECK(share_exponent(surely(5), 0.8) > 0.0 && share_exponent(surely(5), 0.8) < 0.4);
  CHECK(share_exponent(surely(kSpeedups - 1), 0.95) == 1.0);
}

TEST(between_what_may_be_where_p_is_not_known) {
  double before = 1.0;
  for (const auto prior : {SpeedupPrior::kOwn, SpeedupPrior::kUnknown, SpeedupPrior::kBeyond}) {
    const double now = share_exponent(speedup_prior(prior), 0.0);
    CHECK(now < before && now > 0.7);
    before = now;
  }
}

// The load of work that comes evenly, with little work present at any time.
TEST(load_of_a_stream_and_of_a_batch) {
  ComingLoad stream;
  for (int k = 0; k <= 400; ++k) {
    stream.came(k, 8.0);
    stream.left(8.0, 8.0);
    if (k > 0) CHECK_NEAR(stream.load(k, 10.0), 0.8, 1e-9);
  }
  CHECK(stream.load(1'000.0, 10.0) < 0.2);

  // The real need of jobs counts: tasks that slow each other down, unknown sizes.
  ComingLoad longer;
  for (int k = 0; k <= 400; ++k) {
    longer.came(k, 2.0);
    longer.left(2.0, 8.0);
  }
  CHECK_NEAR(longer.load(400.0, 10.0), 0.8, 1e-9);

  // A queue that grows is no batch: what keeps coming is seen over a longer time.
  ComingLoad queue;
  for (int k = 0; k <= 1'000; ++k) {
    queue.came(k, 8.0);
    if (k >= 100) queue.left(8.0, 8.0);
  }
  CHECK(queue.load(1'000.0, 10.0) > 0.6);

  ComingLoad batch;
  CHECK(batch.load(0.0, 10.0) == 0.0);
  for (int k = 0; k < 6; ++k) batch.came(0.0, 100.0);
  CHECK(batch.load(0.0, 10.0) == 0.0 && batch.load(30.0, 10.0) == 0.0);
  ComingLoad nearly;
  for (int k = 0; k < 6; ++k) nearly.came(0.1 * k, 100.0);
  CHECK(nearly.load(0.5, 10.0) < 0.01);
}

}  // namespace test_share_exponent
}  // namespace malleable::check
