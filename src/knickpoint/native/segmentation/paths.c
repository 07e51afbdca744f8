/* Candidates: where the cheapest paths over a grid of levels change, and the ends of runs that lie far off. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "stages.h"

enum { LEVELS = 64, HALF = LEVELS / 2 };
static const double FAR = 5.0; /* three values in a row so many sigma off are a candidate, whatever a path says */

/* walk() writes the first points of the levels of the cheapest path over a grid of levels with bounded loss, ascending.
   w[t] is one over the noise at t. born[j] is where the cheapest path that now runs at level j took it up; before[t]
   where the path that a change at t leaves had done so. */

#define KP_BODY "segmentation/path_body.h"
#include "each_level.h"

/* noise is per point, or NULL for the same everywhere. */
static int cheapest_path(Series *s, const double *grid, const double *noise, double flat, double penalty, double cap,
                         int *out)
{
    for (int t = 0; t < s->n; t++)
        s->scratch[t] = 1.0 / (noise ? noise[t] : flat);
    return KP_CHOOSE(walk)(s->x, s->scratch, s->n, grid, penalty, cap, s->before, out);
}

static int by_place(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Put the ends of runs of SHORTEST or more values that lie FAR off on one side among the places, instead of what is
   too close to them: a level may be too short, or too far off the grid, for either path. */
static int add_far_runs(const Series *s, int *places, int k)
{
    int n = s->n, start = 0, sign = 0;
    for (int t = 0; t <= n; t++) {
        double z = t < n ? s->residual[t] / s->noise[t] : 0;
        int now = z > FAR ? 1 : z < -FAR ? -1 : 0;
        if (t && now == sign)
            continue;
        int ends[2] = {start, t}, first = start;
        int wanted = sign && t - first >= SHORTEST;
        start = t;
        sign = now;
        for (int e = 0; wanted && e < 2; e++) {
            if (ends[e] <= 0 || ends[e] >= n)
                continue;
            int kept = 0;
            for (int i = 0; i < k; i++)
                if (abs(places[i] - ends[e]) >= SHORTEST)
                    places[kept++] = places[i];
            places[kept] = ends[e];
            k = kept + 1;
        }
    }
    qsort(places, (size_t)k, sizeof(int), by_place);
    return k;
}

int kp_find_candidates(Series *s, int *places)
{
    int n = s->n, kept = 0;
    const double *all = s->values.all;
    double grid[LEVELS], lo = kp_sorted_quantile(all, n, 0.005), hi = kp_sorted_quantile(all, n, 0.995);
    for (int j = 0; j < HALF; j++) {
        grid[j] = kp_sorted_quantile(all, n, 0.005 + 0.99 * j / (HALF - 1));
        grid[HALF + j] = lo + (hi - lo) * j / (HALF - 1);
    }
    int k = cheapest_path(s, grid, NULL, s->scale, 2.6 * log(n), 6.25, places);
    if (kp_study_noise(s, places, k))
        return -1;
    double memory = sqrt((1 + s->phi) / (1 - s->phi));
    k += cheapest_path(s, grid, s->noise, 0, 1.2 * log(n / 5.0) * memory, 9.0, places + k);
    qsort(places, (size_t)k, sizeof(int), by_place);
    for (int i = 0; i < k; i++)
        if (!kept || places[i] > places[kept - 1])
            places[kept++] = places[i];
    return add_far_runs(s, places, kept);
}
