// The common part of all epochs for Python: the thread guard, the handle for C, columns that come
// in by name, columns made of rows, copies and pickles. A class adds its constructor, how jobs are
// added, and what a decision returns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "malleable/embed/handle.hpp"
#include "saved_state.hpp"
#include "tables.hpp"
#include "use_guard.hpp"

namespace malleable::bindings {

using Integers = Array<std::int64_t>;
using Wholes = Column<std::int64_t>;

// Ids from `first` on.
inline Integers rising(std::int64_t first, std::size_t count) {
  auto ids = fresh<std::int64_t>(count);
  std::iota(ids.mutable_data(), ids.mutable_data() + count, first);
  return ids;
}

// Bytes that are 0 or 1, read as bools without conversion.
inline Array<bool> bools(std::span<const std::uint8_t> values) {
  static_assert(sizeof(bool) == 1);
  auto made = fresh<bool>(values.size());
  std::copy(values.begin(), values.end(), reinterpret_cast<std::uint8_t*>(made.mutable_data()));
  return made;
}

// `Py` derives from this.
template <typename Py, typename Epoch>
class BoundEpoch {
 public:
  using Object = Epoch;
  template <typename... Arguments>
  explicit BoundEpoch(Arguments&&... arguments) : epoch_(std::forward<Arguments>(arguments)...) {}

  // Jobs of a table of the core (policy/epoch/table).
  Integers add(const py::dict& columns) {
    const Given<Arriving<typename Object::Columns>> jobs(columns);
    std::vector<std::int64_t> ids(jobs.view().size());
    exclusively([&] { epoch_.add(jobs.view().arrival, jobs.view(), ids); });
    return to_numpy(std::move(ids));
  }
  void update(const py::object& ids, const py::dict& columns) {
    const Wholes jobs(ids);
    const Given<typename Object::Changes> changes(columns, jobs.needed().get().size());
    exclusively([&] { epoch_.update(jobs.get(), changes.view()); });
  }
  // Calls a method of the epoch with ids of jobs.
  template <auto method>
  void tell(const py::object& ids) {
    const Wholes jobs(ids);
    jobs.needed();
    exclusively([&] { (epoch_.*method)(jobs.get()); });
  }

  // Calls a getter of the epoch.
  template <auto method>
  auto ask() const {
    const UseGuard guard(busy_);
    return (epoch_.*method)();
  }
  // Sets the penalty of jobs of kind custom, by the address of a function.
  void set_penalty(std::uintptr_t address) {
    const UseGuard guard(busy_);
    epoch_.set_penalty(reinterpret_cast<CustomPenalty>(address));
  }
  // The speed-up that was learnt of a program.
  Array<double> rates(std::int64_t program, std::int64_t most) const {
    const UseGuard guard(busy_);
    return to_numpy(epoch_.rates_of(program, most));
  }
  std::uintptr_t handle() { return reinterpret_cast<std::uintptr_t>(&handle_); }

  std::string save() { return saved(Object::kName, epoch_, busy_); }
  static std::unique_ptr<Py> load(const py::bytes& bytes) {
    auto made = std::make_unique<Py>(Object::blank());
    restore(Object::kName, bytes, made->epoch_);
    return made;
  }

 protected:
  // Makes a call without the interpreter's lock, while no other thread uses the object.
  template <typename Call>
  auto exclusively(const Call& call) {
    const UseGuard guard(busy_);
    const py::gil_scoped_release release;
    return call();
  }
  // The same, and then converts the result by convert(result) before other threads may use the
  // object.
  template <typename Call, typename Convert>
  auto exclusively(const Call& call, const Convert& convert) {
    const UseGuard guard(busy_);
    auto&& made = [&]() -> decltype(auto) {
      const py::gil_scoped_release release;
      return call();
    }();
    return convert(made);
  }
  // The same for what is asked of the decision with this version.
  template <typename Call>
  auto of_decision(std::uint64_t version, const char* wanted, const Call& call) {
    return exclusively([&] {
      if (version == epoch_.version()) return call();
      throw std::runtime_error(
          std::string("the epoch has moved on since this decision; ask for the ") + wanted +
          " first");
    });
  }

  Object epoch_;
  Busy busy_;
  malleable_epoch handle_{epoch_, busy_};
};

// Binds the methods that all epochs have; callers chain the others to it.
template <typename Py>
py::class_<Py> bind_loop(py::module_& module) {
  using Object = typename Py::Object;
  py::class_<Py> bound(module, Object::kName);
  bind_state(bound);
  bound.def("finish", &Py::template tell<&Object::finish>, py::arg("ids"))
      .def("decide", &Py::decide, py::arg("now"), py::arg("slots"), py::arg("period"))
      .def_property_readonly("slots", &Py::template ask<&Object::slots>)
      .def_property_readonly("rule", &Py::template ask<&Object::rule>)
      .def_property_readonly("handle", &Py::handle)
      .def("__len__", &Py::template ask<&Object::size>);
  return bound;
}
// The same for epochs whose changes name only jobs.
template <typename Py>
py::class_<Py> bind_job_loop(py::module_& module) {
  py::class_<Py> bound = bind_loop<Py>(module);
  bound.def("update", &Py::update, py::arg("ids"), py::arg("columns"))
      .def("remove", &Py::template tell<&Py::Object::remove>, py::arg("ids"));
  return bound;
}

}  // namespace malleable::bindings
