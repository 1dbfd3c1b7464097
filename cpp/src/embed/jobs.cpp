// Epochs of malleable jobs for C.
#include "malleable/embed/call.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable::embed {

JobsView jobs_of(const malleable_jobs& given, Defaults& spare) {
  const std::size_t n = length("count", given.count);
  JobsView jobs;
  jobs.work = needed("work", given.work, n);
  jobs.arrival = column_or(given.arrival, n, 0.0, spare.zero);
  jobs.weight = column_or(given.weight, n, 1.0, spare.one);
  jobs.deadline = column_or(given.deadline, n, kInfinity, spare.infinite);
  jobs.original = given.size == nullptr ? jobs.work : std::span<const double>(given.size, n);
  jobs.min_slots = column_or(given.min_slots, n, std::int64_t{0}, spare.none);
  jobs.max_slots = column_or(given.max_slots, n, kAllSlots, spare.all);
  jobs.sla = steps(given.sla_offset, given.sla_time, given.sla_penalty, n);
  if (!jobs.sla.given()) {
    jobs.sla.offset = column_or<std::int64_t>(nullptr, n + 1, 0, spare.offset);
  }
  if (given.rate_offset != nullptr) {
    jobs.speedup.offset = {given.rate_offset, n + 1};
    const std::int64_t last = n == 0 ? 0 : given.rate_offset[n];
    jobs.speedup.rate = needed("rate", given.rate, length("rate_offset", last));
    jobs.speedup.exponent = column_or(given.speedup, n, 1.0, spare.one);
  } else {
    jobs.speedup.exponent = column(given.speedup, n);
  }
  validate(jobs);
  return jobs;
}

}  // namespace malleable::embed

using namespace malleable;
using namespace malleable::embed;

int malleable_epoch_new(int64_t slots, const char* objective, const char* policy,
                        const char* min_mode, double hysteresis, int64_t effort,
                        malleable_epoch** made) {
  return make(made, [&] {
    const Goal goal = goal_of(objective);
    check_amount("hysteresis", hysteresis, kWeightRange);
    return std::make_unique<Owned<malleable_epoch>>(
        slots, EpochOptions{goal.aggregate, goal.kind,
                            policy_code<EpochPolicy>(Model::kJobs, text("policy", policy)),
                            min_mode_of(min_mode), hysteresis, effort_of(effort)});
  });
}

void malleable_epoch_free(malleable_epoch* epoch) { release(epoch); }

int malleable_epoch_set_penalty(malleable_epoch* epoch, malleable_penalty penalty) {
  return with(epoch, [&](Epoch& of) { of.set_penalty(penalty); });
}

int malleable_epoch_add(malleable_epoch* epoch, const malleable_jobs* jobs, int64_t* ids) {
  return with(epoch, [&](Epoch& of) {
    const JobsView view = jobs_of(needed("jobs", jobs), epoch->defaults);
    read_kinds(jobs->kind, view.size(), epoch->kinds);
    std::int64_t next = of.add(view, epoch->kinds);
    put_each(ids, view.work, [&](double) { return next++; });
  });
}

int malleable_epoch_update(malleable_epoch* epoch, int64_t count, const int64_t* ids,
                           const malleable_job_changes* changes) {
  return with(epoch, [&](Epoch& of) {
    const std::size_t n = length("count", count);
    const malleable_job_changes& c = needed("changes", changes);
    of.update(needed("ids", ids, n), {column(c.work, n), column(c.weight, n), column(c.deadline, n),
                                      column(c.min_slots, n), column(c.max_slots, n),
                                      steps(c.sla_offset, c.sla_time, c.sla_penalty, n)});
  });
}

int malleable_epoch_finish(malleable_epoch* epoch, int64_t count, const int64_t* ids) {
  return with(epoch, [&](Epoch& of) { of.finish(needed("ids", ids, length("count", count))); });
}

int malleable_epoch_remove(malleable_epoch* epoch, int64_t count, const int64_t* ids) {
  return with(epoch, [&](Epoch& of) { of.remove(needed("ids", ids, length("count", count))); });
}

namespace {

// What every decision writes.
void tell_decision(malleable_epoch* epoch, int64_t* ids, int64_t* given, uint8_t* changed,
                   int64_t* rows) {
  Epoch& of = *epoch->object;
  epoch->decided = of.version();
  put(ids, of.ids());
  put(given, of.given());
  put(changed, of.changed());
  tell(rows, of.size());
}

}  // namespace

int malleable_epoch_decide(malleable_epoch* epoch, double now, int64_t slots, int64_t* ids,
                           int64_t* given, uint8_t* changed, int64_t room, int64_t* rows) {
  return with(epoch, [&](Epoch& of) {
    check_room(room, of.size());
    of.decide(now, slots_of(slots));
    tell_decision(epoch, ids, given, changed, rows);
  });
}

int malleable_epoch_decide_period(malleable_epoch* epoch, double now, int64_t slots, double period,
                                  int64_t* ids, int64_t* given, uint8_t* changed, int64_t room,
                                  int64_t* rows, int64_t* overloaded) {
  return with(epoch, [&](Epoch& of) {
    check_room(room, of.size());
    of.decide(now, slots_of(slots), period);
    tell_decision(epoch, ids, given, changed, rows);
    if (overloaded != nullptr) *overloaded = of.overloaded() ? 1 : 0;
  });
}

int malleable_epoch_order(malleable_epoch* epoch, int64_t* ids, int64_t room, int64_t* rows) {
  return with(epoch, [&](Epoch& of) {
    if (of.version() != epoch->decided) throw_moved_on();
    check_room(room, of.size());
    const std::vector<std::int64_t> order = of.order();
    put(ids, order);
    tell(rows, order.size());
  });
}

int malleable_epoch_assess(malleable_epoch* epoch, double* value, double* lower_bound) {
  return with(epoch, [&](Epoch& of) {
    if (of.version() != epoch->decided) throw_moved_on();
    const Epoch::Assessment found = of.assess();
    if (value != nullptr) *value = found.value;
    if (lower_bound != nullptr) *lower_bound = found.lower_bound;
  });
}

int malleable_epoch_plan(malleable_epoch* epoch, malleable_plan** made) {
  return with(epoch, [&](Epoch& of) {
    if (of.version() != epoch->decided) throw_moved_on();
    needed("made", made) = nullptr;
    Plan plan = of.plan();
    std::vector<double> paid(plan.completion.size());
    for (std::size_t j = 0; j < paid.size(); ++j) {
      paid[j] = of.planned_penalties()(j, plan.completion[j]);
    }
    *made = keep(std::move(plan), std::move(paid));
  });
}

int malleable_epoch_size(malleable_epoch* epoch, int64_t* jobs) {
  return with(epoch, [&](Epoch& of) { tell(jobs, of.size()); });
}
