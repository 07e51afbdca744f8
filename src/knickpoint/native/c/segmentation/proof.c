/* What makes a change certain without the forest, and how sure its place is.

   A run of values that agree with each other, far from the level beside it, is unlikely to come by chance: if a share p
   of the values nearby lies at the level of the run, m independent values lie there with probability p^m. The place is
   as sure as the likelihood profile around it is steep: places that cost at most KP_LIKELY more than the best lie
   within a likelihood ratio of 20 (2 ln 20 = 6). One pass over at most 4 x KP_WINDOW values for each candidate. */

#include <math.h>
#include <stdlib.h>

#include "stages.h"

/* How many of x[from..to) lie within the band around the centre. */
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
    if (agree < KP_SHORTEST || 3 * agree < 2 * (v - u))
        return 1000;
    int near = count_near(x, from, to, centre, band), far = count_near(x, across_from, across_to, centre, band);
    double near_share = (near + 0.5) / (beside + 1), share = (near + far + 0.5) / (beside + across + 1);
    return 1000 * pow(near_share < share ? near_share : share, agree);
}

/* Half the width of the places whose cost, next to the least, is still likely; the least may lie beside the place. */
static int interval(const Series *s, const Spot *spot)
{
    int place = spot->place, half = 0;
    int low = place - KP_SIDE > spot->first + 1 ? place - KP_SIDE : spot->first + 1;
    int high = place + KP_SIDE < spot->stop - 1 ? place + KP_SIDE : spot->stop - 1;
    double profile[2 * KP_SIDE + 1], total = 0, least = INFINITY, w = 1.0 / s->scale;
    for (int q = low; q <= high; q++) {
        profile[q - low] = total;
        least = total < least ? total : least;
        total += bounded(s->x[q] - spot->before, w) - bounded(s->x[q] - spot->after, w);
    }
    for (int q = low; q <= high; q++)
        if (profile[q - low] <= least + KP_LIKELY && abs(q - place) > half)
            half = abs(q - place);
    return half;
}

void kp_prove(const Series *s, const Spot *spot, double *proof)
{
    proof[PROOF_JUMP] = fabs(spot->after - spot->before) / spot->noise;
    proof[PROOF_INTERVAL] = interval(s, spot);
    kp_prove_run(s, spot, proof);
}

void kp_prove_run(const Series *s, const Spot *spot, double *proof)
{
    const double *x = s->x;
    int c = spot->place, agreed = 0;
    double jump = fabs(spot->after - spot->before), band = jump / 4 > 4 * spot->noise ? jump / 4 : 4 * spot->noise;
    proof[PROOF_AGREE] = 0;
    proof[PROOF_CHANCE] = 1000;

    /* The run is the shorter side, or of two equal ones the less likely. */
    if (spot->nb <= spot->na) {
        int far = spot->later < spot->stop + KP_WINDOW ? spot->later : spot->stop + KP_WINDOW;
        proof[PROOF_CHANCE] = chance_of_run(x, c, spot->b, spot->a, c, spot->stop, far, spot->after, band, &agreed);
        proof[PROOF_AGREE] = agreed;
    }
    if (spot->na <= spot->nb) {
        int far = spot->earlier > spot->first - KP_WINDOW ? spot->earlier : spot->first - KP_WINDOW;
        double chance = chance_of_run(x, spot->a, c, c, spot->b, far, spot->first, spot->before, band, &agreed);
        if (spot->na < spot->nb || chance < proof[PROOF_CHANCE]) {
            proof[PROOF_AGREE] = agreed;
            proof[PROOF_CHANCE] = chance;
        }
    }
}

double kp_certainty(const double *proof)
{
    double jump = proof[PROOF_JUMP], chance = proof[PROOF_CHANCE];
    return (jump >= KP_JUMP && chance <= KP_CHANCE) || (jump >= KP_WIDE_JUMP && chance <= KP_WIDE_CHANCE) ? KP_CERTAIN
                                                                                                          : 0;
}
