/* Describe the levels of a series: count, extremes, median, mean and variance of the measured values between each two
   bounds. Values that were not measured are NaN.

   The mean is summed with Kahan's compensation (CACM 8, 1965), the variance from the distances to the mean, and the
   median is selected; O(n) time on average. */

#include <math.h>
#include <string.h>

#include "exports.h"
#include "sort.h"

enum { NUMBERS = 8 };

static void describe(const double *x, int64_t first, int64_t stop, double *out, double *measured)
{
    int64_t count = 0, from = -1, to = -1;
    double low = INFINITY, high = -INFINITY, sum = 0.0, lost = 0.0;

    /* Gather what was measured, with its extremes and its sum. */
    for (int64_t i = first; i < stop; i++) {
        double value = x[i];
        if (value != value)
            continue;
        if (from < 0)
            from = i;
        to = i;
        measured[count++] = value;
        low = value < low ? value : low;
        high = value > high ? value : high;
        double term = value - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    if (!count) {
        memset(out, 0, NUMBERS * sizeof *out);
        return;
    }

    /* Equal values have exactly their mean, and no variance. */
    double mean = low == high ? low : sum / (double)count, squares = 0.0;
    if (low != high)
        for (int64_t i = 0; i < count; i++)
            squares += (measured[i] - mean) * (measured[i] - mean);

    /* Halves are added, because the sum of two large values may overflow. */
    double lower, upper;
    kp_middle_pair(measured, count, &lower, &upper);
    double median = count % 2 ? upper : 0.5 * lower + 0.5 * upper;

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
        describe(x, bounds[piece], bounds[piece + 1], out + NUMBERS * piece, work);
}
