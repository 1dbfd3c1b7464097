// Objects that keep state pickle, copy and compare by the bytes of that state (model/state).
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <string_view>

#include "malleable/model/state.hpp"
#include "use_guard.hpp"

namespace malleable::bindings {

namespace py = pybind11;

// The bytes of what an object keeps; nobody else may be at it.
template <typename Checkpointed>
std::string saved(const char* kind, Checkpointed& kept, const Busy& busy) {
  const UseGuard turn(busy);
  const py::gil_scoped_release release;
  return save_state(kind, kept);
}

template <typename Checkpointed>
void restore(const char* kind, const py::bytes& bytes, Checkpointed& kept) {
  const std::string_view view(bytes);
  const py::gil_scoped_release release;
  load_state(kind, view, kept);
}

// `Object` has save().
template <typename Object>
void bind_equal(py::class_<Object>& bound) {
  bound.def("__eq__", [](Object& object, const py::object& other) -> py::object {
    if (!py::isinstance<Object>(other)) {
      return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    }
    return py::bool_(object.save() == other.cast<Object&>().save());
  });
}

// And load(bytes), which makes another one.
template <typename Object>
void bind_state(py::class_<Object>& bound) {
  bind_equal(bound);
  bound.def(py::pickle([](Object& object) { return py::bytes(object.save()); },
                       [](const py::bytes& bytes) { return Object::load(bytes); }));
}

}  // namespace malleable::bindings
