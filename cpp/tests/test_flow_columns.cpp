#include <string>
#include <vector>

#include "check.hpp"
#include "flow_instances.hpp"
#include "malleable/kernel/flow_chains.hpp"
#include "malleable/kernel/flow_columns.hpp"

namespace malleable::check {
namespace test_flow_columns {

using Whole = std::vector<std::int64_t>;
using Real = std::vector<double>;

struct Schedule {
  Whole flow, offset{0}, pseudo_job, slots;
  Real start, end;

  ChainColumns columns() const { return {flow, offset, pseudo_job, start, end, slots}; }
};

// All pseudo-jobs one after the other, each at its height; flows in any order.
Schedule in_turn(Random& random, const FlowChains& chains) {
  Schedule made;
  for (std::size_t j = 0; j + 1 < chains.offset.size(); ++j) {
    made.flow.push_back(static_cast<std::int64_t>(j));
  }
  for (std::size_t k = made.flow.size(); k > 1; --k) {
    std::swap(made.flow[k - 1], made.flow[random() % k]);
  }
  for (const std::int64_t flow : made.flow) {
    const auto j = static_cast<std::size_t>(flow);
    double time = real(random, 0.0, 3.0);
    for (std::size_t k = chains.offset[j]; k < chains.offset[j + 1]; ++k) {
      made.pseudo_job.push_back(static_cast<std::int64_t>(k));
      made.slots.push_back(static_cast<std::int64_t>(chains.height[k]));
      made.start.push_back(time);
      made.end.push_back(time += chains.length[k]);
    }
    made.offset.push_back(static_cast<std::int64_t>(made.pseudo_job.size()));
  }
  return made;
}

TEST(schedules_of_chains_that_are_right_and_that_are_not) {
  trials(1, 300, [](Random& random) {
    const FlowTable table = random_flows(random, 4, 6);
    FlowChains chains;
    chains.build(table.problem(50));
    const Schedule right = in_turn(random, chains);
    validate(right.columns(), chains);
    if (right.pseudo_job.empty()) return;
    const std::size_t q = random() % right.pseudo_job.size();
    const auto wrong = [&](auto change) {
      Schedule made = right;
      change(made);
      return made;
    };
    CHECK_THROWS(validate(wrong([&](Schedule& s) { s.slots[q] += 1; }).columns(), chains),
                 "1 to the height it has");
    CHECK_THROWS(validate(wrong([&](Schedule& s) { s.slots[q] = 0; }).columns(), chains),
                 "1 to the height it has");
    CHECK_THROWS(validate(wrong([&](Schedule& s) { s.end[q] = s.start[q]; }).columns(), chains),
                 "behind the start");
    CHECK_THROWS(validate(wrong([&](Schedule& s) { s.start[q] = kInfinity; }).columns(), chains),
                 "start");
    CHECK_THROWS(validate(wrong([&](Schedule& s) { s.pseudo_job[q] = -1; }).columns(), chains),
                 "is none of its flow");
    CHECK_THROWS(validate(wrong([&](Schedule& s) { s.flow[0] = 99; }).columns(), chains),
                 "must be 0 to");
    CHECK_THROWS(validate(wrong([&](Schedule& s) { s.offset.back() += 1; }).columns(), chains),
                 "offset: expected");
    // Half of the work is missing.
    const auto half = wrong([&](Schedule& s) { s.start[q] = (s.start[q] + s.end[q]) / 2.0; });
    CHECK_THROWS(validate(half.columns(), chains), "slot-seconds, expected");
  });
}

TEST(flows_once_and_pieces_in_order) {
  FlowTable table;
  for (int flow = 0; flow < 2; ++flow) {
    table.add_flow(0.0, 1.0, 9.0);
    const auto first = static_cast<std::int64_t>(table.work.size());
    table.add_job(4.0, 2);
    table.add_job(3.0, 3, {first});
  }
  FlowChains chains;
  chains.build(table.problem(9));
  Schedule twice{{0, 0}, {0, 0, 0}, {}, {}, {}, {}};
  CHECK_THROWS(validate(twice.columns(), chains), "flow[1] = 0: stands there twice");
  Schedule back{{0}, {0, 2}, {1, 0}, {3, 2}, {0.0, 1.0}, {1.0, 3.0}};
  CHECK_THROWS(validate(back.columns(), chains), "pseudo_job[1] = 0: comes after a later one");
  Schedule beside{{0}, {0, 2}, {0, 1}, {2, 3}, {0.0, 1.0}, {2.0, 2.0}};
  CHECK_THROWS(validate(beside.columns(), chains), "before the piece before has ended");
}

struct Transport {
  Real volume{2.0, 3.0}, time{0.0, 4.0}, room{4.0, 4.0};
  Whole offset{0, 2, 3}, from_cell{0, 1, 0};
  Real value{0.0, 4.0, 1.0}, slope{1.0, 2.0, 0.0};

  void check() const { validate({volume, time, room, offset, from_cell, value, slope}); }
};

template <typename Change>
Transport changed(Change change) {
  Transport made;
  change(made);
  return made;
}

TEST(what_a_transport_needs) {
  Transport().check();
  CHECK_THROWS(changed([](Transport& t) { t.volume[1] = -1.0; }).check(), "volume[1] = -1");
  CHECK_THROWS(changed([](Transport& t) { t.volume[0] = 99.0; }).check(), "room: 8 in all");
  CHECK_THROWS(changed([](Transport& t) { t.room[0] = 0.0; }).check(), "room[0] = 0");
  CHECK_THROWS(changed([](Transport& t) { t.time[1] = -4.0; }).check(), "times must not fall");
  CHECK_THROWS(changed([](Transport& t) { t.slope[2] = -1.0; }).check(), "slope[2] = -1");
  CHECK_THROWS(changed([](Transport& t) { t.value[1] = 3.0; }).check(), "costs must not fall");
  CHECK_THROWS(changed([](Transport& t) { t.from_cell[1] = 0; }).check(), "from_cell[1] = 0");
  CHECK_THROWS(changed([](Transport& t) { t.from_cell[2] = 1; }).check(), "from_cell[2] = 1");
  CHECK_THROWS(changed([](Transport& t) { t.offset = {0, 3, 3}; }).check(), "every flow needs");
  CHECK_THROWS(changed([](Transport& t) { t.value.pop_back(); }).check(), "offset: expected");
  CHECK_THROWS(changed([](Transport& t) { t.slope[0] = std::nan(""); }).check(), "slope[0] = nan");
  CHECK_THROWS(changed([](Transport& t) { t.room.pop_back(); }).check(), "room");
}

}  // namespace test_flow_columns
}  // namespace malleable::check
