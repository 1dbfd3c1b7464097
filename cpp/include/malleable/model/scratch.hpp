// Vectors whose new elements are not initialised, because a kernel overwrites them. For a million
// jobs the initialisation would cost as much as one of its passes.
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

// Like a vector, but resize() does not initialise new numbers: write them before you read them.
template <typename T>
using Scratch = std::vector<T, Unset<T>>;

}  // namespace malleable
