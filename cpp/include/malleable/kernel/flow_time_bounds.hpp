// Lower bounds of the total flow time of map and reduce tasks. Times count in steps, the unit of
// the slotted model.
//
// `srpt`: the total flow time of SRPT on the pool of machines if map and reduce units needed no
// order (kernel/virtual_srpt; Zheng, Shroff, Sinha 2013, lemma 1). It holds for both kinds of
// reduce tasks. `tight` is ours, the larger of two: SRPT's total plus the delay that two phases
// force; and a sum over steps of the larger of two counts, the jobs that SRPT has not finished and
// the jobs that could not have ended even alone on all machines. O(J log J + tasks) for J jobs.
#pragma once

#include <cstdint>

#include "malleable/model/map_reduce.hpp"

namespace malleable {

struct FlowTimeBounds {
  std::int64_t srpt, tight;  // steps
};

// Valid jobs in order of arrival. `preemptive`: reduce tasks may be cut.
FlowTimeBounds flow_time_bounds(const MapReduceView& jobs, std::int64_t machines, bool preemptive);

}  // namespace malleable
