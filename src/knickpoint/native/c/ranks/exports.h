/* The Mann-Whitney U test of many pairs: what Python may call. */

#ifndef KP_RANKS_EXPORTS_H
#define KP_RANKS_EXPORTS_H

#include <stdint.h>

/* The largest sample that gets an exact tail where values are tied; ranks.py has the same. */
enum { KP_LARGEST_TIED = 25 };

/* The Mann-Whitney U test of samples i, x[i * step .. i * step + n) against the m values after them: twice gets 2U, the
   pairs in which the first is larger, twice, and ties; tied the sum of t^3 - t over groups of t equal values; tail, for
   tied samples of KP_LARGEST_TIED values at most, how many ways to draw n of the values have a U as far on its side,
   else -1. Returns 0, or -1 when there is no memory. */
int64_t kp_ranks(const double *x, int64_t rows, int64_t step, int64_t n, int64_t m, double *twice, double *tied,
                 double *tail);

#endif
