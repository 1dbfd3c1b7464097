#include <pybind11/stl.h>

#include <algorithm>
#include <optional>

#include "arrays.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/registry.hpp"
#include "plan_dict.hpp"
#include "saved_state.hpp"
#include "turn.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;

template <typename T>
std::span<const T> optional_view(const std::optional<Array<T>>& array) {
  return array ? view(*array) : std::span<const T>();
}

class PyEpoch {
 public:
  PyEpoch(std::int64_t slots, const EpochOptions& options) : epoch_(slots, options) {}

  Integers add(const Doubles& arrival, const Doubles& work, const Integers& min_slots,
               const Integers& max_slots, const Doubles& weight, const Doubles& deadline,
               const Integers& sla_offset, const Doubles& sla_time, const Doubles& sla_penalty,
               const Doubles& size) {
    const JobsView jobs{view(arrival),    view(work),     view(min_slots),
                        view(max_slots),  view(weight),   view(deadline),
                        view(sla_offset), view(sla_time), view(sla_penalty)};
    std::int64_t first;
    {
      const Turn turn(busy_);
      py::gil_scoped_release release;
      first = epoch_.add(jobs, view(size));
    }
    std::vector<std::int64_t> ids(jobs.size());
    for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = first + static_cast<std::int64_t>(k);
    return to_numpy(std::move(ids));
  }

  void update(const Integers& ids, const std::optional<Doubles>& work,
              const std::optional<Integers>& min_slots, const std::optional<Integers>& max_slots,
              const std::optional<Doubles>& weight, const std::optional<Doubles>& deadline) {
    const Epoch::Changes changes{optional_view(work), optional_view(weight),
                                 optional_view(deadline), optional_view(min_slots),
                                 optional_view(max_slots)};
    const Turn turn(busy_);
    py::gil_scoped_release release;
    epoch_.update(view(ids), changes);
  }

  void remove(const Integers& ids) {
    const Turn turn(busy_);
    py::gil_scoped_release release;
    epoch_.remove(view(ids));
  }

  // (version, ids, slots, changed)
  py::tuple decide(double now, std::optional<std::int64_t> slots) {
    const Turn turn(busy_);
    const auto n = static_cast<py::ssize_t>(epoch_.size());
    Integers given(n);
    Array<bool> changed(n);
    Integers ids(n);
    auto* given_data = given.mutable_data();
    auto* changed_data = changed.mutable_data();
    auto* ids_data = ids.mutable_data();
    {
      py::gil_scoped_release release;
      epoch_.decide(now, slots);
      std::copy(epoch_.given().begin(), epoch_.given().end(), given_data);
      std::copy(epoch_.changed().begin(), epoch_.changed().end(), changed_data);
      std::copy(epoch_.ids().begin(), epoch_.ids().end(), ids_data);
    }
    return py::make_tuple(epoch_.version(), ids, given, changed);
  }

  // Of the decision that has this version: (plan, columns of the jobs that it is about)
  py::tuple plan(std::uint64_t version) {
    const Turn turn(busy_);
    must_be(version, "plan");
    Plan plan;
    {
      py::gil_scoped_release release;
      plan = epoch_.plan();
    }
    const JobsView jobs = epoch_.planned_jobs();
    py::dict columns;
    columns["arrival"] = copy(jobs.arrival);
    columns["work"] = copy(jobs.work);
    columns["min_slots"] = copy(jobs.min_slots);
    columns["max_slots"] = copy(jobs.max_slots);
    columns["weight"] = copy(jobs.weight);
    columns["deadline"] = copy(jobs.deadline);
    columns["sla_offset"] = copy(jobs.sla_offset);
    columns["sla_time"] = copy(jobs.sla_time);
    columns["sla_penalty"] = copy(jobs.sla_penalty);
    columns["size"] = copy(epoch_.planned_sizes());
    return py::make_tuple(plan_dict(std::move(plan)), columns);
  }

  // (value, lower bound)
  py::tuple assess(std::uint64_t version) {
    const Turn turn(busy_);
    must_be(version, "value");
    Epoch::Assessment found{};
    {
      py::gil_scoped_release release;
      found = epoch_.assess();
    }
    return py::make_tuple(found.value, found.lower_bound);
  }

  std::int64_t slots() const {
    const Turn turn(busy_);
    return epoch_.slots();
  }
  std::size_t size() const {
    const Turn turn(busy_);
    return epoch_.size();
  }

  std::string save() { return saved("Epoch", epoch_, busy_); }
  static std::unique_ptr<PyEpoch> load(const py::bytes& bytes) {
    auto made = std::make_unique<PyEpoch>(1, EpochOptions{});
    restore("Epoch", bytes, made->epoch_);
    return made;
  }

 private:
  void must_be(std::uint64_t version, const char* wanted) const {
    if (version == epoch_.version()) return;
    throw std::runtime_error(
        std::string("the epoch has moved on since this decision; ask for the ") + wanted +
        " first");
  }

  Epoch epoch_;
  Busy busy_;
};

}  // namespace

void bind_epoch(py::module_& module) {
  py::class_<PyEpoch> epoch(module, "Epoch");
  bind_state(epoch);
  epoch
      .def(
          py::init([](std::int64_t slots, bool is_max, std::int64_t kind, const std::string& policy,
                      bool gang, double hysteresis, std::optional<std::uint64_t> effort) {
            return std::make_unique<PyEpoch>(
                slots,
                EpochOptions{aggregate_of(is_max), kind_of(kind),
                             policy_code<EpochPolicy>(Model::kJobs, policy),
                             gang ? MinMode::kGang : MinMode::kGuarantee, hysteresis, effort});
          }),
          py::arg("slots"), py::arg("is_max"), py::arg("kind"), py::arg("policy"), py::arg("gang"),
          py::arg("hysteresis"), py::arg("effort"))
      .def("add", &PyEpoch::add, py::arg("arrival").noconvert(), py::arg("work").noconvert(),
           py::arg("min_slots").noconvert(), py::arg("max_slots").noconvert(),
           py::arg("weight").noconvert(), py::arg("deadline").noconvert(),
           py::arg("sla_offset").noconvert(), py::arg("sla_time").noconvert(),
           py::arg("sla_penalty").noconvert(), py::arg("size").noconvert())
      .def("update", &PyEpoch::update, py::arg("ids").noconvert(), py::arg("work").noconvert(),
           py::arg("min_slots").noconvert(), py::arg("max_slots").noconvert(),
           py::arg("weight").noconvert(), py::arg("deadline").noconvert())
      .def("remove", &PyEpoch::remove, py::arg("ids").noconvert())
      .def("decide", &PyEpoch::decide, py::arg("now"), py::arg("slots"))
      .def("plan", &PyEpoch::plan, py::arg("version"))
      .def("assess", &PyEpoch::assess, py::arg("version"))
      .def_property_readonly("slots", &PyEpoch::slots)
      .def("__len__", &PyEpoch::size);
}

}  // namespace malleable::bindings
