/* What makes a change certain without the forest, and how sure its place is. */

#include <math.h>
#include <stdlib.h>

#include "stages.h"

static const double LIKELY = 6.0; /* places whose cost is this near the least are 20 times less likely or less */
static const double JUMP = 7.0, CHANCE = 0.02, WIDE_JUMP = 20.0, WIDE_CHANCE = 0.5, CERTAIN = 10.0; /* see forest.py */

static int count_near(const double *x, int from, int to, double centre, double band)
{
    int count = 0;
    for (int t = from; t < to; t++)
        count += fabs(x[t] - centre) <= band;
    return count;
}

/* How often per 1,000 values chance alone puts the run [u, v) where it lies: the share of the values beside it, and
   of the values on both its sides, that are found at its level, to the power of the values that agree. */
static double chance_of_run(const double *x, int u, int v, int from, int to, int across_from, int across_to,
                            double centre, double band, int *agreed)
{
    int agree = count_near(x, u, v, centre, band), beside = to - from, across = across_to - across_from;
    *agreed = agree;
    if (agree < SHORTEST || 3 * agree < 2 * (v - u))
        return 1000;
    int near = count_near(x, from, to, centre, band), far = count_near(x, across_from, across_to, centre, band);
    double one = (near + 0.5) / (beside + 1), both = (near + far + 0.5) / (beside + across + 1);
    return 1000 * pow(one < both ? one : both, agree);
}

/* Half the width of the places whose cost, next to the least, is still likely; the least may lie beside the place. */
static int interval(const Series *s, const Spot *spot)
{
    int place = spot->place, half = 0;
    int low = place - SIDE > spot->first + 1 ? place - SIDE : spot->first + 1;
    int high = place + SIDE < spot->stop - 1 ? place + SIDE : spot->stop - 1;
    double profile[2 * SIDE + 1], total = 0, least = INFINITY, w = 1.0 / s->scale;
    for (int q = low; q <= high; q++) {
        profile[q - low] = total;
        least = total < least ? total : least;
        total += bounded(s->x[q] - spot->before, w) - bounded(s->x[q] - spot->after, w);
    }
    for (int q = low; q <= high; q++)
        if (profile[q - low] <= least + LIKELY && abs(q - place) > half)
            half = abs(q - place);
    return half;
}

void kp_prove(const Series *s, const Spot *spot, double *proof)
{
    const double *x = s->x;
    int c = spot->place, agreed = 0;
    double jump = fabs(spot->after - spot->before), band = jump / 4 > 4 * spot->noise ? jump / 4 : 4 * spot->noise;
    proof[0] = jump / spot->noise;
    proof[1] = 0;
    proof[2] = 1000;
    proof[3] = interval(s, spot);
    if (spot->nb <= spot->na) {
        int far = spot->later < spot->stop + WINDOW ? spot->later : spot->stop + WINDOW;
        proof[2] = chance_of_run(x, c, spot->b, spot->a, c, spot->stop, far, spot->after, band, &agreed);
        proof[1] = agreed;
    }
    if (spot->na <= spot->nb) {
        int far = spot->earlier > spot->first - WINDOW ? spot->earlier : spot->first - WINDOW;
        double chance = chance_of_run(x, spot->a, c, c, spot->b, far, spot->first, spot->before, band, &agreed);
        if (spot->na < spot->nb || chance < proof[2]) {
            proof[1] = agreed;
            proof[2] = chance;
        }
    }
}

double kp_certainty(const double *proof)
{
    double jump = proof[0], chance = proof[2];
    return (jump >= JUMP && chance <= CHANCE) || (jump >= WIDE_JUMP && chance <= WIDE_CHANCE) ? CERTAIN : 0;
}
