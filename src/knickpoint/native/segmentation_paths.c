/* Candidates: where the cheapest paths over a grid of levels change, and the ends of runs that lie far off. */

#include <math.h>
#include <stdlib.h>

#include "segmentation.h"

enum { LEVELS = 64, HALF = LEVELS / 2 };
static const double FAR = 5.0; /* three values in a row so many sigma off are a candidate, whatever a path says */

/* Cheapest path over a grid of levels with bounded loss; writes the first points of its levels, ascending. w[t] is one
   over the noise at t. born[j] is where the cheapest path that now runs at level j took it up; before[t] where the path
   that a change at t leaves had done so. */
KP_INLINE int walk(const double *x, const double *w, int n, const double *grid, double penalty, double cap,
                   double *before, int *out)
{
    double cost[LEVELS], born[LEVELS];
    for (int j = 0; j < LEVELS; j++) {
        double d = (x[0] - grid[j]) * w[0];
        d *= d;
        cost[j] = d < cap ? d : cap;
        born[j] = 0;
    }
    for (int t = 1; t < n; t++) {
        double lanes[8], v = x[t], by = w[t], now = t;
        for (int k = 0; k < 8; k++) lanes[k] = cost[k];
        for (int j = 8; j < LEVELS; j += 8)
            for (int k = 0; k < 8; k++) lanes[k] = cost[j + k] < lanes[k] ? cost[j + k] : lanes[k];
        double least = lanes[0];
        for (int k = 1; k < 8; k++) least = lanes[k] < least ? lanes[k] : least;
        int from = 0;
        while (cost[from] != least) from++;
        before[t] = born[from];
        double other = least + penalty;
        for (int j = 0; j < LEVELS; j++) {
            double d = (v - grid[j]) * by, stay = cost[j];
            d *= d;
            born[j] = stay > other ? now : born[j];
            cost[j] = (stay > other ? other : stay) + (d < cap ? d : cap);
        }
    }
    int last = 0, count = 0;
    for (int j = 1; j < LEVELS; j++)
        if (cost[j] < cost[last]) last = j;
    for (int t = (int)born[last]; t > 0; t = (int)before[t]) out[count++] = t;
    for (int a = 0, b = count - 1; a < b; a++, b--) { int t = out[a]; out[a] = out[b]; out[b] = t; }
    return count;
}

#if KP_X86
__attribute__((target("avx2"))) static int walk_avx2(const double *x, const double *w, int n, const double *grid,
                                                     double penalty, double cap, double *before, int *out)
{
    return walk(x, w, n, grid, penalty, cap, before, out);
}

__attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))) static int
walk_avx512(const double *x, const double *w, int n, const double *grid, double penalty, double cap, double *before,
            int *out)
{
    return walk(x, w, n, grid, penalty, cap, before, out);
}
#endif

/* noise is per point, or NULL for the same everywhere. */
static int cheapest_path(Series *s, const double *grid, const double *noise, double flat, double penalty, double cap,
                         int *out)
{
    for (int t = 0; t < s->n; t++) s->scratch[t] = 1.0 / (noise ? noise[t] : flat);
#if KP_X86
    int level = kp_level();
    if (level > 1) return walk_avx512(s->x, s->scratch, s->n, grid, penalty, cap, s->before, out);
    if (level > 0) return walk_avx2(s->x, s->scratch, s->n, grid, penalty, cap, s->before, out);
#endif
    return walk(s->x, s->scratch, s->n, grid, penalty, cap, s->before, out);
}

static int by_place(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Put the ends of runs of SHORTEST or more values that lie FAR off on one side among the places, instead of what is
   too close to them: a level may be too short, or too far off the grid, for either path. */
static int add_far_runs(const Series *s, int *cps, int k)
{
    int n = s->n, start = 0, sign = 0;
    for (int t = 0; t <= n; t++) {
        double z = t < n ? s->residual[t] / s->noise[t] : 0;
        int now = z > FAR ? 1 : z < -FAR ? -1 : 0;
        if (t && now == sign) continue;
        int ends[2] = {start, t}, first = start;
        int wanted = sign && t - first >= SHORTEST;
        start = t;
        sign = now;
        for (int e = 0; wanted && e < 2; e++) {
            if (ends[e] <= 0 || ends[e] >= n) continue;
            int kept = 0;
            for (int i = 0; i < k; i++)
                if (abs(cps[i] - ends[e]) >= SHORTEST) cps[kept++] = cps[i];
            cps[kept] = ends[e];
            k = kept + 1;
        }
    }
    qsort(cps, (size_t)k, sizeof(int), by_place);
    return k;
}

int kp_find_candidates(Series *s, int *places)
{
    int n = s->n, kept = 0;
    double grid[LEVELS], lo = kp_sorted_quantile(s->sorted, n, 0.005), hi = kp_sorted_quantile(s->sorted, n, 0.995);
    for (int j = 0; j < HALF; j++) {
        grid[j] = kp_sorted_quantile(s->sorted, n, 0.005 + 0.99 * j / (HALF - 1));
        grid[HALF + j] = lo + (hi - lo) * j / (HALF - 1);
    }
    int k = cheapest_path(s, grid, NULL, s->scale, 2.6 * log(n), 6.25, places);
    kp_study_noise(s, places, k);
    double memory = sqrt((1 + s->phi) / (1 - s->phi));
    k += cheapest_path(s, grid, s->noise, 0, 1.2 * log(n / 5.0) * memory, 9.0, places + k);
    qsort(places, (size_t)k, sizeof(int), by_place);
    for (int i = 0; i < k; i++)
        if (!kept || places[i] > places[kept - 1]) places[kept++] = places[i];
    return add_far_runs(s, places, kept);
}
