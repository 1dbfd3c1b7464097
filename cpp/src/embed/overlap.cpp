// Epochs of overlapping phases for C.
#include "malleable/embed/call.hpp"
#include "malleable/policy/registry.hpp"

using namespace malleable;
using namespace malleable::embed;

namespace {

OverlapEpoch::Columns columns_of(const malleable_overlap_jobs& jobs, std::size_t n) {
  return {column(jobs.map, n), column(jobs.shuffle, n), column(jobs.ready, n),
          column(jobs.max_map_slots, n), column(jobs.max_shuffle_slots, n)};
}

}  // namespace

int malleable_overlap_epoch_new(int64_t map_slots, int64_t shuffle_slots,
                                const malleable_overlap_epoch_options* options,
                                malleable_overlap_epoch** made) {
  return make(made, [&] {
    const malleable_overlap_epoch_options& o = sized("options", options);
    const Policy& row = find_policy(Model::kTandem, text_or(o.policy, "max-srpt"));
    if (!row.promises.in_loop) throw_other_family(row);
    return std::make_unique<Owned<malleable_overlap_epoch>>(OverlapEpochOptions{
        std::get<OverlapPolicy>(row.code), o.idle == 0 || !row.promises.may_idle, o.bounce != 0,
        map_slots, shuffle_slots});
  });
}

void malleable_overlap_epoch_free(malleable_overlap_epoch* epoch) { release(epoch); }

int malleable_overlap_epoch_add(malleable_overlap_epoch* epoch, int64_t count,
                                const malleable_overlap_jobs* jobs, int64_t* ids) {
  return with(epoch, [&](OverlapEpoch& of) {
    const std::size_t n = length("count", count);
    const malleable_overlap_jobs& table = needed("jobs", jobs);
    needed("map", table.map, n);
    needed("shuffle", table.shuffle, n);
    of.add(column_or(table.arrival, n, 0.0, epoch->defaults.zero), columns_of(table, n),
           written("ids", ids, n));
  });
}

int malleable_overlap_epoch_update(malleable_overlap_epoch* epoch, int64_t count,
                                   const int64_t* ids, const malleable_overlap_jobs* changes) {
  return with(epoch, [&](OverlapEpoch& of) {
    const std::size_t n = length("count", count);
    of.update(needed("ids", ids, n), columns_of(needed("changes", changes), n));
  });
}

int malleable_overlap_epoch_finish(malleable_overlap_epoch* epoch, int64_t count,
                                   const int64_t* ids) {
  return malleable_overlap_epoch_remove(epoch, count, ids);
}

int malleable_overlap_epoch_remove(malleable_overlap_epoch* epoch, int64_t count,
                                   const int64_t* ids) {
  return with(epoch,
              [&](OverlapEpoch& of) { of.remove(needed("ids", ids, length("count", count))); });
}

int malleable_overlap_epoch_decide(malleable_overlap_epoch* epoch, double now, int64_t map_slots,
                                   int64_t shuffle_slots, double period,
                                   malleable_decision* decision) {
  using Row = OverlapEpoch::Service;
  return with(epoch, [&](OverlapEpoch& of) {
    malleable_decision& to = with_room("decision", decision, of.size());
    const auto made = of.decide(now, slots_of(map_slots), slots_of(shuffle_slots), period);
    tell(&to.rows, made.size());
    put_each(to.ids, made, [](const Row& row) { return row.id; });
    put_each(to.changed, made, [](const Row& row) { return row.changed; });
    put_pairs(
        to.given, made, [](const Row& row) { return row.map_slots; },
        [](const Row& row) { return row.shuffle_slots; });
    put_pairs(
        to.share, made, [](const Row& row) { return row.map; },
        [](const Row& row) { return row.shuffle; });
    put_pairs(
        to.bound, made, [](const Row& row) { return row.map_bound; },
        [](const Row& row) { return row.shuffle_bound; });
    put_order(to, of.order(true), of.overloaded());
    put(to.shuffle_order, of.order(false));
    tell(&to.shuffle_ordered, of.order(false).size());
  });
}

int malleable_overlap_epoch_size(malleable_overlap_epoch* epoch, int64_t* jobs) {
  return with(epoch, [&](OverlapEpoch& of) { tell(jobs, of.size()); });
}
