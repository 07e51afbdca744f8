/* Candidate changes of a series, the features of each, and the order in which the weakest are dropped: the numeric
   half of the default method. segmentation_reference.py says the same in NumPy. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "levels.h"

enum { LEVELS = 64, HALF = 32, WINDOW = 100, SHORTEST = 3, REACH = 8, SIDE = 40, FEATURES = 43, PROOFS = 4 };
static const double MAD = 1.4826; /* makes the median absolute deviation a standard deviation of normal noise */
static const double CAP = 9.0;    /* a point costs no more than one that is 3 sigma off */
static const double TIE = 1e-9;   /* what differs by less is equal: rounding decides nothing */
static const double FAR = 5.0;    /* three values in a row so many sigma off are a candidate, whatever a path says */
static const double LIKELY = 6.0; /* places whose cost is this near the least are 20 times less likely or less */
static const double JUMP = 7.0, CHANCE = 0.02, WIDE_JUMP = 20.0, WIDE_CHANCE = 0.5, CERTAIN = 10.0; /* see forest.py */

typedef struct {
    int n;
    const double *x;
    double *scratch, *residual, *noise, *sorted, *left, *right, *before;
    double scale, spread, kurtosis, tail, phi, memory, quantiles, distinct, drift;
} Series;

static void sort_values(double *v, int n)
{
    while (n > 24) {
        double a = v[0], b = v[n / 2], c = v[n - 1];
        double pivot = a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b));
        int i = 0, j = n - 1;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i <= j) { double t = v[i]; v[i] = v[j]; v[j] = t; i++; j--; }
        }
        if (j + 1 < n - i) { sort_values(v, j + 1); v += i; n -= i; }
        else { sort_values(v + i, n - i); n = j + 1; }
    }
    for (int i = 1; i < n; i++) {
        double t = v[i];
        int j = i;
        while (j > 0 && v[j - 1] > t) { v[j] = v[j - 1]; j--; }
        v[j] = t;
    }
}

static double kth(double *v, int n, int k)
{
    int lo = 0, hi = n - 1;
    while (hi > lo) {
        double a = v[lo], b = v[(lo + hi) / 2], c = v[hi];
        double pivot = a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b));
        int i = lo, j = hi;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i <= j) { double t = v[i]; v[i] = v[j]; v[j] = t; i++; j--; }
        }
        if (k <= j) hi = j;
        else if (k >= i) lo = i;
        else return v[k];
    }
    return v[k];
}

/* Destroys the order of v. */
static double median_of(double *v, int n)
{
    double upper = kth(v, n, n / 2);
    if (n % 2) return upper;
    double lower = v[0];
    for (int i = 1; i < n / 2; i++) if (v[i] > lower) lower = v[i];
    return 0.5 * (lower + upper);
}

/* Destroys the order of v. */
static double quantile_of(double *v, int n, double q)
{
    double place = q * (n - 1);
    int i = (int)place;
    double low = kth(v, n, i), high = low;
    if (i >= n - 1) return low;
    high = v[i + 1];
    for (int k = i + 2; k < n; k++) if (v[k] < high) high = v[k];
    return low + (place - i) * (high - low);
}

static double median_at(Series *s, int a, int b)
{
    memcpy(s->scratch, s->x + a, (size_t)(b - a) * sizeof(double));
    return median_of(s->scratch, b - a);
}

static double sorted_quantile(const double *v, int n, double q)
{
    double place = q * (n - 1);
    int i = (int)place;
    if (i >= n - 1) return v[n - 1];
    return v[i] + (place - i) * (v[i + 1] - v[i]);
}

static double sorted_median(const double *v, int n) { return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]); }

static double clip(double v, double lo, double hi) { return v < lo ? lo : (v > hi ? hi : v); }

static double difference_scale(Series *s)
{
    int n = s->n;
    double best = 0;
    for (int lag = 1; lag <= 2; lag++) {
        int m = n - lag;
        for (int i = 0; i < m; i++) s->scratch[i] = fabs(s->x[i + lag] - s->x[i]);
        double scale = MAD * median_of(s->scratch, m) / sqrt(2.0);
        if (scale > best) best = scale;
    }
    if (best > 0) return best;
    /* More than half of the steps are 0: the trimmed mean of the rest tells the grain. */
    int m = n - 1, kept = (int)(0.9 * m);
    for (int i = 0; i < m; i++) s->scratch[i] = fabs(s->x[i + 1] - s->x[i]);
    sort_values(s->scratch, m);
    double total = 0;
    for (int i = 0; i < kept; i++) total += s->scratch[i];
    return kept ? 0.8862 * total / kept : 0;
}

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

static void take_residuals(Series *s, const int *cps, int k)
{
    for (int i = 0; i <= k; i++) {
        int a = i ? cps[i - 1] : 0, b = i < k ? cps[i] : s->n;
        double m = median_at(s, a, b);
        for (int t = a; t < b; t++) s->residual[t] = s->x[t] - m;
    }
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
            double near = MAD * sorted_median(window, held);
            local = clip(0.35 * everywhere + 0.65 * near, 0.5 * s->scale, top);
        }
        for (int t = i; t < i + STRIDE && t < n; t++) s->noise[t] = local;
    }
}

static void study_noise(Series *s, double floor_scale)
{
    int n = s->n;
    for (int i = 0; i < n; i++) s->scratch[i] = fabs(s->residual[i]);
    double mad = MAD * median_of(s->scratch, n);
    s->scale = clip(mad, floor_scale, 2.5 * floor_scale);
    double k = 0, tail = 0;
    for (int i = 0; i < n; i++) {
        double z = fabs(s->residual[i]) / s->scale;
        tail += z > 4;
        z = z < 8 ? z : 8;
        k += z * z;
    }
    s->kurtosis = k / n;
    s->tail = tail / n;
    for (int i = 0; i < n; i++) s->scratch[i] = fabs(s->residual[i]);
    double half = mad / MAD, most = quantile_of(s->scratch, n, 0.9);
    s->quantiles = half > 0 ? clip(most / half, 0, 20) : 20;
    for (int i = 0; i < n; i++) s->scratch[i] = clip(s->residual[i], -3 * s->scale, 3 * s->scale);
    double lags[6];
    autocorrelate(s->scratch, n, 6, lags);
    s->phi = n < 12 ? 0 : clip(lags[0] + 1.0 / n - 1.0 / sqrt((double)n), 0, 0.8);
    s->memory = lags[0];
    for (int lag = 2; lag <= 6 && lag < n / 4; lag++) s->memory += lags[lag - 1];
    local_noise(s, mad);
}

static double bounded(double d, double w) { d *= w; d *= d; return d < CAP ? d : CAP; }

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
    double before = median_at(s, a, c), after = median_at(s, c, b), w = 1.0 / s->scale;
    double lean = before == after ? 0 : 1.0 / fabs(after - before);
    int lo = l + 1 > c - REACH ? l + 1 : c - REACH, hi = r - 1 < c + REACH ? r - 1 : c + REACH;
    int from = lo - 1 > l ? lo - 1 : l;
    double total = 0, best = 0;
    int place = c, found = 0;
    for (int t = from; t < lo; t++) total += leaning(s->x[t], before, after, w, lean);
    for (int k = lo; k <= hi; k++) {
        if (!found || total < best - TIE) { best = total; place = k; found = 1; }
        if (k < s->n) total += leaning(s->x[k], before, after, w, lean);
    }
    return found ? place : c;
}

static int tidy(int *cps, int k, int n)
{
    int kept = 0;
    for (int i = 0; i < k; i++)
        if (cps[i] > 0 && cps[i] < n && (!kept || cps[i] > cps[kept - 1])) cps[kept++] = cps[i];
    return kept;
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

static int refine_all(Series *s, int *cps, int k, int *out)
{
    for (int i = 0; i < k; i++) out[i] = best_place(s, i ? cps[i - 1] : 0, cps[i], i + 1 < k ? cps[i + 1] : s->n);
    qsort(out, (size_t)k, sizeof(int), by_place);
    return tidy(out, k, s->n);
}

/* Largest standardised difference of means over the splits of a piece, at least SHORTEST points on a side. */
static double strongest_split(Series *s, int a, int b, double centre, double noise)
{
    int m = b - a;
    if (m < 2 * SHORTEST) return 0;
    double total = 0, sum = 0, best = 0, reach = 2.5 * noise;
    for (int t = a; t < b; t++) total += clip(s->x[t] - centre, -reach, reach);
    for (int i = 1; i <= m - SHORTEST; i++) {
        sum += clip(s->x[a + i - 1] - centre, -reach, reach);
        if (i < SHORTEST) continue;
        double d = sum - total * i / m;
        d = d * d * m / ((double)i * (m - i));
        if (d > best) best = d;
    }
    return sqrt(best) / noise;
}

/* Largest distance from the centre that a mean of m values in a row reaches, m at most half of the piece; out[0]
   towards the sign, out[1] either way. */
static void strongest_run(const Series *s, int a, int b, int m, double centre, double noise, double sign, double *out)
{
    double sum = 0, reach = 4 * noise, towards = 0, either = 0;
    for (int t = a; t < b; t++) {
        sum += clip(s->x[t] - centre, -reach, reach);
        if (t - a >= m) sum -= clip(s->x[t - m] - centre, -reach, reach);
        if (t - a < m - 1) continue;
        double mean = sum * sign / m;
        if (mean > towards) towards = mean;
        if (fabs(mean) > either) either = fabs(mean);
    }
    out[0] = towards / noise;
    out[1] = either / noise;
}

typedef struct { double median, mean, variance; } Side;

static Side summarise(const double *sorted, int n)
{
    Side out;
    out.median = sorted_median(sorted, n);
    double deviations[WINDOW] = {0};
    int lo = 0, hi = n - 1, k = n;
    while (lo <= hi) { /* fill from the largest deviation down */
        double a = out.median - sorted[lo], b = sorted[hi] - out.median;
        if (a >= b) { deviations[--k] = a; lo++; } else { deviations[--k] = b; hi--; }
    }
    double mad = MAD * sorted_median(deviations, n), reach = mad > 0 ? 2.5 * mad : INFINITY;
    double sum = 0, square = 0;
    for (int i = 0; i < n; i++) sum += clip(sorted[i] - out.median, -reach, reach);
    out.mean = sum / n;
    for (int i = 0; i < n; i++) { double d = clip(sorted[i] - out.median, -reach, reach) - out.mean; square += d * d; }
    out.mean += out.median;
    out.variance = square;
    return out;
}

static void describe(Series *s, const int *cps, int k, int i, double *f)
{
    const double *x = s->x;
    int n = s->n, l = i ? cps[i - 1] : 0, c = cps[i], r = i + 1 < k ? cps[i + 1] : n;
    int a = c - WINDOW > l ? c - WINDOW : l, b = c + WINDOW < r ? c + WINDOW : r, na = c - a, nb = b - c;
    int m = na < nb ? na : nb, whole = (c - l) < (r - c) ? (c - l) : (r - c);
    memcpy(s->left, x + a, (size_t)na * sizeof(double));
    memcpy(s->right, x + c, (size_t)nb * sizeof(double));
    sort_values(s->left, na);
    sort_values(s->right, nb);
    Side A = summarise(s->left, na), B = summarise(s->right, nb);
    int from = c - 20 > a ? c - 20 : a, to = c + 20 < b ? c + 20 : b;
    double local = 0;
    for (int t = from; t < to; t++) local += s->noise[t];
    local /= to - from;
    double floor2 = 0.5 * local * local;
    double va = (A.variance + 6 * local * local) / (na + 5), vb = (B.variance + 6 * local * local) / (nb + 5);
    va = va > floor2 ? va : floor2;
    vb = vb > floor2 ? vb : floor2;
    double jump = B.mean - A.mean, size = fabs(jump), sign = jump >= 0 ? 1 : -1, g = s->scale;
    double t = size / sqrt(va / na + vb / nb), inflate = sqrt((1 + s->phi) / (1 - s->phi));
    double need = sqrt(2 * log(2.718281828459045 * n / m));
    /* ranks by one merge of the two sorted sides: pairs won by the right side, ties half */
    double won = 0, ties = 0;
    int low = 0, high = 0;
    for (int j = 0; j < nb; j++) {
        while (low < na && s->left[low] < s->right[j]) low++;
        while (high < na && s->left[high] <= s->right[j]) high++;
        won += low;
        ties += high - low;
    }
    double share = (won + 0.5 * ties) / ((double)na * nb);
    double z = fabs(share - 0.5) * sqrt(12.0 * na * nb / (na + nb + 1.0));
    double middle = 0.5 * (A.median + B.median), wrong_a = 0, wrong_b = 0;
    for (int j = 0; j < na; j++) wrong_a += (s->left[j] - middle) * sign > 0;
    for (int j = 0; j < nb; j++) wrong_b += (s->right[j] - middle) * sign < 0;
    /* how sharply the place is known */
    int lo = c - 10 > l + 1 ? c - 10 : l + 1, hi = c + 10 < r - 1 ? c + 10 : r - 1, places = hi - lo + 1;
    double uncertainty = 0;
    if (places > 1) {
        double profile[21], total = 0, least = 0, w = 1.0 / g;
        for (int q = 0; q < places; q++) {
            profile[q] = total;
            if (total < least) least = total;
            total += bounded(x[lo + q] - A.median, w) - bounded(x[lo + q] - B.median, w);
        }
        double mass = 0, moment = 0;
        int top = 0;
        for (int q = 0; q < places; q++) if (profile[q] < profile[top]) top = q;
        for (int q = 0; q < places; q++) {
            double p = exp(-0.5 * (profile[q] - least));
            mass += p;
            moment += p * (q - top) * (q - top);
        }
        uncertainty = sqrt(moment / mass);
    }
    double first5 = 0;
    int five = nb < 5 ? nb : 5;
    for (int q = 0; q < five; q++) first5 += x[c + q];
    first5 = (first5 / five - A.median) * sign / g;
    double worst_after = INFINITY, worst_before = INFINITY;
    for (int q = 0; q < 3 && q < nb; q++) { double d = (x[c + q] - A.median) * sign / local; if (d < worst_after) worst_after = d; }
    for (int q = 1; q <= 3 && q <= na; q++) { double d = (B.median - x[c - q]) * sign / local; if (d < worst_before) worst_before = d; }
    double back = 0;
    if (i + 1 < k) {
        int e = i + 2 < k ? cps[i + 2] : n;
        if (e > r + SIDE) e = r + SIDE;
        back = fabs(median_at(s, r, e) - A.median) / g;
    }
    if (i > 0) {
        int e = i > 1 ? cps[i - 2] : 0;
        if (e < l - SIDE) e = l - SIDE;
        double d = fabs(median_at(s, e, l) - B.median) / g;
        if (i + 1 >= k || d < back) back = d;
    }
    double seen = 0;
    int outside = 0;
    for (int q = l - 1; q >= 0 && q >= l - WINDOW; q--) { seen += (x[q] - middle) * sign > 0; outside++; }
    for (int q = r; q < n && q < r + WINDOW; q++) { seen += (x[q] - middle) * sign < 0; outside++; }
    double inner_a = strongest_split(s, a, c, A.median, local), inner_b = strongest_split(s, c, b, B.median, local);
    double inner = inner_a > inner_b ? inner_a : inner_b;
    double plain = size / (local * sqrt(1.0 / na + 1.0 / nb));
    int n8 = na < 8 ? na : 8, m8 = nb < 8 ? nb : 8;
    double near = (median_at(s, c, c + m8) - median_at(s, c - n8, c)) * sign / local;
    double trend_a = 0, trend_b = 0;
    if (na >= 8) trend_a = (median_at(s, a + na / 2, c) - median_at(s, a, a + na / 2)) * sign / g;
    if (nb >= 8) trend_b = (median_at(s, c + nb / 2, b) - median_at(s, c, c + nb / 2)) * sign / g;
    double centre = 0, gain = 0, w = 1.0 / local;
    memcpy(s->scratch, x + a, (size_t)(b - a) * sizeof(double));
    centre = median_of(s->scratch, b - a);
    for (int q = a; q < c; q++) gain += bounded(x[q] - centre, w) - bounded(x[q] - A.median, w);
    for (int q = c; q < b; q++) gain += bounded(x[q] - centre, w) - bounded(x[q] - B.median, w);
    /* the longer side tells how far a run as long as the shorter side strays without a change */
    int before_is_longer = na >= nb, longest = before_is_longer ? na : nb, run = m < longest / 2 ? m : longest / 2;
    double runs[2], beyond = 0;
    if (before_is_longer) strongest_run(s, a, c, run, A.median, local, sign, runs);
    else strongest_run(s, c, b, run, B.median, local, -sign, runs);
    for (int q = 0; q < longest; q++)
        beyond += before_is_longer ? (s->left[q] - B.median) * sign >= 0 : (s->right[q] - A.median) * sign <= 0;
    double lead = size / local - runs[0];
    /* the gap between the sides' quartiles, in noise */
    double gap = sign > 0 ? sorted_quantile(s->right, nb, 0.25) - sorted_quantile(s->left, na, 0.75)
                          : sorted_quantile(s->left, na, 0.25) - sorted_quantile(s->right, nb, 0.75);
    double out[FEATURES] = {
        t, t / inflate - need, z, z / inflate - need, size / g, fabs(B.median - A.median) / g, size / local,
        fabs(share - 0.5) * 2, na, nb, whole < WINDOW ? whole : WINDOW, n < 400 ? n : 400, s->phi, s->kurtosis, s->tail,
        s->drift, uncertainty, log(va / vb), first5, r == n, back, 100.0 * k / n, inner, plain - inner, worst_after,
        worst_before, outside ? seen / outside : -0.1, s->memory, near, wrong_b / nb, wrong_a / na, s->quantiles, gain / need,
        s->distinct, trend_a, trend_b, plain / inflate, size * m / g,
        lead, size / local - runs[1], beyond / longest, gap / local, m * log((beyond + 1) / (longest + 1)),
    };
    for (int q = 0; q < FEATURES; q++) f[q] = clip(out[q], -1e6, 1e6);
}

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

/* What makes a change certain without the forest: p = {jump of the medians in noise, values of the shorter level that
   agree, chance per 1,000 of such a run, half width of the places that explain the values about as well}. */
static void prove(Series *s, const int *cps, int k, int i, double *p)
{
    const double *x = s->x;
    int n = s->n, l = i ? cps[i - 1] : 0, c = cps[i], r = i + 1 < k ? cps[i + 1] : n;
    int a = c - WINDOW > l ? c - WINDOW : l, b = c + WINDOW < r ? c + WINDOW : r, na = c - a, nb = b - c;
    int from = c - 20 > a ? c - 20 : a, to = c + 20 < b ? c + 20 : b, agreed = 0;
    double local = 0;
    for (int t = from; t < to; t++) local += s->noise[t];
    local /= to - from;
    double before = median_at(s, a, c), after = median_at(s, c, b), jump = fabs(after - before);
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

static double certainty(const double *p)
{
    return (p[0] >= JUMP && p[2] <= CHANCE) || (p[0] >= WIDE_JUMP && p[2] <= WIDE_CHANCE) ? CERTAIN : 0;
}

typedef struct {
    int64_t trees;
    double base;
    const int32_t *root;
    const KpNode *nodes;
    const double *mean;
} Forest;

/* A leaf leads to itself. */
static int32_t step_down(const Forest *forest, const double *f, int32_t at)
{
    const KpNode *node = forest->nodes + at;
    int32_t up = !(f[node->feature] <= node->bound);
    return at + 1 + (-up & (node->above - at - 1)); /* arithmetic, for a processor guesses a branch wrong half the time */
}

enum { TOGETHER = 8 };

/* The log-odds that a candidate is a change. Eight trees go down together: they do not wait for each other. */
static double judge(const Forest *forest, const double *f)
{
    if (!forest->trees) return f[1] < f[3] / 0.75 ? f[1] : f[3] / 0.75;
    double total = forest->base;
    int64_t t = 0;
    for (; t + TOGETHER <= forest->trees; t += TOGETHER) {
        int32_t at[TOGETHER], moved = 1;
        for (int k = 0; k < TOGETHER; k++) at[k] = forest->root[t + k];
        while (moved) {
            moved = 0;
            for (int k = 0; k < TOGETHER; k++) {
                int32_t next = step_down(forest, f, at[k]);
                moved |= next ^ at[k];
                at[k] = next;
            }
        }
        for (int k = 0; k < TOGETHER; k++) total += forest->mean[at[k]];
    }
    for (; t < forest->trees; t++) {
        int32_t at = forest->root[t], next;
        while ((next = step_down(forest, f, at)) != at) at = next;
        total += forest->mean[at];
    }
    return total;
}

/* What each feature adds to the log-odds, from the start of all trees to their leaves. */
static void take_parts(const Forest *forest, const double *f, double *parts)
{
    for (int64_t t = 0; t < forest->trees; t++) {
        int32_t at = forest->root[t], next;
        while ((next = step_down(forest, f, at)) != at) {
            parts[forest->nodes[at].feature] += forest->mean[next] - forest->mean[at];
            at = next;
        }
    }
}

static void release(Series *s)
{
    free(s->scratch);
}

static int prepare(Series *s, const double *x, int n)
{
    memset(s, 0, sizeof *s);
    s->n = n;
    s->x = x;
    s->scratch = malloc(((size_t)n * 5 + 2 * WINDOW) * sizeof(double));
    if (!s->scratch) return -1;
    s->residual = s->scratch + n;
    s->noise = s->residual + n;
    s->sorted = s->noise + n;
    s->before = s->sorted + n;
    s->left = s->before + n;
    s->right = s->left + WINDOW;
    return 0;
}

/* Candidates of a series; returns their number. cps has room for 2 n. */
static int find_candidates(Series *s, int *cps)
{
    int n = s->n;
    memcpy(s->sorted, s->x, (size_t)n * sizeof(double));
    sort_values(s->sorted, n);
    double largest = fabs(s->sorted[0]) > fabs(s->sorted[n - 1]) ? fabs(s->sorted[0]) : fabs(s->sorted[n - 1]);
    if (!(s->sorted[n - 1] - s->sorted[0] > 1e-13 * largest)) return 0;
    int distinct = 1;
    for (int i = 1; i < n; i++) distinct += s->sorted[i] != s->sorted[i - 1];
    s->distinct = (double)distinct / n;
    double scale = difference_scale(s), grain = 1e-12 * largest, range = s->sorted[n - 1] - s->sorted[0];
    if (scale < 1e-6 * range) scale = 1e-6 * range;
    if (scale < grain) scale = grain;
    double grid[LEVELS], lo = sorted_quantile(s->sorted, n, 0.005), hi = sorted_quantile(s->sorted, n, 0.995);
    for (int j = 0; j < HALF; j++) {
        grid[j] = sorted_quantile(s->sorted, n, 0.005 + 0.99 * j / (HALF - 1));
        grid[HALF + j] = lo + (hi - lo) * j / (HALF - 1);
    }
    int k = cheapest_path(s, grid, NULL, scale, 2.6 * log(n), 6.25, cps);
    take_residuals(s, cps, k);
    study_noise(s, scale);
    int loose = cheapest_path(s, grid, s->noise, 0, 1.2 * log(n / 5.0) * sqrt((1 + s->phi) / (1 - s->phi)), 9.0, cps + k);
    qsort(cps, (size_t)(k + loose), sizeof(int), by_place);
    k = add_far_runs(s, cps, tidy(cps, k + loose, n));
    int parts = n / 8 + 1 < 8 ? n / 8 + 1 : 8;
    double low = INFINITY, high = -INFINITY;
    for (int p = 0; p < parts; p++) {
        double m = median_at(s, p * n / parts, (p + 1) * n / parts);
        if (m < low) low = m;
        if (m > high) high = m;
    }
    s->drift = (high - low) / s->scale;
    return k;
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
static int apart(const Series *s, int *cps, int k)
{
    int kept = 0;
    for (int i = 0; i < k; i++) {
        if (cps[i] < SHORTEST || cps[i] > s->n - SHORTEST) continue;
        if (!kept || cps[i] - cps[kept - 1] >= SHORTEST) cps[kept++] = cps[i];
        else if (gap_at(s->x, cps[i]) > gap_at(s->x, cps[kept - 1]) + TIE * s->scale) cps[kept - 1] = cps[i];
    }
    return kept;
}

/* Move a change to its best place where that leaves all levels long enough. */
static void settle(Series *s, int *cps, int k, int i)
{
    int l = i ? cps[i - 1] : 0, r = i + 1 < k ? cps[i + 1] : s->n, place = best_place(s, l, cps[i], r);
    if (place - l >= SHORTEST && r - place >= SHORTEST) cps[i] = place;
}

typedef struct {
    int64_t rows, capacity;
    int32_t *round, *index;
    double *score, *features, *parts, *proofs;
} Record;

static int write_down(Record *out, const Forest *forest, int round, int index, const double *held)
{
    if (out->rows >= out->capacity) return -1;
    int64_t row = out->rows++;
    double *parts = out->parts + row * FEATURES;
    out->round[row] = round;
    out->index[row] = index;
    memcpy(out->features + row * FEATURES, held, FEATURES * sizeof(double));
    memcpy(out->proofs + row * PROOFS, held + FEATURES, PROOFS * sizeof(double));
    memset(parts, 0, FEATURES * sizeof(double));
    take_parts(forest, held, parts);
    out->score[row] = held[FEATURES + PROOFS];
    return 0;
}

/* A row has the features, the proofs and the score. */
enum { SCORE = FEATURES + PROOFS, ROW = SCORE + 1 };

static void examine(Series *s, const Forest *forest, const int *cps, int k, int i, double *row)
{
    describe(s, cps, k, i, row);
    prove(s, cps, k, i, row + FEATURES);
    row[SCORE] = judge(forest, row) + certainty(row + FEATURES);
}

/* Drop the weakest candidate until all reach the threshold; held has room for k rows. */
static int prune(Series *s, const Forest *forest, double threshold, int whole_path, int *cps, int k, double *held,
                 Record *out)
{
    for (int i = 0; i < k; i++) examine(s, forest, cps, k, i, held + i * ROW);
    for (int round = 0;; round++) {
        int weakest = 0;
        for (int i = 1; i < k; i++)
            if (held[i * ROW + SCORE] < held[weakest * ROW + SCORE] - TIE) weakest = i;
        int end = !k || held[weakest * ROW + SCORE] >= threshold;
        for (int i = 0; i < k; i++)
            if ((end || whole_path || i == weakest) && write_down(out, forest, end ? -1 : round, cps[i], held + i * ROW))
                return -1;
        if (end) return 0;
        k--;
        memmove(cps + weakest, cps + weakest + 1, (size_t)(k - weakest) * sizeof(int));
        memmove(held + weakest * ROW, held + (weakest + 1) * ROW, (size_t)(k - weakest) * ROW * sizeof(double));
        for (int i = weakest - 1; i <= weakest; i++)
            if (i >= 0 && i < k) settle(s, cps, k, i);
        for (int i = weakest - 2; i <= weakest + 1; i++)
            if (i >= 0 && i < k) examine(s, forest, cps, k, i, held + i * ROW);
    }
}

int64_t kp_segment_features(void) { return FEATURES; }

int64_t kp_segment_proofs(void) { return PROOFS; }

int64_t kp_segment(const double *x, int64_t n, int64_t trees, double base, const int32_t *root, const KpNode *nodes,
                   const double *mean, double threshold, int whole_path, int64_t capacity, int32_t *round,
                   int32_t *index, double *score, double *features, double *parts, double *proofs, double *facts)
{
    if (n < 2 * SHORTEST || n > INT32_MAX / 8) return 0;
    Series s;
    Forest forest = {trees, base, root, nodes, mean};
    Record out = {0, capacity, round, index, score, features, parts, proofs};
    int *cps = malloc((size_t)n * 4 * sizeof(int));
    if (!cps) return -1;
    if (prepare(&s, x, (int)n)) { free(cps); return -1; }
    int k = find_candidates(&s, cps);
    k = refine_all(&s, cps, k, cps + 2 * n);
    memcpy(cps, cps + 2 * n, (size_t)k * sizeof(int));
    k = apart(&s, cps, k);
    for (int i = 0; i < k; i++) settle(&s, cps, k, i); /* what lost a neighbour has more room */
    double *held = malloc((size_t)(k + 1) * ROW * sizeof(double));
    int failed = !held;
    if (!failed && prune(&s, &forest, threshold, whole_path, cps, k, held, &out)) out.rows = -2;
    facts[0] = s.scale;
    facts[1] = s.phi;
    facts[2] = s.kurtosis;
    facts[3] = s.tail;
    free(held);
    free(cps);
    release(&s);
    return failed ? -1 : out.rows;
}
