// One wrapper for all functions of the C interface: it checks the handle, takes the thread guard,
// and turns every exception into a status and the message of this thread. It costs a comparison and
// an exchange of one byte.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "malleable/embed/handle.hpp"

namespace malleable::embed {

// The most entries of one call: Index can count no more rows.
inline constexpr std::int64_t kMostRows = std::int64_t{kNone} - 1;

// Stores the message of the current exception and returns its status.
int failure() noexcept;

template <typename Call>
int guarded(const Call& call) noexcept {
  try {
    call();
    return MALLEABLE_OK;
  } catch (...) {
    return failure();
  }
}

[[noreturn]] void throw_no_handle();
[[noreturn]] void throw_null(const char* field);
[[noreturn]] void throw_no_room(std::int64_t room, std::size_t rows);
[[noreturn]] void throw_count(const char* field, std::int64_t count, std::int64_t most);
[[noreturn]] void throw_bytes(const char* field, std::int64_t bytes, std::size_t least);

// Calls call(object) with the object of a handle.
template <typename Kind, typename Call>
int with(Kind* handle, const Call& call) noexcept {
  return guarded([&] {
    if (handle == nullptr || handle->tag != Kind::kTag) throw_no_handle();
    const UseGuard guard(*handle->busy);
    std::visit([&](auto* object) { call(*object); }, handle->object);
  });
}

// Frees a handle that the C interface made, with its object.
template <typename Kind>
void release(Kind* handle) noexcept {
  if (handle == nullptr || handle->tag != Kind::kTag || !handle->owned) return;
  std::visit([&]<typename Object>(Object*) { delete static_cast<Owned<Kind, Object>*>(handle); },
             handle->object);
}

// Makes a handle with its object; on failure `*made` is null.
template <typename Kind, typename Make>
int make(Kind** made, const Make& build) noexcept {
  return guarded([&] {
    if (made == nullptr) throw_null("made");
    *made = nullptr;
    *made = build();
  });
}

template <typename Field>
Field& needed(const char* name, Field* given) {
  if (given == nullptr) throw_null(name);
  return *given;
}
inline std::string_view text(const char* name, const char* given) { return &needed(name, given); }
inline std::string_view text_or(const char* given, std::string_view other) {
  return given == nullptr ? other : given;
}
// Reads a structure that begins with its size; null counts as zeros. Members that only a later
// version has must be zero, because this version would ignore them.
template <typename Sized>
const Sized& sized(const char* name, const Sized* given) {
  static constexpr Sized kZeros{};
  constexpr std::int64_t kMost = 4096;  // bytes; a larger size is surely a mistake
  if (given == nullptr) return kZeros;
  const auto bytes = given->bytes;
  if (bytes < static_cast<std::int64_t>(sizeof(Sized)) || bytes > kMost)
    throw_bytes(name, bytes, sizeof(Sized));
  const auto* all = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(all + sizeof(Sized), all + bytes, [](unsigned char one) { return one != 0; })) {
    throw_bytes(name, bytes, sizeof(Sized));
  }
  return *given;
}
inline std::size_t length(const char* name, std::int64_t count) {
  if (count < 0 || count > kMostRows) throw_count(name, count, kMostRows);
  return static_cast<std::size_t>(count);
}

// A span of `count` entries; null: empty.
template <typename T>
std::span<const T> column(const T* given, std::size_t count) {
  return given == nullptr ? std::span<const T>() : std::span<const T>(given, count);
}
template <typename T>
std::span<const T> needed(const char* name, const T* given, std::size_t count) {
  if (given == nullptr && count > 0) throw_null(name);
  return {given, given == nullptr ? 0 : count};
}
// The `count` entries given; null: `count` times `value`, kept in `spare`.
template <typename T>
std::span<const T> column_or(const T* given, std::size_t count, T value, std::vector<T>& spare) {
  if (given != nullptr) return {given, count};
  spare.assign(count, value);
  return spare;
}
template <typename T>
std::span<T> written(const char* name, T* given, std::size_t count) {
  if (given == nullptr && count > 0) throw_null(name);
  return {given, count};
}

inline void check_room(std::int64_t room, std::size_t rows) {
  if (room < 0 || static_cast<std::size_t>(room) < rows) throw_no_room(room, rows);
}
// Checks that there is room for so many rows.
template <typename Sized>
Sized& with_room(const char* name, Sized* given, std::size_t rows) {
  Sized& to = needed(name, given);
  sized(name, given);
  check_room(to.room, rows);
  return to;
}
// Few entries are copied by a loop, because a call of memmove takes longer.
template <typename T, typename Values>
void put(T* wanted, const Values& values) {
  if (wanted == nullptr) return;
  const std::size_t count = values.size();
  if (count > 4) {
    std::copy(values.begin(), values.end(), wanted);
    return;
  }
  if (count > 0) wanted[0] = values[0];
  if (count > 1) wanted[1] = values[1];
  if (count > 2) wanted[2] = values[2];
  if (count > 3) wanted[3] = values[3];
}
// Writes one entry for each row, or two.
template <typename T, typename Rows, typename Entry>
void put_each(T* wanted, const Rows& rows, const Entry& entry) {
  for (std::size_t k = 0; wanted != nullptr && k < rows.size(); ++k) {
    const auto& value = std::invoke(entry, rows[k]);
    if constexpr (std::is_scalar_v<std::remove_cvref_t<decltype(value)>>) {
      wanted[k] = static_cast<T>(value);
    } else {
      for (std::size_t side = 0; side < 2; ++side)
        wanted[2 * k + side] = static_cast<T>(value[side]);
    }
  }
}
// Writes a number, unless the caller does not want it (null).
inline void write_count(std::int64_t* wanted, std::size_t count) {
  if (wanted != nullptr) *wanted = static_cast<std::int64_t>(count);
}

// Writes all values, and their number.
template <typename T, typename Values>
void put(T* wanted, std::int64_t& count, const Values& values) {
  put(wanted, values);
  write_count(&count, values.size());
}

// Writes the order of jobs that could use more slots.
inline void put_order(malleable_decision& to, std::span<const std::int64_t> order,
                      bool overloaded) {
  put(to.order, to.ordered, order);
  to.overloaded = overloaded ? 1 : 0;
}
// Writes what the rows of decisions have in common.
template <typename Row>
void put_rows(malleable_decision& to, std::span<const Row> rows) {
  write_count(&to.rows, rows.size());
  put_each(to.ids, rows, &Row::id);
  put_each(to.given, rows, &Row::slots);
  put_each(to.changed, rows, &Row::changed);
  put_each(to.bound, rows, &Row::bound);
}

// `sum:KIND` or `max:KIND`; null: sum:response.
struct Goal {
  Aggregate aggregate;
  Kind kind;
};
Goal goal_of(const char* objective);
// null: the default effort.
std::optional<std::uint64_t> effort_of(const std::int64_t* effort);
void read_kinds(const std::uint8_t* codes, std::size_t count, std::vector<Kind>& kinds);

}  // namespace malleable::embed
