// Options by name: the row of an option in a table of options, and the one place where values are
// checked.
//
// A class of options has `each(self, visit)`, which calls `visit(Option, member)` for every row, in
// the order in which options are listed. Bindings, the C interface, Python's checks, the page of
// options and the fuzz targets read these rows, so an option is named only there and where it is
// used.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "malleable/model/state.hpp"

namespace malleable {

struct Option {
  const char* name;
  // Numbers and counts lie from `low` to `high`.
  double low, high;
  const char* unit;
  // The policies or parts that read it; empty: all.
  const char* readers;
  const char* meaning;
  // The words that the value may be, in the order of their codes.
  std::span<const char* const> words = {};
};

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();
inline Option flag(const char* name, const char* readers, const char* meaning) {
  return {name, 0.0, 1.0, "", readers, meaning};
}

// How many times as fast as one task s tasks of a phase together are: s^p, or rates of 1, 2, ...
// tasks (beyond the last rate as there).
struct CommonSpeedup {
  double p = 1.0;
  std::vector<double> rates;

  void state(State& s) { s(p, rates); }
  friend bool operator==(const CommonSpeedup&, const CommonSpeedup&) = default;
};

// Each throws std::invalid_argument, `name = value: ...`, for a value that the row does not allow.
void check_option(const Option& option, double value);
void check_option(const Option& option, const CommonSpeedup& value);
[[noreturn]] void throw_option(const Option& option, std::string_view value, const char* reason);

// Reads a value from text: a number, true or false, a word, rates between semicolons, or `none` if
// the option allows it.
double number_of(const Option& option, std::string_view text);
std::int64_t whole_of(const Option& option, std::string_view text);
bool flag_of(const Option& option, std::string_view text);
std::size_t word_of(const Option& option, std::string_view text);
CommonSpeedup speedup_of(const Option& option, std::string_view text);

template <typename T>
void read_option(const Option& option, std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, double>) {
    value = number_of(option, text);
  } else if constexpr (std::is_same_v<T, bool>) {
    value = flag_of(option, text);
  } else if constexpr (std::is_integral_v<T>) {
    value = static_cast<T>(whole_of(option, text));
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(word_of(option, text));
  } else if constexpr (std::is_same_v<T, CommonSpeedup>) {
    value = speedup_of(option, text);
  } else if (text == "none") {
    value.reset();
  } else {
    read_option(option, text, value.emplace());
  }
}

// Reads `name=value` pairs between spaces. Throws std::invalid_argument for the first wrong value,
// or for an unknown name; the message then lists the names. O(words * options).
template <typename Options>
void read_options(std::string_view text, Options& options) {
  constexpr std::string_view kSpace = " \t\n";
  while (true) {
    const std::size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(kSpace));
    text.remove_prefix(word.size());
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    std::string known;
    bool found = false;
    Options::each(options, [&](const Option& option, auto& member) {
      known += (known.empty() ? "" : ", ") + std::string(option.name);
      if (name != option.name) return;
      found = true;
      if (equals == std::string_view::npos) throw_option(option, "", "write name=value");
      read_option(option, word.substr(equals + 1), member);
    });
    if (!found) {
      throw std::invalid_argument(std::string(name) + ": unknown option, expected one of " + known);
    }
  }
}

}  // namespace malleable
