/* Q-hat for points of several dimensions: what Python may call. */

#ifndef KP_JOINT_EXPORTS_H
#define KP_JOINT_EXPORTS_H

#include <stdint.h>

/* Q-hat of n points of several dimensions, which come one dimension after the other: q[t] for t = 0..n-1 is the largest
   Q of the first t points against those up to any kappa (both), or to the end, with blocks of least points or more;
   -inf where there is none. Returns 0, or -1 when there is no memory. */
int64_t kp_joint_q(const double *points, int64_t n, int64_t dimensions, double alpha, int v_form, int both,
                   int64_t least, double *q);

#endif
