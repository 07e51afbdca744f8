/* The levels of a series: what Python may call. */

#ifndef KP_REGIONS_EXPORTS_H
#define KP_REGIONS_EXPORTS_H

#include <stdint.h>

/* Describe x[bounds[i]..bounds[i + 1]) for each of the pieces: out has {first, last, count, minimum, maximum, median,
   mean, variance} of what is measured, all 0 where nothing is; work holds the values of the longest. */
void kp_regions(const double *x, const int64_t *bounds, int64_t pieces, double *out, double *work);

#endif
