/* The mode of each value of a series: what Python may call. */

#ifndef KP_MODES_EXPORTS_H
#define KP_MODES_EXPORTS_H

#include <stdint.h>

enum { KP_MOST_LEVELS = 64 };

/* Write to labels the cheapest level of each of x[0..n), of at most KP_MOST_LEVELS: half the squared distance in noise,
   at most furthest, and for each change of the level the price of a switch. Returns 0, or -1 without memory. O(n m). */
int64_t kp_likeliest_modes(const double *x, int64_t n, const double *levels, int64_t m, double noise, double furthest,
                           double change, int64_t *labels);

#endif
