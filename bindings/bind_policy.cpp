#include <string>

#include "arrays.hpp"
#include "malleable/policy/baseline.hpp"
#include "malleable/policy/flex.hpp"
#include "plan_dict.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;

py::dict plan(const Doubles& work, const Doubles& arrival, const Integers& min_slots,
              const Integers& max_slots, const Doubles& weight, std::int64_t slots, double now,
              bool gang, const Penalties& penalties, bool is_max, const std::string& policy,
              std::uint64_t effort, double budget) {
  validate_slots(slots);
  const auto remaining = view(work);
  if (view(arrival).size() != remaining.size() || view(min_slots).size() != remaining.size() ||
      view(max_slots).size() != remaining.size() || view(weight).size() != remaining.size() ||
      penalties.size() != remaining.size()) {
    throw std::invalid_argument("columns of different lengths");
  }
  Plan result;
  {
    py::gil_scoped_release release;
    Problem problem;
    problem.build(remaining, view(arrival), view(min_slots), view(max_slots), slots, now,
                  gang ? MinMode::kGang : MinMode::kGuarantee);
    if (policy == "flex") {
      Flex().plan(problem, penalties, aggregate_of(is_max), {effort, budget}, result);
    } else if (policy == "flex-generic") {
      Flex().plan_generic(problem, penalties, aggregate_of(is_max), true, result);
    } else if (policy == "fifo") {
      Baseline().fifo(problem, penalties, aggregate_of(is_max), view(arrival), result);
    } else if (policy == "fair") {
      Baseline().waterline(problem, penalties, aggregate_of(is_max), {}, result);
    } else if (policy == "wdeq") {
      Baseline().waterline(problem, penalties, aggregate_of(is_max), view(weight), result);
    } else {
      throw std::invalid_argument("policy = '" + policy + "': unknown");
    }
  }
  return plan_dict(std::move(result));
}

}  // namespace

void bind_policy(py::module_& module) {
  module.attr("DEFAULT_EFFORT") = kDefaultEffort;
  module.attr("MOST_DEADLINE_PACKED") = kMostDeadlinePacked;
  module.def("plan", &plan, py::arg("work").noconvert(), py::arg("arrival").noconvert(),
             py::arg("min_slots").noconvert(), py::arg("max_slots").noconvert(),
             py::arg("weight").noconvert(), py::arg("slots"), py::arg("now"), py::arg("gang"),
             py::arg("penalties"), py::arg("is_max"), py::arg("policy"), py::arg("effort"),
             py::arg("budget"));
}

}  // namespace malleable::bindings
