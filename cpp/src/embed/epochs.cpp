// Epochs (objects that decide the slots of present jobs in a loop) for C: one handle for all
// models. Columns come from the structure by the names that tables of the core list (`each`).
#include <limits>

#include "malleable/embed/call.hpp"
#include "malleable/model/flows.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/sim/periodic_plan.hpp"

namespace malleable::embed {
namespace {

struct Member {  // a column of malleable_jobs, of doubles or of whole numbers
  std::string_view name;
  const double* malleable_jobs::* real = nullptr;
  const std::int64_t* malleable_jobs::* whole = nullptr;
  double otherwise = kInfinity;  // value of a needed column if it is left out; infinite: an error
};
#define REAL(name, ...) {#name, &malleable_jobs::name, nullptr __VA_OPT__(, ) __VA_ARGS__}
#define WHOLE(name, ...) {#name, nullptr, &malleable_jobs::name __VA_OPT__(, ) __VA_ARGS__}
constexpr Member kMembers[] = {REAL(work),
                               WHOLE(min_slots, 0.0),
                               WHOLE(max_slots),
                               REAL(arrival, 0.0),
                               REAL(weight, 1.0),
                               REAL(deadline),
                               REAL(size),
                               WHOLE(sla_offset),
                               REAL(sla_time),
                               REAL(sla_penalty),
                               {"exponent", &malleable_jobs::speedup},
                               WHOLE(rate_offset),
                               REAL(rate),
                               WHOLE(min_mode),
                               WHOLE(preferred),
                               REAL(restart),
                               REAL(restart_grow),
                               REAL(restart_shrink),
                               REAL(restart_slot),
                               WHOLE(job_offset),
                               WHOLE(parent_offset, 0.0),
                               WHOLE(parent),
                               REAL(map),
                               REAL(shuffle),
                               REAL(ready),
                               REAL(max_map_slots),
                               REAL(max_shuffle_slots),
                               WHOLE(maps),
                               WHOLE(reduces, 0.0),
                               WHOLE(running, 0.0),
                               REAL(map_left),
                               REAL(reduce_left)};
#undef REAL
#undef WHOLE

// Visits the columns of a table and points each at the caller's array. Columns have one entry per
// job; a column after offsets has as many as the last offset says.
class Columns {
 public:
  Columns(const malleable_jobs& given, Defaults& spare)
      : given_(sized("jobs", &given)),
        spare_(spare),
        any_(length("count", given.count)),
        count_(any_) {}

  void operator()(const char* name, std::span<const double>& column, std::size_t rows,
                  bool optional) {
    const Member& member = find(name);
    read(name, given_.*member.real, column, rows, optional, member.otherwise,
         member.otherwise == 1.0 ? spare_.one : spare_.zero);
  }
  void operator()(const char* name, std::span<const std::int64_t>& column, std::size_t rows,
                  bool optional) {
    const Member& member = find(name);
    if (member.whole == &malleable_jobs::job_offset) rows = length("flows", given_.flows) + 1;
    read(name, given_.*member.whole, column, rows, optional, member.otherwise, spare_.none);
    if (!std::string_view(name).ends_with("_offset")) return;
    any_ = column.empty() ? 0 : length(name, column.back());
    if (member.whole == &malleable_jobs::job_offset) any_ = count_;
  }
  template <typename T>
  void operator()(const char* name, std::vector<T>& column, std::size_t rows, bool optional) {
    std::span<const T> read;
    (*this)(name, read, rows, optional);
    column.assign(read.begin(), read.end());
  }

 private:
  // The search begins after the last hit, because columns come in about this order.
  const Member& find(std::string_view name) {
    for (std::size_t tried = 0; kMembers[next_].name != name; ++tried) {
      if (tried == std::size(kMembers)) throw std::logic_error("malleable_jobs lacks a column");
      next_ = (next_ + 1) % std::size(kMembers);
    }
    return kMembers[next_];
  }
  template <typename T>
  void read(const char* name, const T* from, std::span<const T>& column, std::size_t rows,
            bool optional, double otherwise, std::vector<T>& spare) {
    if (rows == kAnyLength) rows = any_;
    if (from != nullptr) {
      column = {from, rows};
    } else if (!optional && otherwise == kInfinity) {
      column = needed(name, from, rows);
    } else if (!optional) {
      spare.assign(rows, static_cast<T>(otherwise));
      column = spare;
    }
  }

  const malleable_jobs& given_;
  Defaults& spare_;
  std::size_t any_, count_, next_ = 0;
};

// A table of the core that views the caller's arrays; `spare` holds columns of defaults.
template <typename View, typename Listed = View, typename... Rows>
View read(const malleable_jobs& given, Defaults& spare, Rows... rows) {
  View view{};
  Columns columns(given, spare);
  Listed::each(view, rows..., columns);
  return view;
}

using Epochs = malleable_epoch;  // the handle

// Adds jobs, one overload per model.
void add(Epoch& of, Epochs& handle, const malleable_jobs& jobs, std::int64_t* ids, std::int64_t*) {
  auto view = read<JobsView, JobColumns>(jobs, handle.defaults);
  if (jobs.arrival == nullptr) view.arrival = {};
  read_kinds(jobs.kind, view.size(), handle.kinds);
  std::int64_t next = of.add_columns(view, handle.kinds);
  put_each(ids, view.work, [&](double) { return next++; });
}
void add(FlowEpoch& of, Epochs& handle, const malleable_jobs& jobs, std::int64_t* ids,
         std::int64_t* flow_ids) {
  const Flows table(read<FlowColumns>(jobs, handle.defaults));
  const std::size_t f = table.view().flows();
  read_kinds(jobs.kind, f, handle.kinds);
  if (jobs.kind == nullptr) handle.kinds = handle.objective;
  if (handle.kinds.empty() && f > 0) throw_null("kind");
  FlowEpoch::Ids next = of.add({table, handle.kinds, {}, jobs.arrival != nullptr});
  put_each(flow_ids, table.view().arrival, [&](double) { return next.first_flow++; });
  put_each(ids, table.view().work, [&](double) { return next.first_job++; });
}
template <typename Of>  // a table of the core (policy/epoch/table)
void add(Of& of, Epochs& handle, const malleable_jobs& jobs, std::int64_t* ids, std::int64_t*) {
  const auto view = read<typename Of::Columns>(jobs, handle.defaults, kAnyLength);
  of.add(column(jobs.arrival, view.size()), view, written("ids", ids, view.size()));
}

template <typename Of>
void change(Of& of, Epochs& handle, const malleable_jobs& jobs, std::span<const std::int64_t> ids) {
  of.update(ids, read<typename Of::Changes>(jobs, handle.defaults, ids.size()));
}
void change(FlowEpoch& of, Epochs& handle, const malleable_jobs& jobs,
            std::span<const std::int64_t> ids, std::span<const std::int64_t> flow_ids) {
  of.update(ids, flow_ids,
            read<FlowTable::Changes>(jobs, handle.defaults, ids.size(), flow_ids.size()));
}

std::optional<std::int64_t> slots_of(const std::int64_t* slots) {
  return slots == nullptr ? std::nullopt : std::optional(*slots);
}

std::size_t jobs_in(const FlowEpoch& of) { return of.open_jobs(); }
template <typename Of>
std::size_t jobs_in(const Of& of) {
  return of.size();
}

// Decides and writes the decision, one overload per model.
void decide(Epoch& of, double now, const std::int64_t* slots, double period,
            malleable_decision& to) {
  of.decide(now, slots_of(slots), period);
  put(to.ids, to.rows, of.ids());
  put(to.given, of.given());
  put(to.changed, of.changed());
  put_order(to, to.order == nullptr ? std::vector<std::int64_t>() : of.order(), of.overloaded());
  if (to.oversized != nullptr) put(to.oversized, to.oversized_rows, of.take_oversized());
  if (to.value == nullptr && to.lower_bound == nullptr) return;
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const auto found = plan_decided(of, /*detail=*/false);
  if (to.value != nullptr) *to.value = found ? found->value : kUnknown;
  if (to.lower_bound != nullptr) *to.lower_bound = found ? found->lower_bound : kUnknown;
}
void decide(FlowEpoch& of, double now, const std::int64_t* slots, double period,
            malleable_decision& to) {
  if (to.ended != nullptr) check_room(to.ended_room, of.size());
  const FlowEpoch::Decision& made = of.decide(now, slots_of(slots), period);
  put(to.ids, to.rows, made.ids);
  put(to.given, made.slots);
  put(to.changed, made.changed);
  put(to.ready, made.ready);
  put(to.ended, to.ended_flows, made.ended);
  put_order(to, made.order, made.overloaded);
}
void decide(TandemEpoch& of, double now, const std::int64_t* slots, double period,
            malleable_decision& to) {
  std::optional<TandemEpoch::Both<std::int64_t>> both;
  if (slots != nullptr) both = {slots[0], slots[1]};
  const auto made = of.decide(now, both, period);
  put_rows(to, made);
  put_each(to.share, made, &TandemEpoch::Service::share);
  put_order(to, of.order(TandemEpoch::kMapping), of.overloaded());
  put(to.shuffle_order, to.shuffle_ordered, of.order(TandemEpoch::kShuffling));
}
void decide(SlottedEpoch& of, double now, const std::int64_t* slots, double period,
            malleable_decision& to) {
  const auto made = of.decide(now, slots_of(slots), period);
  put_rows(to, made);
  put_each(to.maps, made, &SlottedEpoch::Grant::maps);
  put_each(to.reduces, made, &SlottedEpoch::Grant::reduces);
  put_order(to, of.order(), of.overloaded());
}

// A new epoch of the model that the options name.
Epochs* of_jobs(std::int64_t slots, const malleable_epoch_options& o) {
  const Goal goal = goal_of(o.objective);
  EpochOptions options{goal.aggregate,
                       goal.kind,
                       policy_code<EpochPolicy>(Model::kJobs, text_or(o.policy, "flex")),
                       min_mode_of(text_or(o.min_mode, "guarantee")),
                       o.hysteresis,
                       effort_of(o.effort)};
  const std::string_view sizes = text_or(o.sizes, "known");
  options.unknown = sizes == "unknown";
  if (!options.unknown && sizes != "known") {
    throw std::invalid_argument("sizes = '" + std::string(sizes) + "': expected known or unknown");
  }
  auto* made = new Owned<Epochs, Epoch>(slots, options);
  made->made.set_penalty(o.penalty);
  return made;
}
Epochs* of_flows(std::int64_t slots, const malleable_epoch_options& o) {
  const Goal goal = goal_of(o.objective);
  FlowEpochOptions how{
      .aggregate = goal.aggregate, .effort = effort_of(o.effort), .hysteresis = o.hysteresis};
  how.take_policy(text_or(o.policy, "flowflex"));
  auto* made = new Owned<Epochs, FlowEpoch>(slots, how);
  made->objective = {goal.kind};
  made->made.set_penalty(o.penalty);
  return made;
}
Epochs* of_tandem(std::int64_t slots, const malleable_epoch_options& o) {
  const Policy& row = find_policy(Model::kTandem, text_or(o.policy, "max-srpt"));
  if (!row.promises.in_loop) throw_other_family(row);
  return new Owned<Epochs, TandemEpoch>(TandemEpochOptions{std::get<TandemPolicy>(row.code),
                                                           o.idle == 0 || !row.promises.may_idle,
                                                           {slots, o.shuffle_slots}});
}
Epochs* of_slotted(std::int64_t slots, const malleable_epoch_options& o) {
  return new Owned<Epochs, SlottedEpoch>(slots, o.step_seconds == 0.0 ? 1.0 : o.step_seconds,
                                         std::string(text_or(o.policy, "asrpt")));
}
Epochs* epoch_of(std::int64_t slots, const malleable_epoch_options& o) {
  const std::string_view model = text_or(o.model, "jobs");
  if (model == "jobs") return of_jobs(slots, o);
  if (model == "flows") return of_flows(slots, o);
  if (model == "tandem") return of_tandem(slots, o);
  if (model == "slotted") return of_slotted(slots, o);
  throw std::invalid_argument("model = '" + std::string(model) +
                              "': expected jobs, flows, tandem or slotted");
}

void check_no_flows(std::int64_t flows) {
  if (flows != 0) throw_count("flows", flows, 0);
}

}  // namespace
}  // namespace malleable::embed

using namespace malleable;
using namespace malleable::embed;

int malleable_epoch_new(int64_t slots, const malleable_epoch_options* options,
                        malleable_epoch** made) {
  return make(made, [&] { return epoch_of(slots, sized("options", options)); });
}

void malleable_epoch_free(malleable_epoch* epoch) { release(epoch); }

int malleable_epoch_add(malleable_epoch* epoch, const malleable_jobs* jobs, int64_t* ids,
                        int64_t* flow_ids) {
  return with(epoch, [&](auto& of) { add(of, *epoch, needed("jobs", jobs), ids, flow_ids); });
}

int malleable_epoch_update(malleable_epoch* epoch, const malleable_jobs* changes,
                           const int64_t* ids, const int64_t* flow_ids) {
  return with(epoch, [&]<typename Of>(Of& of) {
    const malleable_jobs& given = needed("changes", changes);
    const auto jobs = needed("ids", ids, length("count", given.count));
    if constexpr (std::is_same_v<Of, FlowEpoch>) {
      change(of, *epoch, given, jobs, needed("flow_ids", flow_ids, length("flows", given.flows)));
    } else {
      change(of, *epoch, given, jobs);
    }
  });
}

int malleable_epoch_finish(malleable_epoch* epoch, int64_t count, const int64_t* ids) {
  return with(epoch, [&](auto& of) { of.finish(needed("ids", ids, length("count", count))); });
}

int malleable_epoch_remove(malleable_epoch* epoch, int64_t count, const int64_t* ids, int64_t flows,
                           const int64_t* flow_ids) {
  return with(epoch, [&]<typename Of>(Of& of) {
    const auto jobs = needed("ids", ids, length("count", count));
    if constexpr (std::is_same_v<Of, FlowEpoch>) {
      of.remove(jobs, needed("flow_ids", flow_ids, length("flows", flows)));
    } else {
      check_no_flows(flows);
      of.remove(jobs);
    }
  });
}

int malleable_epoch_decide(malleable_epoch* epoch, double now, const int64_t* slots, double period,
                           malleable_decision* decision) {
  return with(epoch, [&](auto& of) {
    decide(of, now, slots, period, with_room("decision", decision, jobs_in(of)));
  });
}

int malleable_epoch_size(malleable_epoch* epoch, int64_t* jobs, int64_t* flows) {
  return with(epoch, [&]<typename Of>(Of& of) {
    write_count(jobs, jobs_in(of));
    if constexpr (std::is_same_v<Of, FlowEpoch>) write_count(flows, of.size());
  });
}

int malleable_epoch_save(malleable_epoch* epoch, uint8_t* bytes, int64_t room, int64_t* count) {
  return with(epoch, [&]<typename Of>(Of& of) {
    const std::string all = save_state(Of::kName, of);
    write_count(count, all.size());
    if (bytes != nullptr) check_room(room, all.size());
    put(bytes, all);
  });
}

int malleable_epoch_load(malleable_epoch* epoch, const uint8_t* bytes, int64_t count) {
  return with(epoch, [&]<typename Of>(Of& of) {
    const auto all = needed("bytes", bytes, length("count", count));
    Of made = Of::blank();
    load_state(Of::kName, {reinterpret_cast<const char*>(all.data()), all.size()}, made);
    if constexpr (requires { of.penalty(); }) made.set_penalty(of.penalty());
    of = std::move(made);
  });
}
