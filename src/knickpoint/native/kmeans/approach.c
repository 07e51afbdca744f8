/* How near each row lies to the nearest of the centroids chosen so far, kept up as one more is chosen.

   Rows are packed as in kmeans.c, 32 side by side, and each sums its squared differences column by column without
   fused steps, so every machine computes the same bits and therefore draws the same rows. */

#include <stdint.h>

#include "exports.h"
#include "packed.h"
#include "vectors.h"

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define NAME(x) KP_JOIN(x, _plain)
#define LANES 4
#include "approach_body.h"
#undef NAME
#undef LANES

#if KP_X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define NAME(x) KP_JOIN(x, _avx2)
#define LANES 8
#include "approach_body.h"
#undef NAME
#undef LANES
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,prefer-vector-width=512")
#endif
#define NAME(x) KP_JOIN(x, _avx512)
#define LANES 16
#include "approach_body.h"
#undef NAME
#undef LANES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

void kp_approach(const float *packed, int64_t c, int64_t first, int64_t stop, const float *centroid, float *near)
{
#if KP_X86
    int level = kp_level();
    if (level == 2) {
        approach_avx512(packed, c, first, stop, centroid, near);
        return;
    }
    if (level == 1) {
        approach_avx2(packed, c, first, stop, centroid, near);
        return;
    }
#endif
    approach_plain(packed, c, first, stop, centroid, near);
}
