// Marks a loop to be compiled for several instruction sets; the loader picks the machine's widest.
// Such a loop must give the same results in all of them: element by element, or sums of integers.
// Not under sanitizers, whose runtime is not there yet when the loader picks.
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MALLEABLE_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MALLEABLE_VECTOR_CLONES
#endif
