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

int malleable_epoch_new(int64_t slots, const malleable_epoch_options* options,
                        malleable_epoch** made) {
  return make(made, [&] {
    const malleable_epoch_options& o = sized("options", options);
    const Goal goal = goal_of(o.objective);
    check_amount("hysteresis", o.hysteresis, kWeightRange);
    auto epoch = std::make_unique<Owned<malleable_epoch>>(
        slots, EpochOptions{goal.aggregate, goal.kind,
                            policy_code<EpochPolicy>(Model::kJobs, text_or(o.policy, "flex")),
                            min_mode_of(o.min_mode), o.hysteresis, effort_of(o.effort)});
    epoch->made.set_penalty(o.penalty);
    return epoch;
  });
}

void malleable_epoch_free(malleable_epoch* epoch) { release(epoch); }

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

int malleable_epoch_decide(malleable_epoch* epoch, double now, int64_t slots, double period,
                           malleable_decision* decision) {
  return with(epoch, [&](Epoch& of) {
    malleable_decision& to = with_room("decision", decision, of.size());
    of.decide(now, slots_of(slots), period);
    tell(&to.rows, of.size());
    put(to.ids, of.ids());
    put(to.given, of.given());
    put(to.changed, of.changed());
    put_order(to, to.order == nullptr ? std::vector<std::int64_t>() : of.order(), of.overloaded());
    if (to.value == nullptr && to.lower_bound == nullptr) return;
    const Epoch::Assessment found = of.assess();
    if (to.value != nullptr) *to.value = found.value;
    if (to.lower_bound != nullptr) *to.lower_bound = found.lower_bound;
  });
}

int malleable_epoch_size(malleable_epoch* epoch, int64_t* jobs) {
  return with(epoch, [&](Epoch& of) { tell(jobs, of.size()); });
}
