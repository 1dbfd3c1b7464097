// The cluster simulation: tasks on nodes, with every policy that the core has and every option.
//
// Bytes are read in the order of the lists below, not of the core's tables, so that the inputs of
// the corpus go on meaning the same. A new option comes at the end of kLaterOptions: it is read
// behind all else, where inputs that were kept before have no bytes.
#include <numeric>
#include <span>
#include <string_view>

#include "malleable/policy/cluster_adaptive.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/sim/cluster.hpp"
#include "target.hpp"

namespace malleable::fuzz {
namespace {

constexpr Kind kClusterKinds[] = {Kind::kResponse, Kind::kCompletion, Kind::kStretch,
                                  Kind::kTardy,    Kind::kTardiness,  Kind::kLateness};

constexpr std::string_view kOptions[] = {
    "hysteresis",       "effort",  "at_least_one", "by_user",    "min_mode",
    "pool_minimum",     "speedup", "slow_start",   "split_copy", "delay",
    "replicas",         "learn",   "prior",        "ageing",     "period",
    "processors",       "epoch",   "heartbeat",    "noise",      "straggler_share",
    "straggler_factor", "failure", "lose_output",  "backups",    "take_back",
    "inherent"};
constexpr std::string_view kLaterOptions[] = {"order"};
constexpr std::string_view kPolicies[] = {
    "flex",  "auto",   "fair",     "fifo",      "wdeq",          "srpt",     "max-srpt",
    "asrpt", "hesrpt", "gittins",  "flowflex",  "flowflex-fast", "adaptive", "adaptive-literal",
    "fcfs",  "easy",   "easy-sjf", "easy-auto", "conservative"};

// What the views of a simulation point to.
struct World {
  std::vector<std::int64_t> slots[2], type, tasks[2], offset[2], minimum[2], user, group, flow,
      after_offset{0}, after, change_node, rate_offset{0}, width;
  std::vector<double> rate, storage, link, arrival, seconds[2], shuffle, block, weight, deadline,
      rates, change_time, estimate, user_minimum, user_priority, requested, restart;
  std::vector<std::uint8_t> change_up;
  bool generic = false, own_times[2] = {false, false};

  ClusterView cluster() const { return {slots[0], slots[1], rate, type, storage, link, generic}; }
  ClusterJobsView jobs() const {
    ClusterJobsView view;
    view.arrival = arrival;
    for (const Phase p : {kMap, kReduce}) {
      view.tasks[p] = tasks[p];
      view.seconds[p] = seconds[p];
      if (own_times[p]) view.offset[p] = offset[p];
      view.min_slots[p] = minimum[p];
    }
    view.shuffle = shuffle;
    view.block = block;
    view.weight = weight;
    view.deadline = deadline;
    view.width = width;
    view.requested = requested;
    view.restart = restart;
    view.user = user;
    view.group = group;
    if (!after.empty()) {
      view.after_offset = after_offset;
      view.after = after;
      view.flow = flow;  // of one flow
    }
    if (!rates.empty()) {
      view.rate_offset = rate_offset;
      view.rates = rates;
    }
    view.user_minimum = user_minimum;
    view.user_priority = user_priority;
    return view;
  }
};

World read_world(Bytes& bytes, const Domain& times, bool network, bool gang) {
  World world;
  world.generic = bytes.chance(90);
  const std::size_t nodes = 1 + bytes.index(4);
  const auto bandwidth = [&] {
    return network && bytes.chance(180) ? std::fmax(1e-3, bytes.amount({1e-3, 1e9})) : kInfinity;
  };
  for (std::size_t n = 0; n < nodes; ++n) {
    world.slots[0].push_back(bytes.integer(n == 0 ? 1 : 0, 4));
    world.slots[1].push_back(world.generic ? 0 : bytes.integer(n == 0 ? 1 : 0, 3));
    world.type.push_back(static_cast<std::int64_t>(bytes.index(nodes)));
    world.rate.push_back(bytes.chance(128) ? 1.0 : std::fmax(1e-3, bytes.amount({1e-3, 1e3})));
    world.storage.push_back(bandwidth());
    world.link.push_back(bandwidth());
  }
  // Nodes of one type have the rate of the first node of the type.
  for (std::size_t n = 0; n < nodes; ++n) {
    for (std::size_t k = 0; k < n; ++k) {
      if (world.type[k] == world.type[n]) world.rate[n] = world.rate[k];
    }
  }
  const std::size_t jobs = bytes.index(8), users = bytes.chance(64) ? 1 + bytes.index(3) : 0;
  for (const Phase p : {kMap, kReduce}) world.own_times[p] = bytes.chance(64);
  for (const Phase p : {kMap, kReduce}) world.offset[p].push_back(0);
  const bool minima = gang || bytes.chance(64), follow = bytes.chance(48), speed = bytes.chance(40);
  const bool together = bytes.chance(64);
  std::int64_t most[2] = {0, 0};
  for (std::size_t n = 0; n < nodes; ++n) {
    for (const Phase p : {kMap, kReduce}) most[p] += world.slots[world.generic ? 0 : p][n];
  }
  double at = 0.0;
  for (std::size_t j = 0; j < jobs; ++j) {
    if (!together) at += bytes.amount(times);
    world.arrival.push_back(bytes.chance(20) ? 0.0 : at);
    for (const Phase p : {kMap, kReduce}) {
      const std::int64_t count = bytes.integer(0, 6);
      world.tasks[p].push_back(count);
      if (world.own_times[p]) {
        for (std::int64_t t = 0; t < count; ++t) world.seconds[p].push_back(bytes.amount(times));
        world.offset[p].push_back(static_cast<std::int64_t>(world.seconds[p].size()));
      } else {
        world.seconds[p].push_back(bytes.amount(times));
      }
      if (minima) world.minimum[p].push_back(bytes.integer(0, most[p]));
    }
    world.shuffle.push_back(bytes.chance(128) ? 0.0 : bytes.amount(times));
    if (network) world.block.push_back(bytes.amount({1e-3, 1e6}));
    world.weight.push_back(bytes.amount(kWeight));
    world.deadline.push_back(bytes.time());
    if (users > 0) world.user.push_back(static_cast<std::int64_t>(bytes.index(users)));
    world.group.push_back(bytes.integer(0, 3));
    world.flow.push_back(0);
    if (follow && j > 0 && bytes.chance(128)) {
      world.after.push_back(static_cast<std::int64_t>(bytes.index(j)));
    }
    world.after_offset.push_back(static_cast<std::int64_t>(world.after.size()));
    if (speed) {
      double rate = 0.0;
      for (std::size_t k = bytes.index(4); k > 0; --k) {
        world.rates.push_back(rate += std::fmax(1e-3, bytes.amount({1e-3, 10.0})));
      }
    }
    world.rate_offset.push_back(static_cast<std::int64_t>(world.rates.size()));
  }
  for (std::size_t u = 0; u < users; ++u) {
    world.user_minimum.push_back(bytes.chance(128) ? 0.0 : bytes.amount({1e-3, 10.0}));
    world.user_priority.push_back(std::fmax(1e-3, bytes.amount({1e-3, 1e3})));
  }
  if (nodes > 1 && bytes.chance(80)) {  // the first node stays
    double when = 0.0;
    for (std::size_t k = 1 + bytes.index(4); k > 0; --k) {
      world.change_time.push_back(when += bytes.amount(times));
      world.change_node.push_back(bytes.integer(1, static_cast<std::int64_t>(nodes) - 1));
      world.change_up.push_back(bytes.chance(128) ? 1 : 0);
    }
  }
  if (bytes.chance(80)) {
    for (std::size_t k = 0; k < 2 * jobs; ++k) world.estimate.push_back(bytes.amount(times));
  }
  if (bytes.chance(80)) {  // rigid jobs: their maps start together, and have requested times
    for (const std::int64_t maps : world.tasks[kMap]) {
      world.width.push_back(bytes.chance(128) ? std::max<std::int64_t>(1, maps) : 1);
      world.requested.push_back(bytes.chance(64) ? 0.0 : bytes.amount(times));
    }
  }
  return world;
}

// A policy of the registry, and what it needs beside the options.
struct Chosen {
  bool by_user = false, generic = false;
  Kind kind{};
  Aggregate aggregate{};
  const Policy* row = nullptr;
  AdaptiveOptions own;
  std::uint8_t how = 0;
};

Chosen read_policy(Bytes& bytes, const World& world) {
  Chosen chosen;
  chosen.generic = world.generic;
  chosen.by_user = !world.user.empty() && bytes.chance(128);
  chosen.kind = bytes.pick(kClusterKinds);
  chosen.aggregate = bytes.chance(80) ? Aggregate::kMax : Aggregate::kSum;
  chosen.row = &find_policy(Model::kCluster, bytes.pick(kPolicies));
  if (!std::holds_alternative<std::monostate>(chosen.row->code)) return chosen;
  // As printed, a job may wait without end.
  chosen.own.fallback = true;
  chosen.own.max_wait = bytes.amount({1e-3, 1e3});
  chosen.own.threshold = bytes.unit();
  chosen.own.patience = bytes.amount({1e-3, 1e3});
  chosen.how = bytes.byte();
  chosen.own.grouped = bytes.chance(128);
  chosen.own.placement = bytes.chance(64);
  return chosen;
}

std::unique_ptr<ClusterPolicy> make_policy(const Chosen& chosen, const ClusterOptions& options) {
  if (std::holds_alternative<std::monostate>(chosen.row->code)) {
    return std::make_unique<ClusterAdaptive>(
        chosen.own, [how = chosen.how](std::span<const double> arrival, std::span<const double>,
                                       std::span<const double> nodes) {
          std::vector<double> share(arrival.size() * nodes.size(), how % 2 ? 1.0 : 0.0);
          return share;
        });
  }
  PolicyOptions named = options;
  if (!chosen.row->promises.searches) {  // others refuse what FLEX alone reads
    named.hysteresis = 0.0;
    named.effort.reset();
  }
  const auto by_name = [&](std::string_view name, const PolicyOptions& with) {
    return make_cluster_policy(name, with, chosen.aggregate, chosen.kind, chosen.by_user,
                               chosen.generic);
  };
  std::unique_ptr<ClusterPolicy> made;
  if (!refused([&] { made = by_name(chosen.row->name, named); })) return made;
  CHECK(!chosen.generic);
  return by_name("auto", options);
}

// One value in the option's range: times within those of the simulation, counts and factors small,
// so that a case stays short.
template <typename T>
void read_value(Bytes& bytes, const Option& option, double least, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = bytes.chance(128);
  } else if constexpr (std::is_same_v<T, double>) {
    if (*option.unit != '\0') {
      value = bytes.chance(64) ? 0.0 : bytes.amount({100.0 * least, 1e6 * least});
    } else if (std::isinf(option.high)) {
      value = std::fmax(1.0, bytes.amount({1.0, 100.0}));
    } else {
      value = option.low + (std::fmin(option.high, 1.0) - option.low) * bytes.unit();
    }
  } else if constexpr (std::is_same_v<T, CommonSpeedup>) {
    value.p = 0.05 + 0.95 * bytes.unit();
    if (bytes.chance(64)) value.rates = {1.0, 1.5, 1.5, 3.0};
  } else if constexpr (std::is_integral_v<T>) {
    value =
        static_cast<T>(bytes.integer(0, static_cast<std::int64_t>(std::fmin(option.high, 3.0))));
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(bytes.index(option.words.size()));
  } else {
    read_value(bytes, option, least, value.emplace());
  }
}

void read_options(Bytes& bytes, double least, std::span<const std::string_view> names,
                  ClusterOptions& options) {
  for (const std::string_view name : names) {
    bool known = false;
    ClusterOptions::each(options, [&](const Option& option, auto& value) {
      if (name != option.name) return;
      known = true;
      if (bytes.chance(64)) read_value(bytes, option, least, value);
    });
    CHECK(known);
  }
}

// Every option and policy of the core stands in the lists above.
void check_lists() {
  std::size_t options = 0, policies = 0;
  ClusterOptions table;
  ClusterOptions::each(table, [&](const Option&, const auto&) { ++options; });
  for (const Policy& row : all_policies()) policies += row.model == Model::kCluster;
  CHECK_EQUAL(options, std::size(kOptions) + std::size(kLaterOptions));
  CHECK_EQUAL(policies, std::size(kPolicies));
}

// Replays the trace: no node ever runs more tasks than it has slots, and each task ends once. A
// backup task that cannot be taken back may still run when the last job ends; no other one does.
void check_trace(const World& world, const ClusterSimulation& simulation, bool outlasts) {
  const std::size_t nodes = world.rate.size(), jobs = world.arrival.size();
  std::vector<std::int64_t> used[2] = {std::vector<std::int64_t>(nodes, 0),
                                       std::vector<std::int64_t>(nodes, 0)};
  std::vector<std::int64_t> finished(2 * jobs, 0), lost(2 * jobs, 0);
  double before = 0.0;
  for (std::size_t k = 0; k < simulation.trace_time.size(); ++k) {
    CHECK(simulation.trace_time[k] >= before);
    before = simulation.trace_time[k];
    const auto node = static_cast<std::size_t>(simulation.trace_node[k]);
    const auto job = static_cast<std::size_t>(simulation.trace_job[k]);
    const auto phase = static_cast<std::size_t>(simulation.trace_phase[k]);
    CHECK(job < jobs && node < nodes && phase < 2);
    if (job >= jobs || node >= nodes || phase >= 2) return;
    const std::size_t pool = world.generic ? 0 : phase;
    switch (simulation.trace_kind[k]) {
      case 0:
      case 5:  // a backup task starts
        CHECK(++used[pool][node] <= world.slots[pool][node]);
        CHECK(before >= world.arrival[job]);
        break;
      case 1:
        ++finished[2 * job + phase];
        CHECK(--used[pool][node] >= 0);
        break;
      case 4:
        ++lost[2 * job + phase];
        break;
      default:
        CHECK(--used[pool][node] >= 0);
    }
  }
  for (std::size_t k = 0; k < finished.size(); ++k) {
    CHECK_EQUAL(finished[k] - lost[k], world.tasks[k % 2][k / 2]);
  }
  for (const std::size_t pool : {0U, 1U}) {
    const std::int64_t running =
        std::accumulate(used[pool].begin(), used[pool].end(), std::int64_t{0});
    CHECK(running == 0 || outlasts);
    CHECK_EQUAL(simulation.state().free[pool] + running, simulation.state().slots[pool]);
  }
}

}  // namespace

void fuzz(Bytes bytes) {
  check_lists();
  // Times of one simulation lie within some decades, so that heartbeats and epochs stay countable.
  const double least = std::exp(std::log(1e-6) + bytes.unit() * std::log(1e12));
  const Domain times{least, 1e5 * least};
  ClusterOptions options;
  read_options(bytes, least, kOptions, options);
  options.epoch = bytes.chance(100) ? 0.0 : bytes.amount({100.0 * least, 1e6 * least});
  options.seed = bytes.byte();
  const bool network = bytes.chance(80);
  options.trace = true;
  World world = read_world(bytes, times, network, options.start_together());
  validate(world.cluster());
  validate(world.jobs());
  if (refused([&] { validate_fit(world.cluster(), world.jobs()); })) return;
  if (options.start_together()) {
    // Gangs that never fit are refused by the border; so are those that nodes that left could hold.
    for (const Phase p : {kMap, kReduce}) {
      const std::int64_t first = world.slots[world.generic ? 0 : p][0];
      for (std::int64_t& minimum : world.minimum[p]) minimum = std::min(minimum, first);
    }
  }
  const std::int64_t stays = std::max<std::int64_t>(1, world.slots[0][0]);
  for (std::int64_t& width : world.width) width = std::min(width, stays);
  const Chosen chosen = read_policy(bytes, world);
  const double pause = bytes.amount(times);
  read_options(bytes, least, kLaterOptions, options);
  for (std::size_t j = 0, all = bytes.chance(64) ? world.arrival.size() : 0; j < all; ++j) {
    world.restart.push_back(bytes.chance(64) ? 0.0 : bytes.amount(times));
  }
  const auto policy = make_policy(chosen, options);
  // A queue of jobs looks at all free slots at once.
  if (policy->style() == ClusterPolicy::Style::kStarts) options.heartbeat = 0.0;
  const ClusterChanges changes{world.change_time, world.change_node, world.change_up};
  ClusterSimulation simulation(world.cluster(), world.jobs(), options, changes, world.estimate,
                               *policy);
  simulation.advance(pause);
  simulation.advance(kInfinity);

  const ClusterTotals& totals = simulation.totals();
  const auto jobs = static_cast<std::int64_t>(world.arrival.size());
  CHECK_EQUAL(totals.completed, totals.arrived);
  CHECK_EQUAL(totals.arrived, jobs);
  if (totals.completed < jobs) return;
  check_trace(world, simulation, options.backups && !options.take_back);
  for (std::size_t j = 0; j < world.arrival.size(); ++j) {
    const double end = simulation.completion[j];
    CHECK(std::isfinite(end) && end >= world.arrival[j]);
    CHECK(simulation.came[j] >= world.arrival[j] && simulation.came[j] <= end);
    for (auto k = world.after_offset[j]; k < world.after_offset[j + 1]; ++k) {
      const auto parent = static_cast<std::size_t>(world.after[static_cast<std::size_t>(k)]);
      CHECK(simulation.came[j] >= simulation.completion[parent]);
    }
  }
  for (const int pool : {0, 1}) {
    CHECK_AT_MOST(totals.busy[pool], totals.offered[pool], 1e-9 * totals.offered[pool]);
    CHECK(totals.lost[pool] >= 0.0 && totals.idle[pool] >= 0.0);
  }
  CHECK(simulation.remote_bytes() >= 0.0);
}

}  // namespace malleable::fuzz
