/* Steps and slow changes of a series: what Python may call, and the constants that both languages have. */

#ifndef KP_TREND_EXPORTS_H
#define KP_TREND_EXPORTS_H

#include <stdint.h>

enum { KP_SLOPE = 30, KP_GRID = 40, KP_NEARBY = 12, KP_MOST_SLOPES = 8 };

/* Fit x[0..n) by a level that jumps at k places, ascending, and rises along s slopes, at most KP_MOST_SLOPES, given as
   pairs of start and end. coefficients has 1 + k + s numbers: the first level, the jumps, and the rise by value of each
   slope. series has 4 n: the fit, its residuals, the values with outliers brought near, and how far the slopes move
   each value. facts has two: the noise, and how much more a mean of many residuals varies than one of independent ones.
   Returns 0, or -1 without memory. O(n (1 + s^2)). */
int64_t kp_fit_trend(const double *x, int64_t n, const int64_t *places, int64_t k, const int64_t *slopes, int64_t s,
                     double *coefficients, double *series, double *facts);

/* Write the part of the sum of squares of x that a slope from each of g ascending starts to each other explains beside
   free levels, -1 for too short ones; explained has g x g numbers. Returns 0, or -1 without memory. O(n + k + g^2). */
int64_t kp_explain_slopes(const double *x, int64_t n, const int64_t *places, int64_t k, const int64_t *starts,
                          int64_t g, double *explained);

/* Find the slope that explains most of what s known slopes, with their rates, leave: its start and end, and how much.
   Returns 1, 0 where no slope explains anything, or -1 without memory. */
int64_t kp_best_slope(const double *x, int64_t n, const int64_t *places, int64_t k, const int64_t *slopes,
                      const double *rates, int64_t s, int64_t *slope, double *explained);

#endif
