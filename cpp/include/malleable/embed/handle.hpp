// What the C interface hands out: an object with its thread guard, its own or somebody else's.
//
// Each kind of handle begins with a number of its own, so that null, a freed handle and one of
// another kind are told apart as far as memory allows: callers may pass them as plain integers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "malleable/malleable.h"
#include "malleable/model/jobs.hpp"
#include "malleable/model/own_lines.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/turn.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/flow_epoch.hpp"
#include "malleable/policy/overlap_epoch.hpp"
#include "malleable/policy/slotted_epoch.hpp"
#include "malleable/scheduler/scheduler.hpp"

namespace malleable::embed {

template <typename Of, std::uint64_t kNumber>
struct Handle {
  using Object = Of;
  static constexpr std::uint64_t kTag = 0x6d616c6c65610000 + kNumber;

  // The object and its guard live longer than the handle.
  Handle(Object& of, const Busy& guard) : object(&of), busy(&guard) {}
  // Not virtual: the tag of a handle of another kind is read before it is known to be one.
  ~Handle() { tag = 0; }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  volatile std::uint64_t tag = kTag;  // written by the destructor, too
  Object* object;
  const Busy* busy;
  bool owned = false;  // made by the C interface, which frees it
};

// A handle with an object of its own.
template <typename Kind>
struct alignas(kLine) Owned : Kind {
  template <typename... Arguments>
  explicit Owned(Arguments&&... arguments)
      : Kind(made, guard), made(std::forward<Arguments>(arguments)...) {
    this->owned = true;
  }

  typename Kind::Object made;
  Busy guard;
};

// Columns that a caller left out.
struct Defaults {
  std::vector<double> zero, one, infinite;
  std::vector<std::int64_t> none, all, first, offset;
  std::vector<std::uint8_t> yes;
};

struct PolicyAndScheduler {
  PolicyAndScheduler(std::unique_ptr<ClusterPolicy> by, ClusterNodes nodes,
                     std::span<const Scheduler::Person> users, const SchedulerOptions& options)
      : policy(std::move(by)), scheduler(std::move(nodes), users, options, *policy) {}

  std::unique_ptr<ClusterPolicy> policy;
  Scheduler scheduler;
};

}  // namespace malleable::embed

struct malleable_epoch : malleable::embed::Handle<malleable::Epoch, 1> {
  using Handle::Handle;
  malleable::embed::Defaults defaults;
  std::vector<malleable::Kind> kinds;
};
struct malleable_flow_epoch : malleable::embed::Handle<malleable::FlowEpoch, 2> {
  using Handle::Handle;
  std::vector<malleable::Kind> objective;  // the one kind of its flows
};
struct malleable_overlap_epoch : malleable::embed::Handle<malleable::OverlapEpoch, 3> {
  using Handle::Handle;
  malleable::embed::Defaults defaults;
};
struct malleable_slotted_epoch : malleable::embed::Handle<malleable::SlottedEpoch, 4> {
  using Handle::Handle;
  malleable::embed::Defaults defaults;
};
struct malleable_scheduler : malleable::embed::Handle<malleable::embed::PolicyAndScheduler, 5> {
  using Handle::Handle;
  malleable::embed::Defaults defaults;
};
