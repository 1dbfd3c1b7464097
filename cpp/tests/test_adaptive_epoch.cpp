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
  return AdaptiveEpoch(std::move(scheduler), {2, 2}, generic);
}

const std::vector<double> kSeconds = {10.0, 20.0};

TEST(maps_then_reduces) {
  AdaptiveEpoch epoch = epoch_of(false);
  const std::int64_t tasks[2] = {3, 2};
  const Index job = epoch.add(0, 0, 0.0, tasks, kSeconds);
  const std::vector<std::int64_t> two = {2, 2}, one = {1, 1};
  TaskStarts starts;
  epoch.decide(0.0, {two, one}, starts);
  CHECK(starts.node == (std::vector<std::int64_t>{0, 1, 0}));  // one slot of each in turn
  CHECK(starts.phase == (std::vector<std::int64_t>{0, 0, 0}));
  CHECK(starts.task == (std::vector<std::int64_t>{-1, -1, -1}));
  CHECK_EQUAL(epoch.running(job, kMap), 3);
  epoch.finish(job, kMap, 0, 0, 12.0, true, 12.0);
  epoch.finish(job, kMap, 1, 0, 12.0, false, 12.0);
  CHECK_EQUAL(epoch.waiting(job, kMap), 1);
  epoch.decide(12.0, {one, one}, starts);
  CHECK(starts.phase == (std::vector<std::int64_t>{0}));
  epoch.finish(job, kMap, 0, 0, 12.0, true, 24.0);
  CHECK_EQUAL(epoch.waiting(job, kReduce), 0);
  epoch.finish(job, kMap, 0, 0, 12.0, true, 24.0);
  CHECK_EQUAL(epoch.waiting(job, kReduce), 2);
  epoch.decide(24.0, {two, one}, starts);
  CHECK(starts.phase == (std::vector<std::int64_t>{1, 1}));
  CHECK(starts.node == (std::vector<std::int64_t>{0, 1}));
  epoch.remove(job);
  epoch.decide(24.0, {two, one}, starts);
  CHECK_EQUAL(starts.size(), std::size_t{0});
}

TEST(reduces_that_started_early_stay) {
  AdaptiveEpoch epoch = epoch_of(false);
  const std::int64_t tasks[2] = {1, 3};
  const Index job = epoch.add(0, 0, 0.0, tasks, kSeconds);
  const std::vector<std::int64_t> one = {1, 0}, none = {0, 0};
  TaskStarts starts;
  epoch.decide(0.0, {one, none}, starts);
  epoch.set_waiting(job, kReduce, 3, 1.0);
  epoch.decide(1.0, {none, one}, starts);
  epoch.finish(job, kMap, 0, 0, 5.0, true, 5.0);
  CHECK_EQUAL(epoch.waiting(job, kReduce), 2);
  CHECK_EQUAL(epoch.running(job, kReduce), 1);
}

TEST(generic_slots_run_maps_first) {
  AdaptiveEpoch epoch = epoch_of(true);
  const std::int64_t tasks[2] = {1, 2};
  const Index job = epoch.add(0, 1, 0.0, tasks, kSeconds);
  epoch.set_waiting(job, kReduce, 2, 0.0);
  const std::vector<std::int64_t> free = {1, 1};
  TaskStarts starts;
  epoch.decide(0.0, {free, {}}, starts);
  CHECK(starts.phase == (std::vector<std::int64_t>{0, 1}));
  CHECK_EQUAL(epoch.scheduler().running(job, 0), 2);
}

TEST(blocks_name_tasks) {
  AdaptiveEpoch epoch = epoch_of(false);
  const std::int64_t tasks[2] = {3, 0};
  const Index job = epoch.add(0, 0, 0.0, tasks, kSeconds);
  const std::vector<Index> where = {1, 1, 0};
  epoch.set_blocks(job, 1, where);
  const std::vector<std::int64_t> free = {2, 1}, none = {0, 0};
  TaskStarts starts;
  epoch.decide(0.0, {free, none}, starts);
  CHECK(starts.node == (std::vector<std::int64_t>{0, 1, 0}));
  CHECK(starts.task == (std::vector<std::int64_t>{2, 0, 1}));
  epoch.finish(job, kMap, 0, 2, 1.0, false, 1.0);
  epoch.decide(1.0, {free, none}, starts);
  CHECK(starts.task == (std::vector<std::int64_t>{2}));
}

}  // namespace
}  // namespace malleable::check
