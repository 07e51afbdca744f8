/* What the store does with every value: make it small where that loses nothing, and lay listed points out as a matrix.
   Points are packed little-endian records {uint16 place, uint16 slot, value of 4 or 8 bytes}, by place, then slot. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "exports.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

int kp_narrow(const double *x, int64_t n, float *out)
{
    /* Without a comparison, so that compilers work on several values at once: an exponent of all ones, plus one, runs
       over into the sign. */
    const uint64_t exponent = 0x7ff0000000000000u, one = 0x0010000000000000u;
    uint64_t different = 0, over = 0;
    for (int64_t i = 0; i < n; i++) {
        float small = (float)x[i];
        out[i] = small;
        different |= bits_of((double)small) ^ bits_of(x[i]);
        over |= (bits_of(x[i]) & exponent) + one;
    }
    int lost = 0;
    if (different) /* or a NaN with a message, of which the end was cut off */
        for (int64_t i = 0; i < n && !lost; i++)
            lost = (double)out[i] != x[i] && x[i] == x[i];
    return lost | (int)(over >> 63) << 1;
}

static uint16_t place_of(const char *point)
{
    uint16_t place;
    memcpy(&place, point, sizeof place);
    return place;
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

enum { COUNT, WIDTH, FIRST, BEGIN, END, LEFT, RIGHT, FACTS };

static void lay(const char *points, const int64_t *fact, const int64_t *ids, int64_t chunk, const int32_t *columns,
                int64_t low, int64_t span, int64_t stride, int wide, void *values)
{
    int64_t width = fact[WIDTH], size = 4 + width, count = fact[COUNT], at = 0;
    for (int64_t row = fact[BEGIN]; row < fact[END]; row++) {
        float *small = (float *)values + row * stride;
        double *large = (double *)values + row * stride;
        for (int64_t column = fact[LEFT]; column < fact[RIGHT]; column++)
            if (wide)
                large[column] = NAN;
            else
                small[column] = NAN;
        uint16_t place = (uint16_t)(ids[row] % chunk);
        at = seek(points, size, at, count, place);
        for (int64_t i = at; i < count && place_of(points + i * size) == place; i++) {
            uint16_t slot;
            memcpy(&slot, points + i * size + 2, sizeof slot);
            int64_t far = fact[FIRST] + slot - low;
            if (far < 0 || far >= span || columns[far] < 0)
                continue;
            if (width == 4) {
                float value;
                memcpy(&value, points + i * size + 4, sizeof value);
                if (wide)
                    large[columns[far]] = value;
                else
                    small[columns[far]] = value;
            } else if (wide) {
                memcpy(large + columns[far], points + i * size + 4, sizeof(double));
            }
        }
    }
}

void kp_lay(const char *const *points, const int64_t *facts, int64_t tiles, const int64_t *ids, int64_t chunk,
            const int32_t *columns, int64_t low, int64_t span, int64_t stride, int wide, void *values)
{
    for (int64_t tile = 0; tile < tiles; tile++)
        lay(points[tile], facts + tile * FACTS, ids, chunk, columns, low, span, stride, wide, values);
}
