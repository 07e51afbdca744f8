/* Q-hat of one series: what Python may call. */

#ifndef KP_Q_HAT_EXPORTS_H
#define KP_Q_HAT_EXPORTS_H

#include <stdint.h>

/* A Q this much short of another, relatively, equals it: the same sums were only added in another order. q_hat.py
   has the same. */
static const double KP_TIED = 1e-10;

/* E-Divisive. q[t] for t = 0..n-1 is Q-hat of z[0..t) against z[t..n); q[0] = 0. v_form: 0 is U, 1 is V.
   Returns 0, or -1 when there is no memory. */
int64_t kp_qhat(const double *z, int64_t n, double alpha, int v_form, double *q);

/* The largest Q of z[0..tau) against z[tau..kappa) with both blocks of least points or more: found = {tau, kappa,
   Q}, the first of equal ones, tau -1 when there is none. */
int64_t kp_scan_both(const double *z, int64_t n, double alpha, int v_form, int64_t least, double *found);

#endif
