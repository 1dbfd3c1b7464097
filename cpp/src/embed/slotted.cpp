// Slotted epochs for C.
#include "malleable/embed/call.hpp"

using namespace malleable;
using namespace malleable::embed;

int malleable_slotted_epoch_new(int64_t slots, const malleable_slotted_epoch_options* options,
                                malleable_slotted_epoch** made) {
  return make(made, [&] {
    const malleable_slotted_epoch_options& o = sized("options", options);
    const double slot_seconds = o.slot_seconds == 0.0 ? 1.0 : o.slot_seconds;
    check_amount("slot_seconds", slot_seconds, kRateRange);
    return std::make_unique<Owned<malleable_slotted_epoch>>(
        slots, slot_seconds, std::string(text_or(o.policy, "asrpt")));
  });
}

void malleable_slotted_epoch_free(malleable_slotted_epoch* epoch) { release(epoch); }

int malleable_slotted_epoch_add(malleable_slotted_epoch* epoch, int64_t count,
                                const malleable_slotted_jobs* jobs, int64_t* ids) {
  return with(epoch, [&](SlottedEpoch& of) {
    const std::size_t n = length("count", count);
    const malleable_slotted_jobs& table = needed("jobs", jobs);
    Defaults& spare = epoch->defaults;
    of.add(column_or(table.arrival, n, 0.0, spare.zero),
           {needed("maps", table.maps, n), column_or(table.reduces, n, std::int64_t{0}, spare.none),
            column_or(table.running, n, std::int64_t{0}, spare.none), column(table.map_left, n),
            needed("reduce_left", table.reduce_left, n)},
           written("ids", ids, n));
  });
}

int malleable_slotted_epoch_update(malleable_slotted_epoch* epoch, int64_t count,
                                   const int64_t* ids, const malleable_slotted_jobs* changes) {
  return with(epoch, [&](SlottedEpoch& of) {
    const std::size_t n = length("count", count);
    const malleable_slotted_jobs& c = needed("changes", changes);
    of.update(needed("ids", ids, n), {column(c.maps, n), column(c.reduces, n), column(c.running, n),
                                      column(c.map_left, n), column(c.reduce_left, n)});
  });
}

int malleable_slotted_epoch_finish(malleable_slotted_epoch* epoch, int64_t count,
                                   const int64_t* ids) {
  return with(epoch, [&](SlottedEpoch& of) {
    of.remove(needed("ids", ids, length("count", count)), false);
  });
}

int malleable_slotted_epoch_remove(malleable_slotted_epoch* epoch, int64_t count,
                                   const int64_t* ids) {
  return with(epoch, [&](SlottedEpoch& of) {
    of.remove(needed("ids", ids, length("count", count)), true);
  });
}

int malleable_slotted_epoch_decide(malleable_slotted_epoch* epoch, double now, int64_t slots,
                                   double period, malleable_decision* decision) {
  using Row = SlottedEpoch::Grant;
  return with(epoch, [&](SlottedEpoch& of) {
    malleable_decision& to = with_room("decision", decision, of.size());
    const auto made = of.decide(now, slots_of(slots), period);
    tell(&to.rows, made.size());
    put_each(to.ids, made, [](const Row& row) { return row.id; });
    put_each(to.given, made, [](const Row& row) { return row.slots; });
    put_each(to.changed, made, [](const Row& row) { return row.changed; });
    put_each(to.maps, made, [](const Row& row) { return row.maps; });
    put_each(to.reduces, made, [](const Row& row) { return row.reduces; });
    put_each(to.bound, made, [](const Row& row) { return row.bound; });
    put_order(to, of.order(), of.overloaded());
  });
}

int malleable_slotted_epoch_size(malleable_slotted_epoch* epoch, int64_t* jobs) {
  return with(epoch, [&](SlottedEpoch& of) { tell(jobs, of.size()); });
}
