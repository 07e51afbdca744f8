/* A stable sort of doubles that remembers where each came from. */

#ifndef KP_ORDER_H
#define KP_ORDER_H

#include <stdint.h>

/* Sort z[0..n) stably: the sorted values, and the place each came from unless place is NULL. Returns -1 when there is
   no memory. */
int kp_sort_places(const double *z, int64_t n, double *sorted, int64_t *place);

#endif
