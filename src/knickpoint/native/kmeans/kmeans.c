/* k-means on float32 rows: the nearest of k centroids for each row, and sums that follow the rows that moved.

   Rows lie side by side in vectors: 32 rows are packed column by column, once for all iterations, so a product
   with a group of centroids needs one broadcast a centroid and no reduction, wastes nothing on a k that is no
   multiple of a vector, and finds the smallest distance without leaving the registers. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exports.h"
#include "packed.h"
#include "vectors.h"

#if defined(__clang__)
#pragma clang fp contract(fast)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=fast")
#endif

#define NAME(x) KP_JOIN(x, _plain)
#define LANES 4
#define VECTORS 2
#define GROUP 4
#include "assign_body.h"
#undef NAME
#undef LANES
#undef VECTORS
#undef GROUP

#if KP_X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define NAME(x) KP_JOIN(x, _avx2)
#define LANES 8
#define VECTORS 2
#define GROUP 6
#include "assign_body.h"
#undef NAME
#undef LANES
#undef VECTORS
#undef GROUP
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,fma,prefer-vector-width=512")
#endif
#define NAME(x) KP_JOIN(x, _avx512)
#define LANES 16
#define VECTORS 2
#define GROUP 12
#include "assign_body.h"
#undef NAME
#undef LANES
#undef VECTORS
#undef GROUP
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

int64_t kp_pack_rows(void)
{
    return PACK_ROWS;
}

int64_t kp_pack_size(int64_t n, int64_t c)
{
    return (n + PACK_ROWS - 1) / PACK_ROWS * PACK_ROWS * c;
}

void kp_pack(const float *x, int64_t n, int64_t c, float *packed)
{
    for (int64_t block = 0; block < n; block += PACK_ROWS) {
        float *to = packed + block * c;
        int64_t rows = n - block < PACK_ROWS ? n - block : PACK_ROWS;
        for (int64_t q = 0; q < c; q += 16) {
            int64_t width = c - q < 16 ? c - q : 16;
            for (int64_t r = 0; r < rows; r++)
                for (int64_t i = 0; i < width; i++)
                    to[(q + i) * PACK_ROWS + r] = x[(block + r) * c + q + i];
        }
        for (int64_t r = rows; r < PACK_ROWS; r++)
            for (int64_t q = 0; q < c; q++)
                to[q * PACK_ROWS + r] = 0.0f;
    }
}

/* The size of a group, at most most, that leaves the fewest places empty; the largest of those. */
static int group_size(int64_t k, int most)
{
    int best = 1;
    int64_t least = INT64_MAX;
    for (int g = most > 4 ? most / 2 : 1; g <= most; g++) {
        int64_t places = (k + g - 1) / g * g;
        if (places <= least) {
            least = places;
            best = g;
        }
    }
    return best;
}

int64_t kp_assign(const float *packed, int64_t c, int64_t first, int64_t stop, const float *centroids, int64_t k,
                  int32_t *labels, float *near)
{
    int level = kp_level();
    int g = group_size(k, level == 2 ? 12 : level == 1 ? 6 : 4);
    int64_t groups = (k + g - 1) / g, places = groups * g;
    float *w = calloc((size_t)(places * c + places), sizeof(float));
    if (!w)
        return -1;
    float *half = w + places * c;
    for (int64_t j = 0; j < places; j++) {
        double norm = 0.0;
        for (int64_t q = 0; j < k && q < c; q++) {
            float value = centroids[j * c + q];
            w[(j / g * c + q) * g + j % g] = value;
            norm += (double)value * value;
        }
        half[j] = j < k ? (float)(0.5 * norm) : INFINITY;
    }
#if KP_X86
    if (level == 2)
        assign_avx512(packed, c, first, stop, w, half, groups, g, labels, near);
    else if (level == 1)
        assign_avx2(packed, c, first, stop, w, half, groups, g, labels, near);
    else
#endif
        assign_plain(packed, c, first, stop, w, half, groups, g, labels, near);
    free(w);
    return 0;
}

int64_t kp_move(const float *x, int64_t c, int64_t first, int64_t stop, const int32_t *before, const int32_t *after,
                double *sums, int64_t *counts)
{
    int64_t moved = 0;
    for (int64_t row = first; row < stop; row++) {
        int32_t from = before[row], to = after[row];
        if (from == to)
            continue;
        moved++;
        const float *KP_RESTRICT values = x + row * c;
        double *KP_RESTRICT gain = sums + to * c;
        counts[to]++;
        if (from < 0) {
            for (int64_t q = 0; q < c; q++)
                gain[q] += (double)values[q];
            continue;
        }
        double *KP_RESTRICT loss = sums + from * c;
        counts[from]--;
        for (int64_t q = 0; q < c; q++) {
            double value = (double)values[q];
            gain[q] += value;
            loss[q] -= value;
        }
    }
    return moved;
}
