// Memory that is about to be written: vectors whose new elements are not set first. For a million
// jobs filling what a kernel overwrites anyway costs as much as one of its passes.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace malleable {

template <typename T>
struct Unset : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = Unset<U>;
  };
  template <typename U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <typename U, typename... Values>
  void construct(U* place, Values&&... values) {
    std::construct_at(place, std::forward<Values>(values)...);
  }
};

// Like a vector, but resize() leaves new numbers as they are: read nothing before it is written.
template <typename T>
using Scratch = std::vector<T, Unset<T>>;

}  // namespace malleable
