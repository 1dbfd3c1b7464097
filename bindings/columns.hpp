// Columns of a small call, such as those of a scheduler's loop, read without conversion.
//
// Contiguous arrays of the right type are read in place, lists and tuples of plain numbers entry by
// entry; a single number stands for all entries. Anything else, and any other length, is a
// TypeError before anything happens: Python code (malleable.arrays) then converts it or says what
// is wrong, which takes longer than a small call.
#pragma once

#include <type_traits>

#include "arrays.hpp"
#include "malleable/model/large_pages.hpp"

namespace malleable::bindings {

template <typename T>
class Column {
 public:
  static constexpr std::size_t kAny = ~std::size_t{0};

  // `count` entries; kAny: any number of entries, a single number being one. None: no entries.
  explicit Column(const py::object& given, std::size_t count = kAny) {
    PyObject* const object = given.ptr();
    if (object == Py_None) return;
    given_ = true;
    if (in_place(object)) {
      const auto& array = reinterpret_cast<const Array<T>&>(given);
      values_ = view(array);
    } else if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
      read_all(object);
    } else {
      T value{};
      if (!read(object, value)) refuse();
      fill_large(own_, count == kAny ? 1 : count, value);
      values_ = own_;
    }
    if (count != kAny && values_.size() != count) refuse();
  }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  bool given() const { return given_; }
  const Column& needed() const {
    if (!given_) refuse();
    return *this;
  }
  std::span<const T> get() const { return values_; }
  // Moves the entries out; afterwards this column must not be read.
  std::vector<T> take() {
    if (own_.empty()) {
      reserve_large(own_, values_.size());
      own_.assign(values_.begin(), values_.end());
    }
    return std::move(own_);
  }
  // Refuses entries above a limit, beyond which all numbers mean the same.
  const Column& at_most(T limit) const {
    for (const T value : values_) {
      if (value > limit) refuse();
    }
    return *this;
  }

 private:
  [[noreturn]] static void refuse() { throw py::type_error("not a plain column"); }

  static bool in_place(PyObject* object) {
    if (Py_TYPE(object) != py::detail::npy_api::get().PyArray_Type_) return false;
    if (!py::isinstance<Array<T>>(object)) return false;
    const auto* array = py::detail::array_proxy(object);
    return array->nd == 1 && (array->flags & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0;
  }

  static bool read(PyObject* object, T& value) {
    if constexpr (std::is_same_v<T, double>) {
      if (PyFloat_Check(object)) {
        value = PyFloat_AS_DOUBLE(object);
        return true;
      }
      if (!PyLong_CheckExact(object)) return false;
      value = PyLong_AsDouble(object);
      if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
      }
      return true;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      if (!PyLong_CheckExact(object)) return false;
      int overflow = 0;
      value = PyLong_AsLongLongAndOverflow(object, &overflow);
      return overflow == 0;
    } else {
      return false;  // bytes come in arrays
    }
  }

  // Copies the entries into a tuple first, because other code could change a list meanwhile.
  void read_all(PyObject* object) {
    const auto tuple = py::reinterpret_steal<py::tuple>(PySequence_Tuple(object));
    if (!tuple) throw py::error_already_set();
    own_.resize(tuple.size());
    for (std::size_t k = 0; k < own_.size(); ++k) {
      if (!read(PyTuple_GET_ITEM(tuple.ptr(), static_cast<py::ssize_t>(k)), own_[k])) refuse();
    }
    values_ = own_;
  }

  std::span<const T> values_;
  std::vector<T> own_;
  bool given_ = false;
};

}  // namespace malleable::bindings
