// Columns that Python passes by name, in a dictionary.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrays.hpp"

namespace malleable::bindings {

// A column as a view, whose array `kept` keeps alive; a missing column is empty.
template <typename T>
std::span<const T> column(const py::dict& columns, const char* name, std::vector<py::object>& kept,
                          bool needed = false) {
  if (!columns.contains(name)) {
    if (needed) throw std::invalid_argument(std::string(name) + ": missing");
    return {};
  }
  const auto array = columns[name].cast<Array<T>>();
  kept.push_back(array);
  return view(array);
}

}  // namespace malleable::bindings
