// The loop that asks an epoch at each call, or each period, for Python.
#include <memory>
#include <optional>
#include <string>

#include "kinds.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/sim/periodic_loop.hpp"
#include "malleable/sim/periodic_plan.hpp"
#include "plan_dict.hpp"
#include "signals.hpp"
#include "use_guard.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Codes = Array<std::uint8_t>;

EpochOptions options_of(bool is_max, std::span<const Kind> kinds, const std::string& policy,
                        const std::string& min_mode, double hysteresis,
                        std::optional<std::uint64_t> effort,
                        std::optional<double> predictable = std::nullopt, bool unknown = false) {
  EpochOptions options;
  if (kinds.size() == 1) options.kind = kinds.front();
  options.aggregate = aggregate_of(is_max);
  options.policy = policy_code<EpochPolicy>(Model::kJobs, policy);
  options.min_mode = min_mode_of(min_mode);
  options.hysteresis = hysteresis;
  options.effort = effort;
  options.predictable = predictable;
  options.unknown = unknown;
  return options;
}

py::dict plan_periodic(const Jobs& jobs, std::int64_t slots, double now, const Penalties& penalties,
                       const Codes& kinds, std::uintptr_t custom, bool is_max,
                       const std::string& policy, std::optional<std::uint64_t> effort,
                       const std::string& min_mode, double period) {
  const auto codes = kinds_of(kinds);
  PeriodicPlanRequest request{options_of(is_max, codes, policy, min_mode, 0.0, effort),
                              slots,
                              now,
                              codes,
                              reinterpret_cast<CustomPenalty>(custom),
                              poll_signals};
  request.epoch.period = period;
  Plan plan;
  {
    py::gil_scoped_release release;
    plan = malleable::plan_periodic(jobs, penalties, request);
  }
  return plan_dict(std::move(plan));
}

// A loop over jobs by arrival.
class PyPeriodicLoop {
 public:
  PyPeriodicLoop(std::shared_ptr<Jobs> jobs, const std::optional<Doubles>& believed,
                 const Codes& kinds, std::int64_t slots, bool is_max, const std::string& policy,
                 const std::string& min_mode, double hysteresis,
                 std::optional<std::uint64_t> effort, double period, bool knows_period,
                 std::optional<double> predictable, bool unknown)
      : jobs_(std::move(jobs)),
        kinds_(kinds_of(kinds)),
        loop_(Epoch(slots, options_of(is_max, kinds_, policy, min_mode, hysteresis, effort,
                                      predictable, unknown)),
              {.period = period, .knows_period = knows_period}) {
    if (believed) believed_.assign(view(*believed).begin(), view(*believed).end());
    loop_.feed(*jobs_, believed_, kinds_);
    loop_.set_poll(poll_signals);
  }

  bool advance(double until) {
    const UseGuard guard(busy_);
    py::gil_scoped_release release;
    return loop_.advance(until);
  }
  // (start, completion): infinite if the job has not started, or ended, yet.
  py::tuple times() const {
    const UseGuard guard(busy_);
    const auto start = loop_.start(), completion = loop_.completion();
    return py::make_tuple(to_numpy(std::vector<double>(start.begin(), start.end())),
                          to_numpy(std::vector<double>(completion.begin(), completion.end())));
  }
  // [s] Absolute ends promised at arrival; infinite: none.
  py::array_t<double> promised() const {
    const UseGuard guard(busy_);
    return to_numpy(std::vector<double>(loop_.promised().begin(), loop_.promised().end()));
  }
  py::dict totals() const {
    const UseGuard guard(busy_);
    const PeriodicLoop::Totals& t = loop_.totals();
    py::dict d;
    d["decisions"] = t.calls;
    d["overloaded"] = t.overloaded;
    d["held"] = t.held;
    d["idle"] = t.idle;
    return d;
  }

 private:
  std::shared_ptr<Jobs> jobs_;
  std::vector<double> believed_;
  std::vector<Kind> kinds_;
  PeriodicLoop loop_;
  Busy busy_;
};

}  // namespace

void bind_periodic_loop(py::module_& module) {
  module.def("plan_periodic", &plan_periodic, py::arg("jobs"), py::arg("slots"), py::arg("now"),
             py::arg("penalties"), py::arg("kinds").noconvert(), py::arg("custom"),
             py::arg("is_max"), py::arg("policy"), py::arg("effort"), py::arg("min_mode"),
             py::arg("period"));
  py::class_<PyPeriodicLoop>(module, "PeriodicLoop")
      .def(py::init<std::shared_ptr<Jobs>, const std::optional<Doubles>&, const Codes&,
                    std::int64_t, bool, const std::string&, const std::string&, double,
                    std::optional<std::uint64_t>, double, bool, std::optional<double>, bool>(),
           py::arg("jobs"), py::arg("believed").noconvert(), py::arg("kinds").noconvert(),
           py::arg("slots"), py::arg("is_max"), py::arg("policy"), py::arg("min_mode"),
           py::arg("hysteresis"), py::arg("effort"), py::arg("period"), py::arg("knows_period"),
           py::arg("predictable"), py::arg("unknown"))
      .def("advance", &PyPeriodicLoop::advance, py::arg("until"))
      .def("times", &PyPeriodicLoop::times)
      .def("promised", &PyPeriodicLoop::promised)
      .def("totals", &PyPeriodicLoop::totals);
}

}  // namespace malleable::bindings
