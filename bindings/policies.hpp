// A cluster policy as Python holds it: it keeps state while a simulation asks it, so it serves one
// simulation at a time.
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

// One class for Python for each policy.
template <typename Policy>
struct Bound : BoundPolicy {
  template <typename... Arguments>
  explicit Bound(Arguments&&... arguments)
      : BoundPolicy(std::make_unique<Policy>(std::forward<Arguments>(arguments)...)) {}
  const Policy& get() const { return static_cast<const Policy&>(*policy); }
};

// What a policy of one's own sees: by phase, shape (n, 2), or where slots are generic what both
// together may use, shape (n,).
py::dict state_columns(const ClusterState& state);

}  // namespace malleable::bindings
