/* The numbers that the forest judges a candidate by. */

#include <math.h>
#include <string.h>

#include "segmentation.h"

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
    out.median = kp_sorted_median(sorted, n);
    double deviations[WINDOW] = {0};
    int lo = 0, hi = n - 1, k = n;
    while (lo <= hi) { /* fill from the largest deviation down */
        double a = out.median - sorted[lo], b = sorted[hi] - out.median;
        if (a >= b) { deviations[--k] = a; lo++; } else { deviations[--k] = b; hi--; }
    }
    double mad = MAD * kp_sorted_median(deviations, n), reach = mad > 0 ? 2.5 * mad : INFINITY;
    double sum = 0, square = 0;
    for (int i = 0; i < n; i++) sum += clip(sorted[i] - out.median, -reach, reach);
    out.mean = sum / n;
    for (int i = 0; i < n; i++) { double d = clip(sorted[i] - out.median, -reach, reach) - out.mean; square += d * d; }
    out.mean += out.median;
    out.variance = square;
    return out;
}

void kp_describe(Series *s, const int *cps, int k, int i, double *f)
{
    const double *x = s->x;
    int n = s->n, l = i ? cps[i - 1] : 0, c = cps[i], r = i + 1 < k ? cps[i + 1] : n;
    int a = c - WINDOW > l ? c - WINDOW : l, b = c + WINDOW < r ? c + WINDOW : r, na = c - a, nb = b - c;
    int m = na < nb ? na : nb, whole = (c - l) < (r - c) ? (c - l) : (r - c);
    memcpy(s->left, x + a, (size_t)na * sizeof(double));
    memcpy(s->right, x + c, (size_t)nb * sizeof(double));
    kp_sort_values(s->left, na);
    kp_sort_values(s->right, nb);
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
        back = fabs(kp_median_at(s, r, e) - A.median) / g;
    }
    if (i > 0) {
        int e = i > 1 ? cps[i - 2] : 0;
        if (e < l - SIDE) e = l - SIDE;
        double d = fabs(kp_median_at(s, e, l) - B.median) / g;
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
    double near = (kp_median_at(s, c, c + m8) - kp_median_at(s, c - n8, c)) * sign / local;
    double trend_a = 0, trend_b = 0;
    if (na >= 8) trend_a = (kp_median_at(s, a + na / 2, c) - kp_median_at(s, a, a + na / 2)) * sign / g;
    if (nb >= 8) trend_b = (kp_median_at(s, c + nb / 2, b) - kp_median_at(s, c, c + nb / 2)) * sign / g;
    double centre = 0, gain = 0, w = 1.0 / local;
    memcpy(s->scratch, x + a, (size_t)(b - a) * sizeof(double));
    centre = kp_median_of(s->scratch, b - a);
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
    double gap = sign > 0 ? kp_sorted_quantile(s->right, nb, 0.25) - kp_sorted_quantile(s->left, na, 0.75)
                          : kp_sorted_quantile(s->left, na, 0.25) - kp_sorted_quantile(s->right, nb, 0.75);
    double out[FEATURES] = {
        t, t / inflate - need, z, z / inflate - need, size / g, fabs(B.median - A.median) / g, size / local,
        fabs(share - 0.5) * 2, na, nb, whole < WINDOW ? whole : WINDOW, n < 400 ? n : 400, s->phi, s->square, s->tail,
        s->drift, uncertainty, log(va / vb), first5, r == n, back, 100.0 * k / n, inner, plain - inner, worst_after,
        worst_before, outside ? seen / outside : -0.1, s->memory, near, wrong_b / nb, wrong_a / na, s->weight, gain / need,
        s->distinct, trend_a, trend_b, plain / inflate, size * m / g,
        lead, size / local - runs[1], beyond / longest, gap / local, m * log((beyond + 1) / (longest + 1)),
    };
    for (int q = 0; q < FEATURES; q++) f[q] = clip(out[q], -1e6, 1e6);
}
