// The epoch of the two stations, map and shuffle, for Python.
#include <optional>
#include <string>

#include "epochs.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/policy/tandem_epoch.hpp"

namespace malleable::bindings {
namespace {

class PyTandemEpoch : public BoundEpoch<PyTandemEpoch, TandemEpoch> {
 public:
  using BoundEpoch::BoundEpoch;

  // (ids, slots, changed, shares, orders, overloaded, bounds); two columns are by station
  py::tuple decide(double now, std::optional<TandemEpoch::Both<std::int64_t>> slots,
                   std::optional<double> period) {
    using Row = TandemEpoch::Service;
    using enum TandemEpoch::Station;
    return exclusively(
        [&] { return epoch_.decide(now, slots, period); },
        [&](std::span<const Row> made) {
          return py::make_tuple(
              column_of(made, &Row::id), column_of(made, &Row::slots),
              column_of(made, &Row::changed), column_of(made, &Row::share),
              py::make_tuple(copy(epoch_.order(kMapping)), copy(epoch_.order(kShuffling))),
              epoch_.overloaded(), column_of(made, &Row::bound));
        });
  }
};

}  // namespace

void bind_tandem_epoch(py::module_& module) {
  bind_job_loop<PyTandemEpoch>(module)
      .def(py::init([](const std::string& policy, bool conserving, std::int64_t map_slots,
                       std::int64_t shuffle_slots, double period) {
             return std::make_unique<PyTandemEpoch>(
                 TandemEpochOptions{policy_code<TandemPolicy>(Model::kTandem, policy),
                                    conserving,
                                    {map_slots, shuffle_slots},
                                    period});
           }),
           py::arg("policy"), py::arg("conserving"), py::arg("map_slots"), py::arg("shuffle_slots"),
           py::arg("period"))
      .def("add", &PyTandemEpoch::add, py::arg("columns"));
}

}  // namespace malleable::bindings
