/* What is known of a series and its noise, before and after its levels are taken out.

   Before, the noise is that between neighbours: the median absolute difference at lag 1 or 2, which a few jumps do not
   move (von Neumann and others, Annals of Mathematical Statistics 12, 1941, with medians for means). After, it is the
   median absolute deviation of the residuals: one scale for all, and one for the neighbourhood of each point, drawn
   towards the first. The rest describes the residuals: tails, autocorrelation, drift. O(n log n) time for the sorts. */

#include <math.h>

#include "sort.h"
#include "stages.h"

/* Lags of the autocorrelation; points on each side that make local noise, and how often it is computed. */
enum { LAGS = 6, AROUND = 20, EVERY = 4 };

/* Values of a level at least. */
enum { FEWEST = 6 };

/* The noise by which values so many points apart differ. */
static double noise_at_lag(Series *s, int lag)
{
    int m = s->n - lag;
    for (int i = 0; i < m; i++)
        s->scratch[i] = fabs(s->x[i + lag] - s->x[i]);
    return KP_MAD * kp_median_of(s->scratch, m) / sqrt(2.0);
}

/* The noise between neighbours; negative when there is no memory. */
static double noise_between(Series *s)
{
    double at_1 = noise_at_lag(s, 1), at_2 = noise_at_lag(s, 2), best = at_1 > at_2 ? at_1 : at_2, total = 0;
    if (best > 0)
        return best;

    /* More than half of the differences are 0: the trimmed mean of all shows how coarse the values are. */
    int m = s->n - 1, kept = (int)(0.9 * m);
    for (int i = 0; i < m; i++)
        s->scratch[i] = fabs(s->x[i + 1] - s->x[i]);
    if (kp_sort_places(s->scratch, m, s->scratch, NULL))
        return -1;
    for (int i = 0; i < kept; i++)
        total += s->scratch[i];
    return kept ? 0.8862 * total / kept : 0;
}

/* The share of the squares that the best two levels explain, each with a tenth of the values or more, and how often the
   values go from one to the other. A fiftieth at either end does not count: these may be outliers. */
static void study_two_levels(Series *s)
{
    int cut = s->n / 50, kept = s->n - 2 * cut, fewest = (kept + 5) / 10, place = 0;
    const double *all = s->values.all + cut;
    double mean = 0, squares = 0, below = 0, best = 0;
    fewest = fewest > FEWEST ? fewest : FEWEST;
    s->explained = s->crossings = 0;
    if (kept < 2 * fewest)
        return;
    for (int i = 0; i < kept; i++)
        mean += all[i];
    mean /= kept;
    for (int i = 0; i < kept; i++)
        squares += (all[i] - mean) * (all[i] - mean);
    for (int i = 1; i <= kept - fewest; i++) {
        below += all[i - 1] - mean;
        double between = i < fewest ? 0 : below * below * kept / ((double)i * (kept - i));
        if (between > best) {
            best = between;
            place = i;
        }
    }
    s->explained = squares > 0 ? best / squares : 0;
    for (int i = 1; i < s->n; i++)
        s->crossings += (s->x[i] >= all[place]) != (s->x[i - 1] >= all[place]);
}

int kp_study_values(Series *s)
{
    const double *all = s->values.all;
    int n = s->n, distinct = 1;
    double low = all[0], high = all[n - 1], largest = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
    if (!(high - low > 1e-13 * largest))
        return 0;
    for (int i = 1; i < n; i++)
        distinct += all[i] != all[i - 1];
    s->distinct = (double)distinct / n;
    study_two_levels(s);
    double grain = 1e-12 * largest, least = 1e-6 * (high - low);
    s->scale = noise_between(s);
    if (s->scale < 0)
        return -1;
    if (s->scale < least)
        s->scale = least;
    if (s->scale < grain)
        s->scale = grain;
    return 1;
}

/* What is left of the values when the median of each level is taken away. */
static void take_residuals(Series *s, const int *places, int k)
{
    for (int i = 0; i <= k; i++) {
        int a = i ? places[i - 1] : 0, b = i < k ? places[i] : s->n;
        double median = kp_median_at(&s->values, a, b, s->scratch);
        for (int t = a; t < b; t++)
            s->residual[t] = s->x[t] - median;
    }
}

/* Autocorrelations at lags 1 to LAGS; centres z in place. */
static void autocorrelate(double *z, int n, double *out)
{
    double mean = 0, all = 0, sums[LAGS] = {0};
    for (int i = 0; i < n; i++)
        mean += z[i];
    mean /= n;
    for (int i = 0; i < n; i++)
        z[i] -= mean;
    for (int i = 0; i < n; i++) {
        all += z[i] * z[i];
        for (int lag = 1; lag <= LAGS; lag++)
            sums[lag - 1] += i < lag ? 0 : z[i] * z[i - lag];
    }
    for (int lag = 1; lag <= LAGS; lag++)
        out[lag - 1] = all > 0 && n > lag ? sums[lag - 1] / all : 0;
}

/* The noise around each point, every EVERY points, from a window that moves along the sizes of the residuals. It is
   drawn towards the noise of the whole series and stays within a factor of it. */
static void local_noise(Series *s, const Order *sizes, double everywhere)
{
    int n = s->n, first = 0, stop = 0, chunk = -1;
    double most = s->scale > everywhere ? s->scale : everywhere;
    Window window;
    for (int i = 0; i < n; i += EVERY) {
        double local = most;
        if (n >= 30) {
            int from = i > AROUND ? i - AROUND : 0, to = i + AROUND + 1 < n ? i + AROUND + 1 : n;
            if (from / LONGEST != chunk) {
                chunk = from / LONGEST;
                kp_open(sizes, from, &window);
                first = stop = from;
            }
            kp_take(&window, first, from);
            kp_put(&window, stop, to);
            first = from;
            stop = to;
            double near = KP_MAD * kp_middle(&window);
            local = clip(0.35 * everywhere + 0.65 * near, 0.5 * s->scale, 4 * most);
        }
        for (int t = i; t < i + EVERY && t < n; t++)
            s->noise[t] = local;
    }
}

/* How far the medians of eighths of the series lie apart, in noise. */
static double drift(Series *s)
{
    int n = s->n, parts = n / 8 + 1 < 8 ? n / 8 + 1 : 8;
    double low = INFINITY, high = -INFINITY;
    for (int p = 0; p < parts; p++) {
        double median = kp_median_at(&s->values, p * n / parts, (p + 1) * n / parts, s->scratch);
        low = median < low ? median : low;
        high = median > high ? median : high;
    }
    return (high - low) / s->scale;
}

int kp_study_noise(Series *s, const int *places, int k)
{
    int n = s->n, beyond = 0;
    double *size = s->scratch, square = 0, lags[LAGS];
    take_residuals(s, places, k);
    Order sizes;
    for (int i = 0; i < n; i++)
        size[i] = fabs(s->residual[i]);
    if (kp_order(&sizes, size, n, s->spare))
        return -1;
    double half = kp_sorted_median(sizes.all, n), everywhere = KP_MAD * half;
    s->scale = clip(everywhere, s->scale, 2.5 * s->scale);

    /* The tails: mean square, share beyond 4, and the 90 % quantile over the median. */
    for (int i = 0; i < n; i++) {
        double z = size[i] / s->scale;
        beyond += z > 4;
        z = z < 8 ? z : 8;
        square += z * z;
    }
    s->square = square / n;
    s->tail = (double)beyond / n;
    half = everywhere / KP_MAD;
    s->weight = half > 0 ? clip(kp_sorted_quantile(sizes.all, n, 0.9) / half, 0, 20) : 20;
    local_noise(s, &sizes, everywhere);

    /* Autocorrelation, at lag 1 corrected for the length of the series, and over all lags. */
    for (int i = 0; i < n; i++)
        s->scratch[i] = clip(s->residual[i], -3 * s->scale, 3 * s->scale);
    autocorrelate(s->scratch, n, lags);
    s->phi = n < 12 ? 0 : clip(lags[0] + 1.0 / n - 1.0 / sqrt((double)n), 0, 0.8);
    s->memory = lags[0];
    for (int lag = 2; lag <= LAGS && lag < n / 4; lag++)
        s->memory += lags[lag - 1];
    s->drift = drift(s);
    return 0;
}
