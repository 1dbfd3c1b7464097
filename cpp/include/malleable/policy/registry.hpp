// All policies by name: how each is made, its model and its properties. The core (plans, epochs,
// the cluster), the C interface, the bindings and Python (checker, explain, command line, error
// messages) look policies up here.
//
// A new policy needs its own files and one row in registry.cpp. A name that several models have has
// a row in each, because it is different code there. A look-up is linear in the rows; hot paths
// keep the result.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "malleable/policy/baseline.hpp"
#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/flow_baseline.hpp"
#include "malleable/policy/flowflex.hpp"
#include "malleable/policy/policy_options.hpp"
#include "malleable/policy/slotted_policy.hpp"
#include "malleable/policy/tandem_policy.hpp"

namespace malleable {

enum class Model : std::uint8_t { kJobs, kFlows, kTandem, kSlotted, kCluster };

struct Policy;

struct Promises {
  // True: decides by estimates of work. False: only by counts, times and weights.
  bool needs_sizes = false;
  // True: follows the given objective. False: the objective is only evaluated.
  bool follows_objective = false;
  // May decide differently as time passes, though nothing else changed. A policy that follows an
  // objective does so only for kinds of penalties that are not steady: not one line for all times
  // (model/penalties.hpp).
  bool depends_on_time = false;
  // Ignores minima; if it fills slots itself, gang sizes, too.
  bool ignores_minima = false;
  // Gives all jobs the same number of slots, or of slots over weight.
  Shares shares = Shares::kByOrder;
  // A scheduler's loop can call it: the model's class for such decisions (Epoch, FlowEpoch,
  // TandemEpoch, SlottedEpoch) takes it.
  bool in_loop = false;
  // Reduce tasks must be preemptive.
  bool preemptive_only = false;
  // In the form of its authors (Lin et al. 2013) it can leave a station idle while there is work
  // for it.
  bool may_idle = false;
  // Plans only batches: jobs that all come together.
  bool batches_only = false;
  // The cost of a plan of all work at once is within a proven factor of the best.
  bool guaranteed = false;
  // Tries more candidates with more effort.
  bool searches = false;
  // Uses estimates learnt from finished tasks: simulations learn for it by default.
  bool learns = false;
};

using MakeSlotted = std::unique_ptr<SlottedPolicy> (*)();

// The arguments from which a cluster policy is made.
struct ClusterRequest {
  const Policy& row;
  const PolicyOptions& options;
  Aggregate aggregate = Aggregate::kSum;
  Kind kind = Kind::kResponse;
  // Users share the slots first, then each user's jobs. The final value: the option's default
  // depends on whether the cluster has users.
  bool by_user = false;
  bool generic = false;  // slots run both maps and reduces
  // By job: p if s slots do s^p, and the slots beyond which a job gets no faster; empty: the
  // options' speed-up.
  std::vector<double> exponents = {};
  std::vector<std::int64_t> useful = {};
};
using MakeCluster = std::unique_ptr<ClusterPolicy> (*)(const ClusterRequest&);

// Code of the policy; std::monostate: callers make it by its name.
using PolicyCode = std::variant<std::monostate, EpochPolicy, FlowMethod, FlowBaseline, TandemPolicy,
                                MakeSlotted, MakeCluster>;

struct Policy {
  const char* name;
  Model model;
  PolicyCode code;
  Promises promises;
};

// Within a model, names are listed in this order.
std::span<const Policy> all_policies();
const char* model_name(Model model);
// The kind of its code as a word: "epoch", "flow", "cluster" ...; empty if there is none.
const char* family_of(const Policy& policy);

// Throws std::invalid_argument that lists the names of the model.
const Policy& find_policy(Model model, std::string_view name);
// Makes a cluster policy by its name. Throws std::invalid_argument if the policy needs a matcher
// (the caller's function that solves its linear programs, ClassMatcher), or if it knows only one
// kind of slots and there are two.
std::unique_ptr<ClusterPolicy> make_cluster_policy(std::string_view name,
                                                   const PolicyOptions& options,
                                                   Aggregate aggregate, Kind kind, bool by_user,
                                                   bool generic, std::vector<double> exponents = {},
                                                   std::vector<std::int64_t> useful = {});
// The row of a model with this code.
const Policy& find_policy(Model model, const PolicyCode& code);
inline const Policy& find_policy(EpochPolicy policy) { return find_policy(Model::kJobs, policy); }

[[noreturn]] void throw_other_family(const Policy& policy);

// The code of a policy, which must be of this family.
template <typename Code>
Code policy_code(Model model, std::string_view name) {
  const Policy& policy = find_policy(model, name);
  if (const Code* code = std::get_if<Code>(&policy.code)) return *code;
  throw_other_family(policy);
}

}  // namespace malleable
