/* The scans of E-Divisive for one level of instructions; see q_hat.c for the sums and permutation.c for permutations.

   Eight values go side by side, whatever the registers of the machine hold, and each sum has one order: every level
   computes the same bits. Where the power of the distance is a parameter called power, it is a constant once the function
   is inlined. */

#ifndef FOR_POWER
/* Call function with the power as a constant. */
#define FOR_POWER(function, power, ...)       \
    do {                                      \
        if (power == POWER_ONE)               \
            function(POWER_ONE, __VA_ARGS__); \
        else if (power == POWER_TWO)          \
            function(POWER_TWO, __VA_ARGS__); \
        else                                  \
            function(POWER_ANY, __VA_ARGS__); \
    } while (0)

/* Call function with the number of levels of a tree as a constant, where it is a common one. */
#define FOR_LEVELS(function, levels, ...)  \
    do {                                   \
        if (levels == 2)                   \
            function(2, __VA_ARGS__);      \
        else if (levels == 3)              \
            function(3, __VA_ARGS__);      \
        else if (levels == 4)              \
            function(4, __VA_ARGS__);      \
        else                               \
            function(levels, __VA_ARGS__); \
    } while (0)
#endif

/* ---- distances --------------------------------------------------------------------------------------------------- */

/* |a - b| to the power alpha. */
KP_INLINE double NAME(far)(double a, double b, const enum power power, double alpha)
{
    double d = fabs(a - b);
    return power == POWER_ONE ? d : power == POWER_TWO ? d * d : pow(d, alpha);
}

KP_INLINE f64x8 NAME(far8)(f64x8 a, f64x8 b, const enum power power, double alpha)
{
    f64x8 d = (f64x8)((i64x8)(a - b) & (i64x8){KP_EIGHT(INT64_MAX)});
    if (power == POWER_TWO)
        return d * d;
    if (power == POWER_ANY)
        for (int l = 0; l < 8; l++)
            d[l] = pow(d[l], alpha);
    return d;
}

/* a > b ? a : b in each place, in one instruction a vector where there is one. */
KP_INLINE f64x8 NAME(larger8)(f64x8 a, f64x8 b)
{
#if LEVEL == 2
    return (f64x8)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif LEVEL == 1
    union {
        f64x8 all;
        __m256d part[2];
    } x = {a}, y = {b};
    for (int i = 0; i < 2; i++)
        x.part[i] = _mm256_max_pd(x.part[i], y.part[i]);
    return x.all;
#else
    i64x8 more = a > b;
    return (f64x8)(((i64x8)a & more) | ((i64x8)b & ~more));
#endif
}

/* a < b ? a : b in each place, in one instruction a vector where there is one. */
KP_INLINE f64x8 NAME(smaller8)(f64x8 a, f64x8 b)
{
#if LEVEL == 2
    return (f64x8)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif LEVEL == 1
    union {
        f64x8 all;
        __m256d part[2];
    } x = {a}, y = {b};
    for (int i = 0; i < 2; i++)
        x.part[i] = _mm256_min_pd(x.part[i], y.part[i]);
    return x.all;
#else
    i64x8 more = a < b;
    return (f64x8)(((i64x8)a & more) | ((i64x8)b & ~more));
#endif
}

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

/* The distances from v, whose rank is rank, to the earlier values in the tree, which are so many and sum up to sum; puts v
   in. With the count and the sum of the smaller ones, the distances are v (2 count - earlier) + sum - 2 below. Each level
   adds v to what lies after its place in its node, so a query reads one number a level, and nothing branches. */
KP_INLINE double NAME(insert)(const struct tree *tree, const int levels, int64_t rank, double v, double earlier,
                              double sum)
{
    i64x8 bits = (i64x8)((f64x8){0} + v);
    int64_t count = 0;
    double below = 0.0;
    for (int h = 0; h < levels; h++) {
        double *sums = tree->sums[h] + (rank & ~(int64_t)15);
        int32_t *counts = tree->counts[h] + (rank & ~(int64_t)15);
        int place = (int)(rank & 15);
        below += sums[place];
        count += counts[place];
        *(f64x8 *)sums += (f64x8)(bits & kp_after.of_sums[place][0]);
        *(f64x8 *)(sums + 8) += (f64x8)(bits & kp_after.of_sums[place][1]);
        *(i32x16 *)counts += kp_after.of_counts[place];
        rank >>= 4;
    }
    return v * (double)(2 * count - (int64_t)earlier) + sum - 2.0 * below;
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

/* ---- permutations ------------------------------------------------------------------------------------------------ */

/* The numbers that shuffle: out[i] is the mixed counter of place first + i in one permutation. */
static void NAME(draw)(uint64_t stream, int64_t first, int64_t n, uint32_t *KP_RESTRICT out)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = stream + (uint64_t)(first + i + 1) * UINT64_C(0x9E3779B97F4A7C15);
        v = (v ^ (v >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        v = (v ^ (v >> 27)) * UINT64_C(0x94D049BB133111EB);
        out[i] = (uint32_t)((v ^ (v >> 31)) >> 32);
    }
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

    /* As kappa grows, h[tau] are the distances from point tau to those after it, so the sum inside the right block is that
       of h from tau on. The tau with the least cost of both blocks has the largest Q of this kappa. */
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

static const struct scans NAME(scans) = {
    .prefix = NAME(prefix),
    .prefix_tree = NAME(prefix_tree),
    .permuted_tau = NAME(permuted_tau),
    .permuted_tree = NAME(permuted_tree),
    .permuted_both = NAME(permuted_both),
    .scan_both = NAME(scan_both),
    .draw = NAME(draw),
};
