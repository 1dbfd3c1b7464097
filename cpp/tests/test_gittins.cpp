// The Gittins index: the most that a job of unknown size can be expected to end, per unit of
// further service.
#include "check.hpp"
#include "malleable/kernel/gittins.hpp"

namespace malleable::check {
namespace test_gittins {

TEST(classes_double) {
  CHECK_EQUAL(work_class(0.0), std::size_t{0});
  CHECK_EQUAL(work_class(1e-300), std::size_t{0});
  CHECK_EQUAL(work_class(1.0), std::size_t{9});
  CHECK_EQUAL(work_class(1.5), std::size_t{10});
  CHECK_EQUAL(work_class(2.0), std::size_t{10});
  CHECK_EQUAL(work_class(1e300), kWorkClasses - 1);
  for (std::size_t k = 0; k < kWorkClasses; ++k) {
    CHECK_EQUAL(work_class(work_bound(k)), k);
    if (k + 1 < kWorkClasses) CHECK_EQUAL(work_class(1.01 * work_bound(k)), k + 1);
  }
}

// But at the least class, below which all counts as equal, and near the largest one, beyond which
// there is nothing.
TEST(without_sizes_the_index_falls) {
  GittinsIndex index;
  CHECK(index.update(WorkCounts{}));
  for (std::size_t k = 1; k + 8 < kWorkClasses; ++k) {
    CHECK(index.of(work_bound(k)) > index.of(work_bound(k + 1)));
  }
}

// All sizes are in one class: the more of it a job had, the sooner it ends.
TEST(of_equal_sizes_the_one_that_had_most_goes_first) {
  GittinsIndex index;
  WorkCounts sizes{};
  sizes[work_class(100.0)] = 1e6;
  CHECK(index.update(sizes));
  for (double had = 1.0; had < 100.0; had *= 2.0) CHECK(index.of(2.0 * had) > index.of(had));
  CHECK_NEAR(index.of(0.0), 1.0 / 96.0, 1e-6);
  CHECK_NEAR(index.of(100.0), 1.0 / 32.0, 1e-6);
}

TEST(it_is_computed_anew_when_an_eighth_more_is_known) {
  GittinsIndex index;
  WorkCounts sizes{};
  sizes[20] = 16.0;
  CHECK(index.update(sizes));
  sizes[3] = 2.0;
  CHECK(!index.update(sizes));
  sizes[3] = 3.0;
  CHECK(index.update(sizes));
}

}  // namespace test_gittins
}  // namespace malleable::check
