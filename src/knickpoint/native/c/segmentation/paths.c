/* Candidates: where the cheapest paths over a grid of levels change, and the ends of runs that lie far off.

   A path gives each point one of KP_LEVELS levels, half of them quantiles of the values and half evenly spaced. It pays
   the squared distance of each value, bounded so that an outlier costs no more than a few deviations (the biweight loss
   of Fearnhead and Rigaill, JASA 114, 2019), and a penalty for each change. A stiff path finds the large levels, from
   which the noise is known; a loose path with that noise finds the rest. Dynamic programming over points and levels
   (the Viterbi algorithm) takes O(n KP_LEVELS) time, because a change may come from the cheapest level only. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "stages.h"

/* Half of the levels are quantiles, half are evenly spaced. */
enum { HALF = KP_LEVELS / 2 };

#define KP_BODY "segmentation/path_body.h"
#include "each_level.h"

/* Write the first points of the levels of the cheapest path, ascending, and return how many. noise is per point, or
   NULL where it is flat. */
static int cheapest_path(Series *s, const double *grid, const double *noise, double flat, double penalty, double cap,
                         int *out)
{
    for (int t = 0; t < s->n; t++)
        s->scratch[t] = 1.0 / (noise ? noise[t] : flat);
    return KP_CHOOSE(path)(s->x, s->scratch, s->n, grid, penalty, cap, s->before, out);
}

/* Put the ends of runs of KP_SHORTEST or more values that lie KP_FAR off on one side among the places, instead of what
   is too close to them: a level may be too short, or too far off the grid, for either path. */
static int add_far_runs(const Series *s, int *places, int k)
{
    int n = s->n, start = 0, sign = 0, *ends = places + n, found = 0;
    for (int t = 0; t <= n; t++) {
        double z = t < n ? s->residual[t] / s->noise[t] : 0;
        int now = z > KP_FAR ? 1 : z < -KP_FAR ? -1 : 0;
        if (t && now == sign)
            continue;

        /* A run ends at t: both its ends are candidates where it is long enough and far off. */
        int wanted = sign && t - start >= KP_SHORTEST;
        if (wanted && start > 0)
            ends[found++] = start;
        if (wanted && t < n)
            ends[found++] = t;
        start = t;
        sign = now;
    }

    /* An end takes the room of places beside it, and of the end before it. */
    int kept = 0;
    for (int i = 0, next = 0; i < k; i++) {
        while (next < found && ends[next] < places[i])
            next++;
        int near = next && places[i] - ends[next - 1] < KP_SHORTEST;
        if (!near && !(next < found && ends[next] - places[i] < KP_SHORTEST))
            places[kept++] = places[i];
    }
    for (int i = 0; i < found; i++)
        if (i == found - 1 || ends[i + 1] - ends[i] >= KP_SHORTEST)
            places[kept++] = ends[i];
    qsort(places, (size_t)kept, sizeof(int), compare_places);
    return kept;
}

int kp_find_candidates(Series *s, int known, int *places)
{
    int n = s->n, kept = 0;
    const double *all = s->values.all;
    double grid[KP_LEVELS], lo = kp_sorted_quantile(all, n, 0.005), hi = kp_sorted_quantile(all, n, 0.995);
    for (int j = 0; j < HALF; j++) { /* without half a percent at either end: outliers are no levels */
        grid[j] = kp_sorted_quantile(all, n, 0.005 + 0.99 * j / (HALF - 1));
        grid[HALF + j] = lo + (hi - lo) * j / (HALF - 1);
    }

    /* The stiff path, then the noise around its levels, then the loose path. */
    int k = cheapest_path(s, grid, NULL, s->scale, 2.6 * log(n), 6.25, places);
    if (kp_study_noise(s, places, k))
        return -1;
    if (known)
        return 0;
    double memory = sqrt((1 + s->phi) / (1 - s->phi));
    k += cheapest_path(s, grid, s->noise, 0, 1.2 * log(n / 5.0) * memory, 9.0, places + k);

    /* The changes of both, each once. */
    qsort(places, (size_t)k, sizeof(int), compare_places);
    for (int i = 0; i < k; i++)
        if (!kept || places[i] > places[kept - 1])
            places[kept++] = places[i];
    return add_far_runs(s, places, kept);
}
