/* What the store does with every value: make it small where that loses nothing, and lay listed points out as a matrix.

   Points are packed little-endian records {uint16 place, uint16 slot, value of 4 or 8 bytes}, by place, then slot. The
   rows of a tile ask for ascending places, so each is found from the one before by exponential search (Bentley and Yao,
   Information Processing Letters 5, 1976): O(p) for p points that are all wanted, O(r log p) where r rows want few. */

#include <math.h>
#include <string.h>

#include "exports.h"
#include "vectors.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

int kp_narrow(const double *x, int64_t n, float *out)
{
    /* Without a comparison, so that compilers work on several values at once: an exponent with all bits set, plus its
       lowest bit, carries into the sign. */
    const uint64_t exponent = 0x7ff0000000000000u, lowest = 0x0010000000000000u;
    uint64_t different = 0, over = 0;
    for (int64_t i = 0; i < n; i++) {
        float small = (float)x[i];
        out[i] = small;
        different |= bits_of((double)small) ^ bits_of(x[i]);
        over |= (bits_of(x[i]) & exponent) + lowest;
    }
    int lost = 0;
    if (different) /* or a NaN whose payload was cut off */
        for (int64_t i = 0; i < n && !lost; i++)
            lost = (double)out[i] != x[i] && x[i] == x[i];
    return (lost ? KP_LOST : 0) | (over >> 63 ? KP_WILD : 0);
}

/* A point is its place, its slot and its value. */
enum { SLOT_AT = 2, VALUE_AT = 4 };

static uint16_t place_of(const char *point)
{
    return kp_read_u16(point);
}

/* The first point at or after `from` whose place is `place` or more. */
static int64_t seek(const char *points, int64_t size, int64_t from, int64_t count, uint16_t place)
{
    int64_t step = 1, high = from;
    while (high < count && place_of(points + high * size) < place) {
        from = high + 1;
        high += step;
        step *= 2;
    }
    if (high > count)
        high = count;
    while (from < high) {
        int64_t middle = from + (high - from) / 2;
        if (place_of(points + middle * size) < place)
            from = middle + 1;
        else
            high = middle;
    }
    return from;
}

/* The facts of a tile, in this order; points.py stacks them. */
enum { COUNT, WIDTH, FIRST, BEGIN, END, LEFT, RIGHT, FACTS };

/* Write the points of one tile; fact has what belongs to it. */
static void lay(const char *points, const int64_t *fact, const int64_t *ids, int64_t chunk, const int32_t *columns,
                int64_t low, int64_t span, int64_t stride, int wide, void *values)
{
    int64_t width = fact[WIDTH], size = VALUE_AT + width, count = fact[COUNT], at = 0;
    for (int64_t row = fact[BEGIN]; row < fact[END]; row++) {
        float *small = (float *)values + row * stride;
        double *large = (double *)values + row * stride;
        for (int64_t column = fact[LEFT]; column < fact[RIGHT]; column++)
            if (wide)
                large[column] = NAN;
            else
                small[column] = NAN;

        /* The points of this row, those whose slots have a column. */
        uint16_t place = (uint16_t)(ids[row] % chunk);
        at = seek(points, size, at, count, place);
        for (int64_t i = at; i < count && place_of(points + i * size) == place; i++) {
            const char *point = points + i * size;
            int64_t offset = fact[FIRST] + kp_read_u16(point + SLOT_AT) - low;
            if (offset < 0 || offset >= span || columns[offset] < 0)
                continue;
            int32_t column = columns[offset];
            if (wide)
                large[column] = width == 4 ? (double)kp_read_f32(point + VALUE_AT) : kp_read_f64(point + VALUE_AT);
            else if (width == 4)
                small[column] = kp_read_f32(point + VALUE_AT);
        }
    }
}

void kp_lay(const char *const *points, const int64_t *facts, int64_t tiles, const int64_t *ids, int64_t chunk,
            const int32_t *columns, int64_t low, int64_t span, int64_t stride, int wide, void *values)
{
    for (int64_t tile = 0; tile < tiles; tile++)
        lay(points[tile], facts + tile * FACTS, ids, chunk, columns, low, span, stride, wide, values);
}
