// Tables of jobs, and the checks of their numbers.
#include <limits>

#include "instances.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/jobs.hpp"

namespace malleable::check {
namespace test_jobs {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Table sound() {
  Table table;
  table.add(3.0, 1, 4, 2.0, 10.0, -5.0);
  table.step(1.0, 0.0);
  table.step(2.0, 0.5);
  table.add(0.0);
  table.add(1e15, kMostSlots, kAllSlots, 0.0, -1.0);
  table.step(-7.0, 3.0);
  return table;
}

// The message for a table in which one thing was changed.
template <typename Change>
void rejects(Change change) {
  Table table = sound();
  change(table);
  validate(table.view());
}

TEST(accepts_what_makes_sense) {
  validate(sound().view());
  validate(Table{}.view());
  trials(1, 200, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 12));
    validate(random_table(random, jobs, {}).view());
  });
  CHECK(true);
}

TEST(names_field_row_and_value) {
  CHECK_THROWS(rejects([](Table& t) { t.work[1] = kNan; }),
               "work[1] = nan: must be finite and at least 0");
  CHECK_THROWS(rejects([](Table& t) { t.work[2] = -0.5; }), "work[2] = -0.5");
  CHECK_THROWS(rejects([](Table& t) { t.work[0] = kInfinity; }), "work[0] = inf");
  CHECK_THROWS(rejects([](Table& t) { t.arrival[2] = -kInfinity; }), "arrival[2] = -inf");
  CHECK_THROWS(rejects([](Table& t) { t.weight[0] = -1e-300; }), "weight[0] = -1e-300");
  CHECK_THROWS(rejects([](Table& t) { t.deadline[1] = kNan; }), "deadline[1] = nan");
  CHECK_THROWS(rejects([](Table& t) { t.deadline[1] = -kInfinity; }), "deadline[1] = -inf");
  CHECK_THROWS(rejects([](Table& t) { t.min_slots[1] = -1; }),
               "min_slots[1] = -1: must be at least 0");
  CHECK_THROWS(rejects([](Table& t) { t.max_slots[1] = 0; }),
               "max_slots[1] = 0: must be at least 1");
  CHECK_THROWS(rejects([](Table& t) { t.max_slots[2] = kAllSlots + 1; }), "max_slots[2]");
  CHECK_THROWS(rejects([](Table& t) { t.min_slots[0] = 5; }),
               "min_slots[0] = 5: above max_slots[0] = 4");
}

TEST(names_the_first_bad_row) {
  CHECK_THROWS(rejects([](Table& t) { t.work[2] = t.work[1] = -1.0; }), "work[1]");
}

TEST(steps_increase) {
  CHECK_THROWS(rejects([](Table& t) { t.sla.time[1] = 1.0; }), "sla[0] = 1: the steps' times");
  CHECK_THROWS(rejects([](Table& t) { t.sla.time[2] = kNan; }), "sla[2] = nan");
  CHECK_THROWS(rejects([](Table& t) { t.sla.penalty[2] = -1.0; }), "sla[2] = -1");
  CHECK_THROWS(rejects([](Table& t) { t.sla.penalty[2] = kInfinity; }), "sla[2] = inf");
  CHECK_THROWS(rejects([](Table& t) { t.sla.penalty[0] = 1.0; }), "must not fall");
}

TEST(lengths_agree) {
  CHECK_THROWS(rejects([](Table& t) { t.arrival.pop_back(); }),
               "arrival has 2 entries but work has 3");
  CHECK_THROWS(rejects([](Table& t) { t.min_slots.push_back(0); }), "min_slots has 4 entries");
  CHECK_THROWS(rejects([](Table& t) { t.max_slots.clear(); }), "max_slots has 0 entries");
  CHECK_THROWS(rejects([](Table& t) { t.weight.pop_back(); }), "weight has 2 entries");
  CHECK_THROWS(rejects([](Table& t) { t.deadline.pop_back(); }), "deadline has 2 entries");
  CHECK_THROWS(rejects([](Table& t) { t.sla.offset.pop_back(); }), "sla has 2 entries");
  CHECK_THROWS(rejects([](Table& t) { t.sla.offset.clear(); }), "sla has 0 entries");
  CHECK_THROWS(rejects([](Table& t) { t.sla.time.pop_back(); }), "do not match");
  CHECK_THROWS(rejects([](Table& t) { t.sla.penalty.push_back(9.0); }), "do not match");
  CHECK_THROWS(rejects([](Table& t) { t.sla.offset[0] = 1; }), "do not match");
  CHECK_THROWS(rejects([](Table& t) { t.sla.offset[2] = 1; }), "offsets decrease");
}

TEST(a_table_completes_what_was_left_out) {
  JobColumns few;
  few.work = {3.0, 4.0};
  few.arrival = few.weight = {1.0, 1.0};
  few.min_slots = {0, 1};
  const Jobs jobs(std::move(few));
  CHECK(jobs.columns().max_slots == (std::vector<std::int64_t>{kAllSlots, kAllSlots}));
  CHECK(jobs.columns().deadline == (Doubles{kInfinity, kInfinity}));
  CHECK(jobs.columns().original == jobs.columns().work);
  CHECK(jobs.view().sla.of(1).time.empty());
  Table wrong = sound();
  wrong.work[1] = -1.0;
  CHECK_THROWS(wrong.jobs(), "work[1] = -1");
  JobColumns large = sound().jobs().columns();
  large.original[1] = -2.0;
  CHECK_THROWS(Jobs(std::move(large)), "size[1] = -2");
}

TEST(rows_are_taken_with_their_steps) {
  const Jobs jobs = sound().jobs();
  const std::vector<std::int64_t> rows{2, 0}, none{0, 3};
  const Jobs taken = jobs.take(rows);
  CHECK(taken.columns().work == (Doubles{1e15, 3.0}));
  CHECK(taken.columns().sla.offset == (std::vector<std::int64_t>{0, 1, 3}));
  CHECK(taken.columns().sla.time == (Doubles{-7.0, 1.0, 2.0}));
  CHECK_THROWS(jobs.take(none), "rows[1] = 3: there are 3 rows");
}

TEST(slots_of_a_cluster) {
  validate_slots(1);
  validate_slots(kMostSlots);
  CHECK_THROWS(validate_slots(0), "slots = 0: must be at least 1");
  CHECK_THROWS(validate_slots(-3), "slots = -3");
  CHECK_THROWS(validate_slots(kMostSlots + 1), "at most 2^50");
}

TEST(an_error_reads_as_one_line) {
  const FieldError real("work", 3, kNan, "must be finite");
  CHECK_EQUAL(std::string(real.what()), "work[3] = nan: must be finite");
  const FieldError whole("ids", 0, 7LL, "no such job");
  CHECK_EQUAL(std::string(whole.what()), "ids[0] = 7: no such job");
  CHECK_EQUAL(std::string(FieldError("x", 1, 0.1, "y").what()), "x[1] = 0.1: y");
}

}  // namespace test_jobs
}  // namespace malleable::check
