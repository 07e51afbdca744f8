/* Q-hat of E-Divisive for points of several dimensions; q_hat.c has one dimension, and says what Q is.

   The distance of two points is the Euclidean one to the power alpha. Points come one at a time as the end of the right
   block. With after[i] the distances from point i to all after it, the sum inside a right block that begins at tau is
   the sum of these from tau on, so every (tau, kappa) takes O(n^2 d) time for the distances in d dimensions, and O(n)
   memory beside the points. */

#include <math.h>
#include <stdlib.h>

#include "exports.h"
#include "q_hat/q_hat.h"

/* Distances from point last to all before it. */
static void far_from(const double *KP_RESTRICT points, int64_t n, int64_t dimensions, int64_t last, enum power power,
                     double alpha, double *KP_RESTRICT far)
{
    for (int64_t i = 0; i < last; i++)
        far[i] = 0.0;
    for (int64_t k = 0; k < dimensions; k++) {
        const double *KP_RESTRICT z = points + k * n;
        double end = z[last];
        for (int64_t i = 0; i < last; i++)
            far[i] += (z[i] - end) * (z[i] - end);
    }
    if (power == POWER_ONE)
        for (int64_t i = 0; i < last; i++)
            far[i] = sqrt(far[i]);
    else if (power == POWER_ANY)
        for (int64_t i = 0; i < last; i++)
            far[i] = pow(far[i], 0.5 * alpha);
}

int64_t kp_joint_q(const double *points, int64_t n, int64_t dimensions, double alpha, int v_form, int both,
                   int64_t least, double *q)
{
    double *work = malloc((size_t)(4 * n + 1) * sizeof *work);
    if (!work)
        return -1;
    double *far = work, *after = work + n, *weight = work + 2 * n, *inside = work + 3 * n;
    enum power power = kp_power_of(alpha);
    for (int64_t i = 0; i < n; i++) {
        q[i] = -INFINITY;
        after[i] = 0.0;
        weight[i] = i < 1 ? 0.0 : kp_form_weight(i, v_form);
    }

    inside[0] = 0.0; /* inside[i], the distances among the first i points */
    for (int64_t last = 0; last < n; last++) {
        far_from(points, n, dimensions, last, power, alpha, far);
        double whole = inside[last], right = 0.0;
        int64_t kappa = last + 1;
        for (int64_t i = 0; i < last; i++) {
            whole += far[i];
            after[i] += far[i];
        }
        inside[kappa] = whole;
        if (!both && kappa < n)
            continue;

        /* Every tau from the right, so that the sum inside the right block grows by one term. */
        for (int64_t tau = last; tau >= least; tau--) {
            right += after[tau];
            if (kappa - tau < least)
                continue;
            double before = (double)tau, rest = (double)(kappa - tau), left = inside[tau];
            double found = (whole - left - right - rest * (left * weight[tau]) - before * weight[kappa - tau] * right) *
                           (2.0 / (double)kappa);
            q[tau] = found > q[tau] ? found : q[tau];
        }
    }
    free(work);
    return 0;
}
