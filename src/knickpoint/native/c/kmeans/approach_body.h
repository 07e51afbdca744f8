/* Squared distances of packed rows to one centroid for one level of instructions; see approach.c. */

#define FLOATS KP_JOIN(f32x, LANES)
#define LOOSE KP_JOIN(KP_JOIN(f32x, LANES), _loose)

static void NAME(approach)(const float *packed, int64_t c, int64_t first, int64_t stop, const float *centroid,
                           float *near)
{
    enum { VECTORS = PACK_ROWS / LANES };
    for (int64_t row = first; row < stop; row += PACK_ROWS) {
        const float *x = packed + row * c;
        FLOATS sum[VECTORS];
        for (int v = 0; v < VECTORS; v++)
            sum[v] = (FLOATS){0};
        for (int64_t q = 0; q < c; q++)
            for (int v = 0; v < VECTORS; v++) {
                FLOATS off = *(const LOOSE *)(x + q * PACK_ROWS + v * LANES) - centroid[q];
                sum[v] += off * off;
            }
        for (int lane = 0; lane < PACK_ROWS && row + lane < stop; lane++) {
            float far = sum[lane / LANES][lane % LANES];
            if (far < near[row + lane])
                near[row + lane] = far;
        }
    }
}

#undef FLOATS
#undef LOOSE
