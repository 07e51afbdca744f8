/* The scans of E-Divisive over one series for one level of instructions; q_hat.c says what the sums are. */

#include "distance_body.h"

/* ---- distances to those before ----------------------------------------------------------------------------------- */

KP_INLINE void NAME(prefix_power)(const enum power power, const double *KP_RESTRICT z, int64_t n, double alpha,
                                  double *KP_RESTRICT p)
{
    for (int64_t t = 0; t < n; t++) {
        f64x8 zt = (f64x8){0} + z[t], sum = {0};
        int64_t i = 0;
        for (; i + 8 <= t; i += 8)
            sum += NAME(far8)(zt, *(const f64x8_loose *)(z + i), power, alpha);
        double rest = 0.0;
        for (; i < t; i++)
            rest += NAME(far)(z[t], z[i], power, alpha);
        p[t] = rest + (((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
    }
}

/* p[t] is the sum of the distances from z[t] to all before it. O(n^2). */
static void NAME(prefix)(const double *z, int64_t n, enum power power, double alpha, double *p)
{
    FOR_POWER(NAME(prefix_power), power, z, n, alpha, p);
}

KP_INLINE void NAME(prefix_tree_levels)(const int levels, const double *z, const int64_t *rank, int64_t n,
                                        const struct tree *tree, double *p)
{
    double sum = 0.0;
    for (int64_t t = 0; t < n; t++) {
        p[t] = NAME(insert)(tree, levels, rank[t], z[t], (double)t, sum);
        sum += z[t];
    }
}

/* The same as prefix for alpha 1, by an empty tree. O(n log n). */
static void NAME(prefix_tree)(const double *z, const int64_t *rank, int64_t n, const struct tree *tree, double *p)
{
    FOR_LEVELS(NAME(prefix_tree_levels), tree->levels, z, rank, n, tree, p);
}

/* ---- one series, every kappa ------------------------------------------------------------------------------------- */

/* Q of one tau and one kappa, given the sums inside both blocks and in both together. */
KP_INLINE double NAME(q_of)(double whole, double left, double right, double m, double scaled, double t, double over,
                            double twice)
{
    return (whole - left - right - m * scaled - t * over * right) * twice;
}

/* The largest Q of one tau, and where, unless what is found already beats it. Tau comes from the right, so that the
   smallest of those that are equal stays. */
KP_INLINE void NAME(best_kappa)(int64_t tau, int64_t n, int64_t least, const double *KP_RESTRICT inverse,
                                const double *KP_RESTRICT twice, const double *KP_RESTRICT count,
                                const double *KP_RESTRICT whole, const double *KP_RESTRICT right,
                                double *KP_RESTRICT found)
{
    int64_t kappa = tau + least;
    if (tau < least || kappa > n)
        return;

    /* The largest Q of the row, eight kappas at a time; what lies beyond n counts as -inf. */
    double left = whole[tau], scaled = left * inverse[tau], t = (double)tau;
    f64x8 most = (f64x8){0} - INFINITY;
    for (; kappa <= n; kappa += 8) {
        int64_t rest = n + 1 - kappa < 8 ? n + 1 - kappa : 8;
        f64x8 r = *(const f64x8_loose *)(right + kappa);
        f64x8 m = *(const f64x8_loose *)(count + kappa - tau), over = *(const f64x8_loose *)(inverse + kappa - tau);
        f64x8 q = (*(const f64x8_loose *)(whole + kappa) - left - r - m * scaled - t * over * r) *
                  *(const f64x8_loose *)(twice + kappa);
        most = NAME(larger8)(q + *(const f64x8_loose *)(kp_beyond + 8 - rest), most);
    }
    for (int half = 4; half; half /= 2)
        for (int lane = 0; lane < half; lane++)
            most[lane] = most[lane] > most[lane + half] ? most[lane] : most[lane + half];
    double row = most[0];
    if (row < found[2] - KP_TIED * fabs(found[2]))
        return;

    /* The first kappa that has it. */
    double equal = row - KP_TIED * fabs(row);
    for (kappa = tau + least; kappa < n; kappa++)
        if (NAME(q_of)(whole[kappa], left, right[kappa], count[kappa - tau], scaled, t, inverse[kappa - tau],
                       twice[kappa]) >= equal)
            break;
    found[0] = t;
    found[1] = (double)kappa;
    found[2] = row > found[2] ? row : found[2];
}

KP_INLINE void NAME(scan_both_power)(const enum power power, const double *KP_RESTRICT z, int64_t n, int64_t least,
                                     const struct lengths *lengths, double alpha, const double *whole,
                                     double *KP_RESTRICT rows, double *found)
{
    double *row[4] = {rows, rows + (n + 9), rows + 2 * (n + 9), rows + 3 * (n + 9)};
    for (int64_t i = 0; i < n + 9; i++)
        row[3][i] = 0.0;
    for (int u = 0; u < 3; u++)
        for (int64_t i = n + 1; i < n + 9; i++)
            row[u][i] = 0.0;
    found[0] = found[1] = -1.0;
    found[2] = -INFINITY;

    /* Row u has the sums inside [tau - u, kappa) for each kappa; row 3 is that of tau + 1 until it is overwritten. */
    for (int64_t tau = n - 1; tau >= least; tau -= 4) {
        double sum[4] = {0.0}, from[4];

        /* The triangle of points from tau - 3 to tau. */
        for (int u = 0; u < 4; u++) {
            int64_t first = tau - u > 0 ? tau - u : 0;
            const double *before = row[(u + 3) % 4];
            from[u] = z[first];
            row[u][first + 1] = 0.0;
            for (int64_t j = first + 1; j <= tau; j++) {
                sum[u] += NAME(far)(from[u], z[j], power, alpha);
                row[u][j + 1] = (j + 1 > first + 2 && u ? before[j + 1] : 0.0) + sum[u];
            }
        }

        /* All points after tau, four sums side by side that do not wait for one another. */
        for (int64_t j = tau + 1; j < n; j++) {
            double value = z[j], right = row[3][j + 1];
            for (int u = 0; u < 4; u++) {
                sum[u] += NAME(far)(from[u], value, power, alpha);
                right += sum[u];
                row[u][j + 1] = right;
            }
        }

        for (int u = 0; u < 4; u++)
            NAME(best_kappa)(tau - u, n, least, lengths->inverse, lengths->twice, lengths->count, whole, row[u], found);
    }
}

/* The best (tau, kappa) of one series: found = {tau, kappa, Q}, the first of equal maxima by tau, then kappa. whole has
   the n + 1 sums inside z[0..i), rows room for 4 (n + 9). O(n^2) time. */
static void NAME(scan_both)(const double *z, int64_t n, int64_t least, const struct lengths *lengths, enum power power,
                            double alpha, const double *whole, double *rows, double *found)
{
    FOR_POWER(NAME(scan_both_power), power, z, n, least, lengths, alpha, whole, rows, found);
}
