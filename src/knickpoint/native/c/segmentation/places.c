/* The best place of each candidate, given its neighbours.

   The medians of the values next to a candidate are the two levels. Its best place is that of the least bounded cost
   within KP_REACH points. Candidates that are then too close to each other or to an end are dropped. O(KP_SIDE) for
   each candidate. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages.h"

/* What a value costs the level before it less what it costs the level after, and up to 1 for the nearer of the two: a
   value far off both would otherwise go to the first place that is tried. */
static double leaning(double v, double before, double after, double w, double lean)
{
    return bounded(v - before, w) - bounded(v - after, w) + (fabs(v - before) - fabs(v - after)) * lean;
}

/* The cheapest place within KP_REACH for a change between first and stop, given the medians of its two sides. */
static int best_place(Series *s, int first, int place, int stop)
{
    int a = place - KP_SIDE > first ? place - KP_SIDE : first, b = place + KP_SIDE < stop ? place + KP_SIDE : stop;
    double before = kp_median_at(&s->values, a, place, s->scratch);
    double after = kp_median_at(&s->values, place, b, s->scratch);
    double w = 1.0 / s->scale, lean = before == after ? 0 : 1.0 / fabs(after - before);
    int low = first + 1 > place - KP_REACH ? first + 1 : place - KP_REACH;
    int high = stop - 1 < place + KP_REACH ? stop - 1 : place + KP_REACH;
    if (low > high)
        return place;

    /* The cost of each place, next to that of the lowest; the first of equally cheap ones stays. */
    double total = 0, best = 0;
    int chosen = low;
    for (int k = low; k < high; k++) {
        total += leaning(s->x[k], before, after, w, lean);
        if (total < best - KP_TIE) {
            best = total;
            chosen = k + 1;
        }
    }
    return chosen;
}

/* How far the KP_SHORTEST values before a place and those after it lie apart without any overlap; negative with. */
static double gap_at(const double *x, int place)
{
    double lo_a = x[place - 1], hi_a = lo_a, lo_b = x[place], hi_b = lo_b;
    for (int q = 1; q < KP_SHORTEST; q++) {
        double a = x[place - 1 - q], b = x[place + q];
        lo_a = a < lo_a ? a : lo_a;
        hi_a = a > hi_a ? a : hi_a;
        lo_b = b < lo_b ? b : lo_b;
        hi_b = b > hi_b ? b : hi_b;
    }
    return lo_b - hi_a > lo_a - hi_b ? lo_b - hi_a : lo_a - hi_b;
}

/* Drop candidates closer than KP_SHORTEST to an end; of two that are so close to each other keep the wider gap. */
static int keep_apart(const Series *s, int *places, int k)
{
    int kept = 0;
    for (int i = 0; i < k; i++) {
        if (places[i] < KP_SHORTEST || places[i] > s->n - KP_SHORTEST)
            continue;
        if (!kept || places[i] - places[kept - 1] >= KP_SHORTEST)
            places[kept++] = places[i];
        else if (gap_at(s->x, places[i]) > gap_at(s->x, places[kept - 1]) + KP_TIE * s->scale)
            places[kept - 1] = places[i];
    }
    return kept;
}

void kp_relocate(Series *s, int *places, int k, int i)
{
    int before = i ? places[i - 1] : 0, after = i + 1 < k ? places[i + 1] : s->n;
    int place = best_place(s, before, places[i], after);
    if (place - before >= KP_SHORTEST && after - place >= KP_SHORTEST)
        places[i] = place;
}

int kp_place_candidates(Series *s, int *places, int k, int *spare)
{
    for (int i = 0; i < k; i++)
        spare[i] = best_place(s, i ? places[i - 1] : 0, places[i], i + 1 < k ? places[i + 1] : s->n);
    memcpy(places, spare, (size_t)k * sizeof(int));
    qsort(places, (size_t)k, sizeof(int), compare_places);
    k = keep_apart(s, places, k);
    for (int i = 0; i < k; i++) /* a candidate that lost a neighbour has more room */
        kp_relocate(s, places, k, i);
    return k;
}
