/* The best place of each candidate, given its neighbours. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages.h"

enum { REACH = 8 }; /* how far a place may move */

/* What a value costs the level before it less what it costs the level after, and up to 1 for the nearer of the two: a
   value far off both would otherwise go to the first place that is asked. */
static double leaning(double v, double before, double after, double w, double lean)
{
    return bounded(v - before, w) - bounded(v - after, w) + (fabs(v - before) - fabs(v - after)) * lean;
}

/* Move a change to the cheapest place within REACH, given the medians of its two sides. */
static int best_place(Series *s, int l, int c, int r)
{
    int a = c - SIDE > l ? c - SIDE : l, b = c + SIDE < r ? c + SIDE : r;
    double before = kp_median_at(&s->values, a, c, s->scratch), after = kp_median_at(&s->values, c, b, s->scratch);
    double w = 1.0 / s->scale, lean = before == after ? 0 : 1.0 / fabs(after - before);
    int lo = l + 1 > c - REACH ? l + 1 : c - REACH, hi = r - 1 < c + REACH ? r - 1 : c + REACH;
    int from = lo - 1 > l ? lo - 1 : l;
    double total = 0, best = 0;
    int place = c, found = 0;
    for (int t = from; t < lo; t++)
        total += leaning(s->x[t], before, after, w, lean);
    for (int k = lo; k <= hi; k++) {
        if (!found || total < best - TIE) {
            best = total;
            place = k;
            found = 1;
        }
        if (k < s->n)
            total += leaning(s->x[k], before, after, w, lean);
    }
    return found ? place : c;
}

/* How far the SHORTEST values before a place and those after it lie apart without any overlap; negative with. */
static double gap_at(const double *x, int c)
{
    double lo_a = x[c - 1], hi_a = lo_a, lo_b = x[c], hi_b = lo_b;
    for (int q = 1; q < SHORTEST; q++) {
        double a = x[c - 1 - q], b = x[c + q];
        lo_a = a < lo_a ? a : lo_a;
        hi_a = a > hi_a ? a : hi_a;
        lo_b = b < lo_b ? b : lo_b;
        hi_b = b > hi_b ? b : hi_b;
    }
    return lo_b - hi_a > lo_a - hi_b ? lo_b - hi_a : lo_a - hi_b;
}

/* Drop candidates closer than SHORTEST to an end; of two that are so close to each other keep the wider gap. */
static int apart(const Series *s, int *places, int k)
{
    int kept = 0;
    for (int i = 0; i < k; i++) {
        if (places[i] < SHORTEST || places[i] > s->n - SHORTEST)
            continue;
        if (!kept || places[i] - places[kept - 1] >= SHORTEST)
            places[kept++] = places[i];
        else if (gap_at(s->x, places[i]) > gap_at(s->x, places[kept - 1]) + TIE * s->scale)
            places[kept - 1] = places[i];
    }
    return kept;
}

void kp_settle(Series *s, int *places, int k, int i)
{
    int l = i ? places[i - 1] : 0, r = i + 1 < k ? places[i + 1] : s->n, place = best_place(s, l, places[i], r);
    if (place - l >= SHORTEST && r - place >= SHORTEST)
        places[i] = place;
}

static int by_place(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int kp_place_candidates(Series *s, int *places, int k, int *spare)
{
    for (int i = 0; i < k; i++)
        spare[i] = best_place(s, i ? places[i - 1] : 0, places[i], i + 1 < k ? places[i + 1] : s->n);
    memcpy(places, spare, (size_t)k * sizeof(int));
    qsort(places, (size_t)k, sizeof(int), by_place);
    k = apart(s, places, k);
    for (int i = 0; i < k; i++) /* what lost a neighbour has more room */
        kp_settle(s, places, k, i);
    return k;
}
