/* Sort doubles stably and remember where each came from; select the middle of unsorted ones.

   Sorting compares integer keys whose unsigned order is the order of the doubles. Short series are merge-sorted bottom
   up, without branches that depend on the values. Long ones take a radix sort by digits of 11 bits, the least
   significant first, which skips digits that all keys share. Selection is that of Floyd and Rivest (CACM 18, 1975): the
   pivots come from samples at places that look random, since values that rise as stairs do meet any regular place at
   its worst, and lie a little beyond what is wanted. Lomuto's partition has no branches that need prediction. */

#include <stdlib.h>
#include <string.h>

#include "sort.h"

/* From this length on the radix sort is faster. */
enum { RADIX_FROM = 1500 };

/* Values that are sorted one by one; how many are drawn for a pivot, and the most, from MANY values on. */
enum { FEW = 16, SAMPLED = 15, MOST_SAMPLED = 63, MANY = 2000 };

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

/* Merge two runs of equal width from both ends at once: two chains of comparisons that do not wait for each other, and
   no branch to predict. */
static void merge_even(const struct entry *a, const struct entry *b, int64_t width, struct entry *to)
{
    int64_t i = 0, j = 0, p = width - 1, q = width - 1;
    for (int64_t k = 0; k < width; k++) {
        int second = b[j].key < a[i].key, first = b[q].key < a[p].key;
        to[k] = *(second ? b + j : a + i);
        to[2 * width - 1 - k] = *(first ? a + p : b + q);
        j += second;
        i += !second;
        p -= first;
        q -= !first;
    }
}

static void merge(const struct entry *a, int64_t n, const struct entry *b, int64_t m, struct entry *to)
{
    int64_t i = 0, j = 0;
    while (i < n && j < m) {
        int second = b[j].key < a[i].key;
        *to++ = *(second ? b + j : a + i);
        j += second;
        i += !second;
    }
    memcpy(to, a + i, (size_t)(n - i) * sizeof *to);
    memcpy(to + n - i, b + j, (size_t)(m - j) * sizeof *to);
}

static void merge_sort(struct entry *a, struct entry *spare, int64_t n)
{
    struct entry *from = a, *to = spare;
    for (int64_t width = 1; width < n; width *= 2) {
        int64_t low = 0;
        for (; low + 2 * width <= n; low += 2 * width)
            merge_even(from + low, from + low + width, width, to + low);
        int64_t rest = n - low, half = rest < width ? rest : width;
        merge(from + low, half, from + low + half, rest - half, to + low);
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

    /* Count the digits of all passes in one go. */
    for (int64_t i = 0; i < n; i++)
        for (int pass = 0; pass < PASSES; pass++)
            counts[pass * SIZE + (int64_t)(a[i].key >> (pass * BITS) & mask)]++;

    struct entry *from = a, *to = spare;
    for (int pass = 0; pass < PASSES; pass++) {
        int64_t *count = counts + pass * SIZE, sum = 0;
        if (count[from[0].key >> (pass * BITS) & mask] == n)
            continue; /* all keys share this digit */
        for (int64_t digit = 0; digit < SIZE; digit++) {
            int64_t held = count[digit];
            count[digit] = sum;
            sum += held;
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
    if (n < RADIX_FROM)
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

/* Put what is less than the pivot, or at most as large, to the front of v[0..n), without branches; returns how many. */
static inline int64_t put_first(double *v, int64_t n, double pivot, int equal)
{
    int64_t first = 0;
    for (int64_t i = 0; i < n; i++) {
        double value = v[i];
        v[i] = v[first];
        v[first] = value;
        first += equal ? value <= pivot : value < pivot;
    }
    return first;
}

void kp_sort_few(double *v, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        double value = v[i];
        int64_t j = i;
        for (; j > 0 && v[j - 1] > value; j--)
            v[j] = v[j - 1];
        v[j] = value;
    }
}

/* A value of v[0..n) a little beyond the k-th smallest, on the side of the middle: what is behind it is the most that
   one pass can set aside. */
static double pivot_beyond(const double *v, int64_t n, int64_t k, uint64_t *random)
{
    double sample[MOST_SAMPLED];
    int64_t count = n < MANY ? SAMPLED : MOST_SAMPLED;
    for (int64_t i = 0; i < count; i++) {
        *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sample[i] = v[(int64_t)((*random >> 32) * (uint64_t)n >> 32)];
    }
    kp_sort_few(sample, count);
    int64_t rank = k * count / n + (2 * k < n ? count / 8 : -count / 8);
    return sample[rank < 0 ? 0 : rank < count ? rank : count - 1];
}

/* The k-th smallest of v[0..n), k from 0; afterwards nothing before it is larger and nothing after it smaller. */
static double select_kth(double *v, int64_t n, int64_t k)
{
    for (uint64_t random = 1; n > FEW;) {
        double pivot = pivot_beyond(v, n, k, &random);
        int64_t less = put_first(v, n, pivot, 0);
        if (k < less) {
            n = less;
            continue;
        }
        v += less;
        n -= less;
        k -= less;
        if (less) /* the pivot is left: what equals it is set aside where nothing is less */
            continue;
        int64_t equal = put_first(v, n, pivot, 1);
        if (k < equal)
            return pivot;
        v += equal;
        n -= equal;
        k -= equal;
    }
    kp_sort_few(v, n);
    return v[k];
}

void kp_middle_pair(double *v, int64_t n, double *lower, double *upper)
{
    *lower = *upper = select_kth(v, n, n / 2) + 0.0; /* both zeros are 0 */
    if (n % 2)
        return;
    *lower = v[0];
    for (int64_t i = 1; i < n / 2; i++)
        *lower = v[i] > *lower ? v[i] : *lower;
    *lower += 0.0;
}
