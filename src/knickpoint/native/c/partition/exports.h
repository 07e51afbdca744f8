/* Exact k-means of sorted numbers: what Python may call. */

#ifndef KP_PARTITION_EXPORTS_H
#define KP_PARTITION_EXPORTS_H

#include <stdint.h>

/* The best division of the prefixes of n sorted numbers into one group more than former has: cost, and where the last
   group begins, for prefixes of two numbers or more. weight, value and square are sums over prefixes, n + 1 each. */
void kp_layer(const double *former, const double *weight, const double *value, const double *square, int64_t n,
              double *cost, int64_t *begin);

#endif
