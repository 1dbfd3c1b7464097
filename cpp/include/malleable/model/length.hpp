// Checks that columns of one table have one length; the message names the column and both lengths.
#pragma once

#include <cstddef>
#include <string>

#include "malleable/model/terms.hpp"

namespace malleable {

// `1 job`, `2 jobs`; `plural` if it is irregular.
std::string counted(std::size_t count, const std::string& noun, const std::string& plural = "");

// Throws std::invalid_argument if the lengths differ: `weight has 1 entry but work has 3`, or
// `weight has 1 entry, expected 3` if no other column says so.
void check_length(const std::string& field, std::size_t length, std::size_t expected,
                  const std::string& other = "");

// The same for all columns that `Columns::each` lists; optional columns may be empty. `rows`:
// arguments of `each`.
template <typename Columns, typename... Rows>
void check_lengths(const Columns& columns, Rows... rows) {
  Columns::each(columns, rows...,
                [&](const char* name, const auto& column, std::size_t expected, bool optional) {
                  if (expected == kAnyLength || (optional && column.empty())) return;
                  check_length(name, column.size(), expected);
                });
}

}  // namespace malleable
