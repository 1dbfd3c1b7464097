// Every policy by its name, once: what makes it, which model takes it and what it promises. The
// core (plans, epochs, the cluster), the C interface, the bindings and Python (checker, explain,
// command line, error messages) ask here.
//
// A new policy needs its own files and one row in registry.cpp. A name that several models know has
// a row in each, because it is another program there. A look-up is linear in the rows; hot paths
// keep what they were told.
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
#include "malleable/policy/epoch_policy.hpp"
#include "malleable/policy/flow_baseline.hpp"
#include "malleable/policy/flowflex.hpp"
#include "malleable/policy/policy_options.hpp"
#include "malleable/policy/slotted_policy.hpp"
#include "malleable/policy/tandem_policy.hpp"

namespace malleable {

enum class Model : std::uint8_t { kJobs, kFlows, kTandem, kSlotted, kCluster };

struct Policy;

struct Promises {
  // Decides by estimates of work. Without: by counts, times and weights alone.
  bool needs_sizes = false;
  // Follows the objective that it is asked for. Without: the objective is only worked out.
  bool follows_objective = false;
  // May decide otherwise though nothing but the clock moved; one that follows an objective only if
  // that has a kind of penalty that is not steady.
  bool depends_on_time = false;
  // Minima mean nothing to it; where it fills slots itself, gang sizes neither.
  bool ignores_minima = false;
  // Raises all jobs to a common level, of slots or of slots over weight.
  Shares shares = Shares::kByOrder;
  // A scheduler's loop can call it: the model's epoch object takes it.
  bool in_loop = false;
  // Reduce tasks have to be preemptive.
  bool preemptive_only = false;
  // As printed it can leave a station idle while there is work for it.
  bool may_idle = false;
  // Plans jobs that all come together, and nothing else.
  bool batches_only = false;
  // What a plan of all work at once costs is within a proven factor of the best.
  bool guaranteed = false;
  // Tries more candidates with more effort.
  bool searches = false;
  // Asks what finished tasks have shown: simulations learn for it unless they are told not to.
  bool learns = false;
};

using MakeSlotted = std::unique_ptr<SlottedPolicy> (*)();

// What a policy of a cluster is made from.
struct ClusterRequest {
  const Policy& row;
  const PolicyOptions& options;
  Aggregate aggregate = Aggregate::kSum;
  Kind kind = Kind::kResponse;
  bool by_user = false;  // settled: no longer "where the cluster names users"
  bool generic = false;
  // By job: p where s slots do s^p, and slots beyond which a job gets no faster; empty: the
  // options' speed-up.
  std::vector<double> exponents = {};
  std::vector<std::int64_t> useful = {};
};
using MakeCluster = std::unique_ptr<ClusterPolicy> (*)(const ClusterRequest&);

// What makes it; std::monostate: whoever takes it does so by its name.
using PolicyCode = std::variant<std::monostate, EpochPolicy, FlowMethod, FlowBaseline, TandemPolicy,
                                MakeSlotted, MakeCluster>;

struct Policy {
  const char* name;
  Model model;
  PolicyCode code;
  Promises promises;
};

// The order within a model is the one in which names are listed.
std::span<const Policy> all_policies();
const char* model_name(Model model);
// The kind of its code as a word: "epoch", "flow", "cluster" ...; empty where there is none.
const char* family_of(const Policy& policy);

// Throws std::invalid_argument that lists the names of the model.
const Policy& find_policy(Model model, std::string_view name);
// A cluster's policy by its name; std::invalid_argument for one that needs a matcher, and where
// slots are of two kinds for one that knows one.
std::unique_ptr<ClusterPolicy> make_cluster_policy(std::string_view name,
                                                   const PolicyOptions& options,
                                                   Aggregate aggregate, Kind kind, bool by_user,
                                                   bool generic, std::vector<double> exponents = {},
                                                   std::vector<std::int64_t> useful = {});
// The row of jobs that has this code.
const Policy& find_policy(EpochPolicy policy);

[[noreturn]] void throw_other_family(const Policy& policy);

// The code of a policy that has to be of this family.
template <typename Code>
Code policy_code(Model model, std::string_view name) {
  const Policy& policy = find_policy(model, name);
  if (const Code* code = std::get_if<Code>(&policy.code)) return *code;
  throw_other_family(policy);
}

}  // namespace malleable
