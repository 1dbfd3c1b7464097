// Sequences of calls on an overlap epoch, with refused ones in between; a twin gets the accepted
// ones only and must always decide the same.
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "malleable/policy/tandem_epoch.hpp"
#include "sequence.hpp"

namespace malleable::fuzz {
namespace {

constexpr TandemPolicy kPolicies[] = {TandemPolicy::kFcfs, TandemPolicy::kMaxSrpt,
                                      TandemPolicy::kSplitSrpt, TandemPolicy::kTwoSrpt};

struct Limits {
  double map, shuffle;
};

struct Sequence {
  Bytes bytes;
  TandemEpoch epoch, twin;
  std::map<std::int64_t, Limits> most;
  std::vector<std::int64_t> gone;
  double now = 0.0;
  std::optional<double> decided;
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>>
      held;  // slots, by the last decision

  std::int64_t capacity() { return bytes.chance(16) ? 0 : bytes.slots(); }
  double limit() { return bytes.chance(128) ? kInfinity : static_cast<double>(bytes.slots()); }

  struct Own {
    std::vector<double> map, shuffle, ready, most_map, most_shuffle;
    TandemEpoch::Columns view() const { return {map, shuffle, ready, most_map, most_shuffle}; }
  };
  // Numbers in the domain; `overrun`: estimates that have run out, too.
  Own read(std::size_t count, std::uint8_t which, bool overrun) {
    Own own;
    for (std::size_t k = 0; k < count; ++k) {
      const auto left = [&] {
        const double amount = bytes.amount(kWork);
        return overrun && bytes.chance(64) ? -amount : amount;
      };
      if ((which & 1) != 0) own.map.push_back(left());
      if ((which & 2) != 0) own.shuffle.push_back(left());
      if ((which & 4) != 0) own.ready.push_back(bytes.amount(kWork));
      if ((which & 8) != 0) own.most_map.push_back(limit());
      if ((which & 16) != 0) own.most_shuffle.push_back(limit());
    }
    return own;
  }
  bool spoil_columns(Own& own) {
    const std::size_t which = bytes.index(5);
    auto* column = which == 0   ? &own.map
                   : which == 1 ? &own.shuffle
                   : which == 2 ? &own.ready
                   : which == 3 ? &own.most_map
                                : &own.most_shuffle;
    if (column->empty()) return false;
    double& value = (*column)[bytes.index(column->size())];
    if (which < 2) value = bytes.wrong_overrun(kWork);
    if (which == 2) value = bytes.wrong_left(kWork);
    if (which >= 3) value = bytes.chance(128) ? 0.0 : 1.5;
    return true;
  }

  void add() {
    const std::size_t count = 1 + bytes.index(5);
    std::vector<double> arrival;
    for (std::size_t k = 0; k < count; ++k) {
      arrival.push_back(bytes.chance(8) ? bytes.time() : std::min(bytes.time(), now));
    }
    Own own = read(count, static_cast<std::uint8_t>(3 | bytes.byte()), false);
    bool bad = bytes.astray(24) && spoil_columns(own);
    if (!bad && bytes.astray(10)) {
      arrival[bytes.index(count)] = bytes.wrong_time();
      bad = true;
    }
    std::vector<std::int64_t> ids(count), same(count);
    if (!both(epoch, twin, bad,
              [&](auto& e) { e.add(arrival, own.view(), &e == &epoch ? ids : same); })) {
      return;
    }
    CHECK(ids == same);
    for (std::size_t k = 0; k < count; ++k) {
      const Limits limits{own.most_map.empty() ? kInfinity : own.most_map[k],
                          own.most_shuffle.empty() ? kInfinity : own.most_shuffle[k]};
      CHECK(most.emplace(ids[k], limits).second);
    }
  }
  void update() {
    bool bad = bytes.astray(24);
    const auto ids = some_ids(bytes, most, gone, bad);
    Own own = read(ids.size(), bytes.byte(), true);
    bad = (bytes.astray(24) && spoil_columns(own)) || bad;
    if (!both(epoch, twin, bad, [&](auto& e) { e.update(ids, own.view()); })) return;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (!own.most_map.empty()) most[ids[k]].map = own.most_map[k];
      if (!own.most_shuffle.empty()) most[ids[k]].shuffle = own.most_shuffle[k];
    }
  }
  void remove() {
    const bool bad = bytes.astray(24);
    const auto ids = some_ids(bytes, most, gone, bad);
    if (!both(epoch, twin, bad, [&](auto& e) { e.remove(ids); })) return;
    for (const std::int64_t id : ids) {
      most.erase(id);
      held.erase(id);
      gone.push_back(id);
    }
  }
  void decide() {
    const double at =
        std::min(kLatest, now + (bytes.chance(100) ? bytes.amount({1e-12, kLatest}) : 1.0));
    const std::int64_t map_slots = capacity(), shuffle_slots = capacity();
    // A time before the last one is refused, and a job that comes later.
    CHECK(!decided || refused([&] { epoch.decide(std::nextafter(*decided, -kLatest)); }));
    std::span<const TandemEpoch::Service> services;
    if (refused([&] { services = epoch.decide(at, {{map_slots, shuffle_slots}}); })) {
      CHECK(state_of(epoch) == state_of(twin));
      return;
    }
    decided = now = at;
    const auto same = twin.decide(at, {{map_slots, shuffle_slots}});
    CHECK_EQUAL(services.size(), same.size());
    double map = 0.0, shuffle = 0.0;
    std::int64_t maps = 0, shuffles = 0;
    const auto before = std::exchange(held, {});
    for (std::size_t k = 0; k < services.size(); ++k) {
      const auto& s = services[k];
      CHECK(s.id == same[k].id && s.share == same[k].share && s.slots == same[k].slots);
      const auto known = most.find(s.id);
      CHECK(known != most.end());
      if (known == most.end()) return;
      const auto then =
          before.contains(s.id) ? before.at(s.id) : std::pair<std::int64_t, std::int64_t>();
      const std::pair slots(s.slots[0], s.slots[1]);
      CHECK(held.emplace(s.id, slots).second);
      CHECK_EQUAL(s.changed, slots != then);
      CHECK(s.share[0] >= 0.0 && s.share[0] <= 1.0 && s.share[1] >= 0.0 && s.share[1] <= 1.0);
      CHECK(s.slots[0] >= 0 && static_cast<double>(s.slots[0]) <= known->second.map);
      CHECK(s.slots[1] >= 0 && static_cast<double>(s.slots[1]) <= known->second.shuffle);
      CHECK(s.slots[0] <= map_slots && s.slots[1] <= shuffle_slots);
      map += s.share[0];
      shuffle += s.share[1];
      maps += s.slots[0];
      shuffles += s.slots[1];
      CHECK(maps <= map_slots && shuffles <= shuffle_slots);
    }
    for (const auto& [id, slots] : before) {
      CHECK(held.contains(id) || (slots.first == 0 && slots.second == 0));
    }
    CHECK_AT_MOST(map, 1.0, 1e-9);
    CHECK_AT_MOST(shuffle, 1.0, 1e-9);
  }
  void run() {
    play(*this,
         {&Sequence::add, &Sequence::add, &Sequence::update, &Sequence::update, &Sequence::remove,
          &Sequence::decide, &Sequence::decide},
         60, [&] { CHECK_EQUAL(epoch.size(), most.size()); });
    TandemEpoch copy{TandemEpochOptions()};
    load_copy("overlap epoch", epoch, copy);
    now = kLatest;
    decide();
  }
};

}  // namespace

void fuzz(Bytes bytes) {
  TandemEpochOptions options;
  options.policy = bytes.pick(kPolicies);
  options.conserving = bytes.chance(180);
  bytes.chance(100);  // keeps the meaning of inputs
  Sequence{bytes, TandemEpoch(options), TandemEpoch(options), {}, {}, 0.0, {}, {}}.run();
}

}  // namespace malleable::fuzz
