/* Nearest centroids of packed rows for one level of instructions; see kmeans.c.

   A tile is VECTORS x LANES rows and up to GROUP centroids: as many sums as the registers of the level hold. */

#define FLOATS KP_JOIN(f32x, LANES)
#define LOOSE KP_JOIN(KP_JOIN(f32x, LANES), _loose)
#define INTS KP_JOIN(i32x, LANES)
#define VECTORS 2
#define GROUP (LEVEL == 2 ? 12 : LEVEL == 1 ? 6 : 4)

/* The most centroids of a group. */
static const int NAME(largest_group) = GROUP;

/* Products of VECTORS x LANES rows with g centroids, and the better of each with what is known. */
KP_INLINE void NAME(tile)(const float *KP_RESTRICT x, const float *KP_RESTRICT w, const float *KP_RESTRICT half,
                          int64_t c, int32_t from, const int g, FLOATS *best, INTS *label)
{
    FLOATS sum[GROUP][VECTORS];
    for (int j = 0; j < g; j++)
        for (int v = 0; v < VECTORS; v++)
            sum[j][v] = (FLOATS){0};
    for (int64_t q = 0; q < c; q++) {
        FLOATS row[VECTORS];
        for (int v = 0; v < VECTORS; v++)
            row[v] = *(const LOOSE *)(x + q * PACK_ROWS + v * LANES);
        for (int j = 0; j < g; j++)
            for (int v = 0; v < VECTORS; v++)
                sum[j][v] += row[v] * w[q * g + j];
    }
    for (int j = 0; j < g; j++)
        for (int v = 0; v < VECTORS; v++) {
            FLOATS far = half[from + j] - sum[j][v];
            INTS less = far < best[v];
            best[v] = (FLOATS)(((INTS)far & less) | ((INTS)best[v] & ~less));
            label[v] = ((from + j) & less) | (label[v] & ~less);
        }
}

static void NAME(assign)(const float *packed, int64_t c, int64_t first, int64_t stop, const float *w, const float *half,
                         int64_t groups, int g, int32_t *labels, float *near)
{
    for (int64_t row = first; row < stop; row += VECTORS * LANES) {
        const float *x = packed + row / PACK_ROWS * PACK_ROWS * c + row % PACK_ROWS;
        FLOATS best[VECTORS];
        INTS label[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            best[v] = (FLOATS){0} + INFINITY;
            label[v] = (INTS){0};
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

#undef FLOATS
#undef LOOSE
#undef INTS
#undef VECTORS
#undef GROUP
