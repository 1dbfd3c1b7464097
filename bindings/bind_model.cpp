#include "arrays.hpp"
#include "malleable/model/bound.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;

JobsView jobs_view(const Doubles& arrival, const Doubles& work, const Integers& min_slots,
                   const Integers& max_slots, const Doubles& weight, const Doubles& deadline,
                   const Integers& sla_offset, const Doubles& sla_time,
                   const Doubles& sla_penalty) {
  return {view(arrival),  view(work),       view(min_slots), view(max_slots),  view(weight),
          view(deadline), view(sla_offset), view(sla_time),  view(sla_penalty)};
}

std::vector<Kind> kinds_of(const Array<std::uint8_t>& codes) {
  std::vector<Kind> kinds;
  for (const auto code : view(codes)) kinds.push_back(kind_of(code));
  return kinds;
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

  module.def(
      "validate_jobs",
      [](const Doubles& arrival, const Doubles& work, const Integers& min_slots,
         const Integers& max_slots, const Doubles& weight, const Doubles& deadline,
         const Integers& sla_offset, const Doubles& sla_time, const Doubles& sla_penalty) {
        const JobsView jobs = jobs_view(arrival, work, min_slots, max_slots, weight, deadline,
                                        sla_offset, sla_time, sla_penalty);
        py::gil_scoped_release release;
        validate(jobs);
      },
      py::arg("arrival").noconvert(), py::arg("work").noconvert(), py::arg("min_slots").noconvert(),
      py::arg("max_slots").noconvert(), py::arg("weight").noconvert(),
      py::arg("deadline").noconvert(), py::arg("sla_offset").noconvert(),
      py::arg("sla_time").noconvert(), py::arg("sla_penalty").noconvert());
  module.def("validate_slots", &validate_slots, py::arg("slots"));

  py::class_<KindInfo>(module, "Kind")
      .def_readonly("name", &KindInfo::name)
      .def_readonly("needs_deadline", &KindInfo::needs_deadline)
      .def_readonly("uses_sla", &KindInfo::uses_sla)
      .def_readonly("steady", &KindInfo::steady)
      .def_readonly("per_size", &KindInfo::per_size)
      .def_readonly("endless", &KindInfo::endless)
      .def_readonly("custom", &KindInfo::custom);
  py::tuple told(std::size(kKinds));  // in the order of their codes
  for (std::size_t k = 0; k < told.size(); ++k) {
    told[k] = py::cast(&kKinds[k], py::return_value_policy::reference);
  }
  module.attr("KINDS") = told;

  py::class_<Penalties>(module, "Penalties")
      .def(py::init([](const Doubles& arrival, const Doubles& size, const Doubles& weight,
                       const Doubles& deadline, const Integers& sla_offset, const Doubles& sla_time,
                       const Doubles& sla_penalty, const Array<std::uint8_t>& kinds,
                       std::uintptr_t custom) {
             const JobsView jobs{view(arrival),
                                 view(size),
                                 {},
                                 {},
                                 view(weight),
                                 view(deadline),
                                 view(sla_offset),
                                 view(sla_time),
                                 view(sla_penalty)};
             const auto kind_list = kinds_of(kinds);
             auto penalties = std::make_unique<Penalties>();
             py::gil_scoped_release release;
             penalties->build(jobs, jobs.work, kind_list, reinterpret_cast<CustomPenalty>(custom));
             return penalties;
           }),
           py::arg("arrival").noconvert(), py::arg("size").noconvert(),
           py::arg("weight").noconvert(), py::arg("deadline").noconvert(),
           py::arg("sla_offset").noconvert(), py::arg("sla_time").noconvert(),
           py::arg("sla_penalty").noconvert(), py::arg("kinds").noconvert(), py::arg("custom") = 0)
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

  // What bound a job's slots, by code.
  py::tuple bounds(kBoundTexts.size());
  for (std::size_t k = 0; k < kBoundTexts.size(); ++k) bounds[k] = kBoundTexts[k];
  module.attr("BOUNDS") = bounds;
}

}  // namespace malleable::bindings
