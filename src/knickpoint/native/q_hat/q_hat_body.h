/* E-Divisive scans and permutations; see q_hat.c. Eight values go side by side, whatever the machine's vectors
   hold, and nothing is reassociated or contracted: every level computes the same bits. */

/* |a - b| to the power alpha; way is fixed where this is inlined. */
KP_INLINE double NAME(far)(double a, double b, const int way, double alpha)
{
    double d = fabs(a - b);
    return way == FAR_ABSOLUTE ? d : way == FAR_SQUARE ? d * d : pow(d, alpha);
}

KP_INLINE eight NAME(far8)(eight a, eight b, const int way, double alpha)
{
    eight d = (eight)((whole8)(a - b) & (whole8){KP_EIGHT(INT64_MAX)});
    if (way == FAR_SQUARE)
        return d * d;
    if (way == FAR_POWER)
        for (int l = 0; l < 8; l++)
            d[l] = pow(d[l], alpha);
    return d;
}

/* a > b ? a : b in each place, in one instruction a vector where there is one. */
KP_INLINE eight NAME(larger8)(eight a, eight b)
{
#if LEVEL == 2
    return (eight)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif LEVEL == 1
    union {
        eight all;
        __m256d part[2];
    } x = {a}, y = {b};
    for (int i = 0; i < 2; i++)
        x.part[i] = _mm256_max_pd(x.part[i], y.part[i]);
    return x.all;
#else
    whole8 more = a > b;
    return (eight)(((whole8)a & more) | ((whole8)b & ~more));
#endif
}

/* a < b ? a : b in each place, in one instruction a vector where there is one. */
KP_INLINE eight NAME(smaller8)(eight a, eight b)
{
#if LEVEL == 2
    return (eight)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif LEVEL == 1
    union {
        eight all;
        __m256d part[2];
    } x = {a}, y = {b};
    for (int i = 0; i < 2; i++)
        x.part[i] = _mm256_min_pd(x.part[i], y.part[i]);
    return x.all;
#else
    whole8 more = a < b;
    return (eight)(((whole8)a & more) | ((whole8)b & ~more));
#endif
}

/* p[t] = sum of distances from z[t] to all before it, O(n^2). */
KP_INLINE void NAME(prefix_way)(const double *KP_RESTRICT z, int64_t n, const int way, double alpha,
                                double *KP_RESTRICT p)
{
    for (int64_t t = 0; t < n; t++) {
        eight zt = (eight){0} + z[t], sum = {0};
        int64_t i = 0;
        for (; i + 8 <= t; i += 8)
            sum += NAME(far8)(zt, *(const loose8 *)(z + i), way, alpha);
        double rest = 0.0;
        for (; i < t; i++)
            rest += NAME(far)(z[t], z[i], way, alpha);
        p[t] = rest + (((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
    }
}

static void NAME(prefix)(const double *z, int64_t n, int way, double alpha, double *p)
{
    if (way == FAR_ABSOLUTE)
        NAME(prefix_way)(z, n, FAR_ABSOLUTE, alpha, p);
    else if (way == FAR_SQUARE)
        NAME(prefix_way)(z, n, FAR_SQUARE, alpha, p);
    else
        NAME(prefix_way)(z, n, FAR_POWER, alpha, p);
}

/* Eight permutations side by side: add the distances to all before, then weigh; raise top[l] to the largest Q. */
KP_INLINE void NAME(permuted_tau_way)(const double *KP_RESTRICT x, const double *KP_RESTRICT row, int64_t n,
                                      int64_t least, const double *KP_RESTRICT weight, double all, const int way,
                                      double alpha, eight *top)
{
    const eight *z = (const eight *)x, *r = (const eight *)row;
    eight inside = {0}, reach = {0}, best = *top;
    for (int64_t t = 0; t < n; t += 4) {
        int64_t count = n - t < 4 ? n - t : 4;
        eight sum[4] = {{0}};
        if (count == 4) {
            eight a = z[t], b = z[t + 1], c = z[t + 2], d = z[t + 3];
            for (int64_t i = 0; i < t; i++) {
                eight e = z[i];
                sum[0] += NAME(far8)(a, e, way, alpha);
                sum[1] += NAME(far8)(b, e, way, alpha);
                sum[2] += NAME(far8)(c, e, way, alpha);
                sum[3] += NAME(far8)(d, e, way, alpha);
            }
        } else {
            for (int64_t i = 0; i < t; i++)
                for (int64_t u = 0; u < count; u++)
                    sum[u] += NAME(far8)(z[t + u], z[i], way, alpha);
        }
        for (int64_t u = 0; u < count; u++) {
            for (int64_t i = t; i < t + u; i++)
                sum[u] += NAME(far8)(z[t + u], z[i], way, alpha);
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

static void NAME(permuted_tau)(const double *x, const double *row, int64_t n, int64_t least, const double *weight,
                               double all, int way, double alpha, double *top)
{
    eight best = *(const loose8 *)top;
    if (way == FAR_ABSOLUTE)
        NAME(permuted_tau_way)(x, row, n, least, weight, all, FAR_ABSOLUTE, alpha, &best);
    else if (way == FAR_SQUARE)
        NAME(permuted_tau_way)(x, row, n, least, weight, all, FAR_SQUARE, alpha, &best);
    else
        NAME(permuted_tau_way)(x, row, n, least, weight, all, FAR_POWER, alpha, &best);
    *(loose8 *)top = best;
}

/* Eight permutations side by side, every (tau, kappa). work: (2 n + 2) x 8, coefficients: 2 n. */
KP_INLINE void NAME(permuted_both_way)(const double *x, int64_t n, int64_t least, const double *KP_RESTRICT inverse,
                                       const int way, double alpha, double *work, eight *top)
{
    const eight *z = (const eight *)x;
    eight *left = (eight *)work, *h = left + n + 1, best = *top;
    double *KP_RESTRICT of_left = work + 8 * (2 * n + 1), *KP_RESTRICT of_right = of_left + n;
    eight inside = {0};
    left[0] = inside;
    for (int64_t t = 0; t < n; t++) {
        eight sum = {0}, more = {0};
        int64_t i = 0;
        for (; i + 2 <= t; i += 2) {
            sum += NAME(far8)(z[t], z[i], way, alpha);
            more += NAME(far8)(z[t], z[i + 1], way, alpha);
        }
        if (i < t)
            sum += NAME(far8)(z[t], z[i], way, alpha);
        inside += sum + more;
        left[t + 1] = inside;
        h[t] = (eight){0};
    }
    for (int64_t kappa = least + 1; kappa <= n; kappa++) {
        eight end = z[kappa - 1], right = {0}, cost = (eight){0} + INFINITY;
        int64_t tau = kappa - 2;
        for (; tau > kappa - least && tau >= least; tau--) {
            h[tau] += NAME(far8)(z[tau], end, way, alpha);
            right += h[tau];
        }
        for (int64_t i = least; i < kappa; i++) {
            of_left[i] = 1.0 + (double)(kappa - i) * inverse[i];
            of_right[i] = 1.0 + (double)i * inverse[kappa - i];
        }
        if (least == 1)
            cost = left[kappa - 1] * of_left[kappa - 1];
        for (; tau >= least; tau--) {
            h[tau] += NAME(far8)(z[tau], end, way, alpha);
            right += h[tau];
            cost = NAME(smaller8)(left[tau] * of_left[tau] + right * of_right[tau], cost);
        }
        best = NAME(larger8)((left[kappa] - cost) * (2.0 / (double)kappa), best);
    }
    *top = best;
}

static void NAME(permuted_both)(const double *x, int64_t n, int64_t least, const double *inverse, int way, double alpha,
                                double *work, double *top)
{
    eight best = *(const loose8 *)top;
    if (way == FAR_ABSOLUTE)
        NAME(permuted_both_way)(x, n, least, inverse, FAR_ABSOLUTE, alpha, work, &best);
    else if (way == FAR_SQUARE)
        NAME(permuted_both_way)(x, n, least, inverse, FAR_SQUARE, alpha, work, &best);
    else
        NAME(permuted_both_way)(x, n, least, inverse, FAR_POWER, alpha, work, &best);
    *(loose8 *)top = best;
}

/* Q of one tau and one kappa, given the sums inside both blocks and in both together. */
KP_INLINE double NAME(q_of)(double whole, double left, double right, double m, double scaled, double t, double over,
                            double twice)
{
    return (whole - left - right - m * scaled - t * over * right) * twice;
}

/* The largest Q of one tau; when what is known does not beat it, where. Tau comes from the right, so that the smallest
   of those that are equal stays. */
KP_INLINE void NAME(best_kappa)(int64_t tau, int64_t n, int64_t least, const double *KP_RESTRICT inverse,
                                const double *KP_RESTRICT twice, const double *KP_RESTRICT count,
                                const double *KP_RESTRICT whole, const double *KP_RESTRICT right,
                                double *KP_RESTRICT found)
{
    int64_t kappa = tau + least;
    if (tau < least || kappa > n)
        return;
    double left = whole[tau], scaled = left * inverse[tau], t = (double)tau;
    eight most = (eight){0} - INFINITY;
    for (; kappa <= n; kappa += 8) { /* what lies beyond n counts as -inf */
        int64_t rest = n + 1 - kappa < 8 ? n + 1 - kappa : 8;
        eight r = *(const loose8 *)(right + kappa);
        eight m = *(const loose8 *)(count + kappa - tau), over = *(const loose8 *)(inverse + kappa - tau);
        eight q = (*(const loose8 *)(whole + kappa) - left - r - m * scaled - t * over * r) *
                  *(const loose8 *)(twice + kappa);
        most = NAME(larger8)(q + *(const loose8 *)(kp_beyond + 8 - rest), most);
    }
    for (int half = 4; half; half /= 2)
        for (int lane = 0; lane < half; lane++)
            most[lane] = most[lane] > most[lane + half] ? most[lane] : most[lane + half];
    double row = most[0];
    if (row < found[2] - KP_TIED * fabs(found[2]))
        return;
    double equal = row - KP_TIED * fabs(row);
    for (kappa = tau + least; kappa < n; kappa++)
        if (NAME(q_of)(whole[kappa], left, right[kappa], count[kappa - tau], scaled, t, inverse[kappa - tau],
                       twice[kappa]) >= equal)
            break;
    found[0] = t;
    found[1] = (double)kappa;
    found[2] = row > found[2] ? row : found[2];
}

/* One series, every (tau, kappa): rows of tau from the right, four at a time so that their sums do not wait for one
   another. The first of equal maxima by tau, then kappa, wins. whole: n + 1 sums inside z[0..i); rows: 4 (n + 9). */
KP_INLINE void NAME(scan_both_way)(const double *KP_RESTRICT z, int64_t n, int64_t least, const double *inverse,
                                   const double *twice, const double *count, const int way, double alpha,
                                   const double *whole, double *KP_RESTRICT rows, double *found)
{
    double *row[4] = {rows, rows + (n + 9), rows + 2 * (n + 9), rows + 3 * (n + 9)};
    for (int64_t i = 0; i < n + 9; i++)
        row[3][i] = 0.0;
    for (int u = 0; u < 3; u++)
        for (int64_t i = n + 1; i < n + 9; i++)
            row[u][i] = 0.0;
    found[0] = found[1] = -1.0;
    found[2] = -INFINITY;
    for (int64_t tau = n - 1; tau >= least; tau -= 4) {
        double sum[4] = {0.0}, from[4];
        for (int u = 0; u < 4; u++) {
            int64_t own = tau - u > 0 ? tau - u : 0;
            const double *before = row[(u + 3) % 4];
            from[u] = z[own];
            row[u][own + 1] = 0.0;
            for (int64_t j = own + 1; j <= tau; j++) {
                sum[u] += NAME(far)(from[u], z[j], way, alpha);
                row[u][j + 1] = (j + 1 > own + 2 && u ? before[j + 1] : 0.0) + sum[u];
            }
        }
        for (int64_t j = tau + 1; j < n; j++) {
            double value = z[j], right = row[3][j + 1];
            for (int u = 0; u < 4; u++) {
                sum[u] += NAME(far)(from[u], value, way, alpha);
                right += sum[u];
                row[u][j + 1] = right;
            }
        }
        for (int u = 0; u < 4; u++)
            NAME(best_kappa)(tau - u, n, least, inverse, twice, count, whole, row[u], found);
    }
}

static void NAME(scan_both)(const double *z, int64_t n, int64_t least, const double *inverse, const double *twice,
                            const double *count, int way, double alpha, const double *whole, double *rows,
                            double *found)
{
    if (way == FAR_ABSOLUTE)
        NAME(scan_both_way)(z, n, least, inverse, twice, count, FAR_ABSOLUTE, alpha, whole, rows, found);
    else if (way == FAR_SQUARE)
        NAME(scan_both_way)(z, n, least, inverse, twice, count, FAR_SQUARE, alpha, whole, rows, found);
    else
        NAME(scan_both_way)(z, n, least, inverse, twice, count, FAR_POWER, alpha, whole, rows, found);
}

/* The numbers that shuffle: out[i] = mixed counter for places first, first + 1, ... of one permutation. */
static void NAME(draw)(uint64_t stream, int64_t first, int64_t n, uint32_t *KP_RESTRICT out)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = stream + (uint64_t)(first + i + 1) * UINT64_C(0x9E3779B97F4A7C15);
        v = (v ^ (v >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        v = (v ^ (v >> 27)) * UINT64_C(0x94D049BB133111EB);
        out[i] = (uint32_t)((v ^ (v >> 31)) >> 32);
    }
}

/* Distances from v, whose rank is rank, to all that are in the tree, and put it in. Each level adds v to what lies
   after its own place in its node, so a query reads one number a level; there is nothing to branch on. */
KP_INLINE double NAME(insert)(const struct tree *tree, const int levels, int64_t rank, double v, double earlier,
                              double sum)
{
    whole8 bits = (whole8)((eight){0} + v);
    int64_t count = 0;
    double below = 0.0;
    for (int h = 0; h < levels; h++) {
        double *sums = tree->sums[h] + (rank & ~(int64_t)15);
        int32_t *counts = tree->counts[h] + (rank & ~(int64_t)15);
        int place = (int)(rank & 15);
        below += sums[place];
        count += counts[place];
        *(eight *)sums += (eight)(bits & kp_after.of_sums[place][0]);
        *(eight *)(sums + 8) += (eight)(bits & kp_after.of_sums[place][1]);
        *(small16 *)counts += kp_after.of_counts[place];
        rank >>= 4;
    }
    return v * (double)(2 * count - (int64_t)earlier) + sum - 2.0 * below;
}

KP_INLINE void NAME(prefix_tree_levels)(const double *z, const int64_t *rank, int64_t n, const struct tree *tree,
                                        const int levels, double *p)
{
    double sum = 0.0;
    for (int64_t t = 0; t < n; t++) {
        p[t] = NAME(insert)(tree, levels, rank[t], z[t], (double)t, sum);
        sum += z[t];
    }
}

static void NAME(prefix_tree)(const double *z, const int64_t *rank, int64_t n, const struct tree *tree, double *p)
{
    if (tree->levels == 2)
        NAME(prefix_tree_levels)(z, rank, n, tree, 2, p);
    else if (tree->levels == 3)
        NAME(prefix_tree_levels)(z, rank, n, tree, 3, p);
    else if (tree->levels == 4)
        NAME(prefix_tree_levels)(z, rank, n, tree, 4, p);
    else
        NAME(prefix_tree_levels)(z, rank, n, tree, tree->levels, p);
}

/* One permutation by the tree, every eighth place of order; raises *top. */
KP_INLINE void NAME(permuted_tree_levels)(const double *sorted, const double *r, const int32_t *order, int64_t n,
                                          int64_t least, const double *weight, double all, const struct tree *tree,
                                          const int levels, double *top)
{
    double inside = 0.0, reach = 0.0, sum = 0.0, best = *top;
    for (int64_t t = 0; t < n - least; t++) {
        int64_t own = order[8 * t];
        double v = sorted[own];
        inside += NAME(insert)(tree, levels, own, v, (double)t, sum);
        sum += v;
        reach += r[own];
        const double *w = weight + 3 * (t + 1);
        double q = reach * w[0] - inside * w[2] - all * w[1];
        q = t + 1 < least ? -INFINITY : q;
        best = q > best ? q : best;
    }
    *top = best;
}

static void NAME(permuted_tree)(const double *sorted, const double *r, const int32_t *order, int64_t n, int64_t least,
                                const double *weight, double all, const struct tree *tree, double *top)
{
    if (tree->levels == 2)
        NAME(permuted_tree_levels)(sorted, r, order, n, least, weight, all, tree, 2, top);
    else if (tree->levels == 3)
        NAME(permuted_tree_levels)(sorted, r, order, n, least, weight, all, tree, 3, top);
    else if (tree->levels == 4)
        NAME(permuted_tree_levels)(sorted, r, order, n, least, weight, all, tree, 4, top);
    else
        NAME(permuted_tree_levels)(sorted, r, order, n, least, weight, all, tree, tree->levels, top);
}

static const struct divisive NAME(divisive) = {
    NAME(prefix),        NAME(prefix_tree), NAME(permuted_tau), NAME(permuted_tree),
    NAME(permuted_both), NAME(scan_both),   NAME(draw),
};
