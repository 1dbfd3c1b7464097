#include <set>

#include "check.hpp"
#include "malleable/policy/adaptive_epoch.hpp"

namespace malleable::check {
namespace {

// Every class everywhere.
std::vector<double> everywhere(std::span<const double> arrival, std::span<const double>,
                               std::span<const double> nodes) {
  return std::vector<double>(arrival.size() * nodes.size(), 1.0);
}

AdaptiveEpoch epoch_of(bool generic) {
  const std::vector<double> minimum = {0.0, 0.0}, priority = {1.0, 1.0};
  Adaptive scheduler({{2, {2, generic ? 0 : 1}}}, {0, 0}, generic, minimum, priority, {},
                     everywhere);
  scheduler.add_class();
  return AdaptiveEpoch(std::move(scheduler), 2, generic);
}

using Wholes = std::vector<std::int64_t>;
using Reals = std::vector<double>;

// One job whose tasks take 10 and 20 s.
std::int64_t add(AdaptiveEpoch& epoch, std::int64_t user, std::int64_t maps, std::int64_t reduces) {
  Wholes ids(1);
  epoch.add({{},
             0,
             Wholes{0},
             Wholes{user},
             Wholes{maps},
             Wholes{reduces},
             Reals{0.0},
             Reals{10.0},
             Reals{20.0},
             Reals{0.0},
             {},
             {}},
            ids);
  return ids[0];
}
void end_map(AdaptiveEpoch& epoch, std::int64_t job, std::int64_t node, double seconds, double end,
             bool done = true, std::int64_t task = -1) {
  epoch.ended({Wholes{job}, Wholes{0}, Wholes{node}, Wholes{task}, Reals{seconds}, Reals{end},
               std::vector<std::uint8_t>{done}});
}

TEST(maps_then_reduces) {
  AdaptiveEpoch epoch = epoch_of(false);
  const std::int64_t job = add(epoch, 0, 3, 2);
  const Wholes two = {2, 2}, one = {1, 1};
  TaskStarts starts;
  epoch.decide(0.0, {two, one}, starts);
  CHECK(starts.node == (Wholes{0, 1, 0}));  // one slot of each in turn
  CHECK(starts.phase == (Wholes{0, 0, 0}));
  CHECK(starts.task == (Wholes{-1, -1, -1}));
  CHECK_EQUAL(epoch.counts(job).running[kMap], 3);
  end_map(epoch, job, 0, 12.0, 12.0);
  end_map(epoch, job, 1, 12.0, 12.0, false, 0);
  CHECK_EQUAL(epoch.counts(job).waiting[kMap], 1);
  epoch.decide(12.0, {one, one}, starts);
  CHECK(starts.phase == (Wholes{0}));
  end_map(epoch, job, 0, 12.0, 24.0);
  CHECK_EQUAL(epoch.counts(job).waiting[kReduce], 0);
  end_map(epoch, job, 0, 12.0, 24.0);
  CHECK_EQUAL(epoch.counts(job).waiting[kReduce], 2);
  epoch.decide(24.0, {two, one}, starts);
  CHECK(starts.phase == (Wholes{1, 1}));
  CHECK(starts.node == (Wholes{0, 1}));
  epoch.remove(Wholes{job});
  epoch.decide(24.0, {two, one}, starts);
  CHECK_EQUAL(starts.size(), std::size_t{0});
}

// However many come and go, what is kept is for those that are there; ids are never used twice.
TEST(rows_are_used_again) {
  AdaptiveEpoch epoch = epoch_of(false);
  std::set<std::int64_t> seen;
  std::size_t bytes = 0;
  for (int k = 0; k < 200; ++k) {
    const std::int64_t job = add(epoch, 0, 1, 0);
    CHECK(seen.insert(job).second);
    const Wholes one = {1, 0}, none = {0, 0};
    TaskStarts starts;
    epoch.decide(0.0, {one, none}, starts);
    CHECK(starts.job == (Wholes{job}));
    end_map(epoch, job, 0, 1.0, 0.0);
    epoch.remove(Wholes{job});
    CHECK_THROWS(epoch.counts(job), "no such job");
    const std::size_t now = save_state("AdaptiveEpoch", epoch).size();
    if (k == 0) bytes = now;
    CHECK_EQUAL(now, bytes);
  }
}

TEST(reduces_that_started_early_stay) {
  AdaptiveEpoch epoch = epoch_of(false);
  const std::int64_t job = add(epoch, 0, 1, 3);
  const Wholes one = {1, 0}, none = {0, 0};
  TaskStarts starts;
  epoch.decide(0.0, {one, none}, starts);
  epoch.update(Wholes{job}, {{}, Wholes{3}, {}, {}});
  epoch.decide(1.0, {none, one}, starts);
  end_map(epoch, job, 0, 5.0, 5.0);
  CHECK_EQUAL(epoch.counts(job).waiting[kReduce], 2);
  CHECK_EQUAL(epoch.counts(job).running[kReduce], 1);
}

TEST(generic_slots_run_maps_first) {
  AdaptiveEpoch epoch = epoch_of(true);
  const std::int64_t job = add(epoch, 1, 1, 2);
  epoch.update(Wholes{job}, {{}, Wholes{2}, {}, {}});
  const Wholes free = {1, 1};
  TaskStarts starts;
  epoch.decide(0.0, {free, {}}, starts);
  CHECK(starts.phase == (Wholes{0, 1}));
  CHECK_EQUAL(epoch.scheduler().running(static_cast<Index>(job), 0), 2);
}

TEST(blocks_name_tasks) {
  AdaptiveEpoch epoch = epoch_of(false);
  const std::int64_t job = add(epoch, 0, 3, 0);
  epoch.set_blocks(job, {1, Wholes{1, 1, 0}}, "nodes");
  const Wholes free = {2, 1}, none = {0, 0};
  TaskStarts starts;
  epoch.decide(0.0, {free, none}, starts);
  CHECK(starts.node == (Wholes{0, 1, 0}));
  CHECK(starts.task == (Wholes{2, 0, 1}));
  end_map(epoch, job, 0, 1.0, 1.0, false, 2);
  epoch.decide(1.0, {free, none}, starts);
  CHECK(starts.task == (Wholes{2}));
}

}  // namespace
}  // namespace malleable::check
