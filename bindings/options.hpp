// Options that Python passes by name, in a dictionary, and the table of options for Python.
#pragma once

#include <limits>
#include <optional>
#include <type_traits>

#include "arrays.hpp"
#include "malleable/model/option.hpp"

namespace malleable::bindings {

// The word for the kind of values that an option takes.
template <typename T>
constexpr const char* kind_name() {
  if constexpr (std::is_same_v<T, bool>) {
    return "flag";
  } else if constexpr (std::is_same_v<T, double>) {
    return "number";
  } else if constexpr (std::is_enum_v<T>) {
    return "word";
  } else if constexpr (std::is_same_v<T, CommonSpeedup>) {
    return "speedup";
  } else if constexpr (std::is_integral_v<T>) {
    return "whole";
  } else {
    return kind_name<typename T::value_type>();
  }
}

// A value as users write it.
template <typename T>
py::object shown_option(const Option& option, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return py::str(option.words[static_cast<std::size_t>(value)]);
  } else if constexpr (std::is_same_v<T, CommonSpeedup>) {
    if (value.rates.empty()) return py::float_(value.p);
    return py::cast(value.rates);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return py::cast(value);
  } else {
    return value ? shown_option(option, *value) : py::none();
  }
}

// Python code has checked the values against the table.
template <typename T>
void read_option(const Option& option, const py::handle& given, T& value) {
  if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(word_of(option, given.cast<std::string>()));
  } else if constexpr (std::is_same_v<T, CommonSpeedup>) {
    const bool rates = py::isinstance<py::sequence>(given) || py::isinstance<py::array>(given);
    value = {};
    if (rates) {
      value.rates = given.cast<std::vector<double>>();
    } else {
      value.p = given.cast<double>();
    }
  } else {
    value = given.cast<T>();
  }
}

template <typename Options>
Options read_options(const py::dict& given) {
  Options options;
  Options::each(options, [&](const Option& option, auto& value) {
    if (given.contains(option.name)) read_option(option, given[option.name], value);
  });
  return options;
}

// The values of all options by name.
template <typename Options>
py::dict shown_options(const Options& options) {
  py::dict values;
  Options::each(options, [&](const Option& option, const auto& value) {
    values[option.name] = shown_option(option, value);
  });
  return values;
}

}  // namespace malleable::bindings
