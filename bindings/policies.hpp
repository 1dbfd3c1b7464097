// A cluster policy as an object of Python. It has state between the calls of a simulation, so it
// serves one simulation at a time.
#pragma once

#include <memory>
#include <utility>

#include "arrays.hpp"
#include "malleable/policy/cluster_policy.hpp"
#include "use_guard.hpp"

namespace malleable::bindings {

struct BoundPolicy {
  explicit BoundPolicy(std::unique_ptr<ClusterPolicy> made) : policy(std::move(made)) {}
  std::unique_ptr<ClusterPolicy> policy;
  const void* serves = nullptr;  // the last simulation that began with it
  Busy busy;
};

// A class of Python for each policy.
template <typename Policy>
struct Bound : BoundPolicy {
  template <typename... Arguments>
  explicit Bound(Arguments&&... arguments)
      : BoundPolicy(std::make_unique<Policy>(std::forward<Arguments>(arguments)...)) {}
  const Policy& get() const { return static_cast<const Policy&>(*policy); }
};

// The columns that a user's own policy sees: with one entry for each phase, shape (n, 2), or, if
// slots are generic (run maps and reduces), with one for both together, shape (n,).
py::dict state_columns(const ClusterState& state);

}  // namespace malleable::bindings
