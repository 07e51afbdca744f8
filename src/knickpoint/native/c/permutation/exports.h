/* Permutations of a series and their Q-hat: what Python may call. */

#ifndef KP_PERMUTATION_EXPORTS_H
#define KP_PERMUTATION_EXPORTS_H

#include <stdint.h>

/* Shuffle inside each cluster [bounds[c], bounds[c + 1]) of values sorted cluster by cluster, and take the largest Q
   of all. Permutations first, first + 1, ... are judged in order; counting ends when more than allowed reach the
   value reach; a negative allowed judges all. tops may be NULL; beyond reach a top may be less than the largest.
   Returns how many were judged, -1 when there is no memory. */
int64_t kp_permute(const double *sorted, const int64_t *bounds, int64_t clusters, double alpha, int v_form, int both,
                   int64_t least, uint64_t seed, uint64_t round, int64_t first, int64_t count, double reach,
                   int64_t allowed, double *tops, int64_t *exceeded);

#endif
