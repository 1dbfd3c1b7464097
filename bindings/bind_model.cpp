// Constants, checks and tables of jobs for Python.
#include "kinds.hpp"
#include "malleable/model/bound.hpp"
#include "malleable/model/flows.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"
#include "tables.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;

// The penalties of the rows of a table.
template <typename Table>
std::unique_ptr<Penalties> penalties_of(const Table& table, const Array<std::uint8_t>& codes,
                                        std::uintptr_t custom) {
  const auto kinds = kinds_of(codes);
  auto penalties = std::make_unique<Penalties>();
  const py::gil_scoped_release release;
  penalties->build(table.terms(), kinds, reinterpret_cast<CustomPenalty>(custom));
  return penalties;
}

}  // namespace

void bind_model(py::module_& module) {
  module.attr("ALL_SLOTS") = kAllSlots;
  module.attr("MOST_SLOTS") = kMostSlots;
  module.attr("LATEST_TIME") = kLatestTime;
  py::class_<Range>(module, "Range")
      .def_readonly("least", &Range::least)
      .def_readonly("most", &Range::most)
      .def_readonly("zero", &Range::zero)
      .def_readonly("text", &Range::text)
      .def(
          "check",
          [](const Range& range, const std::string& field, const Doubles& values) {
            check_amounts(field.c_str(), view(values), range);
          },
          py::arg("field"), py::arg("values").noconvert());
  module.attr("WORK") = kWorkRange;
  module.attr("LEFT") = kLeftRange;
  module.attr("TOTAL") = kTotalRange;
  module.attr("WEIGHT") = kWeightRange;
  module.attr("RATE") = kRateRange;
  module.attr("BYTES") = kBytesRange;
  module.def(
      "check_times",
      [](const std::string& field, const Doubles& values) {
        check_times(field.c_str(), view(values));
      },
      py::arg("field"), py::arg("values").noconvert());

  bind_table<Jobs, JobColumns>(module, "Jobs");
  bind_table<Flows, FlowColumns>(module, "Flows")
      .def_static(
          "_cycle",
          [](const py::dict& columns) {
            const auto flows = columns_of<FlowColumns>(columns);
            return to_numpy(find_cycle(flows.view()));
          },
          py::arg("columns"))
      .def_static(
          "_joined",
          [](const std::vector<const Flows*>& tables) {
            const py::gil_scoped_release release;
            return std::make_shared<Flows>(Flows::joined(tables));
          },
          py::arg("tables"));
  module.def("validate_slots", &validate_slots, py::arg("slots"));

  py::class_<KindInfo>(module, "Kind")
      .def_readonly("name", &KindInfo::name)
      .def_readonly("needs_deadline", &KindInfo::needs_deadline)
      .def_readonly("uses_sla", &KindInfo::uses_sla)
      .def_readonly("steady", &KindInfo::steady)
      .def_readonly("per_size", &KindInfo::per_size)
      .def_readonly("endless", &KindInfo::endless)
      .def_readonly("custom", &KindInfo::custom);
  py::tuple kinds(std::size(kKinds));  // in the order of their codes
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    kinds[k] = py::cast(&kKinds[k], py::return_value_policy::reference);
  }
  module.attr("KINDS") = kinds;

  py::class_<Penalties>(module, "Penalties")
      .def(py::init(&penalties_of<Jobs>), py::arg("table"), py::arg("kinds").noconvert(),
           py::arg("custom") = 0)
      .def(py::init(&penalties_of<Flows>), py::arg("table"), py::arg("kinds").noconvert(),
           py::arg("custom") = 0)
      .def("__len__", &Penalties::size)
      .def(
          "of_jobs",
          [](const Penalties& penalties, const Doubles& completion) {
            const auto times = view(completion);
            if (times.size() != penalties.size()) {
              throw std::invalid_argument("completion has " +
                                          counted(times.size(), "entry", "entries") +
                                          " but there are " + counted(penalties.size(), "job"));
            }
            std::vector<double> values(times.size());
            {
              py::gil_scoped_release release;
              for (std::size_t j = 0; j < times.size(); ++j) values[j] = penalties(j, times[j]);
            }
            return to_numpy(std::move(values));
          },
          py::arg("completion").noconvert());

  // The reasons why a job got no more slots, by code.
  py::tuple bounds(kBoundTexts.size());
  for (std::size_t k = 0; k < kBoundTexts.size(); ++k) bounds[k] = kBoundTexts[k];
  module.attr("BOUNDS") = bounds;
}

}  // namespace malleable::bindings
