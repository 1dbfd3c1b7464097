// Sequences of calls on the core's epoch over flows, with refused ones in between; a twin gets the
// accepted ones only and must always decide the same, and so must one that is made of its bytes.
#include <map>
#include <optional>
#include <set>

#include "malleable/policy/flow_epoch.hpp"
#include "sequence.hpp"

namespace malleable::fuzz {
namespace {

constexpr std::optional<FlowBaseline> kBaselines[] = {std::nullopt, std::nullopt,
                                                      FlowBaseline::kFair, FlowBaseline::kFifo};
constexpr Kind kKinds[] = {Kind::kResponse,  Kind::kCompletion, Kind::kStretch, Kind::kTardy,
                           Kind::kTardiness, Kind::kLateness,   Kind::kSla,     Kind::kStrict};
using Ids = std::vector<std::int64_t>;

struct Job {
  std::int64_t flow, most;
  Ids parents;
};

struct Sequence {
  Bytes bytes;
  FlowEpoch epoch, twin;
  std::int64_t slots;
  double now = -kLatest;
  std::map<std::int64_t, Job> jobs;
  Ids gone;

  void add() {
    const std::size_t how = bytes.byte();
    const Kind kind = kKinds[how % std::size(kKinds)];
    FlowTable table = read_flows(bytes, kind == Kind::kLateness, 3);
    for (std::size_t i = 0; how >= 192 && i < table.work.size(); ++i) {
      add_speedup(bytes, table.speedup);
    }
    const bool bad = bytes.astray(24) && spoil(bytes, table);
    if (!bad && !find_cycle(table.view()).empty()) return;
    const std::vector<Kind> kinds{kind};
    FlowEpoch::Ids ids{0, 0}, same{0, 0};
    if (!both(epoch, twin, bad, [&](FlowEpoch& e) {
          const Flows flows{FlowColumns(table)};
          (&e == &epoch ? ids : same) = e.add({flows, kinds});
        })) {
      return;
    }
    CHECK(ids.first_flow == same.first_flow && ids.first_job == same.first_job);
    for (std::size_t j = 0; j < table.arrival.size(); ++j) {
      for (auto i = table.job_offset[j]; i < table.job_offset[j + 1]; ++i) {
        const auto row = static_cast<std::size_t>(i);
        Job job{ids.first_flow + static_cast<std::int64_t>(j), table.max_slots[row], {}};
        for (auto e = table.parent_offset[row]; e < table.parent_offset[row + 1]; ++e) {
          job.parents.push_back(ids.first_job + table.parent[static_cast<std::size_t>(e)]);
        }
        CHECK(jobs.emplace(ids.first_job + i, job).second);
      }
    }
  }
  void update() {
    bool bad = bytes.astray(24);
    const Ids ids = some_ids(bytes, jobs, gone, bad);
    std::vector<double> work;
    Ids most;
    SpeedupColumns speedup;
    if (bytes.chance(200)) {
      for (std::size_t k = 0; k < ids.size(); ++k) work.push_back(bytes.amount(kWork));
    }
    const std::uint8_t which = bytes.byte();
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (which >= 156) most.push_back(bytes.slots());
      if (which % 8 == 1) add_speedup(bytes, speedup);
    }
    if (!work.empty() && bytes.astray(24)) {
      work[0] = bytes.wrong_left(kWork);
      bad = true;
    }
    if (!both(epoch, twin, bad,
              [&](FlowEpoch& e) { e.update(ids, {}, {work, most, {}, {}, {}, speedup.view()}); })) {
      return;
    }
    for (std::size_t k = 0; k < most.size(); ++k) jobs[ids[k]].most = most[k];
  }
  void finish() {
    const bool bad = bytes.astray(24);
    const Ids ids = some_ids(bytes, jobs, gone, bad);
    if (!both(epoch, twin, bad, [&](FlowEpoch& e) { e.finish(ids); })) return;
    for (const std::int64_t id : ids) jobs.erase(id);
    gone.insert(gone.end(), ids.begin(), ids.end());
  }
  void remove() {
    const bool bad = bytes.astray(24);
    const Ids ids = some_ids(bytes, jobs, gone, bad);
    Ids flows;
    if (!jobs.empty() && bytes.chance(64)) flows.push_back(jobs.begin()->second.flow);
    if (!both(epoch, twin, bad, [&](FlowEpoch& e) { e.remove(ids, flows); })) return;
    std::set<std::int64_t> lost(ids.begin(), ids.end());
    for (const auto& [id, job] : jobs) {  // ids of parents need not be the lower ones
      if (!flows.empty() && job.flow == flows[0]) lost.insert(id);
    }
    for (bool more = true; more;) {
      more = false;
      for (const auto& [id, job] : jobs) {
        for (const std::int64_t p : job.parents) more |= lost.contains(p) && lost.insert(id).second;
      }
    }
    for (const std::int64_t id : lost) {
      jobs.erase(id);
      gone.push_back(id);
    }
  }
  void decide() {
    bool bad = bytes.astray(8);
    double at = std::fmin(kLatest, std::fmax(now, bytes.time()));
    if (bad) at = bytes.wrong_time();
    std::optional<std::int64_t> capacity;
    if (bytes.chance(48)) capacity = bytes.chance(32) ? 0 : bytes.slots();
    if (bytes.astray(8)) {
      capacity = bytes.chance(128) ? -1 : kSlotLimit + 1;
      bad = true;
    }
    FlowEpoch::Decision made, same;
    if (!both(epoch, twin, bad,
              [&](FlowEpoch& e) { (&e == &epoch ? made : same) = e.decide(at, capacity); })) {
      return;
    }
    now = at;
    slots = capacity.value_or(slots);
    CHECK(made.ids == same.ids && made.slots == same.slots && made.ready == same.ready);
    CHECK_EQUAL(made.ids.size(), jobs.size());
    std::int64_t used = 0;
    for (std::size_t k = 0; k < made.ids.size(); ++k) {
      const auto known = jobs.find(made.ids[k]);
      CHECK(known != jobs.end());
      if (known == jobs.end()) return;
      CHECK(made.slots[k] >= 0 && made.slots[k] <= (made.ready[k] ? known->second.most : 0));
      used += made.slots[k];
    }
    CHECK(used <= slots);
    if (slots == 0 || !bytes.chance(100)) return;
    SeenFlows table;
    FlowPlan plan;
    std::vector<double> penalty;
    epoch.plan(table, plan, penalty);
    CHECK(plan.lower_bound <= plan.value);
  }

  void run() {
    play(*this,
         {&Sequence::add, &Sequence::add, &Sequence::update, &Sequence::finish, &Sequence::remove,
          &Sequence::decide, &Sequence::decide, &Sequence::decide},
         24, [&] { CHECK_EQUAL(epoch.open_jobs(), jobs.size()); });
    FlowEpoch copy(1, {});
    load_copy("flow epoch", epoch, copy);
    const double at = std::fmax(now, 0.0);
    copy.decide(at);
    epoch.decide(at);
    CHECK(state_of(copy) == state_of(epoch));
  }
};

}  // namespace

void fuzz(Bytes bytes) {
  FlowEpochOptions options;
  options.baseline = bytes.pick(kBaselines);
  options.aggregate = bytes.chance(80) ? Aggregate::kMax : Aggregate::kSum;
  if (bytes.chance(48)) options.hysteresis = bytes.amount(kWeight);
  if (bytes.chance(24)) options.effort = static_cast<std::uint64_t>(bytes.integer(0, 3));
  const std::int64_t slots = bytes.slots();
  Sequence{bytes, FlowEpoch(slots, options), FlowEpoch(slots, options), slots, -kLatest, {}, {}}
      .run();
}

}  // namespace malleable::fuzz
