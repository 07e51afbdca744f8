/* The largest Q of permutations for one level of instructions; permutation.c says what they are. */

#include "q_hat/distance_body.h"

/* The numbers that shuffle: out[i] is the mixed counter of place first + i in one permutation. */
static void NAME(draw)(uint64_t stream, int64_t first, int64_t n, uint32_t *KP_RESTRICT out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint32_t)(finalise(stream + (uint64_t)(first + i + 1) * STEP) >> 32);
}

KP_INLINE void NAME(permuted_tau_power)(const enum power power, const double *KP_RESTRICT x,
                                        const double *KP_RESTRICT row, int64_t n, int64_t least,
                                        const double *KP_RESTRICT weight, double all, double alpha, f64x8 *top)
{
    const f64x8 *z = (const f64x8 *)x, *r = (const f64x8 *)row;
    f64x8 inside = {0}, reach = {0}, best = *top;
    for (int64_t t = 0; t < n; t += 4) {
        int64_t count = n - t < 4 ? n - t : 4;

        /* The distances of four places to all before them, which are read once for the four. */
        f64x8 sum[4] = {{0}};
        if (count == 4) {
            f64x8 a = z[t], b = z[t + 1], c = z[t + 2], d = z[t + 3];
            for (int64_t i = 0; i < t; i++) {
                f64x8 e = z[i];
                sum[0] += NAME(far8)(a, e, power, alpha);
                sum[1] += NAME(far8)(b, e, power, alpha);
                sum[2] += NAME(far8)(c, e, power, alpha);
                sum[3] += NAME(far8)(d, e, power, alpha);
            }
        } else {
            for (int64_t i = 0; i < t; i++)
                for (int64_t u = 0; u < count; u++)
                    sum[u] += NAME(far8)(z[t + u], z[i], power, alpha);
        }

        /* Those to one another, and Q of the split after each place. */
        for (int64_t u = 0; u < count; u++) {
            for (int64_t i = t; i < t + u; i++)
                sum[u] += NAME(far8)(z[t + u], z[i], power, alpha);
            inside += sum[u];
            reach += r[t + u];
            int64_t left = t + u + 1;
            if (left < least || n - left < least)
                continue;
            const double *w = weight + 3 * left;
            best = NAME(larger8)(reach * w[0] - inside * w[2] - all * w[1], best);
        }
    }
    *top = best;
}

/* Eight permutations x of a series side by side (n x 8), with the distances of each value to all (row): raise top[l] to
   the largest Q of permutation l. weight has three factors a split; see split_weights() in permutation.c. O(n^2). */
static void NAME(permuted_tau)(const double *x, const double *row, int64_t n, int64_t least, const double *weight,
                               double all, enum power power, double alpha, double *top)
{
    f64x8 best = *(const f64x8_loose *)top;
    FOR_POWER(NAME(permuted_tau_power), power, x, row, n, least, weight, all, alpha, &best);
    *(f64x8_loose *)top = best;
}

KP_INLINE void NAME(permuted_tree_levels)(const int levels, const double *sorted, const double *r, const int32_t *order,
                                          int64_t n, int64_t least, const double *weight, double all,
                                          const struct tree *tree, double *top)
{
    double inside = 0.0, reach = 0.0, sum = 0.0, best = *top;
    for (int64_t t = 0; t < n - least; t++) {
        int64_t rank = order[8 * t];
        double v = sorted[rank];
        inside += NAME(insert)(tree, levels, rank, v, (double)t, sum);
        sum += v;
        reach += r[rank];
        const double *w = weight + 3 * (t + 1);
        double q = reach * w[0] - inside * w[2] - all * w[1];
        q = t + 1 < least ? -INFINITY : q;
        best = q > best ? q : best;
    }
    *top = best;
}

/* The same for one permutation by an empty tree: order has the rank of each place, every eighth entry. O(n log n). */
static void NAME(permuted_tree)(const double *sorted, const double *r, const int32_t *order, int64_t n, int64_t least,
                                const double *weight, double all, const struct tree *tree, double *top)
{
    FOR_LEVELS(NAME(permuted_tree_levels), tree->levels, sorted, r, order, n, least, weight, all, tree, top);
}

KP_INLINE void NAME(permuted_both_power)(const enum power power, const double *x, int64_t n, int64_t least,
                                         const double *KP_RESTRICT inverse, double alpha, double *work, f64x8 *top)
{
    const f64x8 *z = (const f64x8 *)x;
    f64x8 *left = (f64x8 *)work, *h = left + n + 1, best = *top;
    double *KP_RESTRICT of_left = work + 8 * (2 * n + 1), *KP_RESTRICT of_right = of_left + n;

    /* left[t], the distances inside the first t points. */
    f64x8 inside = {0};
    left[0] = inside;
    for (int64_t t = 0; t < n; t++) {
        f64x8 sum = {0}, more = {0};
        int64_t i = 0;
        for (; i + 2 <= t; i += 2) {
            sum += NAME(far8)(z[t], z[i], power, alpha);
            more += NAME(far8)(z[t], z[i + 1], power, alpha);
        }
        if (i < t)
            sum += NAME(far8)(z[t], z[i], power, alpha);
        inside += sum + more;
        left[t + 1] = inside;
        h[t] = (f64x8){0};
    }

    /* As kappa grows, h[tau] are the distances from point tau to those after it, so the sum inside the right block is
       that of h from tau on. The tau with the least cost of both blocks has the largest Q of this kappa. */
    for (int64_t kappa = least + 1; kappa <= n; kappa++) {
        f64x8 end = z[kappa - 1], right = {0}, cost = (f64x8){0} + INFINITY;
        int64_t tau = kappa - 2;
        for (; tau > kappa - least && tau >= least; tau--) { /* right blocks that are too short */
            h[tau] += NAME(far8)(z[tau], end, power, alpha);
            right += h[tau];
        }
        for (int64_t i = least; i < kappa; i++) {
            of_left[i] = 1.0 + (double)(kappa - i) * inverse[i];
            of_right[i] = 1.0 + (double)i * inverse[kappa - i];
        }
        if (least == 1)
            cost = left[kappa - 1] * of_left[kappa - 1];
        for (; tau >= least; tau--) {
            h[tau] += NAME(far8)(z[tau], end, power, alpha);
            right += h[tau];
            cost = NAME(smaller8)(left[tau] * of_left[tau] + right * of_right[tau], cost);
        }
        best = NAME(larger8)((left[kappa] - cost) * (2.0 / (double)kappa), best);
    }
    *top = best;
}

/* The same as permuted_tau for every (tau, kappa). work has (2 n + 1) x 8 + 2 n doubles. O(n^2). */
static void NAME(permuted_both)(const double *x, int64_t n, int64_t least, const double *inverse, enum power power,
                                double alpha, double *work, double *top)
{
    f64x8 best = *(const f64x8_loose *)top;
    FOR_POWER(NAME(permuted_both_power), power, x, n, least, inverse, alpha, work, &best);
    *(f64x8_loose *)top = best;
}
