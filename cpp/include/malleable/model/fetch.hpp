// Prefetches memory that will soon be read and written.
//
// Compilers take a function that only prefetches for one without effect, and drop its calls. So
// every function that wraps this is forced inline, too.
#pragma once

#include <cstddef>

#if defined(__GNUC__)  // and compatible compilers
#define MALLEABLE_INLINE [[gnu::always_inline]] inline
#else
#define MALLEABLE_INLINE inline
#endif

namespace malleable {

// How many steps ahead a loop prefetches, if a step takes about ten nanoseconds.
inline constexpr std::size_t kFetchAhead = 8;

MALLEABLE_INLINE void fetch([[maybe_unused]] const void* place) {
#if defined(__GNUC__)
  __builtin_prefetch(place, 1);
#endif
}

}  // namespace malleable
