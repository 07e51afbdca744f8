/* What is known of a series and its noise, before and after its levels are taken out. */

#include <math.h>
#include <string.h>

#include "segmentation.h"

static double difference_scale(Series *s)
{
    int n = s->n;
    double best = 0;
    for (int lag = 1; lag <= 2; lag++) {
        int m = n - lag;
        for (int i = 0; i < m; i++) s->scratch[i] = fabs(s->x[i + lag] - s->x[i]);
        double scale = MAD * kp_median_of(s->scratch, m) / sqrt(2.0);
        if (scale > best) best = scale;
    }
    if (best > 0) return best;
    /* More than half of the steps are 0: the trimmed mean of the rest tells the grain. */
    int m = n - 1, kept = (int)(0.9 * m);
    for (int i = 0; i < m; i++) s->scratch[i] = fabs(s->x[i + 1] - s->x[i]);
    kp_sort_values(s->scratch, m);
    double total = 0;
    for (int i = 0; i < kept; i++) total += s->scratch[i];
    return kept ? 0.8862 * total / kept : 0;
}

static void take_residuals(Series *s, const int *cps, int k)
{
    for (int i = 0; i <= k; i++) {
        int a = i ? cps[i - 1] : 0, b = i < k ? cps[i] : s->n;
        double m = kp_median_at(s, a, b);
        for (int t = a; t < b; t++) s->residual[t] = s->x[t] - m;
    }
}

int kp_study_values(Series *s)
{
    int n = s->n, distinct = 1;
    memcpy(s->sorted, s->x, (size_t)n * sizeof(double));
    kp_sort_values(s->sorted, n);
    double low = s->sorted[0], high = s->sorted[n - 1], largest = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
    if (!(high - low > 1e-13 * largest)) return 0;
    for (int i = 1; i < n; i++) distinct += s->sorted[i] != s->sorted[i - 1];
    s->distinct = (double)distinct / n;
    double grain = 1e-12 * largest, least = 1e-6 * (high - low);
    s->scale = difference_scale(s);
    if (s->scale < least) s->scale = least;
    if (s->scale < grain) s->scale = grain;
    return 1;
}

/* Autocorrelations at lags 1 to most; z is centred in passing. */
static void autocorrelate(double *z, int n, int most, double *out)
{
    double mean = 0, den = 0;
    for (int i = 0; i < n; i++) mean += z[i];
    mean /= n;
    for (int i = 0; i < n; i++) z[i] -= mean;
    for (int i = 0; i < n; i++) den += z[i] * z[i];
    for (int lag = 1; lag <= most; lag++) {
        double num = 0;
        for (int i = lag; i < n; i++) num += z[i] * z[i - lag];
        out[lag - 1] = den > 0 && n > lag ? num / den : 0;
    }
}

enum { AROUND = 20, STRIDE = 4 };

/* The noise around each point, refreshed every STRIDE points, from a sorted window that moves along. */
static void local_noise(Series *s, double everywhere)
{
    int n = s->n, first = 0, stop = 0, held = 0;
    double window[2 * AROUND + 1], top = 4 * (s->scale > everywhere ? s->scale : everywhere);
    for (int i = 0; i < n; i += STRIDE) {
        double local = everywhere > s->scale ? everywhere : s->scale;
        if (n >= 30) {
            for (; first < i - AROUND; first++) {
                double gone = fabs(s->residual[first]);
                int k = 0;
                while (k < held - 1 && window[k] != gone) k++;
                memmove(window + k, window + k + 1, (size_t)(--held - k) * sizeof(double));
            }
            for (; stop < n && stop < i + AROUND + 1; stop++) {
                double fresh = fabs(s->residual[stop]);
                int k = held++;
                for (; k > 0 && window[k - 1] > fresh; k--) window[k] = window[k - 1];
                window[k] = fresh;
            }
            double near = MAD * kp_sorted_median(window, held);
            local = clip(0.35 * everywhere + 0.65 * near, 0.5 * s->scale, top);
        }
        for (int t = i; t < i + STRIDE && t < n; t++) s->noise[t] = local;
    }
}

/* How far the medians of eighths of the series lie apart, in noise. */
static void study_drift(Series *s)
{
    int n = s->n, parts = n / 8 + 1 < 8 ? n / 8 + 1 : 8;
    double low = INFINITY, high = -INFINITY;
    for (int p = 0; p < parts; p++) {
        double m = kp_median_at(s, p * n / parts, (p + 1) * n / parts);
        if (m < low) low = m;
        if (m > high) high = m;
    }
    s->drift = (high - low) / s->scale;
}

void kp_study_noise(Series *s, const int *places, int k)
{
    int n = s->n;
    take_residuals(s, places, k);
    for (int i = 0; i < n; i++) s->scratch[i] = fabs(s->residual[i]);
    double mad = MAD * kp_median_of(s->scratch, n);
    s->scale = clip(mad, s->scale, 2.5 * s->scale);
    double square = 0, tail = 0;
    for (int i = 0; i < n; i++) {
        double z = fabs(s->residual[i]) / s->scale;
        tail += z > 4;
        z = z < 8 ? z : 8;
        square += z * z;
    }
    s->square = square / n;
    s->tail = tail / n;
    for (int i = 0; i < n; i++) s->scratch[i] = fabs(s->residual[i]);
    double half = mad / MAD, most = kp_quantile_of(s->scratch, n, 0.9);
    s->weight = half > 0 ? clip(most / half, 0, 20) : 20;
    for (int i = 0; i < n; i++) s->scratch[i] = clip(s->residual[i], -3 * s->scale, 3 * s->scale);
    double lags[6];
    autocorrelate(s->scratch, n, 6, lags);
    s->phi = n < 12 ? 0 : clip(lags[0] + 1.0 / n - 1.0 / sqrt((double)n), 0, 0.8);
    s->memory = lags[0];
    for (int lag = 2; lag <= 6 && lag < n / 4; lag++) s->memory += lags[lag - 1];
    local_noise(s, mad);
    study_drift(s);
}
