// Plans and checks for C.
#include "malleable/embed/call.hpp"
#include "malleable/kernel/schedule_check.hpp"
#include "malleable/policy/planner.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable::embed {
namespace {

// What plans of jobs and of flows have in common.
template <typename Of>
std::unique_ptr<Owned<malleable_plan>> planned(Of&& plan) {
  auto kept = std::make_unique<Owned<malleable_plan>>();
  Planned& own = kept->made;
  own.status = plan.status;
  own.value = plan.value;
  own.lower_bound = plan.lower_bound;
  own.order = std::move(plan.order);
  own.start = std::move(plan.start);
  own.completion = std::move(plan.completion);
  own.allocation = std::move(plan.allocation);
  own.pieces = std::move(plan.pieces);
  return kept;
}

double budget_of(double budget) {
  if (budget >= 0.0) return budget;
  throw std::invalid_argument("budget = " + std::to_string(budget) +
                              ": must be at least 0 seconds");
}

PiecesView pieces_of(const malleable_pieces* given) {
  const malleable_pieces& pieces = needed("pieces", given);
  const std::size_t n = length("count", pieces.count);
  return {needed("job", pieces.job, n), needed("slots", pieces.slots, n),
          needed("start", pieces.start, n), needed("end", pieces.end, n)};
}

}  // namespace

malleable_plan* keep(Plan&& plan, std::vector<double>&& penalty) {
  auto kept = planned(std::move(plan));
  kept->made.penalty = std::move(penalty);
  return kept.release();
}

malleable_plan* keep(FlowPlan&& plan, std::vector<double>&& penalty, const FlowsView& flows,
                     std::vector<std::int64_t> ids) {
  std::vector<double> completion = std::move(plan.flow_completion);
  auto kept = planned(std::move(plan));
  Planned& own = kept->made;
  own.flow = std::move(ids);
  own.first_job.assign(flows.job_offset.begin(), flows.job_offset.end() - 1);
  own.flow_completion = std::move(completion);
  own.flow_penalty = std::move(penalty);
  return kept.release();
}

}  // namespace malleable::embed

using namespace malleable;
using namespace malleable::embed;

int malleable_plan_jobs(const malleable_jobs* jobs, int64_t slots, const char* objective,
                        const char* policy, const char* min_mode, int64_t effort, double budget,
                        double now, malleable_penalty penalty, malleable_plan** made) {
  return guarded([&] {
    needed("made", made) = nullptr;
    Defaults spare;
    const JobsView table = jobs_of(needed("jobs", jobs), spare);
    const Goal goal = goal_of(objective);
    check_time("now", now);
    std::vector<Kind> kinds;
    read_kinds(jobs->kind, table.size(), kinds);
    if (jobs->kind == nullptr) kinds = {goal.kind};
    Penalties penalties;
    penalties.build(table, kinds, penalty);
    Plan plan;
    Planner().plan(table, penalties,
                   {policy_code<EpochPolicy>(Model::kJobs, text("policy", policy)),
                    goal.aggregate,
                    min_mode_of(min_mode),
                    slots,
                    now,
                    {.effort = effort_of(effort).value_or(
                         default_effort(table.size(), table.speedup.curved())),
                     .budget = budget_of(budget)}},
                   plan);
    std::vector<double> paid(plan.completion.size());
    for (std::size_t j = 0; j < paid.size(); ++j) paid[j] = penalties(j, plan.completion[j]);
    *made = keep(std::move(plan), std::move(paid));
  });
}

int malleable_plan_flows(const malleable_flows* flows, int64_t slots, const char* objective,
                         const char* policy, int64_t effort, double budget, double now,
                         malleable_penalty penalty, malleable_plan** made) {
  return guarded([&] {
    needed("made", made) = nullptr;
    const Flows table(flows_of(needed("flows", flows)));
    const FlowsView view = table;
    const Goal goal = goal_of(objective);
    check_time("now", now);
    std::vector<Kind> kinds;
    read_kinds(flows->kind, view.flows(), kinds);
    if (flows->kind == nullptr) kinds = {goal.kind};
    Penalties penalties;
    penalties.build(view, kinds, penalty);
    FlowPlan plan;
    plan_flows(view, penalties,
               {text("policy", policy),
                goal.aggregate,
                slots,
                now,
                {.effort = effort_of(effort).value_or(default_flow_effort(view.jobs())),

                 .budget = budget_of(budget),
                 .warm = {}}},
               plan);
    std::vector<double> paid(plan.flow_completion.size());
    for (std::size_t j = 0; j < paid.size(); ++j) paid[j] = penalties(j, plan.flow_completion[j]);
    std::vector<std::int64_t> rows(view.flows());
    for (std::size_t j = 0; j < rows.size(); ++j) rows[j] = static_cast<std::int64_t>(j);
    *made = keep(std::move(plan), std::move(paid), view, std::move(rows));
  });
}

void malleable_plan_free(malleable_plan* plan) { release(plan); }

int malleable_plan_value(malleable_plan* plan, int64_t* status, double* value,
                         double* lower_bound) {
  return with(plan, [&](const Planned& of) {
    if (status != nullptr) *status = static_cast<std::int64_t>(of.status);
    if (value != nullptr) *value = of.value;
    if (lower_bound != nullptr) *lower_bound = of.lower_bound;
  });
}

int malleable_plan_size(malleable_plan* plan, int64_t* jobs, int64_t* flows, int64_t* pieces) {
  return with(plan, [&](const Planned& of) {
    tell(jobs, of.completion.size());
    tell(flows, of.flow_completion.size());
    tell(pieces, of.pieces.size());
  });
}

int malleable_plan_job_columns(malleable_plan* plan, int64_t* allocation, double* start,
                               double* completion, double* penalty, int64_t room) {
  return with(plan, [&](const Planned& of) {
    check_room(room, of.completion.size());
    put(allocation, of.allocation);
    put(start, of.start);
    put(completion, of.completion);
    put(penalty, of.penalty);
  });
}

int malleable_plan_flow_columns(malleable_plan* plan, int64_t* ids, int64_t* first_job,
                                double* completion, double* penalty, int64_t room) {
  return with(plan, [&](const Planned& of) {
    check_room(room, of.flow_completion.size());
    put(ids, of.flow);
    put(first_job, of.first_job);
    put(completion, of.flow_completion);
    put(penalty, of.flow_penalty);
  });
}

int malleable_plan_order(malleable_plan* plan, int64_t* order, int64_t room, int64_t* rows) {
  return with(plan, [&](const Planned& of) {
    tell(rows, of.order.size());
    check_room(room, of.order.size());
    put(order, of.order);
  });
}

int malleable_plan_pieces(malleable_plan* plan, int64_t* job, double* start, double* end,
                          int64_t* slots, int64_t room) {
  return with(plan, [&](const Planned& of) {
    check_room(room, of.pieces.size());
    put(job, of.pieces.job);
    put(start, of.pieces.start);
    put(end, of.pieces.end);
    put(slots, of.pieces.slots);
  });
}

int malleable_check_jobs(const malleable_jobs* jobs, int64_t slots, double now,
                         const char* min_mode, int64_t ignore_minima,
                         const malleable_pieces* pieces, const double* completion) {
  return guarded([&] {
    Defaults spare;
    const JobsView table = jobs_of(needed("jobs", jobs), spare);
    validate_slots(slots);
    check_time("now", now);
    check_schedule(table, {slots, now, min_mode_of(min_mode), ignore_minima != 0},
                   pieces_of(pieces), needed("completion", completion, table.size()));
  });
}

int malleable_check_flows(const malleable_flows* flows, int64_t slots, double now,
                          const malleable_pieces* pieces, const double* completion) {
  return guarded([&] {
    const Flows table(flows_of(needed("flows", flows)));
    validate_slots(slots);
    check_time("now", now);
    check_schedule(table.view(), slots, now, pieces_of(pieces),
                   needed("completion", completion, table.view().jobs()));
  });
}
