#include "malleable/scheduler/replay.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace malleable {
namespace {

// The byte format of recorded calls is that of scheduler/replay.hpp: each call is a code, then
// named columns. A name's place in a list, at compile time:
template <std::size_t N>
consteval std::uint8_t place_of(const std::array<const char*, N>& names, std::string_view name) {
  for (std::size_t k = 0; k < N; ++k) {
    if (names[k] == name) return static_cast<std::uint8_t>(k);
  }
  throw "no such name";
}
// A call's code, from its name.
struct Called {
  std::uint8_t code;
  consteval Called(const char* name) : code(place_of(kEventCalls, name)) {}
};
// A column's code, from its name.
struct Named {
  std::uint8_t code;
  consteval Named(const char* name) : code(place_of(kEventColumns, name)) {}
  // The place of a column of a scheduler's calls; all have one in the list.
  static Named of(std::string_view name) {
    std::size_t k = 0;
    while (k < kEventColumns.size() && kEventColumns[k] != name) ++k;
    if (k == kEventColumns.size()) throw std::logic_error("a column without a place in records");
    return Named(static_cast<std::uint8_t>(k));
  }

 private:
  explicit Named(std::uint8_t place) : code(place) {}
};

constexpr std::array<std::uint32_t, 256> checksum_table() {
  std::array<std::uint32_t, 256> made{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) ? 0xedb88320u : 0u);
    made[byte] = rest;
  }
  return made;
}
constexpr auto kTable = checksum_table();

// The checksum of zip and gzip.
class Checksum {
 public:
  void add(std::int64_t value) {
    for (std::size_t k = 0; k < 8; ++k) {
      sum_ = (sum_ >> 8) ^ kTable[(sum_ ^ (static_cast<std::uint64_t>(value) >> (8 * k))) & 255];
    }
  }
  std::int64_t get() const { return static_cast<std::int64_t>(sum_ ^ 0xffffffffu); }

 private:
  std::uint32_t sum_ = 0xffffffffu;
};

// Reads recorded calls one after another.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  // Reads the next call, whose columns stay valid until the call after it; false: there is none.
  bool next() {
    // A column that was not read would be silently left out of the replay.
    for (const std::uint8_t name : given_) {
      if (!columns_[name].seen) {
        throw std::invalid_argument("call " + std::to_string(number_) + " has a column '" +
                                    kEventColumns[name] + "' that it cannot have");
      }
      columns_[name].given = false;
    }
    given_.clear();
    if (left_.empty()) return false;
    call_ = byte();
    if (call_ >= kEventCalls.size()) damaged();
    for (std::uint8_t count = byte(); count > 0; --count) read_column();
    ++number_;
    return true;
  }
  std::int64_t number() const { return number_; }
  bool is(Called call) const { return call_ == call.code; }

  std::span<const double> doubles(Named name) const {
    const Column& own = columns_[name.code];
    if (!own.given) return {};
    own.seen = true;
    if (!own.whole.empty()) damaged();
    return own.real;
  }
  std::span<const std::int64_t> integers(Named name) const {
    const Column& own = columns_[name.code];
    if (!own.given) return {};
    own.seen = true;
    if (!own.real.empty()) damaged();
    return own.whole;
  }
  double now() const {
    const auto time = doubles("now");
    if (time.size() != 1) damaged();
    return time[0];
  }
  std::int64_t one(Named name) const {
    const auto own = integers(name);
    if (own.size() != 1) damaged();
    return own[0];
  }
  std::span<const Scheduler::Person> people(Named name) {
    const auto own = doubles(name);
    if (own.size() % 2 != 0) damaged();
    people_.clear();
    for (std::size_t k = 0; k < own.size(); k += 2) people_.push_back({own[k], own[k + 1]});
    return people_;
  }
  [[noreturn]] void damaged() const {
    throw std::invalid_argument("call " + std::to_string(number_) + " is cut or damaged");
  }

 private:
  // A column of the present call: whether it was given, and whether the replay has read it.
  struct Column {
    bool given = false;
    mutable bool seen = false;
    std::vector<double> real;
    std::vector<std::int64_t> whole;
  };

  const char* take(std::size_t size) {
    if (left_.size() < size) damaged();
    const char* const at = left_.data();
    left_.remove_prefix(size);
    return at;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(*take(1)); }
  template <typename Stored, typename T>
  void read(std::uint32_t size, std::vector<T>& values) {
    const char* const at = take(size * sizeof(Stored));
    values.resize(size);
    for (std::size_t k = 0; k < size; ++k) {
      Stored value;
      std::memcpy(&value, at + k * sizeof(Stored), sizeof(Stored));
      values[k] = value;
    }
  }
  void read_column() {
    const std::uint8_t name = byte(), type = byte();
    if (name >= kEventColumns.size()) damaged();
    std::uint32_t size = 0;
    std::memcpy(&size, take(4), 4);
    Column& own = columns_[name];
    own.given = true;
    own.seen = false;
    given_.push_back(name);
    own.real.clear();
    own.whole.clear();
    switch (type) {
      case 0:
        return read<double>(size, own.real);
      case 1:
        return read<std::int64_t>(size, own.whole);
      case 2:
        return read<std::int32_t>(size, own.whole);
      case 3:
        return read<std::uint8_t>(size, own.whole);
      default:
        damaged();
    }
  }

  std::string_view left_;
  std::uint8_t call_ = 0;
  std::int64_t number_ = 0;
  std::array<Column, kEventColumns.size()> columns_;
  std::vector<std::uint8_t> given_;
  std::vector<Scheduler::Person> people_;
};

std::int64_t add(Reader& r, Scheduler& scheduler) {
  Scheduler::Additions jobs;
  jobs.new_users = r.people("new_users");
  ClusterJobsView::each(
      [&]<typename T>(const ClusterColumn& column, std::span<const T>& values) {
        if (column.read_by == ClusterColumn::ReadBy::kSimulation) return;
        if constexpr (std::is_same_v<T, double>) {
          values = r.doubles(Named::of(column.name));
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          values = r.integers(Named::of(column.name));
        }
      },
      static_cast<ClusterJobsView&>(jobs));
  jobs.parents = r.integers("parents");
  jobs.parents_offset = r.integers("parents_offset");
  const auto ids = r.integers("ids");  // ids of all other columns
  const auto made = scheduler.add(jobs, r.now());
  if (!std::ranges::equal(made, ids)) r.damaged();
  return static_cast<std::int64_t>(made.size());
}

void observe(Reader& r, Scheduler& scheduler) {
  scheduler.observe({r.integers("ids"),
                     {r.integers("pending_maps"), r.integers("pending_reduces")},
                     {r.integers("running_maps"), r.integers("running_reduces")},
                     {r.integers("done_maps"), r.integers("done_reduces")},
                     {r.integers("failed_maps"), r.integers("failed_reduces")},
                     {r.doubles("elapsed_maps"), r.doubles("elapsed_reduces")},
                     {r.doubles("mean_maps"), r.doubles("mean_reduces")}},
                    r.now());
}

void update(Reader& r, Scheduler& scheduler) {
  Scheduler::Changes changes;
  changes.weight = r.doubles("weight");
  changes.deadline = r.doubles("deadline");
  changes.seconds[kMap] = r.doubles("map_seconds");
  changes.seconds[kReduce] = r.doubles("reduce_seconds");
  changes.min_slots[kMap] = r.integers("min_map_slots");
  changes.min_slots[kReduce] = r.integers("min_reduce_slots");
  changes.max_slots = r.integers("max_slots");
  changes.new_users = r.people("new_users");
  changes.user = r.integers("user");
  changes.restart = r.doubles("restart");
  scheduler.update(r.integers("ids"), changes, r.now());
}

// Replays a call about tasks; false: it is another call.
bool replay_tasks(Reader& r, Scheduler& scheduler) {
  using Tell = std::int64_t (Scheduler::*)(const Scheduler::Tasks&, double);
  struct Stated {
    Called call;
    Tell tell;
  };
  static constexpr Stated kStated[] = {
      {"started", &Scheduler::started},
      {"ended", &Scheduler::ended},
      {"failed", &Scheduler::failed},
      {"lost", &Scheduler::lost},
  };
  for (const auto& [call, method] : kStated) {
    if (!r.is(call)) continue;
    const Scheduler::Tasks tasks{r.integers("ids"),   r.integers("phase"), r.integers("count"),
                                 r.integers("node"),  r.integers("task"),  r.doubles("seconds"),
                                 r.doubles("copying")};
    (scheduler.*method)(tasks, r.now());
    return true;
  }
  return false;
}

// Replays calls without an answer to compare; returns how many jobs came.
std::int64_t replay_call(Reader& r, Scheduler& scheduler) {
  if (r.is("add")) return add(r, scheduler);
  if (replay_tasks(r, scheduler)) return 0;
  if (r.is("ready")) {
    scheduler.ready(r.integers("ids"), r.integers("phase"), r.now());
  } else if (r.is("observe")) {
    observe(r, scheduler);
  } else if (r.is("update")) {
    update(r, scheduler);
  } else if (r.is("set_users")) {
    scheduler.set_users(r.integers("users"), r.people("people"), r.now());
  } else if (r.is("set_processors")) {
    const std::int64_t which = r.one("count");
    if (which < 0 || which >= static_cast<std::int64_t>(std::size(kProcessors))) r.damaged();
    scheduler.set_processors(static_cast<SpeedupPrior>(which), r.now());
  } else if (r.is("set_slots")) {
    scheduler.set_slots(r.integers("nodes"), r.integers("map_slots"), r.integers("reduce_slots"),
                        r.now());
  } else if (r.is("set_blocks")) {
    const std::int64_t copies = r.one("copies");
    if (copies < 0) r.damaged();
    scheduler.set_blocks(r.one("ids"), static_cast<std::size_t>(copies), r.integers("nodes"));
  } else if (r.is("finish")) {
    scheduler.finish(r.integers("ids"), r.now());
  } else {
    scheduler.remove(r.integers("ids"), r.now());
  }
  return 0;
}

// The checksum that a record holds of a decision: all ids, then all slots.
std::int64_t checksum(std::span<const Scheduler::Row> rows) {
  Checksum sum;
  for (const Scheduler::Row& row : rows) sum.add(row.id);
  for (const Scheduler::Row& row : rows) {
    for (const std::int64_t slots : row.slots) sum.add(slots);
  }
  return sum.get();
}

// Whether these are the task starts that the record holds.
bool same_starts(const Reader& r, std::span<const Scheduler::Start> starts) {
  const auto ids = r.integers("start_ids"), phase = r.integers("start_phase"),
             node = r.integers("start_node");
  for (const auto& column : {ids, phase, node}) {
    if (column.size() != starts.size()) return false;
  }
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const Scheduler::Start& own = starts[k];
    if (own.id != ids[k] || own.phase != phase[k] || own.node != node[k]) return false;
  }
  return true;
}

// The number of slots that two decisions give to different jobs; `given`, by row, is all 0 before
// and after.
double moved_between(std::span<const Scheduler::Row> one, std::span<const Scheduler::Row> two,
                     std::vector<std::array<std::int64_t, 2>>& given) {
  std::size_t rows = given.size();
  for (const auto& decision : {one, two}) {
    for (const auto& row : decision) rows = std::max(rows, JobIds::row_of(row.id) + std::size_t{1});
  }
  given.resize(rows);
  for (const auto& row : two) given[JobIds::row_of(row.id)] = row.slots;
  double moved = 0.0;
  for (const auto& row : one) {
    for (std::size_t p = 0; p < 2; ++p) {
      const std::int64_t more = row.slots[p] - given[JobIds::row_of(row.id)][p];
      moved += static_cast<double>(std::max<std::int64_t>(0, more));
    }
  }
  for (const auto& row : two) given[JobIds::row_of(row.id)] = {};
  return moved;
}

}  // namespace

// Replays all calls with `fresh`, a new scheduler like the recorded one, and compares its answers.
// `other`, another scheduler, gets the same events; its decisions are compared with those of
// `fresh`.
Replayed replay(std::string_view calls, Scheduler& fresh, Scheduler* other) {
  Reader r(calls);
  Replayed found;
  std::vector<std::array<std::int64_t, 2>> given;
  while (r.next()) {
    if (r.is("decide")) {
      ++found.decisions;
      const auto rows = fresh.decide(r.now());
      found.same &= checksum(rows) == r.one("count");
      if (other == nullptr) continue;
      const double part = moved_between(rows, other->decide(r.now()), given);
      found.differing += part > 0.0;
      found.moved += part;
    } else if (r.is("assign")) {
      const std::span<const std::int64_t> free[2] = {r.integers("free_maps"),
                                                     r.integers("free_reduces")};
      found.same &= same_starts(r, fresh.assign(r.now(), free));
      if (other != nullptr) {
        other->started({r.integers("start_ids"), r.integers("start_phase")}, r.now());
      }
    } else if (r.is("take_back")) {
      const std::span<const std::int64_t> free[2] = {r.integers("free_maps"),
                                                     r.integers("free_reduces")};
      const auto ids = r.integers("ids"), phase = r.integers("phase");
      found.same &= std::ranges::equal(fresh.take_back(r.now(), free), ids);
      if (other != nullptr) other->failed({ids, phase}, r.now());
    } else {
      found.jobs += replay_call(r, fresh);
      if (other != nullptr) replay_call(r, *other);
    }
  }
  found.calls = r.number();
  return found;
}

}  // namespace malleable
