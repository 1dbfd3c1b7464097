// Turns bytes into instances: over the whole domain that the border accepts, corners and ties
// first, and now and then just outside of it. Any bytes mean something, and bytes that end early
// mean zeros. They mean the same with every compiler: no call takes two arguments that both read.
//
// The domain is written down here once more, on purpose: `Domain` and the tables' own predicates
// say what must be accepted and what must be refused, and share nothing with the code under test.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "flow_instances.hpp"
#include "instances.hpp"
#include "slotted_instances.hpp"

namespace malleable::fuzz {

using check::FlowTable;
using check::SlottedTable;
using check::Table;

// What the border accepts: 0, or from the least to the most.
struct Domain {
  double least, most;
  bool has(double x) const { return x == 0.0 || (x >= least && x <= most); }
};
inline constexpr Domain kWork{1e-12, 1e15};    // slot-seconds, and sizes of a station
inline constexpr Domain kWeight{1e-12, 1e12};  // weights and cumulative penalties
inline constexpr double kLatest = 1e12;        // seconds either way
inline constexpr std::int64_t kSlotLimit = std::int64_t{1} << 50;

inline bool time_in_domain(double t) { return std::fabs(t) <= kLatest; }

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  // From low to high, both included; takes as many bytes as the range needs.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    const auto range = static_cast<std::uint64_t>(high - low);
    std::uint64_t value = 0;
    for (std::uint64_t reach = range; reach > 0; reach >>= 8) value = value << 8 | byte();
    return low +
           static_cast<std::int64_t>(range == ~std::uint64_t{0} ? value : value % (range + 1));
  }
  std::size_t index(std::size_t count) {
    return static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(count) - 1));
  }
  // About so many times of 256.
  bool chance(int of_256) { return byte() >= 256 - of_256; }
  // The same, for what must be refused.
  bool astray(int of_256) { return chance(of_256); }
  template <typename T, std::size_t N>
  T pick(const T (&values)[N]) {
    return values[index(N)];
  }
  double unit() { return static_cast<double>(integer(0, 65535)) / 65535.0; }

  // 0, or from the least to the most: ends, ties, small whole numbers, and every power between.
  double amount(const Domain& domain) {
    const std::uint8_t how = byte();
    double value;
    if (how < 96) {
      value = static_cast<double>(how % 16);
    } else if (how < 128) {
      value = seen_.empty() ? 1.0 : seen_[how % seen_.size()];
    } else if (how < 144) {
      const double corners[] = {0.0,
                                domain.least,
                                domain.most,
                                1.0,
                                std::nextafter(1.0, 2.0),
                                std::nextafter(1.0, 0.0),
                                0.1,
                                1.0 / 3.0,
                                std::nextafter(domain.least, 1.0),
                                std::nextafter(domain.most, 0.0),
                                1e9,
                                1e-9,
                                0x1p31,
                                0x1p40,
                                0.5,
                                domain.most / 2};
      value = corners[how % 16];
    } else if (how < 200) {
      value = 20.0 * unit();
    } else {
      const double low = std::log(domain.least), high = std::log(domain.most);
      value = std::exp(low + (high - low) * unit());
    }
    if (!domain.has(value)) value = value > domain.most ? domain.most : domain.least;
    remember(value);
    return value;
  }
  double time(double latest = kLatest) {
    const std::uint8_t how = byte();
    const double size = amount({1e-12, latest});
    return how < 192 ? size : -size;
  }
  std::int64_t slots() {
    const std::uint8_t how = byte();
    if (how < 160) return 1 + how % 32;
    if (how < 176) return kSlotLimit - how % 4;
    if (how < 200) return (std::int64_t{1} << (how % 51)) - (how % 2 && how % 51 ? 1 : 0);
    return integer(1, how < 230 ? 1000 : kSlotLimit);
  }
  // What no border may accept as an amount in this domain.
  double wrong(const Domain& domain) { return wrong_of(domain, 12); }
  // The same of what is left: there may be any little of it.
  double wrong_left(const Domain& domain) { return wrong_of(domain, 9); }
  // And where an overrun is given as a negative amount.
  double wrong_overrun(const Domain& domain) { return wrong_of(domain, 7); }
  double wrong_time() {
    const double values[] = {std::numeric_limits<double>::quiet_NaN(),
                             -std::numeric_limits<double>::infinity(),
                             std::nextafter(kLatest, INFINITY),
                             -std::nextafter(kLatest, INFINITY),
                             1e300,
                             -std::numeric_limits<double>::max(),
                             1e13};
    return values[index(7)];
  }

 private:
  double wrong_of(const Domain& domain, std::size_t kinds) {
    const double values[] = {std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             std::nextafter(domain.most, INFINITY),
                             std::numeric_limits<double>::max(),
                             1e300,
                             domain.most * 10.0,
                             -std::numeric_limits<double>::infinity(),
                             -1.0,
                             -domain.least,
                             5e-324,
                             std::nextafter(domain.least, 0.0),
                             domain.least / 1e6};
    return values[index(kinds)];
  }
  void remember(double value) {
    if (seen_.size() < 16) seen_.push_back(value);
  }
  const std::uint8_t* data_;
  std::size_t left_;
  std::vector<double> seen_;  // values of this input, to be drawn again
};

// --- Job tables ---

struct TableShape {
  std::size_t most_jobs = 20;
  double latest = kLatest;
  bool due = false;  // every job has a deadline
};

inline void add_steps(Bytes& bytes, std::vector<double>& times, std::vector<double>& penalties,
                      std::vector<std::int64_t>& offset) {
  double time = 0.0, penalty = 0.0;
  for (std::int64_t steps = bytes.integer(0, 3); steps > 0; --steps) {
    const double later = times.size() == static_cast<std::size_t>(offset[offset.size() - 2])
                             ? bytes.time()
                             : time + bytes.amount({1e-12, kLatest});
    const double more = std::fmax(penalty, bytes.amount(kWeight));
    if (!time_in_domain(later)) break;
    if (times.size() > static_cast<std::size_t>(offset[offset.size() - 2]) && later <= time) break;
    times.push_back(time = later);
    penalties.push_back(penalty = more);
  }
  offset.back() = static_cast<std::int64_t>(times.size());
}

// p, or rates as measured: with flat parts, and slots that add more than earlier ones.
inline void add_speedup(Bytes& bytes, SpeedupColumns& speedup) {
  const auto part = [&] { return static_cast<double>(bytes.integer(0, 1'000'000)) / 1e6; };
  std::vector<double> rates;
  if (bytes.chance(80)) {
    rates.push_back(1.0);
    const bool concave = bytes.chance(128);
    double gain = 1.0;
    for (std::int64_t more = bytes.integer(0, 12); more > 0; --more) {
      gain = concave ? gain * part() : bytes.chance(80) ? 0.0 : 2.0 * part();
      rates.push_back(rates.back() + gain);
    }
  }
  speedup.add(rates.empty() ? part() : 1.0, rates);
}

inline Table read_table(Bytes& bytes, std::int64_t slots, const TableShape& shape) {
  Table table;
  const std::size_t jobs = bytes.index(shape.most_jobs + 1);
  const bool limits = bytes.chance(160), minima = bytes.chance(100), steps = bytes.chance(100);
  const bool times = bytes.chance(128), weights = bytes.chance(160);
  for (std::size_t j = 0; j < jobs; ++j) {
    const double work = bytes.amount(kWork);
    std::int64_t high = limits ? bytes.slots() : kAllSlots, low = 0;
    if (minima && bytes.chance(128)) {
      const std::int64_t most = std::min(high, bytes.chance(40) ? kSlotLimit : slots);
      low = bytes.integer(0, most);
      if (bytes.chance(40)) high = std::max<std::int64_t>(low, 1);
    }
    const double due = shape.due || bytes.chance(100) ? bytes.time(shape.latest) : kInfinity;
    const double weight = weights ? bytes.amount(kWeight) : 1.0;
    const double arrival = times ? bytes.time(shape.latest) : 0.0;
    table.add(work, low, high, weight, due, arrival);
    if (steps) add_steps(bytes, table.sla.time, table.sla.penalty, table.sla.offset);
  }
  return table;
}

// One value of the table becomes wrong. False if there is nothing to spoil.
inline bool spoil(Bytes& bytes, Table& table) {
  if (table.size() == 0) return false;
  const std::size_t j = bytes.index(table.size());
  switch (bytes.index(9)) {
    case 0:
      table.work[j] = bytes.wrong(kWork);
      return true;
    case 1:
      table.weight[j] = bytes.wrong(kWeight);
      return true;
    case 2:
      table.arrival[j] = bytes.wrong_time();
      return true;
    case 3:
      table.deadline[j] = bytes.wrong_time();
      return true;
    case 4:
      table.min_slots[j] = bytes.chance(128) ? -1 : std::numeric_limits<std::int64_t>::min();
      return true;
    case 5:
      table.max_slots[j] = bytes.chance(128) ? 0 : -bytes.integer(0, kSlotLimit);
      table.min_slots[j] = 0;
      return true;
    case 6:
      table.min_slots[j] = std::min(table.max_slots[j], kSlotLimit) + 1;
      return true;
    case 7:
      if (table.sla.time.empty()) return false;
      table.sla.time[bytes.index(table.sla.time.size())] = bytes.wrong_time();
      return true;
    default:
      if (table.sla.penalty.empty()) return false;
      table.sla.penalty[bytes.index(table.sla.penalty.size())] = bytes.wrong(kWeight);
      return true;
  }
}

// --- Flows ---

inline FlowTable read_flows(Bytes& bytes, bool due, std::int64_t most = 6) {
  FlowTable table;
  const std::int64_t flows = bytes.integer(0, most);
  const bool times = bytes.chance(128), steps = bytes.chance(100), weights = bytes.chance(160);
  const bool backwards = bytes.chance(12);  // edges that may close a cycle
  for (std::int64_t f = 0; f < flows; ++f) {
    const double arrival = times ? bytes.time() : 0.0;
    const double weight = weights ? bytes.amount(kWeight) : 1.0;
    table.add_flow(arrival, weight, due || bytes.chance(100) ? bytes.time() : kInfinity);
    if (steps) add_steps(bytes, table.sla.time, table.sla.penalty, table.sla.offset);
    const std::int64_t jobs = bytes.integer(0, 6);
    const auto base = static_cast<std::int64_t>(table.work.size());
    for (std::int64_t i = 0; i < jobs; ++i) {
      std::vector<std::int64_t> parents;
      const std::uint8_t edges = bytes.byte();
      for (std::int64_t p = 0; p < (backwards ? jobs : i); ++p) {
        if ((edges >> p & 1) != 0) parents.push_back(base + p);
      }
      const double work = bytes.amount(kWork);
      table.add_job(work, bytes.chance(40) ? kAllSlots : bytes.slots(), parents);
    }
  }
  return table;
}

inline bool spoil(Bytes& bytes, FlowTable& table) {
  if (table.arrival.empty()) return false;
  const std::size_t f = bytes.index(table.arrival.size());
  switch (bytes.index(6)) {
    case 0:
      table.arrival[f] = bytes.wrong_time();
      return true;
    case 1:
      table.weight[f] = bytes.wrong(kWeight);
      return true;
    case 2:
      table.deadline[f] = bytes.wrong_time();
      return true;
    default:
      break;
  }
  if (table.work.empty()) return false;
  const std::size_t i = bytes.index(table.work.size());
  switch (bytes.index(3)) {
    case 0:
      table.work[i] = bytes.wrong(kWork);
      return true;
    case 1:
      table.max_slots[i] = -bytes.integer(0, kSlotLimit);
      return true;
    default:
      if (table.parent.empty()) return false;
      table.parent[bytes.index(table.parent.size())] = bytes.chance(128) ? -1 : kSlotLimit;
      return true;
  }
}

inline std::int64_t read_effort(Bytes& bytes) {
  return bytes.chance(128) ? 0 : bytes.integer(1, 40);
}

}  // namespace malleable::fuzz
