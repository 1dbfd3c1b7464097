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

int malleable_flow_epoch_new(int64_t slots, const char* objective, const char* policy,
                             int64_t effort, double task_work, double hysteresis,
                             double ready_fraction, malleable_flow_epoch** made) {
  return make(made, [&] {
    const Goal goal = goal_of(objective);
    check_amount("task_work", task_work, kRateRange);
    check_amount("hysteresis", hysteresis, kWeightRange);
    if (!(ready_fraction >= 0.0 && ready_fraction <= 1.0)) {
      throw std::invalid_argument("ready_fraction = " + std::to_string(ready_fraction) +
                                  ": must be 0 to 1");
    }
    FlowEpochOptions options{.aggregate = goal.aggregate,
                             .effort = effort_of(effort),
                             .hysteresis = hysteresis,
                             .ready_fraction = ready_fraction};
    const PolicyCode& code = find_policy(Model::kFlows, text("policy", policy)).code;
    if (const auto* baseline = std::get_if<FlowBaseline>(&code)) {
      options.baseline = *baseline;
    } else {
      options.method = std::get<FlowMethod>(code);
    }
    auto epoch = std::make_unique<Owned<malleable_flow_epoch>>(slots, task_work, options);
    epoch->objective = {goal.kind};
    return epoch;
  });
}

void malleable_flow_epoch_free(malleable_flow_epoch* epoch) { release(epoch); }

int malleable_flow_epoch_set_penalty(malleable_flow_epoch* epoch, malleable_penalty penalty) {
  return with(epoch, [&](FlowEpoch& of) { of.set_custom(penalty); });
}

int malleable_flow_epoch_set_task_work(malleable_flow_epoch* epoch, double task_work) {
  return with(epoch, [&](FlowEpoch& of) {
    check_amount("task_work", task_work, kRateRange);
    of.set_task_work(task_work);
  });
}

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
    of.update(needed("ids", ids, n), needed("flow_ids", flow_ids, f),
              {column(c.work, n), column(c.tasks, n), column(c.max_slots, n), column(c.weight, f),
               column(c.deadline, f), steps(c.sla_offset, c.sla_time, c.sla_penalty, f)});
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
                                int64_t* ids, int64_t* given, uint8_t* changed, uint8_t* ready,
                                int64_t room, int64_t* rows) {
  return with(epoch, [&](FlowEpoch& of) {
    check_room(room, of.open_jobs());
    const FlowEpoch::Decision& made = of.decide(now, slots_of(slots));
    epoch->decided = of.version();
    epoch->ended.assign(made.ended.begin(), made.ended.end());
    put(ids, made.ids);
    put(given, made.slots);
    put(changed, made.changed);
    put(ready, made.ready);
    tell(rows, made.ids.size());
  });
}

int malleable_flow_epoch_set_period(malleable_flow_epoch* epoch, double period) {
  return with(epoch, [&](FlowEpoch& of) { of.set_period(period); });
}

int malleable_flow_epoch_order(malleable_flow_epoch* epoch, int64_t* ids, int64_t room,
                               int64_t* rows, int64_t* overloaded) {
  return with(epoch, [&](FlowEpoch& of) {
    if (of.version() != epoch->decided) throw_moved_on();
    check_room(room, of.decision().order.size());
    put(ids, of.decision().order);
    tell(rows, of.decision().order.size());
    if (overloaded != nullptr) *overloaded = of.decision().overloaded ? 1 : 0;
  });
}

int malleable_flow_epoch_ended(malleable_flow_epoch* epoch, int64_t* flow_ids, int64_t room,
                               int64_t* rows) {
  return with(epoch, [&](FlowEpoch&) {
    tell(rows, epoch->ended.size());
    check_room(room, epoch->ended.size());
    put(flow_ids, epoch->ended);
  });
}

int malleable_flow_epoch_plan(malleable_flow_epoch* epoch, malleable_plan** made) {
  return with(epoch, [&](FlowEpoch& of) {
    if (of.version() != epoch->decided) throw_moved_on();
    needed("made", made) = nullptr;
    FlowPlan plan;
    FlowEpoch::Table table;
    std::vector<double> penalty;
    of.plan(table, plan, penalty);
    *made = keep(std::move(plan), std::move(penalty), table.flows.view(), std::move(table.id));
  });
}

int malleable_flow_epoch_size(malleable_flow_epoch* epoch, int64_t* jobs, int64_t* flows) {
  return with(epoch, [&](FlowEpoch& of) {
    tell(jobs, of.open_jobs());
    tell(flows, of.size());
  });
}
