// Sequences of calls on a slotted epoch, with refused ones in between; a twin gets the accepted
// ones only and must always decide the same.
#include <map>
#include <optional>

#include "malleable/model/map_reduce.hpp"
#include "malleable/policy/slotted_epoch.hpp"
#include "sequence.hpp"

namespace malleable::fuzz {
namespace {

constexpr const char* kPolicies[] = {"asrpt", "unlock", "srpt", "lrpt", "fifo", "fair"};

struct Job {
  std::int64_t maps = 0, reduces = 0, running = 0, held = 0;  // held: after the last decision
};

struct Sequence {
  Bytes bytes;
  SlottedEpoch epoch, twin;
  std::map<std::int64_t, Job> jobs;
  std::vector<std::int64_t> gone;
  double now;
  std::int64_t running = 0;

  std::int64_t units() {
    const std::uint8_t how = bytes.byte();
    return how < 220 ? how % 24 : bytes.integer(0, how < 240 ? 10000 : kMostUnits);
  }
  struct Own {
    std::vector<std::int64_t> maps, reduces, running;
    std::vector<double> map_left, reduce_left;
    SlottedEpoch::Columns view() const { return {maps, reduces, running, map_left, reduce_left}; }
  };
  Own read(std::size_t count, std::uint8_t which) {
    Own own;
    for (std::size_t k = 0; k < count; ++k) {
      if ((which & 1) != 0) own.maps.push_back(units());
      if ((which & 2) != 0) own.reduces.push_back(units());
      if ((which & 4) != 0) own.running.push_back(units());
      if ((which & 8) != 0) own.map_left.push_back(bytes.amount(kWork));
      if ((which & 16) != 0) own.reduce_left.push_back(bytes.amount(kWork));
    }
    return own;
  }
  bool spoil_columns(Own& own) {
    const std::size_t which = bytes.index(5);
    if (which < 3) {
      auto& column = which == 0 ? own.maps : which == 1 ? own.reduces : own.running;
      if (column.empty()) return false;
      column[bytes.index(column.size())] = bytes.chance(128) ? -1 : kMostUnits + 1;
    } else {
      auto& column = which == 3 ? own.map_left : own.reduce_left;
      if (column.empty()) return false;
      column[bytes.index(column.size())] = bytes.wrong_left(kWork);
    }
    return true;
  }
  void step() {
    if (bytes.chance(128)) now = std::min(kLatest, now + bytes.amount({1e-12, 1e6}));
  }
  double moment(bool& bad) {
    step();
    if (!bytes.astray(8)) return now;
    bad = true;
    return bytes.wrong_time();
  }
  void add() {
    const std::size_t count = 1 + bytes.index(4);
    Own own = read(count, 31);
    bool bad = bytes.astray(24) && spoil_columns(own);
    std::vector<double> arrival(count, bytes.chance(200) ? moment(bad) : bytes.amount({1e-3, 1e6}));
    if (!bad && bytes.chance(64)) arrival.back() = std::min(arrival.back(), now);
    std::vector<std::int64_t> ids(count), same(count);
    if (!both(epoch, twin, bad,
              [&](auto& e) { e.add(arrival, own.view(), &e == &epoch ? ids : same); })) {
      return;
    }
    now = std::max(now, *std::max_element(arrival.begin(), arrival.end()));
    CHECK(ids == same);
    for (std::size_t k = 0; k < count; ++k) {
      CHECK(jobs.emplace(ids[k], Job{own.maps[k], own.reduces[k], own.running[k], 0}).second);
      running += own.running[k];
    }
  }
  void update() {
    bool bad = bytes.astray(24);
    const auto ids = some_ids(bytes, jobs, gone, bad);
    Own own = read(ids.size(), bytes.byte());
    bad = (bytes.astray(24) && spoil_columns(own)) || bad;
    if (!both(epoch, twin, bad, [&](auto& e) { e.update(ids, own.view()); })) return;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      Job& job = jobs[ids[k]];
      if (!own.maps.empty()) job.maps = own.maps[k];
      if (!own.reduces.empty()) job.reduces = own.reduces[k];
      if (!own.running.empty()) {
        running += own.running[k] - job.running;
        job.running = own.running[k];
      }
    }
  }
  void remove() {
    const bool bad = bytes.astray(24), cancelled = bytes.chance(128);
    const auto ids = some_ids(bytes, jobs, gone, bad);
    if (!both(epoch, twin, bad, [&](auto& e) { cancelled ? e.remove(ids) : e.finish(ids); }))
      return;
    for (const std::int64_t id : ids) {
      running -= jobs[id].running;
      jobs.erase(id);
      gone.push_back(id);
    }
  }
  void decide() {
    bool bad = false;
    const double at = moment(bad);
    std::optional<std::int64_t> machines;
    if (bytes.chance(48)) machines = bytes.chance(32) ? 0 : std::min(kMostUnits, bytes.slots());
    if (bytes.astray(8)) {
      machines = bytes.chance(128) ? -1 : kMostUnits + 1;
      bad = true;
    }
    std::span<const SlottedEpoch::Grant> grants, same;
    if (!both(epoch, twin, bad,
              [&](auto& e) { (&e == &epoch ? grants : same) = e.decide(at, machines); })) {
      return;
    }
    std::int64_t used = 0;
    CHECK_EQUAL(grants.size(), same.size());
    std::vector<std::int64_t> named;
    for (std::size_t k = 0; k < grants.size(); ++k) {
      const auto& g = grants[k];
      CHECK(g.id == same[k].id && g.maps == same[k].maps && g.reduces == same[k].reduces);
      const auto known = jobs.find(g.id);
      CHECK(known != jobs.end());
      if (known == jobs.end()) return;
      CHECK(g.maps >= 0 && g.maps <= known->second.maps);
      CHECK(g.reduces >= 0 && g.reduces <= known->second.reduces);
      CHECK_EQUAL(g.slots, known->second.running + g.maps + g.reduces);
      CHECK_EQUAL(g.changed, g.slots != known->second.held);
      named.push_back(g.id);
      used += g.maps + g.reduces;
    }
    CHECK(used <= std::max<std::int64_t>(0, epoch.slots() - running));
    std::sort(named.begin(), named.end());
    CHECK(std::adjacent_find(named.begin(), named.end()) == named.end());
    for (auto& [id, job] : jobs) {
      CHECK((job.held == 0 && job.running == 0) ||
            std::binary_search(named.begin(), named.end(), id));
      job.held = 0;
    }
    for (const auto& g : grants) jobs[g.id].held = g.slots;
  }

  void run() {
    play(*this,
         {&Sequence::add, &Sequence::add, &Sequence::update, &Sequence::update, &Sequence::remove,
          &Sequence::decide, &Sequence::decide, &Sequence::decide},
         60, [&] { CHECK_EQUAL(epoch.size(), jobs.size()); });
    SlottedEpoch copy(1, 1.0, "fifo");
    load_copy("slotted epoch", epoch, copy);
    copy.decide(now);
    epoch.decide(now);
    CHECK(state_of(copy) == state_of(epoch));
  }
};

}  // namespace

void fuzz(Bytes bytes) {
  const char* policy = bytes.pick(kPolicies);
  const std::int64_t machines = std::min(kMostUnits, bytes.slots());
  const double seconds = std::fmax(1e-3, bytes.amount({1e-3, 1e6}));
  const double now = bytes.chance(64) ? bytes.time() : 0.0;
  Sequence{bytes,
           SlottedEpoch(machines, seconds, policy),
           SlottedEpoch(machines, seconds, policy),
           {},
           {},
           now}
      .run();
}

}  // namespace malleable::fuzz
