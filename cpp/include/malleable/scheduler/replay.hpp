// Replays recorded calls of a scheduler, as bytes, into a new scheduler
// (src/malleable/cluster/events writes them and documents the format).
//
// Each call is: a byte for the name, a byte for the number of columns, then each column: a byte for
// its name, one for its type (0 float64, 1 int64, 2 int32, 3 uint8), its length as four bytes, its
// values; all little-endian. O(bytes), and the cost of the scheduler; allocates nothing once warm.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "malleable/scheduler/scheduler.hpp"

namespace malleable {

inline constexpr std::array kEventCalls = {
    "add",    "started",   "ended",     "failed",         "ready",     "observe",
    "update", "set_users", "set_slots", "set_blocks",     "finish",    "remove",
    "decide", "assign",    "lost",      "set_processors", "take_back",
};
inline constexpr std::array kEventColumns = {
    "now",           "ids",
    "phase",         "count",
    "node",          "task",
    "seconds",       "arrival",
    "maps",          "reduces",
    "map_seconds",   "reduce_seconds",
    "min_map_slots", "min_reduce_slots",
    "weight",        "deadline",
    "user",          "group",
    "flow",          "after_offset",
    "after",         "new_users",
    "pending_maps",  "pending_reduces",
    "running_maps",  "running_reduces",
    "done_maps",     "done_reduces",
    "failed_maps",   "failed_reduces",
    "users",         "people",
    "map_slots",     "reduce_slots",
    "nodes",         "copies",
    "free_maps",     "free_reduces",
    "start_ids",     "start_phase",
    "start_node",    "slots",
    "max_slots",     "speedup",
    "elapsed_maps",  "elapsed_reduces",
    "parents",       "parents_offset",
    "mean_maps",     "mean_reduces",
    "copying",       "block",
    "node_rates",    "width",
    "requested",     "partition",
    "memory",        "gpus",
    "min_mode",      "restart",
};

struct Replayed {
  std::int64_t jobs = 0, calls = 0, decisions = 0;
  bool same = true;            // all decisions and starts equal the record
  std::int64_t differing = 0;  // decisions in which `other` gives some job different slots
  double moved = 0.0;          // slots that change hands between the two, in all decisions
};

// `other` may be null, or a scheduler with another policy, which sees tasks start as recorded, even
// if it would start others. Throws std::invalid_argument for bytes that are cut or damaged, and
// errors of the schedulers.
Replayed replay(std::string_view calls, Scheduler& fresh, Scheduler* other);

}  // namespace malleable
