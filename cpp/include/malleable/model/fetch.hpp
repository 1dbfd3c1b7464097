// What will be looked at soon is fetched from memory meanwhile, to be written.
//
// Compilers take a function that does nothing else for one without effect, and drop its calls:
// whoever wraps this is inlined, too.
#pragma once

#include <cstddef>

#if defined(__GNUC__)  // and what speaks its language
#define MALLEABLE_INLINE [[gnu::always_inline]] inline
#else
#define MALLEABLE_INLINE inline
#endif

namespace malleable {

// So many steps ahead in a loop, of which each takes some ten nanoseconds.
inline constexpr std::size_t kFetchAhead = 8;

MALLEABLE_INLINE void fetch([[maybe_unused]] const void* place) {
#if defined(__GNUC__)
  __builtin_prefetch(place, 1);
#endif
}

}  // namespace malleable
