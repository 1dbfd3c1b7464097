#include "malleable/policy/registry.hpp"

#include <iterator>

#include "malleable/policy/asrpt.hpp"
#include "malleable/policy/backfill.hpp"
#include "malleable/policy/cluster_auto.hpp"
#include "malleable/policy/cluster_epoch.hpp"
#include "malleable/policy/cluster_finish.hpp"
#include "malleable/policy/cluster_flow.hpp"
#include "malleable/policy/cluster_gittins.hpp"
#include "malleable/policy/cluster_srpt.hpp"
#include "malleable/policy/fair_share.hpp"
#include "malleable/policy/greedy_order.hpp"
#include "malleable/policy/unlock.hpp"

namespace malleable {
namespace {

template <typename Made>
std::unique_ptr<SlottedPolicy> make() {
  return std::make_unique<Made>();
}
std::unique_ptr<SlottedPolicy> make_srpt() {
  return std::make_unique<GreedyOrder>([](const SlottedJob& job) { return job.left(); });
}
std::unique_ptr<SlottedPolicy> make_lrpt() {
  return std::make_unique<GreedyOrder>([](const SlottedJob& job) { return -job.left(); });
}
std::unique_ptr<SlottedPolicy> make_fifo() {
  return std::make_unique<GreedyOrder>([](const SlottedJob&) { return 0.0; });
}

using Made = std::unique_ptr<ClusterPolicy>;

EpochOptions epoch_options(const ClusterRequest& r, EpochPolicy policy) {
  EpochOptions options;
  options.aggregate = r.aggregate;
  options.kind = r.kind;
  options.policy = policy;
  options.min_mode = r.options.start_together() ? MinMode::kStart : MinMode::kGuarantee;
  options.hysteresis = r.options.hysteresis;
  options.effort = r.options.effort;
  return options;
}
template <EpochPolicy policy>
Made epoch_with(const ClusterRequest& r) {
  if (policy == EpochPolicy::kFifo && !r.by_user) return std::make_unique<ClusterFifo>();
  return make_cluster_epoch({epoch_options(r, policy), r.options.at_least_one, r.by_user,
                             r.options.pool_minimum, r.row.promises.learns});
}
template <FlowMethod method>
Made flow_with(const ClusterRequest& r) {
  if (!r.generic) throw std::invalid_argument(std::string(r.row.name) + ": needs generic slots");
  return make_cluster_flow({method, r.aggregate, r.kind, r.options.effort.value_or(0), r.by_user});
}
template <SrptKind kind>
Made srpt_with(const ClusterRequest& r) {
  SrptOptions options{kind, r.options.speedup.p, {}, {}, r.by_user};
  if (kind == SrptKind::kHeSrpt) {
    options.exponents = r.exponents;
    options.useful = r.useful;
  }
  return std::make_unique<ClusterSrpt>(std::move(options));
}
template <Reserve reserve>
Made backfill_with(const ClusterRequest& r) {
  return std::make_unique<Backfill>(BackfillOptions{reserve, r.options.order});
}
Made shortest_first(const ClusterRequest&) {
  return std::make_unique<Backfill>(BackfillOptions{Reserve::kFirst, QueueOrder::kShortest});
}
Made best_order(const ClusterRequest& r) {
  return std::make_unique<Backfill>(
      BackfillOptions{Reserve::kBest, QueueOrder::kShortest, r.kind == Kind::kStretch});
}
Made finish_with(const ClusterRequest& r) {
  Made made = std::make_unique<ClusterFinish>(r.aggregate == Aggregate::kMax, r.kind);
  made->set_queue(best_order(r));
  return made;
}
// If slots are of two kinds, or all jobs have minima, flows are served stage by stage. The policy
// of set_queue serves rigid jobs, that of set_for_node_rates nodes of unlike kinds.
Made auto_with(const ClusterRequest& r) {
  const bool by_stage = !r.generic || r.options.start_together() || r.options.at_least_one ||
                        r.options.pool_minimum > 0.0;
  Made made = by_stage ? epoch_with<EpochPolicy::kFlex>(r)
                       : make_cluster_auto(epoch_options(r, EpochPolicy::kFlex), r.by_user);
  made->set_queue(best_order(r));
  made->set_for_node_rates(finish_with(r));
  return made;
}
Made gittins_with(const ClusterRequest& r) { return std::make_unique<ClusterGittins>(r.by_user); }

// Sets of promises (struct Promises in registry.hpp says what each means). `sizes` is for cluster
// policies: of these, only those made by epoch_with give jobs their minima.
constexpr Promises sizes() { return {.needs_sizes = true, .ignores_minima = true}; }
constexpr Promises objective() {
  return {.needs_sizes = true, .follows_objective = true, .depends_on_time = true, .in_loop = true};
}
constexpr Promises guaranteed(Promises promises) {
  promises.guaranteed = true;
  return promises;
}
constexpr Promises searching(Promises promises) {
  promises.searches = true;
  return promises;
}
constexpr Promises learning(Promises promises) {
  promises.learns = true;
  return promises;
}
constexpr Promises shares(Shares how) { return {.shares = how, .in_loop = true}; }

using enum Model;

// All policies by name: the model, how each is made, and what it needs and promises.
const Policy kPolicies[] = {
    {"flex", kJobs, EpochPolicy::kFlex, searching(objective())},
    {"fair", kJobs, EpochPolicy::kFair, shares(Shares::kEqual)},
    {"fifo", kJobs, EpochPolicy::kFifo, {.ignores_minima = true, .in_loop = true}},
    {"wdeq", kJobs, EpochPolicy::kWdeq, shares(Shares::kWeighted)},
    {"hesrpt", kJobs, EpochPolicy::kHeSrpt, {.needs_sizes = true, .in_loop = true}},

    {"flowflex", kFlows, FlowMethod::kBest, searching(guaranteed(objective()))},
    {"flowflex-fast", kFlows, FlowMethod::kFast, objective()},
    {"flowflex-literal", kFlows, FlowMethod::kLiteral, guaranteed(objective())},
    {"fair", kFlows, FlowBaseline::kFair, shares(Shares::kEqual)},
    {"fifo", kFlows, FlowBaseline::kFifo, {.in_loop = true}},

    {"fcfs", kTandem, TandemPolicy::kFcfs, {.in_loop = true, .may_idle = true}},
    {"ps", kTandem, TandemPolicy::kShare, {.shares = Shares::kEqual}},
    {"wps", kTandem, TandemPolicy::kShare, {.shares = Shares::kWeighted}},
    {"k-lps", kTandem, TandemPolicy::kShare, {.shares = Shares::kEqual}},
    {"max-srpt",
     kTandem,
     TandemPolicy::kMaxSrpt,
     {.needs_sizes = true, .in_loop = true, .may_idle = true, .guaranteed = true}},
    {"split-srpt",
     kTandem,
     TandemPolicy::kSplitSrpt,
     {.needs_sizes = true, .in_loop = true, .may_idle = true, .guaranteed = true}},
    {"two-srpt", kTandem, TandemPolicy::kTwoSrpt, {.needs_sizes = true, .in_loop = true}},
    {"best",
     kTandem,
     {},
     searching({.needs_sizes = true, .batches_only = true, .guaranteed = true})},
    {"makespan", kTandem, {}, {.needs_sizes = true, .batches_only = true}},

    {"asrpt", kSlotted, make<Asrpt>, {.needs_sizes = true, .in_loop = true}},
    {"unlock", kSlotted, make<Unlock>, {.needs_sizes = true, .in_loop = true}},
    {"dsrpt", kSlotted, make<Dsrpt>, {.needs_sizes = true, .preemptive_only = true}},
    {"srpt", kSlotted, make_srpt, {.needs_sizes = true, .in_loop = true}},
    {"lrpt", kSlotted, make_lrpt, {.needs_sizes = true, .in_loop = true}},
    {"fifo", kSlotted, make_fifo, {.in_loop = true}},
    {"fair", kSlotted, make<FairShare>, shares(Shares::kEqual)},

    {"flex", kCluster, epoch_with<EpochPolicy::kFlex>, searching(objective())},
    {"auto", kCluster, auto_with, searching(learning(objective()))},
    {"fair", kCluster, epoch_with<EpochPolicy::kFair>, shares(Shares::kEqual)},
    {"fifo", kCluster, epoch_with<EpochPolicy::kFifo>, {.ignores_minima = true, .in_loop = true}},
    {"wdeq", kCluster, epoch_with<EpochPolicy::kWdeq>, shares(Shares::kWeighted)},
    {"srpt", kCluster, srpt_with<SrptKind::kSrpt>, sizes()},
    {"max-srpt", kCluster, srpt_with<SrptKind::kMaxSrpt>, sizes()},
    {"asrpt", kCluster, srpt_with<SrptKind::kAsrpt>, sizes()},
    {"hesrpt", kCluster, srpt_with<SrptKind::kHeSrpt>, sizes()},
    {"gittins", kCluster, gittins_with, learning({.ignores_minima = true})},
    {"flowflex", kCluster, flow_with<FlowMethod::kBest>,
     searching({.needs_sizes = true, .follows_objective = true, .ignores_minima = true})},
    {"flowflex-fast",
     kCluster,
     flow_with<FlowMethod::kFast>,
     {.needs_sizes = true, .follows_objective = true, .ignores_minima = true}},
    {"fcfs", kCluster, backfill_with<Reserve::kNone>, {.ignores_minima = true}},
    {"easy", kCluster, backfill_with<Reserve::kFirst>, sizes()},
    {"easy-sjf", kCluster, shortest_first, sizes()},
    {"easy-auto",
     kCluster,
     best_order,
     {.needs_sizes = true, .follows_objective = true, .ignores_minima = true}},
    {"conservative", kCluster, backfill_with<Reserve::kEach>, sizes()},
    {"adaptive",
     kCluster,
     finish_with,
     {.needs_sizes = true, .follows_objective = true, .ignores_minima = true}},
    {"adaptive-literal", kCluster, {}, sizes()},
};

constexpr const char* kModels[] = {"jobs", "flows", "tandem", "slotted", "cluster"};
// By index in PolicyCode.
constexpr const char* kFamilies[] = {"", "epoch", "flow", "flow", "overlap", "slotted", "cluster"};
static_assert(std::size(kFamilies) == std::variant_size_v<PolicyCode>);

}  // namespace

std::span<const Policy> all_policies() { return kPolicies; }

const char* model_name(Model model) { return kModels[static_cast<std::size_t>(model)]; }

const char* family_of(const Policy& policy) { return kFamilies[policy.code.index()]; }

const Policy& find_policy(Model model, std::string_view name) {
  std::string names;
  for (const Policy& policy : kPolicies) {
    if (policy.model != model) continue;
    if (policy.name == name) return policy;
    names += names.empty() ? policy.name : std::string(", ") + policy.name;
  }
  throw std::invalid_argument("policy = '" + std::string(name) + "': expected one of " + names);
}

const Policy& find_policy(Model model, const PolicyCode& code) {
  for (const Policy& row : kPolicies) {
    if (row.model == model && row.code == code) return row;
  }
  throw std::invalid_argument("policy: no code of one");
}

void throw_other_family(const Policy& policy) {
  throw std::invalid_argument("policy = '" + std::string(policy.name) + "': of another family (" +
                              family_of(policy) + ")");
}

std::unique_ptr<ClusterPolicy> make_cluster_policy(std::string_view name,
                                                   const PolicyOptions& options,
                                                   Aggregate aggregate, Kind kind, bool by_user,
                                                   bool generic, std::vector<double> exponents,
                                                   std::vector<std::int64_t> useful) {
  const Policy& row = find_policy(Model::kCluster, name);
  const auto* make = std::get_if<MakeCluster>(&row.code);
  if (make == nullptr) {
    throw std::invalid_argument("policy = '" + std::string(row.name) +
                                "': needs a matcher, see malleable_scheduler_options");
  }
  return (*make)(
      {row, options, aggregate, kind, by_user, generic, std::move(exponents), std::move(useful)});
}

std::unique_ptr<SlottedPolicy> make_slotted_policy(const std::string& name, bool preemptive) {
  const Policy& policy = find_policy(Model::kSlotted, name);
  if (policy.promises.preemptive_only && !preemptive) {
    throw std::invalid_argument("policy = '" + name +
                                "': defined for preemptive reduce tasks only");
  }
  return std::get<MakeSlotted>(policy.code)();
}

}  // namespace malleable
