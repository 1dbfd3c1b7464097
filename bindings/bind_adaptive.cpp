// The matching of the adaptive policy (classes of jobs to types of nodes) for Python, whose
// function solves its linear programs.
#include <memory>
#include <utility>

#include "arrays.hpp"
#include "malleable/policy/cluster_adaptive.hpp"
#include "options.hpp"
#include "policies.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;

// A Python function that solves the linear programs; it is called with the GIL held.
ClassMatcher matcher_of(py::object solve) {
  const std::shared_ptr<py::object> function(new py::object(std::move(solve)), [](py::object* p) {
    const py::gil_scoped_acquire acquire;
    delete p;
  });
  return [function](std::span<const double> arrival, std::span<const double> execution,
                    std::span<const double> nodes) {
    const py::gil_scoped_acquire acquire;
    const auto rows = static_cast<py::ssize_t>(arrival.size());
    const auto columns = static_cast<py::ssize_t>(nodes.size());
    const Doubles given =
        (*function)(copy<double>(arrival), copy<double>(execution).reshape({rows, columns}),
                    copy<double>(nodes))
            .cast<Doubles>();
    return std::vector<double>(given.data(), given.data() + given.size());
  };
}

// Rows are classes, columns resources; `classes` has priority, program (-1: none) and shape of each
// class, `resource` the resource of each node.
py::dict matching_of(const ClusterAdaptive& policy, double now) {
  const Adaptive& scheduler = policy.scheduler();
  const auto classes = static_cast<py::ssize_t>(scheduler.classes());
  const auto types = static_cast<py::ssize_t>(scheduler.resources());
  std::vector<double> arrival[2], execution, share[2];
  for (Index c = 0; c < classes; ++c) {
    for (const int which : {0, 1}) {
      arrival[which].push_back(scheduler.arrival_rate(c, now, which == 0));
    }
    for (Index r = 0; r < types; ++r) {
      execution.push_back(scheduler.execution_rate(c, r));
      for (const int which : {0, 1}) share[which].push_back(scheduler.share(which, c, r));
    }
  }
  py::list keys;
  for (const ClusterAdaptive::Key& key : policy.classes()) {
    keys.append(py::make_tuple(key.priority, key.program, key.shape));
  }
  std::vector<std::int64_t> resource;  // -1: the node has no slots
  for (Index n = 0; n < scheduler.nodes(); ++n) {
    resource.push_back(scheduler.has_slots(n) ? scheduler.resource_of(n) : -1);
  }
  py::dict d;
  d["classes"] = keys;
  d["resource"] = to_numpy(std::move(resource));
  d["solves"] = scheduler.solves();
  d["minimum_arrival_rates"] = to_numpy(std::move(arrival[0]));
  d["arrival_rates"] = to_numpy(std::move(arrival[1]));
  d["execution_rates"] = to_numpy(std::move(execution)).reshape({classes, types});
  d["minimum_share"] = to_numpy(std::move(share[0])).reshape({classes, types});
  d["share"] = to_numpy(std::move(share[1])).reshape({classes, types});
  return d;
}

}  // namespace

void bind_adaptive(py::module_& module) {
  using BoundAdaptive = Bound<ClusterAdaptive>;
  py::class_<BoundAdaptive, BoundPolicy>(module, "ClusterAdaptive")
      .def(py::init([](const py::dict& options, py::object solve) {
             return std::make_unique<BoundAdaptive>(read_options<AdaptiveOptions>(options),
                                                    matcher_of(std::move(solve)));
           }),
           py::arg("options"), py::arg("solve"))
      .def(
          "matching",
          [](const BoundAdaptive& p, double now) {
            const UseGuard guard(p.busy);
            return matching_of(p.get(), now);
          },
          py::arg("now"));
}

}  // namespace malleable::bindings
