// Memory on cache lines of its own. Two objects in two threads share nothing, but what they write
// lies on one line where the allocator put it side by side, and each write then takes the line from
// the other thread. For what small decisions write every time.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace malleable {

inline constexpr std::size_t kLine = 64;

template <typename T>
struct OwnLines {
  using value_type = T;

  OwnLines() = default;
  template <typename U>
  OwnLines(const OwnLines<U>&) noexcept {}

  T* allocate(std::size_t count) {
    if (count > (std::size_t{1} << 62) / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t lines = (count * sizeof(T) + kLine - 1) / kLine;
    return static_cast<T*>(::operator new(lines * kLine, std::align_val_t{kLine}));
  }
  void deallocate(T* place, std::size_t) noexcept {
    ::operator delete(place, std::align_val_t{kLine});
  }
  bool operator==(const OwnLines&) const = default;
};

template <typename T>
using LineVector = std::vector<T, OwnLines<T>>;

}  // namespace malleable
