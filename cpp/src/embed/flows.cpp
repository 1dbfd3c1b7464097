// Epochs of flows for C.
#include "malleable/embed/call.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable::embed {

FlowColumns flows_of(const malleable_flows& given) {
  const auto copy = []<typename T>(std::span<const T> values) {
    return std::vector<T>(values.begin(), values.end());
  };
  const std::size_t f = length("flows", given.flows);
  FlowColumns own;
  own.job_offset = copy(needed("job_offset", given.job_offset, f + 1));
  const std::size_t n = length("job_offset", own.job_offset.back());
  own.work = copy(needed("work", given.work, n));
  own.max_slots = copy(column(given.max_slots, n));
  own.parent_offset = copy(column(given.parent_offset, n + 1));
  if (own.parent_offset.empty()) own.parent_offset.assign(n + 1, 0);
  const std::size_t parents = length("parent_offset", own.parent_offset.back());
  own.parent = copy(needed("parent", given.parent, parents));
  std::vector<double> spare;
  own.arrival = copy(column_or(given.arrival, f, 0.0, spare));
  own.weight = copy(column_or(given.weight, f, 1.0, spare));
  own.deadline = copy(column(given.deadline, f));
  own.original = copy(column(given.size, f));
  const SlaView sla = steps(given.sla_offset, given.sla_time, given.sla_penalty, f);
  own.sla = {copy(sla.offset), copy(sla.time), copy(sla.penalty)};
  return own;
}

}  // namespace malleable::embed

using namespace malleable;
using namespace malleable::embed;

int malleable_flow_epoch_new(int64_t slots, const malleable_flow_epoch_options* options,
                             malleable_flow_epoch** made) {
  return make(made, [&] {
    const malleable_flow_epoch_options& o = sized("options", options);
    const Goal goal = goal_of(o.objective);
    const double ready = o.ready_fraction == nullptr ? 1.0 : *o.ready_fraction;
    const double task_work = o.task_work == 0.0 ? 1.0 : o.task_work;
    check_amount("task_work", task_work, kRateRange);
    check_amount("hysteresis", o.hysteresis, kWeightRange);
    if (!(ready >= 0.0 && ready <= 1.0)) {
      throw std::invalid_argument("ready_fraction = " + std::to_string(ready) + ": must be 0 to 1");
    }
    FlowEpochOptions how{.aggregate = goal.aggregate,
                         .effort = effort_of(o.effort),
                         .hysteresis = o.hysteresis,
                         .ready_fraction = ready};
    const PolicyCode& code = find_policy(Model::kFlows, text_or(o.policy, "flowflex")).code;
    if (const auto* baseline = std::get_if<FlowBaseline>(&code)) {
      how.baseline = *baseline;
    } else {
      how.method = std::get<FlowMethod>(code);
    }
    auto epoch = std::make_unique<Owned<malleable_flow_epoch>>(slots, task_work, how);
    epoch->objective = {goal.kind};
    epoch->made.set_custom(o.penalty);
    return epoch;
  });
}

void malleable_flow_epoch_free(malleable_flow_epoch* epoch) { release(epoch); }

int malleable_flow_epoch_add(malleable_flow_epoch* epoch, const malleable_flows* flows,
                             int64_t* flow_ids, int64_t* job_ids) {
  return with(epoch, [&](FlowEpoch& of) {
    const Flows table(flows_of(needed("flows", flows)));
    const std::size_t f = table.view().flows(), n = table.view().jobs();
    std::vector<Kind> kinds;
    read_kinds(flows->kind, f, kinds);
    if (flows->kind == nullptr) kinds = epoch->objective;
    if (kinds.empty() && f > 0) throw_null("kind");
    FlowEpoch::Ids ids =
        of.add({table, kinds, column(flows->tasks, n), column(flows->continues, n), {}});
    put_each(flow_ids, table.view().arrival, [&](double) { return ids.first_flow++; });
    put_each(job_ids, table.view().work, [&](double) { return ids.first_job++; });
  });
}

int malleable_flow_epoch_update(malleable_flow_epoch* epoch, int64_t count, const int64_t* ids,
                                int64_t flows, const int64_t* flow_ids,
                                const malleable_flow_changes* changes) {
  return with(epoch, [&](FlowEpoch& of) {
    const std::size_t n = length("count", count), f = length("flows", flows);
    const malleable_flow_changes& c = needed("changes", changes);
    if (c.task_work != nullptr) check_amount("task_work", *c.task_work, kRateRange);
    of.update(needed("ids", ids, n), needed("flow_ids", flow_ids, f),
              {column(c.work, n), column(c.tasks, n), column(c.max_slots, n), column(c.weight, f),
               column(c.deadline, f), steps(c.sla_offset, c.sla_time, c.sla_penalty, f)});
    if (c.task_work != nullptr) of.set_task_work(*c.task_work);
  });
}

int malleable_flow_epoch_finish(malleable_flow_epoch* epoch, int64_t count, const int64_t* ids) {
  return with(epoch, [&](FlowEpoch& of) { of.finish(needed("ids", ids, length("count", count))); });
}

int malleable_flow_epoch_remove(malleable_flow_epoch* epoch, int64_t count, const int64_t* ids,
                                int64_t flows, const int64_t* flow_ids) {
  return with(epoch, [&](FlowEpoch& of) {
    of.remove(needed("ids", ids, length("count", count)),
              needed("flow_ids", flow_ids, length("flows", flows)));
  });
}

int malleable_flow_epoch_decide(malleable_flow_epoch* epoch, double now, int64_t slots,
                                double period, malleable_decision* decision) {
  return with(epoch, [&](FlowEpoch& of) {
    malleable_decision& to = with_room("decision", decision, of.open_jobs());
    if (to.ended != nullptr) check_room(to.ended_room, of.size());
    const FlowEpoch::Decision& made = of.decide(now, slots_of(slots), period);
    tell(&to.rows, made.ids.size());
    tell(&to.ended_flows, made.ended.size());
    put(to.ids, made.ids);
    put(to.given, made.slots);
    put(to.changed, made.changed);
    put(to.ready, made.ready);
    put(to.ended, made.ended);
    put_order(to, made.order, made.overloaded);
  });
}

int malleable_flow_epoch_size(malleable_flow_epoch* epoch, int64_t* jobs, int64_t* flows) {
  return with(epoch, [&](FlowEpoch& of) {
    tell(jobs, of.open_jobs());
    tell(flows, of.size());
  });
}
