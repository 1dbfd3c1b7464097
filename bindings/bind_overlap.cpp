#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "malleable/embed/handle.hpp"
#include "malleable/kernel/overlap_batch_bound.hpp"
#include "malleable/kernel/overlap_makespan.hpp"
#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/policy/overlap_epoch.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/sim/tandem_batch.hpp"
#include "saved_state.hpp"
#include "tables.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;
using Wholes = Column<std::int64_t>;

void check_sizes(std::span<const double> map, std::span<const double> shuffle) {
  check_length("shuffle", shuffle.size(), map.size(), "map");
  if (map.size() > std::numeric_limits<Index>::max()) {
    throw std::invalid_argument("map: too many jobs");
  }
  check_amounts("map", map, kWorkRange);
  check_amounts("shuffle", shuffle, kWorkRange);
}

class PyOverlapEpoch {
 public:
  explicit PyOverlapEpoch(const OverlapEpochOptions& options) : epoch_(options) {}

  Integers add(const py::dict& columns) {
    const Given<Arriving<OverlapEpoch::Columns>> jobs(columns);
    std::vector<std::int64_t> ids(jobs.view().size());
    {
      const Turn turn(busy_);
      py::gil_scoped_release release;
      epoch_.add(jobs.view().arrival, jobs.view(), ids);
    }
    return to_numpy(std::move(ids));
  }

  void update(const py::object& ids, const py::dict& columns) {
    const Wholes rows(ids);
    const Given<OverlapEpoch::Columns> changes(columns, rows.needed().get().size());
    const Turn turn(busy_);
    py::gil_scoped_release release;
    epoch_.update(rows.get(), changes.view());
  }

  void remove(const py::object& ids) {
    const Wholes rows(ids);
    rows.needed();
    const Turn turn(busy_);
    py::gil_scoped_release release;
    epoch_.remove(rows.get());
  }

  // (ids, slots, changed, shares, orders, overloaded, bounds), by station where there are two
  // columns
  py::tuple decide(double now, const std::optional<std::pair<std::int64_t, std::int64_t>>& slots,
                   std::optional<double> period) {
    const Turn turn(busy_);
    std::span<const OverlapEpoch::Service> services;
    {
      py::gil_scoped_release release;
      services = slots ? epoch_.decide(now, slots->first, slots->second, period)
                       : epoch_.decide(now, {}, {}, period);
    }
    const auto count = static_cast<py::ssize_t>(services.size());
    Integers ids(count), given({count, py::ssize_t{2}});
    Doubles share({count, py::ssize_t{2}});
    Array<bool> changed(count);
    Array<std::uint8_t> bound({count, py::ssize_t{2}});
    // Looked up once: each look checks the array.
    auto *ids_at = ids.mutable_data(), *given_at = given.mutable_data();
    auto* share_at = share.mutable_data();
    auto* changed_at = changed.mutable_data();
    auto* bound_at = bound.mutable_data();
    for (py::ssize_t k = 0; k < count; ++k) {
      const OverlapEpoch::Service& service = services[static_cast<std::size_t>(k)];
      ids_at[k] = service.id;
      given_at[2 * k] = service.map_slots;
      given_at[2 * k + 1] = service.shuffle_slots;
      changed_at[k] = service.changed;
      share_at[2 * k] = service.map;
      share_at[2 * k + 1] = service.shuffle;
      bound_at[2 * k] = static_cast<std::uint8_t>(service.map_bound);
      bound_at[2 * k + 1] = static_cast<std::uint8_t>(service.shuffle_bound);
    }
    return py::make_tuple(ids, given, changed, share,
                          py::make_tuple(copy(epoch_.order(true)), copy(epoch_.order(false))),
                          epoch_.overloaded(), bound);
  }

  std::uintptr_t handle() { return reinterpret_cast<std::uintptr_t>(&handle_); }
  std::size_t size() const {
    const Turn turn(busy_);
    return epoch_.size();
  }
  std::pair<std::int64_t, std::int64_t> slots() const {
    const Turn turn(busy_);
    return {epoch_.options().map_slots, epoch_.options().shuffle_slots};
  }

  std::string save() { return saved("OverlapEpoch", epoch_, busy_); }
  static std::unique_ptr<PyOverlapEpoch> load(const py::bytes& bytes) {
    auto made = std::make_unique<PyOverlapEpoch>(OverlapEpochOptions{});
    restore("OverlapEpoch", bytes, made->epoch_);
    return made;
  }

 private:
  OverlapEpoch epoch_;
  Busy busy_;
  malleable_overlap_epoch handle_{epoch_, busy_};
};

struct BoundBatch : TandemBatch {
  using TandemBatch::TandemBatch;
  Busy busy;
};

}  // namespace

void bind_overlap(py::module_& module) {
  module.def(
      "overlap_makespan",
      [](const Doubles& map, const Doubles& shuffle) {
        check_sizes(view(map), view(shuffle));
        std::vector<Index> order;
        std::vector<double> completion(view(map).size());
        {
          py::gil_scoped_release release;
          order = makespan_order(view(map), view(shuffle));
          order_completions(view(map), view(shuffle), order, completion);
        }
        return py::make_tuple(to_numpy(order), to_numpy(std::move(completion)));
      },
      py::arg("map").noconvert(), py::arg("shuffle").noconvert());
  module.def(
      "overlap_batch_bound",
      [](const Doubles& map, const Doubles& shuffle) {
        check_sizes(view(map), view(shuffle));
        py::gil_scoped_release release;
        return overlap_batch_bound(view(map), view(shuffle));
      },
      py::arg("map").noconvert(), py::arg("shuffle").noconvert());
  py::class_<BoundBatch>(module, "TandemBatch")
      .def(py::init([](const Doubles& map, const Doubles& shuffle) {
             check_sizes(view(map), view(shuffle));
             py::gil_scoped_release release;
             return BoundBatch(view(map), view(shuffle));
           }),
           py::arg("map").noconvert(), py::arg("shuffle").noconvert())
      .def("search", in_turn<BoundBatch>(&TandemBatch::search), py::arg("candidates"),
           py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("value", in_turn<BoundBatch>(&TandemBatch::value))
      .def_property_readonly("lower_bound", in_turn<BoundBatch>(&TandemBatch::lower_bound))
      .def_property_readonly("max_srpt", in_turn<BoundBatch>(&TandemBatch::max_srpt))
      .def_property_readonly("split_srpt", in_turn<BoundBatch>(&TandemBatch::split_srpt))
      .def_property_readonly("origin", in_turn<BoundBatch>(&TandemBatch::origin))
      .def_property_readonly("tried", in_turn<BoundBatch>(&TandemBatch::tried))
      // The places of every job in the orders, or the name of the policy that does better.
      .def("plan", [](const BoundBatch& batch) {
        const Turn turn(batch.busy);
        std::vector<double> map_place, shuffle_place;
        const OverlapPolicy policy = batch.plan(map_place, shuffle_place);
        const char* name = policy == OverlapPolicy::kOrder       ? "order"
                           : policy == OverlapPolicy::kMaxSrpt   ? "max-srpt"
                           : policy == OverlapPolicy::kSplitSrpt ? "split-srpt"
                                                                 : "two-srpt";
        return py::make_tuple(name, to_numpy(std::move(map_place)),
                              to_numpy(std::move(shuffle_place)));
      });
  py::class_<PyOverlapEpoch> epoch(module, "OverlapEpoch");
  bind_state(epoch);
  epoch
      .def(py::init([](const std::string& policy, bool conserving, bool bounce,
                       std::int64_t map_slots, std::int64_t shuffle_slots, double period) {
             return std::make_unique<PyOverlapEpoch>(
                 OverlapEpochOptions{policy_code<OverlapPolicy>(Model::kTandem, policy), conserving,
                                     bounce, map_slots, shuffle_slots, period});
           }),
           py::arg("policy"), py::arg("conserving"), py::arg("bounce"), py::arg("map_slots"),
           py::arg("shuffle_slots"), py::arg("period"))
      .def("add", &PyOverlapEpoch::add, py::arg("columns"))
      .def("update", &PyOverlapEpoch::update, py::arg("ids"), py::arg("columns"))
      .def("finish", &PyOverlapEpoch::remove, py::arg("ids"))
      .def("remove", &PyOverlapEpoch::remove, py::arg("ids"))
      .def("decide", &PyOverlapEpoch::decide, py::arg("now"), py::arg("slots"), py::arg("period"))
      .def_property_readonly("slots", &PyOverlapEpoch::slots)
      .def_property_readonly("handle", &PyOverlapEpoch::handle)
      .def("__len__", &PyOverlapEpoch::size);
}

}  // namespace malleable::bindings
