/* A stable sort of doubles that remembers where each came from. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"

struct entry {
    uint64_t key;
    int64_t place;
};

/* A key whose unsigned order is the order of finite doubles; both zeros get the same. */
static uint64_t order_key(double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double order_value(uint64_t key)
{
    uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void merge_sort(struct entry *a, struct entry *spare, int64_t n)
{
    enum { RUN = 12 };
    for (int64_t low = 0; low < n; low += RUN) {
        int64_t high = low + RUN < n ? low + RUN : n;
        for (int64_t i = low + 1; i < high; i++) {
            struct entry moving = a[i];
            int64_t j = i;
            for (; j > low && a[j - 1].key > moving.key; j--)
                a[j] = a[j - 1];
            a[j] = moving;
        }
    }
    struct entry *from = a, *to = spare;
    for (int64_t width = RUN; width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width) {
            int64_t middle = low + width < n ? low + width : n, high = low + 2 * width < n ? low + 2 * width : n;
            int64_t i = low, j = middle, k = low;
            while (i < middle && j < high) {
                int second = from[j].key < from[i].key;
                to[k++] = second ? from[j] : from[i];
                j += second;
                i += !second;
            }
            memcpy(to + k, from + i, (size_t)(middle - i) * sizeof *to);
            k += middle - i;
            memcpy(to + k, from + j, (size_t)(high - j) * sizeof *to);
        }
        struct entry *swap = from;
        from = to;
        to = swap;
    }
    if (from != a)
        memcpy(a, from, (size_t)n * sizeof *a);
}

static void radix_sort(struct entry *a, struct entry *spare, int64_t n)
{
    enum { BITS = 11, PASSES = 6, SIZE = 1 << BITS };
    static const uint64_t mask = SIZE - 1;
    int64_t *counts = calloc((size_t)PASSES * SIZE, sizeof *counts);
    if (!counts) {
        merge_sort(a, spare, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        for (int pass = 0; pass < PASSES; pass++)
            counts[pass * SIZE + (int64_t)(a[i].key >> (pass * BITS) & mask)]++;
    struct entry *from = a, *to = spare;
    for (int pass = 0; pass < PASSES; pass++) {
        int64_t *count = counts + pass * SIZE, sum = 0;
        if (count[from[0].key >> (pass * BITS) & mask] == n)
            continue;
        for (int64_t digit = 0; digit < SIZE; digit++) {
            int64_t own = count[digit];
            count[digit] = sum;
            sum += own;
        }
        for (int64_t i = 0; i < n; i++)
            to[count[from[i].key >> (pass * BITS) & mask]++] = from[i];
        struct entry *swap = from;
        from = to;
        to = swap;
    }
    if (from != a)
        memcpy(a, from, (size_t)n * sizeof *a);
    free(counts);
}

int kp_sort_places(const double *z, int64_t n, double *sorted, int64_t *place)
{
    struct entry *a = malloc((size_t)(2 * n + 1) * sizeof *a);
    if (!a)
        return -1;
    for (int64_t i = 0; i < n; i++)
        a[i] = (struct entry){order_key(z[i]), i};
    if (n < 1500)
        merge_sort(a, a + n, n);
    else
        radix_sort(a, a + n, n);
    for (int64_t i = 0; i < n; i++) {
        sorted[i] = order_value(a[i].key);
        if (place)
            place[i] = a[i].place;
    }
    free(a);
    return 0;
}
