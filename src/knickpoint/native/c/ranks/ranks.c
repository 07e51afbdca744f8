/* The Mann-Whitney U test of many pairs of samples (Annals of Mathematical Statistics 18, 1947): U, ties, and the exact
   tail where values are tied.

   Each pair is sorted and merged, which gives U and the groups of equal values. Without ties the law of U has a normal
   approximation and a known exact form, so only tied samples are counted here: ways[k][s], how many draws of k values
   from the groups so far beat the rest by s pairs, grows group by group. The groups are split in two halves; each law
   is half as wide as that of all, and the tail joins the two. Samples of n and m values take O((n + m) log(n + m))
   time, and tied ones O(n^2 m (n + m)) more. */

#include <stdlib.h>
#include <string.h>

#include "exports.h"
#include "sort.h"
#include "vectors.h"

/* Up to this length, insertion is the fastest sort. */
enum { INSERTION = 48, LARGEST = KP_LARGEST_TIED };

/* Which draws give 2U of how much, for the values of some groups of equal ones: ways[k * width + s] draws of k values
   beat the others among them by s in all, a tie counting 1. */
struct law {
    double *ways;
    int64_t width, values;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(double *x, int64_t n)
{
    if (n > INSERTION)
        qsort(x, (size_t)n, sizeof *x, by_value);
    else
        kp_sort_few(x, n);
}

/* Merge two sorted samples. Returns 2U of the first; sizes gets how many values each group of equal ones has. */
static int64_t merge(const double *first, int64_t n, const double *second, int64_t m, int32_t *sizes, int64_t *groups)
{
    int64_t i = 0, j = 0, twice = 0;
    for (*groups = 0; i < n || j < m; ++*groups) {
        double value = j == m || (i < n && first[i] < second[j]) ? first[i] : second[j];
        int64_t in_first = 0, in_second = 0;
        while (i < n && first[i] == value)
            i++, in_first++;
        twice += in_first * 2 * j;
        while (j < m && second[j] == value)
            j++, in_second++;
        twice += in_first * in_second;
        sizes[*groups] = (int32_t)(in_first + in_second);
    }
    return twice;
}

/* Count the draws of up to n values, with up to m left over, from groups in ascending order. */
static void count_draws(struct law *law, const int32_t *sizes, int64_t groups, int64_t n, int64_t m,
                        double choose[][2 * LARGEST + 1])
{
    law->values = 0;
    for (int64_t g = 0; g < groups; g++)
        law->values += sizes[g];
    for (int64_t k = 0; k <= n && k <= law->values; k++)
        memset(law->ways + k * law->width, 0, (size_t)(2 * k * (law->values - k) + 1) * sizeof *law->ways);
    law->ways[0] = 1.0;

    /* Recursion over groups: taken values of a group beat the values left below it, and tie with the rest of the group.
       Draws of more values are filled first, because they read those of fewer. */
    int64_t below = 0;
    for (int64_t g = 0; g < groups; g++) {
        int64_t size = sizes[g], least = below + size - m, most = below + size < n ? below + size : n;
        for (int64_t k = most; k > 0 && k >= least; k--) {
            for (int64_t taken = 1; taken <= size && taken <= k; taken++) {
                int64_t had = k - taken, left = below - had;
                if (left < 0 || left > m)
                    continue;
                const double *KP_RESTRICT before = law->ways + had * law->width;
                double *KP_RESTRICT gained = law->ways + k * law->width + taken * (2 * left + size - taken);
                double times = choose[size][taken];
                for (int64_t s = 0; s <= 2 * had * left; s++)
                    gained[s] += times * before[s];
            }
        }
        below += size;
    }
}

/* The draws of n values whose 2U is at most twice: k of them among the low values, the rest among the high ones. */
static double tail_of(const struct law *low, struct law *high, int64_t n, int64_t twice)
{
    double found = 0.0;
    for (int64_t k = 0; k <= n && k <= low->values; k++) {
        int64_t rest = n - k, left = twice - 2 * rest * (low->values - k);
        if (rest > high->values || left < 0)
            continue;
        int64_t most = 2 * rest * (high->values - rest), reach = 2 * k * (low->values - k);
        double *tail = high->ways + rest * high->width;
        const double *ways = low->ways + k * low->width;

        /* Cumulate the law of the high values, then add up by what the low values give. */
        for (int64_t s = 1; s <= most; s++)
            tail[s] += tail[s - 1];
        for (int64_t s = 0; s <= reach && s <= left; s++)
            found += ways[s] * tail[left - s < most ? left - s : most];
    }
    return found;
}

/* Room for two laws of up to LARGEST drawn of twice as many values. */
struct room {
    struct law low, high;
    double choose[2 * LARGEST + 1][2 * LARGEST + 1];
    int32_t turned[2 * LARGEST];
};

/* How many draws of n of the values have a U as far from the middle on the same side. */
static double exact_tail(struct room *room, const int32_t *sizes, int64_t groups, int64_t n, int64_t m, int64_t twice)
{
    if (twice > n * m) { /* count from the other end, where the tail is */
        for (int64_t g = 0; g < groups; g++)
            room->turned[g] = sizes[groups - 1 - g];
        sizes = room->turned;
        twice = 2 * n * m - twice;
    }

    /* The first groups up to half of the values, and the others. */
    int64_t half = 0, values = 0;
    while (half < groups - 1 && 2 * (values + sizes[half] / 2) < n + m)
        values += sizes[half++];
    count_draws(&room->low, sizes, half, n, m, room->choose);
    count_draws(&room->high, sizes + half, groups - half, n, m, room->choose);
    return tail_of(&room->low, &room->high, n, twice);
}

static int open_room(struct room *room)
{
    int64_t width = 2 * LARGEST * LARGEST + 1;
    double *ways = malloc(2 * (LARGEST + 1) * (size_t)width * sizeof *ways);
    if (!ways)
        return -1;
    room->low = (struct law){ways, width, 0};
    room->high = (struct law){ways + (LARGEST + 1) * width, width, 0};
    for (int64_t n = 0; n <= 2 * LARGEST; n++) {
        room->choose[n][0] = 1.0;
        for (int64_t k = 1; k <= n; k++)
            room->choose[n][k] = k == n ? 1.0 : room->choose[n - 1][k - 1] + room->choose[n - 1][k];
    }
    return 0;
}

int64_t kp_ranks(const double *x, int64_t rows, int64_t step, int64_t n, int64_t m, double *twice, double *tied,
                 double *tail)
{
    struct room room;
    double *both = malloc((size_t)(n + m) * sizeof *both);
    int32_t *sizes = malloc((size_t)(n + m) * sizeof *sizes);
    int exact = n <= LARGEST && m <= LARGEST;
    int failed = !both || !sizes || open_room(&room);
    for (int64_t row = 0; row < rows && !failed; row++) {
        int64_t groups;
        memcpy(both, x + row * step, (size_t)(n + m) * sizeof *both);
        sort(both, n);
        sort(both + n, m);
        int64_t found = merge(both, n, both + n, m, sizes, &groups);
        twice[row] = (double)found;
        tied[row] = 0.0;
        for (int64_t g = 0; g < groups; g++)
            tied[row] += (double)sizes[g] * ((double)sizes[g] * sizes[g] - 1.0);
        tail[row] = exact && groups < n + m ? exact_tail(&room, sizes, groups, n, m, found) : -1.0;
    }
    free(both);
    free(sizes);
    if (!failed)
        free(room.low.ways);
    return failed ? -1 : 0;
}
