// The epoch of the two stations, map and shuffle, for Python, and batches of jobs.
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "epochs.hpp"
#include "malleable/kernel/tandem_batch_bound.hpp"
#include "malleable/kernel/tandem_makespan.hpp"
#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/policy/tandem_epoch.hpp"
#include "malleable/sim/tandem_batch.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;

void check_sizes(std::span<const double> map, std::span<const double> shuffle) {
  check_length("shuffle", shuffle.size(), map.size(), "map");
  if (map.size() > std::numeric_limits<Index>::max()) {
    throw std::invalid_argument("map: too many jobs");
  }
  check_amounts("map", map, kWorkRange);
  check_amounts("shuffle", shuffle, kWorkRange);
}

class PyTandemEpoch : public BoundEpoch<PyTandemEpoch, TandemEpoch> {
 public:
  using BoundEpoch::BoundEpoch;

  // (ids, slots, changed, shares, orders, overloaded, bounds); two columns are by station
  py::tuple decide(double now, const std::optional<std::pair<std::int64_t, std::int64_t>>& slots,
                   std::optional<double> period) {
    using Row = TandemEpoch::Service;
    using enum TandemEpoch::Station;
    return exclusively(
        [&] {
          return slots ? epoch_.decide(now, slots->first, slots->second, period)
                       : epoch_.decide(now, {}, {}, period);
        },
        [&](std::span<const Row> made) {
          return py::make_tuple(
              column_of(made, &Row::id), column_of(made, &Row::slots),
              column_of(made, &Row::changed), column_of(made, &Row::share),
              py::make_tuple(copy(epoch_.order(kMapping)), copy(epoch_.order(kShuffling))),
              epoch_.overloaded(), column_of(made, &Row::bound));
        });
  }
};

struct BoundBatch : TandemBatch {
  using TandemBatch::TandemBatch;
  Busy busy;
};

}  // namespace

void bind_tandem_epoch(py::module_& module) {
  module.def(
      "tandem_makespan",
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
      "tandem_batch_bound",
      [](const Doubles& map, const Doubles& shuffle) {
        check_sizes(view(map), view(shuffle));
        py::gil_scoped_release release;
        return tandem_batch_bound(view(map), view(shuffle));
      },
      py::arg("map").noconvert(), py::arg("shuffle").noconvert());
  py::class_<BoundBatch>(module, "TandemBatch")
      .def(py::init([](const Doubles& map, const Doubles& shuffle) {
             check_sizes(view(map), view(shuffle));
             py::gil_scoped_release release;
             return BoundBatch(view(map), view(shuffle));
           }),
           py::arg("map").noconvert(), py::arg("shuffle").noconvert())
      .def("search", guarded<BoundBatch>(&TandemBatch::search), py::arg("candidates"),
           py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("value", guarded<BoundBatch>(&TandemBatch::value))
      .def_property_readonly("lower_bound", guarded<BoundBatch>(&TandemBatch::lower_bound))
      .def_property_readonly("max_srpt", guarded<BoundBatch>(&TandemBatch::max_srpt))
      .def_property_readonly("split_srpt", guarded<BoundBatch>(&TandemBatch::split_srpt))
      .def_property_readonly("origin", guarded<BoundBatch>(&TandemBatch::origin))
      .def_property_readonly("tried", guarded<BoundBatch>(&TandemBatch::tried))
      // The places of every job in the orders of both stations, or the name of a better policy.
      .def("plan", [](const BoundBatch& batch) {
        const UseGuard guard(batch.busy);
        std::vector<double> map_place, shuffle_place;
        const TandemPolicy policy = batch.plan(map_place, shuffle_place);
        const char* name = policy == TandemPolicy::kOrder       ? "order"
                           : policy == TandemPolicy::kMaxSrpt   ? "max-srpt"
                           : policy == TandemPolicy::kSplitSrpt ? "split-srpt"
                                                                : "two-srpt";
        return py::make_tuple(name, to_numpy(std::move(map_place)),
                              to_numpy(std::move(shuffle_place)));
      });
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
