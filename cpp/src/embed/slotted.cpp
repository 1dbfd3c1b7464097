// Slotted epochs for C.
#include "malleable/embed/call.hpp"

using namespace malleable;
using namespace malleable::embed;

int malleable_slotted_epoch_new(int64_t slots, double slot_seconds, const char* policy,
                                malleable_slotted_epoch** made) {
  return make(made, [&] {
    check_amount("slot_seconds", slot_seconds, kRateRange);
    return std::make_unique<Owned<malleable_slotted_epoch>>(slots, slot_seconds,
                                                            std::string(text("policy", policy)));
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
                                   int64_t* ids, int64_t* given, uint8_t* changed, int64_t* maps,
                                   int64_t* reduces, uint8_t* bound, int64_t room, int64_t* rows) {
  using Row = SlottedEpoch::Grant;
  return with(epoch, [&](SlottedEpoch& of) {
    check_room(room, of.size());
    const auto made = of.decide(now, slots_of(slots));
    put_each(ids, made, [](const Row& row) { return row.id; });
    put_each(given, made, [](const Row& row) { return row.slots; });
    put_each(changed, made, [](const Row& row) { return row.changed; });
    put_each(maps, made, [](const Row& row) { return row.maps; });
    put_each(reduces, made, [](const Row& row) { return row.reduces; });
    put_each(bound, made, [](const Row& row) { return row.bound; });
    tell(rows, made.size());
  });
}

int malleable_slotted_epoch_set_period(malleable_slotted_epoch* epoch, double period) {
  return with(epoch, [&](SlottedEpoch& of) { of.set_period(period); });
}

int malleable_slotted_epoch_order(malleable_slotted_epoch* epoch, int64_t* ids, int64_t room,
                                  int64_t* rows, int64_t* overloaded) {
  return with(epoch, [&](SlottedEpoch& of) {
    check_room(room, of.order().size());
    put(ids, of.order());
    tell(rows, of.order().size());
    if (overloaded != nullptr) *overloaded = of.overloaded() ? 1 : 0;
  });
}

int malleable_slotted_epoch_size(malleable_slotted_epoch* epoch, int64_t* jobs) {
  return with(epoch, [&](SlottedEpoch& of) { tell(jobs, of.size()); });
}
