// Memory on its own cache lines, for data that every small decision writes. If the allocator puts
// the data of two objects on one line, two threads that use these objects take the line from each
// other at every write.
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
