// Jobs of unknown sizes: the job with the least work done comes first, until ended jobs show more.
#include <vector>

#include "check.hpp"
#include "instances.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/epoch/unknown_sizes.hpp"

namespace malleable::check {
namespace test_epoch_unknown_sizes {

Jobs one(std::int64_t most) {
  Table jobs;
  jobs.add(1.0, 0, most);
  return jobs.jobs();
}
EpochOptions unknown() {
  EpochOptions options;
  options.unknown = true;
  return options;
}

TEST(least_done_first) {
  Epoch epoch(2, unknown());
  epoch.add(one(2));
  epoch.decide(0.0);
  CHECK_EQUAL(epoch.slots_of(0), std::int64_t{2});
  epoch.add(one(2));
  epoch.decide(100.0);
  CHECK_EQUAL(epoch.slots_of(1), std::int64_t{2});
  epoch.decide(350.0);  // it is in a higher level now than the first one
  CHECK_EQUAL(epoch.slots_of(0), std::int64_t{2});
}

// All jobs of a program have 100 slot-seconds: the job that has done most of them is first.
TEST(jobs_that_ended_say_what_is_left) {
  Epoch epoch(1, unknown());
  const std::vector<std::int64_t> program{7};
  double now = 0.0;
  for (int k = 0; k < 40; ++k, now += 100.0) {
    const std::int64_t id = epoch.add(one(1), {}, program);
    epoch.decide(now);
    const std::vector<std::int64_t> ended{id};
    epoch.finish(ended);
    epoch.decide(now + 100.0);
  }
  const std::int64_t old = epoch.add(one(1), {}, program);
  epoch.decide(now);
  epoch.add(one(1), {}, program);
  epoch.decide(now + 70.0);
  CHECK_EQUAL(epoch.slots_of(old), std::int64_t{1});
}

// One job of a program ended without work, and another after 1,000 slot-seconds. The next one may
// end at once, too, so it comes before a job that has done 100.
TEST(the_least_size_stays_the_least) {
  Epoch epoch(1, unknown());
  const std::vector<std::int64_t> program{7};
  for (int k = 0; k < 2; ++k) epoch.add(one(1), {}, program);
  epoch.decide(0.0);
  epoch.finish(std::vector<std::int64_t>{1});
  epoch.decide(1000.0);
  epoch.finish(std::vector<std::int64_t>{0});
  const std::int64_t old = epoch.add(one(1), {}, program);
  epoch.decide(1000.0);
  CHECK_EQUAL(epoch.slots_of(old), std::int64_t{1});
  const std::int64_t next = epoch.add(one(1), {}, program);
  epoch.decide(1100.0);
  CHECK_EQUAL(epoch.slots_of(next), std::int64_t{1});
}

TEST(what_it_does_not_go_with) {
  Epoch epoch(2, unknown());
  epoch.add(one(2));
  const std::vector<std::int64_t> id{0};
  const std::vector<double> work{2.0};
  Epoch::Changes changes;
  changes.work = work;
  CHECK_THROWS(epoch.update(id, changes), "takes sizes for unknown");
  EpochOptions options = unknown();
  options.predictable = 0.1;
  CHECK_THROWS(Epoch(2, options), "sizes: unknown ones go without predictable");
}

}  // namespace test_epoch_unknown_sizes
}  // namespace malleable::check
