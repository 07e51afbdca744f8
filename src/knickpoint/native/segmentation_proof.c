/* What makes a change certain without the forest, and how sure its place is. */

#include <math.h>
#include <stdlib.h>

#include "segmentation.h"

static const double LIKELY = 6.0; /* places whose cost is this near the least are 20 times less likely or less */
static const double JUMP = 7.0, CHANCE = 0.02, WIDE_JUMP = 20.0, WIDE_CHANCE = 0.5, CERTAIN = 10.0; /* see forest.py */

static int count_near(const double *x, int from, int to, double centre, double band)
{
    int count = 0;
    for (int t = from; t < to; t++) count += fabs(x[t] - centre) <= band;
    return count;
}

/* How often per 1,000 values chance alone puts the run [u, v) where it lies: the share of the values beside it, and
   of the values on both its sides, that are found at its level, to the power of the values that agree. */
static double chance_of_run(const double *x, int u, int v, int from, int to, int across_from, int across_to,
                            double centre, double band, int *agreed)
{
    int agree = count_near(x, u, v, centre, band), beside = to - from, across = across_to - across_from;
    *agreed = agree;
    if (agree < SHORTEST || 3 * agree < 2 * (v - u)) return 1000;
    int near = count_near(x, from, to, centre, band), far = count_near(x, across_from, across_to, centre, band);
    double one = (near + 0.5) / (beside + 1), both = (near + far + 0.5) / (beside + across + 1);
    return 1000 * pow(one < both ? one : both, agree);
}

void kp_prove(Series *s, const int *cps, int k, int i, double *p)
{
    const double *x = s->x;
    int n = s->n, l = i ? cps[i - 1] : 0, c = cps[i], r = i + 1 < k ? cps[i + 1] : n;
    int a = c - WINDOW > l ? c - WINDOW : l, b = c + WINDOW < r ? c + WINDOW : r, na = c - a, nb = b - c;
    int from = c - 20 > a ? c - 20 : a, to = c + 20 < b ? c + 20 : b, agreed = 0;
    double local = 0;
    for (int t = from; t < to; t++) local += s->noise[t];
    local /= to - from;
    double before = kp_median_at(s, a, c), after = kp_median_at(s, c, b), jump = fabs(after - before);
    double band = jump / 4 > 4 * local ? jump / 4 : 4 * local;
    p[0] = jump / local;
    p[1] = 0;
    p[2] = 1000;
    if (nb <= na) {
        int far = i + 2 < k ? cps[i + 2] : n;
        p[2] = chance_of_run(x, c, b, a, c, r, far < r + WINDOW ? far : r + WINDOW, after, band, &agreed);
        p[1] = agreed;
    }
    if (na <= nb) {
        int far = i > 1 ? cps[i - 2] : 0;
        double chance = chance_of_run(x, a, c, c, b, far > l - WINDOW ? far : l - WINDOW, l, before, band, &agreed);
        if (na < nb || chance < p[2]) { p[2] = chance; p[1] = agreed; }
    }
    double w = 1.0 / s->scale, total = 0;
    p[3] = 0;
    /* the cost of every place less that of c, walked both ways; the least may lie beside c */
    int lo = c - SIDE > l + 1 ? c - SIDE : l + 1, hi = c + SIDE < r - 1 ? c + SIDE : r - 1;
    double profile[2 * SIDE + 1], least = 0;
    for (int q = lo; q <= hi; q++) {
        profile[q - lo] = total;
        if (q == lo || total < least) least = total;
        total += bounded(x[q] - before, w) - bounded(x[q] - after, w);
    }
    for (int q = lo; q <= hi; q++)
        if (profile[q - lo] <= least + LIKELY && abs(q - c) > p[3]) p[3] = abs(q - c);
}

double kp_certainty(const double *p)
{
    return (p[0] >= JUMP && p[2] <= CHANCE) || (p[0] >= WIDE_JUMP && p[2] <= WIDE_CHANCE) ? CERTAIN : 0;
}
