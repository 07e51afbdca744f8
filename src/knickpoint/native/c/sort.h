/* Sort doubles, and select among them. */

#ifndef KP_SORT_H
#define KP_SORT_H

#include <stdint.h>

/* Sort the finite z[0..n) stably. sorted gets the values, place the index each came from, unless it is NULL. sorted may
   be z. Returns 0, or -1 when there is no memory. O(n log n), and O(n) for long series. */
int kp_sort_places(const double *z, int64_t n, double *sorted, int64_t *place);

/* Sort a few values v[0..n) in place, by insertion. */
void kp_sort_few(double *v, int64_t n);

/* Write the two values in the middle of v[0..n), n of 1 or more: for an odd n the same one twice. Reorders v. O(n) on
   average. */
void kp_middle_pair(double *v, int64_t n, double *lower, double *upper);

#endif
