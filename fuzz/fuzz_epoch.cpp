// Sequences of calls on an epoch, with refused ones in between.
//
// A twin gets the accepted calls only. If both always decide the same, a refused call changes
// nothing.
#include <map>

#include "malleable/policy/epoch.hpp"
#include "schedule.hpp"
#include "sequence.hpp"

namespace malleable::fuzz {
namespace {

constexpr Kind kEpochKinds[] = {Kind::kResponse,  Kind::kCompletion, Kind::kStretch, Kind::kTardy,
                                Kind::kTardiness, Kind::kLateness,   Kind::kSla,     Kind::kStrict};
constexpr EpochPolicy kPolicies[] = {EpochPolicy::kFlex, EpochPolicy::kFair, EpochPolicy::kFifo,
                                     EpochPolicy::kWdeq};

struct Sequence {
  Bytes bytes;
  EpochOptions options;
  std::int64_t slots;
  bool restarts;  // changes of slots cost some jobs time
  double now = 0.0;
  Epoch epoch, twin;
  std::map<std::int64_t, std::int64_t> most;  // of the jobs that are there
  std::vector<std::int64_t> gone;
  bool decided = false;

  explicit Sequence(Bytes given, const EpochOptions& chosen, std::int64_t capacity, bool costly)
      : bytes(given),
        options(chosen),
        slots(capacity),
        restarts(costly),
        epoch(capacity, chosen),
        twin(capacity, chosen) {}

  RestartColumns read_restart(std::size_t rows) {
    RestartColumns read;
    const std::uint8_t which = bytes.byte();
    std::vector<double>* const columns[] = {&read.any, &read.grow, &read.shrink, &read.slot};
    for (std::size_t k = 0; k < std::size(columns); ++k) {
      for (std::size_t j = 0; (which >> k & 1) != 0 && j < rows; ++j) {
        columns[k]->push_back(bytes.amount(kWeight));
      }
    }
    return read;
  }

  void add() {
    Table table = read_table(bytes, slots, {5, kLatest, options.kind == Kind::kLateness});
    for (double& arrival : table.arrival) {
      if (!bytes.chance(8)) arrival = std::min(arrival, now);
    }
    if (restarts) table.restart = read_restart(table.size());
    const bool bad = bytes.astray(24) && spoil(bytes, table);
    std::int64_t first = 0, other = 0;
    const bool done = both(epoch, twin, bad,
                           [&](auto& e) { (&e == &epoch ? first : other) = e.add(table.jobs()); });
    if (!done) return;
    CHECK_EQUAL(first, other);
    for (std::size_t j = 0; j < table.size(); ++j) {
      CHECK(most.emplace(first + static_cast<std::int64_t>(j), table.max_slots[j]).second);
    }
    decided = decided && table.size() == 0;
  }

  void update() {
    bool bad = bytes.astray(24);
    const auto ids = some_ids(bytes, most, gone, bad);
    std::vector<double> work, weight, deadline;
    std::vector<std::int64_t> low, high;
    const std::uint8_t which = bytes.byte();
    for (const std::int64_t id : ids) {
      (void)id;
      if ((which & 1) != 0) work.push_back(bytes.amount(kWork));
      if ((which & 2) != 0) weight.push_back(bytes.amount(kWeight));
      if ((which & 4) != 0) deadline.push_back(bytes.time());
      if ((which & 8) != 0) {
        high.push_back(bytes.slots());
        low.push_back(bytes.integer(0, std::min(high.back(), slots)));
      }
    }
    if (!ids.empty() && bytes.astray(24)) {
      const std::size_t k = bytes.index(ids.size());
      switch (which & 7) {
        case 1:
          work[k] = bytes.wrong_left(kWork);
          bad = true;
          break;
        case 2:
          weight[k] = bytes.wrong(kWeight);
          bad = true;
          break;
        case 4:
          deadline[k] = bytes.wrong_time();
          bad = true;
          break;
        default:
          if (!low.empty()) {
            low[k] = high[k] + 1;
            bad = true;
          }
      }
    }
    Epoch::Changes changes{work, weight, deadline, low, high};
    RestartColumns restart;
    if (restarts) restart = read_restart(ids.size());
    changes.restart = restart.view();
    bad |= options.unknown && !work.empty();
    if (!both(epoch, twin, bad, [&](auto& e) { e.update(ids, changes); })) return;
    for (std::size_t k = 0; k < high.size(); ++k) most[ids[k]] = high[k];
    decided = decided && ids.empty();
  }

  void remove() {
    bool bad = bytes.astray(24);
    const auto ids = some_ids(bytes, most, gone, bad);
    const bool ended = options.unknown;  // which tells sizes
    if (!both(epoch, twin, bad, [&](auto& e) { ended ? e.finish(ids) : e.remove(ids); })) return;
    for (const std::int64_t id : ids) {
      most.erase(id);
      gone.push_back(id);
    }
    decided = decided && ids.empty();
  }

  void decide() {
    double at = std::min(kLatest, now + (bytes.chance(100) ? bytes.amount({1e-12, kLatest}) : 1.0));
    std::optional<std::int64_t> capacity;
    if (bytes.chance(64)) capacity = bytes.slots();
    bool must_fail = false;
    if (bytes.astray(16)) {
      must_fail = true;
      if (bytes.chance(128)) {
        capacity = -bytes.integer(1, kSlotLimit);
      } else {
        at = bytes.wrong_time();
      }
    }
    // Jobs that arrive later are refused, too, by the call itself.
    const bool stopped = refused([&] { epoch.decide(at, capacity); });
    if (must_fail) CHECK(stopped);
    if (!stopped) twin.decide(at, capacity);
    CHECK(state_of(epoch) == state_of(twin));
    if (stopped) return;
    now = at;
    if (capacity) slots = *capacity;
    decided = true;
    CHECK(std::ranges::equal(epoch.ids(), twin.ids()));
    CHECK(std::ranges::equal(epoch.given(), twin.given()));
    CHECK(std::ranges::equal(epoch.changed(), twin.changed()));
    CHECK_EQUAL(epoch.ids().size(), most.size());
    std::int64_t used = 0;
    for (std::size_t k = 0; k < epoch.ids().size(); ++k) {
      const std::int64_t given = epoch.given()[k];
      CHECK(given >= 0 && given <= most[epoch.ids()[k]]);
      CHECK(given <= slots);
      used += given;
      CHECK(used <= slots);
    }
  }

  void plan() {
    if (!decided || epoch.looped()) return;
    const Plan found = epoch.plan(), same = twin.plan();
    CHECK_EQUAL(found.value, same.value);
    CHECK_EQUAL(found.lower_bound, same.lower_bound);
    check_bound(found.value, found.lower_bound);
    const JobsView jobs = epoch.planned_jobs();
    // In an epoch a job without work may hold slots, but it has no pieces.
    check_schedule({now, slots, jobs.work, jobs.max_slots}, found.pieces, found.completion,
                   found.allocation);
  }

  void assess() {
    if (!decided || epoch.looped()) return;
    const Plan found = epoch.plan(/*detail=*/false), same = twin.plan(/*detail=*/false);
    CHECK_EQUAL(found.value, same.value);
    CHECK_EQUAL(found.lower_bound, same.lower_bound);
    check_bound(found.value, found.lower_bound);
  }

  void run() {
    play(*this,
         {&Sequence::add, &Sequence::add, &Sequence::update, &Sequence::remove, &Sequence::decide,
          &Sequence::decide, &Sequence::plan, &Sequence::assess},
         60, [&] { CHECK_EQUAL(epoch.size(), most.size()); });
    Epoch copy(1, {});
    load_copy("epoch", epoch, copy);
    now = kLatest;
    decided = false;
    decide();
    if (!decided) return;
    copy.decide(now, slots);
    CHECK(state_of(copy) == state_of(epoch));
  }
};

}  // namespace

void fuzz(Bytes bytes) {
  EpochOptions options;
  options.aggregate = bytes.chance(100) ? Aggregate::kMax : Aggregate::kSum;
  options.kind = bytes.pick(kEpochKinds);
  options.policy = bytes.chance(140) ? EpochPolicy::kFlex : bytes.pick(kPolicies);
  constexpr MinMode kModes[] = {MinMode::kGuarantee, MinMode::kGuarantee, MinMode::kGang,
                                MinMode::kStart};
  options.min_mode = bytes.pick(kModes);
  const std::uint8_t loop = bytes.byte();
  options.stable = loop >= 156;
  options.unknown = loop % 8 == 3 && options.min_mode != MinMode::kStart;
  if (options.policy == EpochPolicy::kFlex) {
    if (bytes.chance(64)) options.hysteresis = bytes.unit();
    if (bytes.chance(64)) options.effort = static_cast<std::uint64_t>(read_effort(bytes));
  }
  const std::int64_t slots = bytes.slots();
  Sequence(bytes, options, slots, loop % 4 == 1).run();
}

}  // namespace malleable::fuzz
