// Columns that Python passes by name, in a dictionary.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "malleable/scheduler/scheduler.hpp"

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

// Nodes of a cluster, checked.
inline ClusterNodes nodes_of(const py::dict& given) {
  ClusterNodes nodes;
  std::vector<py::object> kept;
  const auto copy_of = [&](const char* name, auto& values) {
    const auto read =
        column<typename std::remove_reference_t<decltype(values)>::value_type>(given, name, kept);
    values.assign(read.begin(), read.end());
  };
  copy_of("map_slots", nodes.slots[0]);
  copy_of("reduce_slots", nodes.slots[1]);
  copy_of("type", nodes.type);
  copy_of("rate", nodes.rate);
  copy_of("storage", nodes.storage);
  copy_of("link", nodes.link);
  copy_of("partitions", nodes.partitions);
  copy_of("memory", nodes.memory);
  copy_of("gpus", nodes.gpus);
  nodes.generic = given["generic"].cast<bool>();
  validate(nodes.view());
  return nodes;
}

}  // namespace malleable::bindings
