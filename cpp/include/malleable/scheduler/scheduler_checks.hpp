// Checks columns of a scheduler's calls before anything changes.
#pragma once

#include <cstdint>
#include <span>

#include "malleable/model/length.hpp"
#include "malleable/scheduler/scheduler.hpp"

namespace malleable {

inline constexpr std::int64_t kMostOnNode = std::int64_t{1} << 20;  // slots

// Each throws FieldError for the first invalid value.
void check_whole(const char* field, std::span<const std::int64_t> values, std::int64_t least,
                 std::int64_t most);
void check_people(const char* field, std::span<const Scheduler::Person> people);
// Checks a column that may be left out.
template <typename T>
void check_given(const char* field, std::span<const T> column, std::size_t rows) {
  if (!column.empty()) check_length(field, column.size(), rows);
}

}  // namespace malleable
