// The epoch of flows: it decides the slots of jobs that wait for each other.
#include <map>
#include <set>

#include "flow_instances.hpp"
#include "malleable/policy/flow_epoch.hpp"

namespace malleable::check {
namespace test_flow_epoch {

using Ids = std::vector<std::int64_t>;

struct Job {
  std::int64_t flow, most;
  double work;
  Ids parents;
  bool unknown;  // it came without work and has done none
};

// A random sequence of calls, and what they say of every job, kept naively.
struct Calls {
  Random& random;
  FlowEpoch epoch;
  std::int64_t slots;
  double now = 0.0;
  std::map<std::int64_t, Job> open;
  std::map<std::int64_t, double> arrival;
  std::set<std::int64_t> finished;

  void add() {
    const FlowTable table = random_flows(random, 3, 6, true);
    malleable::FlowTable::Additions added{table.view(), {}};
    const std::vector<Kind> kind{chance(random, 0.5) ? Kind::kResponse : Kind::kTardiness};
    added.kind = kind;
    const FlowEpoch::Ids ids = epoch.add(std::move(added));
    for (std::size_t j = 0; j < table.arrival.size(); ++j) {
      const std::int64_t flow = ids.first_flow + static_cast<std::int64_t>(j);
      arrival[flow] = table.arrival[j];
      for (std::int64_t i = table.job_offset[j]; i < table.job_offset[j + 1]; ++i) {
        const auto row = static_cast<std::size_t>(i);
        Job job{flow, table.max_slots[row], table.work[row], {}, table.work[row] == 0.0};
        for (auto e = table.parent_offset[row]; e < table.parent_offset[row + 1]; ++e) {
          job.parents.push_back(ids.first_job + table.parent[static_cast<std::size_t>(e)]);
        }
        CHECK(open.emplace(ids.first_job + i, job).second);
      }
    }
  }
  Ids some() {
    Ids ids;
    for (const auto& [id, job] : open) {
      if (integer(random, 0, 3) == 0) ids.push_back(id);
    }
    return ids;
  }
  void update() {
    const Ids ids = some();
    std::vector<double> work;
    Ids most;
    for (const std::int64_t id : ids) {
      work.push_back(chance(random, 0.5) ? real(random, 0.0, 9.0) : 0.0);
      most.push_back(integer(random, 1, 9));
      open[id].work = work.back();
      open[id].most = most.back();
    }
    epoch.update(ids, {}, {work, most, {}, {}, {}});
  }
  void finish() {
    const Ids ids = some();
    epoch.finish(ids);
    for (const std::int64_t id : ids) {
      open.erase(id);
      finished.insert(id);
    }
  }
  void remove() {
    Ids ids, flows;
    for (const auto& [id, job] : open) {
      if (integer(random, 0, 9) == 0) ids.push_back(id);
    }
    if (!open.empty() && chance(random, 0.5)) flows.push_back(open.begin()->second.flow);
    epoch.remove(ids, flows);
    std::set<std::int64_t> gone(ids.begin(), ids.end());
    for (auto at = open.begin(); at != open.end();) {  // parents have lower ids than children
      for (const std::int64_t p : at->second.parents) {
        if (gone.contains(p)) gone.insert(at->first);
      }
      const bool whole = !flows.empty() && at->second.flow == flows[0];
      if (whole) gone.insert(at->first);
      at = gone.contains(at->first) ? open.erase(at) : std::next(at);
    }
  }
  bool ready(const Job& job) const {
    if (arrival.at(job.flow) > now) return false;
    return std::all_of(job.parents.begin(), job.parents.end(),
                       [&](std::int64_t p) { return finished.contains(p); });
  }
  void decide() {
    now += real(random, 0.0, 2.0);
    if (integer(random, 0, 3) == 0) slots = integer(random, 0, 12);
    FlowEpoch again(1, {});  // it computes everything again
    load_state("flow epoch", save_state("flow epoch", epoch), again);
    const FlowEpoch::Decision& made = epoch.decide(now, slots);
    const FlowEpoch::Decision& same = again.decide(now, slots);
    CHECK(made.ids == same.ids && made.slots == same.slots && made.changed == same.changed);
    CHECK(made.ready == same.ready && made.ended == same.ended);
    CHECK(save_state("flow epoch", epoch) == save_state("flow epoch", again));
    CHECK_EQUAL(made.ids.size(), open.size());
    std::int64_t used = 0, able = 0, out = 0, unknown = 0, held = 0;
    auto at = open.begin();
    for (std::size_t k = 0; k < made.ids.size(); ++k, ++at) {
      CHECK_EQUAL(made.ids[k], at->first);
      Job& job = at->second;
      const bool may = ready(job);
      CHECK_EQUAL(made.ready[k] != 0, may);
      CHECK(made.slots[k] >= 0 && made.slots[k] <= (may ? std::min(job.most, slots) : 0));
      used += made.slots[k];
      able += may ? std::min(job.most, slots) : 0;
      job.unknown = job.unknown && job.work == 0.0;
      out += may && job.work == 0.0 ? 1 : 0;
      unknown += may && job.unknown ? 1 : 0;
      held += may && job.unknown && made.slots[k] > 0 ? 1 : 0;
      job.unknown = job.unknown && made.slots[k] == 0;
    }
    CHECK_EQUAL(used, std::min(slots, able));
    CHECK_EQUAL(held, std::min(slots, unknown));
    if (slots == 0 || !chance(random, 0.5)) return;
    SeenFlows table;
    FlowPlan plan;
    std::vector<double> penalty;
    epoch.plan(table, plan, penalty);
    CHECK(plan.lower_bound <= plan.value);
    if (out > 0) return;
    std::int64_t planned = 0;
    for (const std::int64_t given : plan.allocation) planned += given;
    CHECK_EQUAL(planned, used);
  }
};

void run(const FlowEpochOptions& options) {
  trials(7, 60, [&](Random& random) {
    const std::int64_t slots = integer(random, 1, 12);
    Calls calls{random, FlowEpoch(slots, options), slots, 0.0, {}, {}, {}};
    for (int step = 0; step < 60; ++step) {
      switch (integer(random, 0, 7)) {
        case 0:
        case 1:
          calls.add();
          break;
        case 2:
          calls.update();
          break;
        case 3:
          calls.finish();
          break;
        case 4:
          calls.remove();
          break;
        default:
          calls.decide();
      }
    }
  });
}

TEST(sums_by_an_order) { run({}); }
TEST(sums_with_hysteresis) { run({.hysteresis = 0.3}); }
TEST(sums_by_plans) { run({.effort = 2}); }
TEST(maxima_by_plans) { run({.aggregate = Aggregate::kMax, .effort = 0, .hysteresis = 0.2}); }
TEST(maxima_by_an_order) { run({.aggregate = Aggregate::kMax, .method = FlowMethod::kFast}); }
TEST(fifo) { run({.baseline = FlowBaseline::kFifo}); }
TEST(fair) { run({.baseline = FlowBaseline::kFair}); }

// Rows of flows that leave are used again: the state of a loop that goes on for ever stays small.
TEST(rows_do_not_pile_up) {
  FlowEpoch epoch(4, {});
  std::size_t most = 0;
  for (int round = 0; round < 3000; ++round) {
    FlowTable table;
    table.add_flow(0.0, 1.0, kInfinity);
    table.add_job(1.0, 2);
    table.add_job(1.0, 2, {0});
    const std::vector<Kind> kind{Kind::kResponse};
    const FlowEpoch::Ids ids = epoch.add({table.view(), kind});
    CHECK_EQUAL(ids.first_flow, round);
    CHECK_EQUAL(ids.first_job, 2 * round);
    epoch.finish(Ids{ids.first_job, ids.first_job + 1});
    CHECK_EQUAL(epoch.decide(round).ended.size(), std::size_t{1});
    most = std::max(most, save_state("flow epoch", epoch).size());
  }
  CHECK(most < 4000);
}

// An order that a plan can check by hand: the short flow first, longest path first within a flow.
TEST(an_order_by_hand) {
  FlowTable table;
  table.add_flow(0.0, 1.0, kInfinity);
  table.add_job(9.0, 3);
  table.add_flow(0.0, 1.0, kInfinity);
  table.add_job(1.0, 1);
  table.add_job(2.0, 1);
  table.add_job(1.0, 1, {1});
  const std::vector<Kind> kind{Kind::kCompletion};
  FlowEpoch epoch(2, {});
  epoch.add({table.view(), kind});
  CHECK(epoch.decide(0.0).slots == (Ids{0, 1, 1, 0}));
  CHECK(epoch.decide(0.0, 4).slots == (Ids{2, 1, 1, 0}));
  epoch.update({}, Ids{0}, {{}, {}, std::vector<double>{50.0}, {}, {}});
  CHECK(epoch.decide(1.0).slots == (Ids{3, 1, 0, 0}));
}

}  // namespace test_flow_epoch
}  // namespace malleable::check
