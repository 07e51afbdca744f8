/* Compile the header that KP_BODY names once for each level of instructions; see vectors.h.

   KP_BODY is relative to this directory. This header has no guard: each file with a body includes it. */

#include "vectors.h"

#define NAME(x) KP_JOIN(x, _plain)
#define LEVEL 0
#define LANES 4
#include KP_BODY
#undef NAME
#undef LEVEL
#undef LANES

#if KP_X86

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define NAME(x) KP_JOIN(x, _avx2)
#define LEVEL 1
#define LANES 8
#include KP_BODY
#undef NAME
#undef LEVEL
#undef LANES
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,fma,prefer-vector-width=512")
#endif
#define NAME(x) KP_JOIN(x, _avx512)
#define LEVEL 2
#define LANES 16
#include KP_BODY
#undef NAME
#undef LEVEL
#undef LANES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif

#undef KP_BODY
