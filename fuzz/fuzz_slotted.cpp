// The slotted map-and-reduce simulation, every policy, both models, right and wrong estimates.
#include "malleable/kernel/virtual_srpt.hpp"
#include "malleable/sim/slotted.hpp"
#include "target.hpp"

namespace malleable::fuzz {
namespace {

constexpr const char* kPolicies[] = {"asrpt", "unlock", "srpt", "lrpt", "fifo", "fair", "dsrpt"};

struct Stopped {};  // as a user's Ctrl-C would

SlottedTable read_slotted(Bytes& bytes, bool huge) {
  SlottedTable table;
  const std::size_t count = bytes.index(16);
  std::int64_t at = 1;
  const auto units = [&](std::int64_t least) {
    const std::uint8_t how = bytes.byte();
    if (how < 240 || !huge) return least + how % 12;
    return bytes.integer(least, kMostUnits / 16);
  };
  for (std::size_t j = 0; j < count; ++j) {
    if (bytes.chance(140)) {
      at = std::min(kLastStep, at + (bytes.chance(16) ? bytes.integer(0, kLastStep / 64)
                                                      : bytes.integer(0, 12)));
    }
    std::vector<std::int64_t> tasks(bytes.index(5));
    for (auto& task : tasks) task = units(1);
    table.add(at, units(0), tasks);
  }
  return table;
}

bool spoil_table(Bytes& bytes, SlottedTable& table) {
  if (table.map.empty()) return false;
  const std::size_t j = bytes.index(table.map.size());
  switch (bytes.index(4)) {
    case 0:
      table.map[j] = bytes.chance(128) ? -1 : kMostUnits + 1;
      return true;
    case 1:
      table.arrival[j] = bytes.chance(128) ? 0 : kLastStep + 1;
      return true;
    case 2:
      if (table.task.empty()) return false;
      table.task[bytes.index(table.task.size())] = bytes.chance(128) ? 0 : kMostUnits + 1;
      return true;
    default:
      table.offset[j + 1] = -1;
      return true;
  }
}

}  // namespace

void fuzz(Bytes bytes) {
  const char* policy = bytes.pick(kPolicies);
  SlottedOptions options;
  options.preemptive = std::string(policy) == "dsrpt" || bytes.chance(128);
  options.machines =
      bytes.chance(220) ? 1 + bytes.integer(0, 15) : std::min(kMostUnits, bytes.slots());
  const bool huge = bytes.chance(24);
  SlottedTable table = read_slotted(bytes, huge);
  const bool bad = bytes.astray(24) && spoil_table(bytes, table);
  const bool stopped = refused([&] { validate(table.view()); });
  CHECK_EQUAL(stopped, bad);
  if (stopped || bad) return;

  const std::size_t n = table.map.size();
  std::vector<double> estimate;
  if (bytes.chance(100)) {
    for (std::size_t j = 0; j < n; ++j) estimate.push_back(bytes.amount({1e-3, 1e12}));
  }
  SlottedSim sim(options, make_slotted_policy(policy, options.preemptive));
  int polls = 0;
  sim.set_poll([&] {
    if (++polls > 1) throw Stopped();
  });
  try {
    const std::size_t cut = bytes.index(n + 1);
    SlottedTable first, second;  // fed in two parts
    for (std::size_t j = 0; j < n; ++j) {
      const std::vector<std::int64_t> tasks(table.task.begin() + table.offset[j],
                                            table.task.begin() + table.offset[j + 1]);
      (j < cut ? first : second).add(table.arrival[j], table.map[j], tasks);
    }
    const std::span<const double> guess(estimate);
    sim.feed(first.view(), estimate.empty() ? guess : guess.subspan(0, cut));
    sim.feed(second.view(), estimate.empty() ? guess : guess.subspan(cut));
    sim.advance(kLastStep);
  } catch (const Stopped&) {
    CHECK(huge);  // a table of a few hundred units ends in a few thousand steps
    return;
  }
  const SlottedTotals& totals = sim.totals();
  const bool late = n > 0 && sim.live() > 0;  // what does not end by the last step there is
  if (late) {
    CHECK(huge);
    return;
  }
  CHECK_EQUAL(totals.arrived, static_cast<std::int64_t>(n));
  CHECK_EQUAL(totals.completed, totals.arrived);
  std::int64_t work = 0, flow = 0, end = 0;
  const SlottedRecords records = sim.take_records();
  CHECK_EQUAL(records.job.size(), n);
  std::vector<std::int64_t> finish(n, -1);
  for (std::size_t k = 0; k < records.job.size(); ++k) {
    const auto j = static_cast<std::size_t>(records.job[k]);
    CHECK(j < n);
    if (j >= n) return;
    CHECK_EQUAL(finish[j], -1);
    finish[j] = records.finish[k];
    std::int64_t longest = 0;
    for (auto t = table.offset[j]; t < table.offset[j + 1]; ++t) {
      longest = std::max(longest, table.task[static_cast<std::size_t>(t)]);
    }
    const std::int64_t reduce = table.reduce(j), all = table.map[j] + reduce;
    work += all;
    const auto steps = [&](std::int64_t units) {
      return units / options.machines + (units % options.machines != 0 ? 1 : 0);
    };
    // Alone, in the first steps there are, maps before reduces.
    std::int64_t alone = steps(table.map[j]);
    alone += options.preemptive ? steps(reduce) : std::max(steps(reduce), longest);
    CHECK(finish[j] >= table.arrival[j] - 1 + alone);
    if (all > 0) CHECK(records.start[k] >= table.arrival[j] && records.start[k] <= finish[j]);
    CHECK(records.map_finish[k] <= finish[j]);
    if (reduce > 0 && table.map[j] > 0) CHECK(records.map_finish[k] < finish[j]);
    flow += finish[j] - table.arrival[j] + 1;
    end = std::max(end, finish[j]);
  }
  CHECK_EQUAL(totals.busy, work);
  if (flow < std::int64_t{1} << 52) CHECK_EQUAL(totals.flow, static_cast<double>(flow));
  // No schedule beats SRPT without precedence, summed over jobs.
  if (options.preemptive) {
    std::vector<std::int64_t> best(n, 0);
    srpt_finish(table.view(), options.machines, best);
    std::int64_t least = 0;
    for (std::size_t j = 0; j < n; ++j) least += best[j] - table.arrival[j] + 1;
    CHECK(least <= flow);
  }
}

}  // namespace malleable::fuzz
