/* Medians, quantiles and the order of values, for the default method. */

#include <string.h>

#include "segmentation.h"

void kp_sort_values(double *v, int n)
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
        if (j + 1 < n - i) { kp_sort_values(v, j + 1); v += i; n -= i; }
        else { kp_sort_values(v + i, n - i); n = j + 1; }
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

double kp_median_of(double *v, int n)
{
    double upper = kth(v, n, n / 2);
    if (n % 2) return upper;
    double lower = v[0];
    for (int i = 1; i < n / 2; i++) if (v[i] > lower) lower = v[i];
    return 0.5 * (lower + upper);
}

double kp_quantile_of(double *v, int n, double q)
{
    double place = q * (n - 1);
    int i = (int)place;
    double low = kth(v, n, i), high = low;
    if (i >= n - 1) return low;
    high = v[i + 1];
    for (int k = i + 2; k < n; k++) if (v[k] < high) high = v[k];
    return low + (place - i) * (high - low);
}

double kp_median_at(Series *s, int a, int b)
{
    memcpy(s->scratch, s->x + a, (size_t)(b - a) * sizeof(double));
    return kp_median_of(s->scratch, b - a);
}

double kp_sorted_quantile(const double *v, int n, double q)
{
    double place = q * (n - 1);
    int i = (int)place;
    if (i >= n - 1) return v[n - 1];
    return v[i] + (place - i) * (v[i + 1] - v[i]);
}

double kp_sorted_median(const double *v, int n) { return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]); }
