// AUTO on generic slots (which run maps and reduces): FLEX's shares for jobs, FlowFlex's order for
// flows.
//
// FLEX sees only ready jobs, that is, one stage (the jobs that may run now) of a flow of several
// jobs: a long flow's last stage looks like a short job, and a short flow's first stage hides the
// work behind it. So while a job of such a flow is present, whole flows are ordered
// (policy/cluster_flow), and free slots go by that order, also to stages that become ready between
// two decisions; single jobs count as flows of one job. Otherwise AUTO decides as without flows
// (policy/cluster_epoch).
//
// If tasks slow each other down, which the scheduler learns, a flow gets as many slots as do well,
// not all that it can use; and if slots need a restart, only slots that are worth it.
//
// FlowFlex knows no minima: while a job with a minimum is present, FLEX serves stages.
//
// An event costs what the acting policy costs, and O(1). When the other policy takes over, it looks
// at all present jobs and flows once. Policies: cluster_epoch, cluster_flow.
#pragma once

#include <memory>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

std::unique_ptr<ClusterPolicy> make_cluster_auto(const EpochOptions& options, bool by_user);

}  // namespace malleable
