// Arrays of NumPy, the only place where they are read and made: arguments are read in place,
// results own their memory.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "malleable/model/penalties.hpp"

namespace malleable::bindings {

namespace py = pybind11;

// Contiguous and of exactly this type; anything else is a TypeError, never a silent copy. Python
// code converts once, when it validates.
template <typename T>
using Array = py::array_t<T, py::array::c_style>;

inline Aggregate aggregate_of(bool is_max) { return is_max ? Aggregate::kMax : Aggregate::kSum; }

template <typename T>
std::span<const T> view(const Array<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

// A new array of so many entries, not yet filled; it takes some 100 ns less than the constructor.
template <typename T>
Array<T> fresh(std::size_t count) {
  auto& api = py::detail::npy_api::get();
  const auto size = static_cast<Py_intptr_t>(count);
  PyObject* made = api.PyArray_NewFromDescr_(api.PyArray_Type_, py::dtype::of<T>().release().ptr(),
                                             1, &size, nullptr, nullptr, 0, nullptr);
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<Array<T>>(made);
}

// Hands a vector's memory to NumPy.
template <typename T>
Array<T> to_numpy(std::vector<T>&& values) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  const auto* data = owner->data();
  const auto size = static_cast<py::ssize_t>(owner->size());
  py::capsule capsule(owner.get(), [](void* p) { delete static_cast<std::vector<T>*>(p); });
  owner.release();
  return Array<T>(size, data, capsule);
}

template <typename T>
Array<T> copy(std::span<const T> values) {
  auto made = fresh<T>(values.size());
  std::copy(values.begin(), values.end(), made.mutable_data());
  return made;
}

// A member of rows as a column: one entry for each row, or two if the member has two.
template <typename Row, typename T>
auto column_of(std::span<const Row> rows, T Row::* member) {
  const auto entries = [&](const Row& row) {
    if constexpr (std::is_scalar_v<T>) {
      return std::span<const T, 1>(&(row.*member), 1);
    } else {
      return std::span(row.*member);
    }
  };
  using Value = typename decltype(entries(rows[0]))::value_type;
  using Entry = std::conditional_t<std::is_enum_v<Value>, std::uint8_t, Value>;
  std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(rows.size())};
  if constexpr (!std::is_scalar_v<T>) shape.push_back(2);
  Array<Entry> made(shape);
  Entry* at = made.mutable_data();
  for (const Row& row : rows) {
    for (const Value value : entries(row)) *at++ = static_cast<Entry>(value);
  }
  return made;
}

inline Array<std::int64_t> to_numpy(const std::vector<std::uint32_t>& values) {
  return to_numpy(std::vector<std::int64_t>(values.begin(), values.end()));
}

}  // namespace malleable::bindings
