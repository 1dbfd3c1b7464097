// The epoch of jobs for Python (an object that decides the slots of present jobs in a loop), and
// the simulated loop that asks it.
#include <optional>
#include <utility>
#include <vector>

#include "epochs.hpp"
#include "kinds.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/sim/periodic_loop.hpp"
#include "malleable/sim/periodic_plan.hpp"
#include "plan_dict.hpp"
#include "signals.hpp"

namespace malleable::bindings {
namespace {

using Codes = Array<std::uint8_t>;
using Doubles = Array<double>;

class PyEpoch : public BoundEpoch<PyEpoch, Epoch> {
 public:
  using BoundEpoch::BoundEpoch;

  // A table, or columns by name: arrays, lists, or one value for all jobs. `dated`: whether
  // arrivals were given.
  Integers add(const py::object& given, const std::optional<Codes>& kind,
               const std::optional<Integers>& program, bool dated) {
    std::optional<Given<JobsView, JobColumns>> columns;
    const bool table = !py::isinstance<py::dict>(given);
    if (!table) columns.emplace(given.cast<py::dict>());
    JobsView jobs = table ? given.cast<const Jobs&>().view() : columns->view();
    if (!dated) jobs.arrival = {};
    const auto kinds = kind ? kinds_of(*kind) : std::vector<Kind>();
    const auto programs = program ? view(*program) : std::span<const std::int64_t>();
    const std::size_t count = jobs.size();
    const std::int64_t first = exclusively([&] {
      return table ? epoch_.add(jobs, kinds, programs) : epoch_.add_columns(jobs, kinds, programs);
    });
    return rising(first, count);
  }

  // (version, ids, slots, changed, overloaded, ids of jobs that wait for more slots than there are,
  // each once)
  py::tuple decide(double now, std::optional<std::int64_t> slots, std::optional<double> period) {
    return exclusively(
        [&]() -> const Epoch& {
          epoch_.decide(now, slots, period);
          return epoch_;
        },
        [&](const Epoch& made) {
          return py::make_tuple(made.version(), ids(), copy(made.given()), bools(made.changed()),
                                made.overloaded(), to_numpy(epoch_.take_oversized()));
        });
  }

  // For the decision with this version: (plan, penalties).
  py::tuple plan(std::uint64_t version) {
    std::vector<double> paid;
    Plan plan = of_decision(version, "plan", [&] {
      Plan found = *plan_decided(epoch_, /*detail=*/true, poll_signals);
      for (std::size_t j = 0; j < found.completion.size(); ++j) {
        paid.push_back(epoch_.planned_penalties()(j, found.completion[j]));
      }
      return found;
    });
    return py::make_tuple(plan_dict(std::move(plan)), to_numpy(std::move(paid)));
  }
  // Its jobs, and codes of their kinds, or one code for all.
  py::tuple planned(std::uint64_t version) {
    auto [jobs, kinds] = of_decision(version, "explanation", [&] {
      epoch_.recall();
      const auto all = epoch_.planned_kinds();
      return std::pair(
          std::make_shared<Jobs>(Jobs::of_valid(JobColumns::of(epoch_.planned_jobs()))),
          std::vector<Kind>(all.begin(), all.end()));
    });
    return py::make_tuple(jobs, codes_of(kinds));
  }
  Integers order(std::uint64_t version) {
    return to_numpy(of_decision(version, "order", [&] { return epoch_.order(); }));
  }
  Doubles promised(std::uint64_t version) {
    return to_numpy(of_decision(version, "promised ends", [&] { return epoch_.promised(); }));
  }
  // (value, lower bound); None if there are too many jobs
  std::optional<std::pair<double, double>> assess(std::uint64_t version) {
    const auto found = of_decision(
        version, "value", [&] { return plan_decided(epoch_, /*detail=*/false, poll_signals); });
    if (!found) return std::nullopt;
    return std::pair(found->value, found->lower_bound);
  }

  Epoch take() {
    const UseGuard guard(busy_);
    return std::move(epoch_);
  }

  // [s] For how long the last decision is held.
  double period() const {
    const UseGuard guard(busy_);
    return epoch_.held() ? epoch_.period() : 0.0;
  }

 private:
  // Ids of all rows; the same array for all decisions between which no job came or left.
  const py::array& ids() {
    const std::pair rows(epoch_.next_id(), epoch_.size());
    if (rows == rows_of_ids_) return ids_;
    ids_ = copy(std::span<const std::int64_t>(epoch_.ids()));
    ids_.attr("flags").attr("writeable") = false;
    rows_of_ids_ = rows;
    return ids_;
  }

  py::array ids_;
  std::pair<std::int64_t, std::size_t> rows_of_ids_{-1, 0};  // next id and rows at that time
};

// A loop over jobs by arrival, which takes over an epoch without jobs.
class PyPeriodicLoop {
 public:
  PyPeriodicLoop(PyEpoch& epoch, std::shared_ptr<Jobs> jobs, const std::optional<Doubles>& believed,
                 const Codes& kinds, double period, bool knows_period)
      : jobs_(std::move(jobs)),
        loop_(epoch.take(), {.period = period, .knows_period = knows_period}) {
    const auto seen = believed ? view(*believed) : std::span<const double>();
    loop_.feed(*jobs_, {seen.begin(), seen.end()}, kinds_of(kinds));
    loop_.set_poll(poll_signals);
  }

  bool advance(double until) {
    const UseGuard guard(busy_);
    py::gil_scoped_release release;
    return loop_.advance(until);
  }
  // Starts, completions, and ends promised at arrival, infinite if there is none (yet); totals.
  py::dict results() const {
    const UseGuard guard(busy_);
    const PeriodicLoop::Totals& t = loop_.totals();
    py::dict d;
    d["start"] = copy(std::span(loop_.plan().start));
    d["completion"] = copy(std::span(loop_.plan().completion));
    d["promised"] = copy(loop_.promised());
    d["decisions"] = t.calls;
    d["overloaded"] = t.overloaded;
    d["held"] = t.held;
    d["idle"] = t.idle;
    return d;
  }

 private:
  std::shared_ptr<Jobs> jobs_;
  PeriodicLoop loop_;
  Busy busy_;
};

}  // namespace

void bind_epoch(py::module_& module) {
  bind_job_loop<PyEpoch>(module)
      .def(py::init([](std::int64_t slots, bool is_max, std::int64_t kind,
                       const std::string& policy, const std::string& min_mode, double hysteresis,
                       std::optional<std::uint64_t> effort, double period,
                       std::optional<double> predictable, bool unknown) {
             return std::make_unique<PyEpoch>(
                 slots,
                 EpochOptions{aggregate_of(is_max), kind_of(kind),
                              policy_code<EpochPolicy>(Model::kJobs, policy), min_mode_of(min_mode),
                              hysteresis, effort, period, predictable, unknown});
           }),
           py::arg("slots"), py::arg("is_max"), py::arg("kind"), py::arg("policy"),
           py::arg("min_mode"), py::arg("hysteresis"), py::arg("effort"), py::arg("period"),
           py::arg("predictable"), py::arg("unknown"))
      .def("add", &PyEpoch::add, py::arg("jobs"), py::arg("kind").noconvert(),
           py::arg("program").noconvert(), py::arg("dated"))
      .def("set_penalty", &PyEpoch::set_penalty, py::arg("address"))
      .def("plan", &PyEpoch::plan, py::arg("version"))
      .def("planned", &PyEpoch::planned, py::arg("version"))
      .def("order", &PyEpoch::order, py::arg("version"))
      .def("rates", &PyEpoch::rates, py::arg("program"), py::arg("most"))
      .def("promised", &PyEpoch::promised, py::arg("version"))
      .def("assess", &PyEpoch::assess, py::arg("version"))
      .def_property_readonly("period", &PyEpoch::period)
      .def_property_readonly("looped", &PyEpoch::ask<&Epoch::looped>);
  // The plan of a table by an epoch without jobs, which it takes over.
  module.def(
      "plan_periodic",
      [](PyEpoch& epoch, const Jobs& jobs, const Penalties& penalties, const Codes& kinds,
         double now) {
        const auto codes = kinds_of(kinds);
        Plan plan;
        {
          const py::gil_scoped_release release;
          plan = plan_periodic(epoch.take(), jobs, penalties, codes, now, poll_signals);
        }
        return plan_dict(std::move(plan));
      },
      py::arg("epoch"), py::arg("jobs"), py::arg("penalties"), py::arg("kinds").noconvert(),
      py::arg("now"));
  py::class_<PyPeriodicLoop>(module, "PeriodicLoop")
      .def(py::init<PyEpoch&, std::shared_ptr<Jobs>, const std::optional<Doubles>&, const Codes&,
                    double, bool>(),
           py::arg("epoch"), py::arg("jobs"), py::arg("believed").noconvert(),
           py::arg("kinds").noconvert(), py::arg("period"), py::arg("knows_period"))
      .def("advance", &PyPeriodicLoop::advance, py::arg("until"))
      .def("results", &PyPeriodicLoop::results);
}

}  // namespace malleable::bindings
