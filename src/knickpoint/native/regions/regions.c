/* The level between two steps: count, extremes, median, mean, variance. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "exports.h"

/* The k-th smallest of a[0..n), 0-based; a is reordered so that nothing after k is smaller. */
static double select_nth(double *a, int64_t n, int64_t k)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = a[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i <= j) {
                double swap = a[i];
                a[i++] = a[j];
                a[j--] = swap;
            }
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return a[k];
}

static void describe(const double *x, int64_t first, int64_t stop, double *out, double *work)
{
    int64_t count = 0, from = -1, to = -1;
    double low = INFINITY, high = -INFINITY, sum = 0.0, lost = 0.0;
    for (int64_t i = first; i < stop; i++) {
        double value = x[i];
        if (value != value)
            continue;
        if (from < 0)
            from = i;
        to = i;
        work[count++] = value;
        low = value < low ? value : low;
        high = value > high ? value : high;
        double term = value - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    if (!count) {
        memset(out, 0, 8 * sizeof *out);
        return;
    }
    double mean = low == high ? low : sum / (double)count;
    double squares = 0.0;
    if (low != high)
        for (int64_t i = 0; i < count; i++)
            squares += (work[i] - mean) * (work[i] - mean);
    double median = select_nth(work, count, count / 2);
    if (count % 2 == 0) {
        double below = work[0];
        for (int64_t i = 1; i < count / 2; i++)
            below = work[i] > below ? work[i] : below;
        median = 0.5 * below + 0.5 * median;
    }
    out[0] = (double)from;
    out[1] = (double)to;
    out[2] = (double)count;
    out[3] = low;
    out[4] = high;
    out[5] = median;
    out[6] = mean;
    out[7] = count > 1 ? squares / (double)(count - 1) : 0.0;
}

void kp_regions(const double *x, const int64_t *bounds, int64_t pieces, double *out, double *work)
{
    for (int64_t piece = 0; piece < pieces; piece++)
        describe(x, bounds[piece], bounds[piece + 1], out + 8 * piece, work);
}
