// Memory for a long column, on large pages if the system has them: making small pages takes longer
// than filling them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace malleable {

// Reserves `count` entries in an empty column.
template <typename T>
void reserve_large(std::vector<T>& column, std::size_t count) {
  column.reserve(count);
#ifdef __linux__
  constexpr std::size_t kLarge = std::size_t{1} << 22, kPage = 4096;
  if (count < kLarge / sizeof(T)) return;
  const auto data = reinterpret_cast<std::uintptr_t>(column.data());
  const std::uintptr_t begin = (data + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (data + count * sizeof(T)) / kPage * kPage;
  // if it fails, pages stay small
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

template <typename T>
void fill_large(std::vector<T>& column, std::size_t count, T value) {
  reserve_large(column, count);
  column.assign(count, value);
}

}  // namespace malleable
