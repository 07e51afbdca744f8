/* Nearest centroids of packed rows; see kmeans.c. Needs LANES (floats in a vector), VECTORS (of them side by
   side, at most PACK_ROWS / LANES) and GROUP (most centroids at a time, so that all sums stay in registers). */

typedef float NAME(floats) __attribute__((vector_size(LANES * 4)));
typedef float NAME(loose) __attribute__((vector_size(LANES * 4), aligned(4)));
typedef int32_t NAME(ints) __attribute__((vector_size(LANES * 4)));

/* Products of VECTORS x LANES rows with g centroids, and the better of each with what is known. */
KP_INLINE void NAME(tile)(const float *KP_RESTRICT x, const float *KP_RESTRICT w, const float *KP_RESTRICT half,
                          int64_t c, int32_t from, const int g, NAME(floats) * best, NAME(ints) * label)
{
    NAME(floats) sum[GROUP][VECTORS];
    for (int j = 0; j < g; j++)
        for (int v = 0; v < VECTORS; v++)
            sum[j][v] = (NAME(floats)){0};
    for (int64_t q = 0; q < c; q++) {
        NAME(floats) row[VECTORS];
        for (int v = 0; v < VECTORS; v++)
            row[v] = *(const NAME(loose) *)(x + q * PACK_ROWS + v * LANES);
        for (int j = 0; j < g; j++)
            for (int v = 0; v < VECTORS; v++)
                sum[j][v] += row[v] * w[q * g + j];
    }
    for (int j = 0; j < g; j++)
        for (int v = 0; v < VECTORS; v++) {
            NAME(floats) far = half[from + j] - sum[j][v];
            NAME(ints) less = far < best[v];
            best[v] = (NAME(floats))(((NAME(ints))far & less) | ((NAME(ints))best[v] & ~less));
            label[v] = ((from + j) & less) | (label[v] & ~less);
        }
}

static void NAME(assign)(const float *packed, int64_t c, int64_t first, int64_t stop, const float *w, const float *half,
                         int64_t groups, int g, int32_t *labels, float *near)
{
    for (int64_t row = first; row < stop; row += VECTORS * LANES) {
        const float *x = packed + row / PACK_ROWS * PACK_ROWS * c + row % PACK_ROWS;
        NAME(floats) best[VECTORS];
        NAME(ints) label[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            best[v] = (NAME(floats)){0} + INFINITY;
            label[v] = (NAME(ints)){0};
        }
        for (int64_t group = 0; group < groups; group++) {
            const float *part = w + group * g * c;
            int32_t from = (int32_t)(group * g);
#define TILE(count)                                                                     \
    case count:                                                                         \
        NAME(tile)(x, part, half, c, from, count < GROUP ? count : GROUP, best, label); \
        break;
            switch (g) {
                TILE(1)
                TILE(2)
                TILE(3)
                TILE(4)
                TILE(5)
                TILE(6)
                TILE(7)
                TILE(8)
                TILE(9)
                TILE(10)
                TILE(11)
                TILE(12)
            }
#undef TILE
        }
        for (int lane = 0; lane < VECTORS * LANES && row + lane < stop; lane++) {
            labels[row + lane] = label[lane / LANES][lane % LANES];
            near[row + lane] = best[lane / LANES][lane % LANES];
        }
    }
}
