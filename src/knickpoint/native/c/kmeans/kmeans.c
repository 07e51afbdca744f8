/* k-means on float32 rows (Lloyd, IEEE Transactions on Information Theory 28, 1982): the nearest of k centroids for
   each row, and sums that follow the rows that moved.

   The squared distance of a row x to a centroid w is |x|^2 - 2 x w + |w|^2, so the nearest centroid has the least
   |w|^2 / 2 - x w: a matrix product. For it, 32 rows lie side by side in vectors, packed column by column once for all
   iterations. A product with a group of centroids then needs one broadcast a centroid and no reduction, wastes nothing
   on a k that is no multiple of a vector, and finds the smallest distance without leaving the registers. O(n k c) time
   for n rows of c columns, O(k c) memory. */

#include <math.h>
#include <stdlib.h>

#include "exports.h"
#include "packed.h"
#include "vectors.h"

KP_FUSE

#define KP_BODY "kmeans/assign_body.h"
#include "each_level.h"

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
        for (int64_t q = 0; q < c; q += 16) { /* so few columns at a time that what is written stays in the cache */
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
    int g = group_size(k, KP_CHOOSE(largest_group));
    int64_t groups = (k + g - 1) / g, places = groups * g;

    /* Centroids group by group, column by column; an empty place has an infinite norm and is never the nearest. */
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
    KP_CHOOSE(assign)(packed, c, first, stop, w, half, groups, g, labels, near);
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
