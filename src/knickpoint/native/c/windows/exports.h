/* E-Divisive in windows with a t-test: what Python may call. */

#ifndef KP_WINDOWS_EXPORTS_H
#define KP_WINDOWS_EXPORTS_H

#include <stdint.h>

/* What happened to a point; windows.py has the same numbers as NoteKind. */
enum { KP_SPLIT, KP_REFUSED, KP_INSIGNIFICANT, KP_TOO_SMALL, KP_STAYS };

/* Split windows of x (stride apart, or from the last point found) while the pooled t-test at the split gives
   first_p or less; then take away the least significant until all are below max_p, and the smallest until all
   are above least_magnitude. notes has room for most rows of {kind, index, q, p, magnitude}, at the end KP_STAYS for
   each of the found that stay. Returns the rows there were, which may be more than most, or -1 without memory. */
int64_t kp_windows(const double *x, int64_t n, double alpha, int v_form, int64_t least, int64_t window, int64_t stride,
                   double first_p, double max_p, double least_magnitude, int population, int stale, double *notes,
                   int64_t most, int64_t *found);

#endif
