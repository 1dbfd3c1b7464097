// The check of schedules that tests of policies use.
#include <string>
#include <vector>

#include "instances.hpp"
#include "malleable/kernel/malleable_packing.hpp"
#include "schedule_check.hpp"

namespace malleable::check {
namespace test_concave_check {

struct Shown {
  Table table;
  Pieces pieces;
  Doubles completion;
  JobPromises promises;

  void check() const {
    check_schedule(table.view(), promises, {pieces.job, pieces.slots, pieces.start, pieces.end},
                   completion);
  }
};

// Two jobs side by side on three slots.
Shown two() {
  Shown made;
  made.promises.slots = 3;
  made.table.add(4.0, 1, 2);
  made.table.add(3.0, 1, 3);
  made.pieces.add(0, 0.0, 2.0, 2.0);
  made.pieces.add(1, 0.0, 3.0, 1.0);
  made.completion = {2.0, 3.0};
  return made;
}

template <typename Change>
Shown changed(Change change) {
  Shown made = two();
  change(made);
  return made;
}

TEST(what_is_wrong_is_named) {
  two().check();
  CHECK_THROWS(changed([](Shown& s) { s.pieces.slots[1] = 2; }).check(), "of 3");
  CHECK_THROWS(changed([](Shown& s) { s.table.max_slots[0] = 1; }).check(),
               "job 0: 2 slots at 0, its maximum is 1");
  CHECK_THROWS(changed([](Shown& s) { s.table.min_slots[1] = 2; }).check(),
               "job 1: 1 slots at 0, its minimum is 2");
  CHECK_THROWS(changed([](Shown& s) { s.table.work[0] = 5.0; }).check(),
               "job 0: 4 slot-seconds done of 5");
  CHECK_THROWS(changed([](Shown& s) { s.completion[1] = 3.5; }).check(),
               "completion 3.5 but the last piece ends at 3");
  CHECK_THROWS(changed([](Shown& s) { s.completion[1] = kInfinity; }).check(), "never ends");
  CHECK_THROWS(changed([](Shown& s) { s.pieces.job[1] = 7; }).check(), "an unknown job, 7");
  CHECK_THROWS(changed([](Shown& s) { s.pieces.end[1] = -1.0; }).check(), "ends before it starts");
  CHECK_THROWS(changed([](Shown& s) { s.promises.now = 1.0; }).check(), "starts before now");
  CHECK_THROWS(changed([](Shown& s) { s.pieces.slots[1] = 0; }).check(), "without whole slots");
  CHECK_THROWS(changed([](Shown& s) { s.completion.pop_back(); }).check(), "completion");
  CHECK_THROWS(changed([](Shown& s) { s.pieces.start[0] = std::nan(""); }).check(),
               "without a time");
}

TEST(jobs_without_work_and_gangs) {
  Shown idle;
  idle.table.add(0.0);
  idle.completion = {0.0};
  idle.check();
  idle.completion = {1.0};
  CHECK_THROWS(idle.check(), "should end at its arrival");
  idle.pieces.add(0, 0.0, 1.0, 1.0);
  CHECK_THROWS(idle.check(), "nothing to do");

  Shown gang;
  gang.promises = {4, 0.0, MinMode::kGang, false};
  gang.table.add(6.0, 9, 9);  // never fits
  gang.table.add(6.0, 3, 4);
  gang.pieces.add(1, 1.0, 3.0, 3.0);  // it may wait
  gang.completion = {kInfinity, 3.0};
  gang.check();
  gang.table.min_slots[1] = 4;
  CHECK_THROWS(gang.check(), "its gang needs 4");
  gang.table.min_slots[1] = 3;
  gang.completion[1] = kInfinity;
  CHECK_THROWS(gang.check(), "job 1: never ends");
}

// What the packing makes passes; moved, thinned or cut somewhere it does not.
TEST(packed_schedules_pass_and_damaged_ones_do_not) {
  MalleablePacking packing;
  trials(1, 300, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 2, 7);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 6));
    Shown made;
    made.table = random_table(random, jobs, shape);
    made.promises.slots = shape.slots;
    const Problem problem = made.table.problem(shape.slots);
    Plan plan;
    made.completion.resize(jobs);
    packing.run(problem, shuffled(random, jobs), made.completion, &plan);
    made.pieces = plan.pieces;
    for (std::size_t j = 0; j < jobs; ++j) {
      if (problem.work[j] == 0.0) made.completion[j] = problem.idle_end[j];
    }
    made.check();
    if (made.pieces.size() == 0) return;
    const std::size_t k = random() % made.pieces.size();
    const auto job = static_cast<std::size_t>(made.pieces.job[k]);
    Shown cut = made;
    cut.pieces.end[k] = (made.pieces.start[k] + made.pieces.end[k]) / 2.0;
    CHECK_THROWS(cut.check(), "invalid plan: job");
    Shown full = made;
    full.promises.slots = 1;
    full.table.max_slots.assign(jobs, 1);
    if (made.pieces.slots[k] > 1) CHECK_THROWS(full.check(), "invalid plan: job");
    Shown longer = made;
    longer.table.work[job] *= 1.01;
    CHECK_THROWS(longer.check(), "slot-seconds done of");
  });
}

}  // namespace test_concave_check
}  // namespace malleable::check
