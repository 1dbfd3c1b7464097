// Lower bounds of the total flow time of map and reduce tasks in slots.
//
// `srpt` is that of the virtual SRPT (kernel/virtual_srpt; Zheng, Shroff, Sinha 2013, lemma 1), for
// reduce tasks of both kinds. `tight` is the larger of two, and ours: SRPT's with what two phases
// force on top; and, slot by slot, the jobs that SRPT has not finished or the jobs that could not
// have ended even alone on all machines, whichever are more. O(J log J + tasks).
#pragma once

#include <cstdint>

#include "malleable/model/map_reduce.hpp"

namespace malleable {

struct FlowTimeBounds {
  std::int64_t srpt, tight;  // slots
};

// Valid jobs in order of arrival. `preemptive`: reduce tasks may be cut.
FlowTimeBounds flow_time_bounds(const MapReduceView& jobs, std::int64_t machines, bool preemptive);

}  // namespace malleable
