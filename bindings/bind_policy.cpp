// Plans of jobs for Python, and the table of policies. A Lease lends a call the planner of its
// thread, which keeps its memory.
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "malleable/model/jobs.hpp"
#include "malleable/policy/planner.hpp"
#include "malleable/policy/registry.hpp"
#include "plan_dict.hpp"

namespace malleable::bindings {
namespace {

// Allocating memory in every call costs a small plan a fifth of its time: so each thread keeps the
// planner of its last plan, unless that grew large or an exception was thrown.
class Lease {
 public:
  Lease() : planner_(std::move(kept())) {
    if (planner_ == nullptr) planner_ = std::make_unique<Planner>();
  }
  ~Lease() {
    constexpr std::size_t kMostKept = 10000;  // jobs; some MB
    const bool whole = std::uncaught_exceptions() == before_;
    if (whole && planner_->size() <= kMostKept) kept() = std::move(planner_);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Planner& operator*() const { return *planner_; }

 private:
  static std::unique_ptr<Planner>& kept() {
    static thread_local std::unique_ptr<Planner> planner;
    return planner;
  }
  std::unique_ptr<Planner> planner_;
  int before_ = std::uncaught_exceptions();
};

py::dict plan(const Jobs& table, std::int64_t slots, double now, const Penalties& penalties,
              bool is_max, const std::string& policy, std::uint64_t effort, double budget,
              const std::string& min_mode, const py::object& progress) {
  Planner::Request request{policy_code<EpochPolicy>(Model::kJobs, policy),
                           aggregate_of(is_max),
                           min_mode_of(min_mode),
                           slots,
                           now,
                           {effort, budget}};
  if (!progress.is_none()) {
    request.options.progress = [&progress, effort](std::uint64_t tried) {
      const py::gil_scoped_acquire acquire;
      progress(tried, effort);
    };
  }
  Plan result;
  {
    py::gil_scoped_release release;
    const Lease lease;
    (*lease).plan(table, penalties, request, result);
  }
  return plan_dict(std::move(result));
}

// `POLICIES`: by model, by name, in the order in which names are listed.
void bind_registry(py::module_& module) {
  constexpr auto promise = [](auto Promises::* what) {
    return [what](const Policy& policy) { return policy.promises.*what; };
  };
  py::class_<Policy>(module, "Policy")
      .def_readonly("name", &Policy::name)
      .def_property_readonly("model", [](const Policy& p) { return model_name(p.model); })
      .def_property_readonly("family", &family_of)
      .def_property_readonly("shares",
                             [](const Policy& p) {
                               constexpr const char* kNames[] = {"", "equal", "weighted"};
                               return kNames[static_cast<std::size_t>(p.promises.shares)];
                             })
      .def_property_readonly("needs_sizes", promise(&Promises::needs_sizes))
      .def_property_readonly("follows_objective", promise(&Promises::follows_objective))
      .def_property_readonly("depends_on_time", promise(&Promises::depends_on_time))
      .def_property_readonly("ignores_minima", promise(&Promises::ignores_minima))
      .def_property_readonly("in_loop", promise(&Promises::in_loop))
      .def_property_readonly("preemptive_only", promise(&Promises::preemptive_only))
      .def_property_readonly("may_idle", promise(&Promises::may_idle))
      .def_property_readonly("batches_only", promise(&Promises::batches_only))
      .def_property_readonly("guaranteed", promise(&Promises::guaranteed))
      .def_property_readonly("searches", promise(&Promises::searches))
      .def_property_readonly("learns", promise(&Promises::learns));
  py::dict models;
  for (const Policy& policy : all_policies()) {
    const py::str model(model_name(policy.model));
    if (!models.contains(model)) models[model] = py::dict();
    models[model][policy.name] = py::cast(&policy, py::return_value_policy::reference);
  }
  module.attr("POLICIES") = models;
}

}  // namespace

void bind_policy(py::module_& module) {
  bind_registry(module);
  module.attr("DEFAULT_EFFORT") = kDefaultEffort;
  module.def("default_effort", &default_effort, py::arg("jobs"), py::arg("curved") = false);
  module.attr("MOST_DEADLINE_PACKED") = kMostDeadlinePacked;
  module.def("plan", &plan, py::arg("jobs"), py::arg("slots"), py::arg("now"), py::arg("penalties"),
             py::arg("is_max"), py::arg("policy"), py::arg("effort"), py::arg("budget"),
             py::arg("min_mode"), py::arg("progress") = py::none());
}

}  // namespace malleable::bindings
