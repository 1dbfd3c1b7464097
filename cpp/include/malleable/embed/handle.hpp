// A handle of the C interface: an object with its thread guard. The handle may own the object, or
// Python may.
//
// Each kind of handle begins with its own number, so that a null pointer, a freed handle and a
// handle of another kind are usually recognised: callers may pass handles as plain integers.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "malleable/malleable.h"
#include "malleable/model/jobs.hpp"
#include "malleable/model/own_lines.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/use_guard.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/flow_epoch.hpp"
#include "malleable/policy/slotted_epoch.hpp"
#include "malleable/policy/tandem_epoch.hpp"
#include "malleable/scheduler/scheduler.hpp"

namespace malleable::embed {

// `Objects`: the types that it may hold.
template <std::uint64_t kNumber, typename... Objects>
struct Handle {
  static constexpr std::uint64_t kTag = 0x6d616c6c65610000 + kNumber;

  // The object and its guard live longer than the handle.
  template <typename Object>
  Handle(Object& of, const Busy& guard) : object(&of), busy(&guard) {}
  // Not virtual, because the tag is read before it is known that the pointer is a handle of this
  // kind.
  ~Handle() { tag = 0; }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  volatile std::uint64_t tag = kTag;  // written by the destructor, too
  std::variant<Objects*...> object;
  const Busy* busy;
  bool owned = false;  // made by the C interface, which frees it
};

// A handle that owns its object; it shares no cache line (kLine) with other data.
template <typename Kind, typename Object>
struct alignas(kLine) Owned : Kind {
  template <typename... Arguments>
  explicit Owned(Arguments&&... arguments)
      : Kind(made, guard), made(std::forward<Arguments>(arguments)...) {
    this->owned = true;
  }

  Object made;
  Busy guard;
};

// Default values for columns that a caller left out. `none` and `offset` hold zeros; `first` counts
// up from 0, so that each job is a flow of its own.
struct Defaults {
  std::vector<double> zero, one;
  std::vector<std::int64_t> none, first, offset;
};

struct PolicyAndScheduler {
  PolicyAndScheduler(std::unique_ptr<ClusterPolicy> by, ClusterNodes nodes,
                     std::span<const Scheduler::Person> users, const SchedulerOptions& options)
      : policy(std::move(by)), scheduler(std::move(nodes), users, options, *policy) {}

  std::unique_ptr<ClusterPolicy> policy;
  Scheduler scheduler;
};

}  // namespace malleable::embed

struct malleable_epoch : malleable::embed::Handle<1, malleable::Epoch, malleable::FlowEpoch,
                                                  malleable::TandemEpoch, malleable::SlottedEpoch> {
  using Handle::Handle;
  malleable::embed::Defaults defaults;
  // Kinds of penalty: of each job of a call; the one of the objective, for jobs that come without a
  // kind and for flows.
  std::vector<malleable::Kind> kinds, objective;
};
struct malleable_scheduler : malleable::embed::Handle<2, malleable::embed::PolicyAndScheduler> {
  using Handle::Handle;
  malleable::embed::Defaults defaults;
};
