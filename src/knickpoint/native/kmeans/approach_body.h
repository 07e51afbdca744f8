/* Squared distances of packed rows to one centroid; see approach.c. Needs LANES (floats in a vector). */

typedef float NAME(floats) __attribute__((vector_size(LANES * 4)));
typedef float NAME(loose) __attribute__((vector_size(LANES * 4), aligned(4)));

static void NAME(approach)(const float *packed, int64_t c, int64_t first, int64_t stop, const float *centroid,
                           float *near)
{
    enum { VECTORS = PACK_ROWS / LANES };
    for (int64_t row = first; row < stop; row += PACK_ROWS) {
        const float *x = packed + row * c;
        NAME(floats) sum[VECTORS];
        for (int v = 0; v < VECTORS; v++)
            sum[v] = (NAME(floats)){0};
        for (int64_t q = 0; q < c; q++)
            for (int v = 0; v < VECTORS; v++) {
                NAME(floats) off = *(const NAME(loose) *)(x + q * PACK_ROWS + v * LANES) - centroid[q];
                sum[v] += off * off;
            }
        for (int lane = 0; lane < PACK_ROWS && row + lane < stop; lane++) {
            float far = sum[lane / LANES][lane % LANES];
            if (far < near[row + lane])
                near[row + lane] = far;
        }
    }
}
