// Pickles, copies and comparisons of objects by the bytes of their state (model/state.hpp).
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <string_view>

#include "malleable/model/state.hpp"
#include "use_guard.hpp"

namespace malleable::bindings {

namespace py = pybind11;

// The bytes of an object's state; BusyError if another thread uses the object.
template <typename Checkpointed>
std::string saved(const char* kind, Checkpointed& kept, const Busy& busy) {
  const UseGuard guard(busy);
  const py::gil_scoped_release release;
  return save_state(kind, kept);
}

template <typename Checkpointed>
void restore(const char* kind, const py::bytes& bytes, Checkpointed& kept) {
  const std::string_view view(bytes);
  const py::gil_scoped_release release;
  load_state(kind, view, kept);
}

// Binds ==; `Object` has save().
template <typename Object>
void bind_equal(py::class_<Object>& bound) {
  bound.def("__eq__", [](Object& object, const py::object& other) -> py::object {
    if (!py::isinstance<Object>(other)) {
      return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    }
    return py::bool_(object.save() == other.cast<Object&>().save());
  });
}

// Binds == and pickles; `Object` also has load(bytes), which makes a new object.
template <typename Object>
void bind_state(py::class_<Object>& bound) {
  bind_equal(bound);
  bound.def(py::pickle([](Object& object) { return py::bytes(object.save()); },
                       [](const py::bytes& bytes) { return Object::load(bytes); }));
}

}  // namespace malleable::bindings
