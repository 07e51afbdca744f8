/* The cheapest path over a grid of levels for one level of instructions; see paths.c. Each sum has one order: every
   level of instructions computes the same bits. */

/* The least cost, and the first level that has it. */
KP_INLINE double NAME(least_cost)(const double *cost, int *first)
{
#if LEVEL == 2
    __m512d low[KP_LEVELS / 8];
    for (int g = 0; g < KP_LEVELS / 8; g++)
        low[g] = _mm512_load_pd(cost + 8 * g);
    for (int half = KP_LEVELS / 16; half; half /= 2)
        for (int g = 0; g < half; g++)
            low[g] = _mm512_min_pd(low[g], low[g + half]);
    double least = _mm512_reduce_min_pd(low[0]);
    uint64_t equal = 0;
    for (int g = 0; g < KP_LEVELS / 8; g++)
        equal |= (uint64_t)_mm512_cmp_pd_mask(_mm512_load_pd(cost + 8 * g), _mm512_set1_pd(least), _CMP_EQ_OQ) << 8 * g;
    *first = __builtin_ctzll(equal);
#elif LEVEL == 1
    __m256d low[KP_LEVELS / 8];
    for (int g = 0; g < KP_LEVELS / 8; g++)
        low[g] = _mm256_min_pd(_mm256_load_pd(cost + 4 * g), _mm256_load_pd(cost + KP_LEVELS / 2 + 4 * g));
    for (int half = KP_LEVELS / 16; half; half /= 2)
        for (int g = 0; g < half; g++)
            low[g] = _mm256_min_pd(low[g], low[g + half]);
    __m128d two = _mm_min_pd(_mm256_castpd256_pd128(low[0]), _mm256_extractf128_pd(low[0], 1));
    double least = _mm_cvtsd_f64(_mm_min_sd(two, _mm_unpackhi_pd(two, two)));
    uint64_t equal = 0;
    for (int g = 0; g < KP_LEVELS / 4; g++) {
        __m256d same = _mm256_cmp_pd(_mm256_load_pd(cost + 4 * g), _mm256_set1_pd(least), _CMP_EQ_OQ);
        equal |= (uint64_t)_mm256_movemask_pd(same) << 4 * g;
    }
    *first = __builtin_ctzll(equal);
#else
    double lanes[8], least = INFINITY;
    for (int l = 0; l < 8; l++)
        lanes[l] = INFINITY;
    for (int j = 0; j < KP_LEVELS; j += 8)
        for (int l = 0; l < 8; l++)
            lanes[l] = cost[j + l] < lanes[l] ? cost[j + l] : lanes[l];
    for (int l = 0; l < 8; l++)
        least = lanes[l] < least ? lanes[l] : least;
    int j = 0;
    while (cost[j] != least)
        j++;
    *first = j;
#endif
    return least;
}

/* Write the first points of the levels of the cheapest path, ascending, to out, and return how many. w[t] is the
   inverse of the noise at t; a value costs no more than cap, a change the penalty. before has room for n numbers. */
static int NAME(path)(const double *x, const double *w, int n, const double *grid, double penalty, double cap,
                      double *before, int *out)
{
    /* cost[j] is that of the cheapest path that now runs at level j, and born[j] where it changed to that level.
       before[t] is where the path that a change at t leaves had changed to its level. */
    _Alignas(KP_ALIGNMENT) double cost[KP_LEVELS], born[KP_LEVELS];
    for (int j = 0; j < KP_LEVELS; j++) {
        double d = (x[0] - grid[j]) * w[0];
        d *= d;
        cost[j] = d < cap ? d : cap;
        born[j] = 0;
    }

    /* Recursion: each level is kept, or reached from the cheapest one for the penalty. */
    int level, count = 0;
#if LEVEL == 2
    /* All costs and levels stay in registers: what is stored of the costs is read only after the loop. */
    enum { GROUPS = KP_LEVELS / 8 };
    __m512d costs[GROUPS], at[GROUPS], bound = _mm512_set1_pd(cap);
    for (int g = 0; g < GROUPS; g++) {
        costs[g] = _mm512_load_pd(cost + 8 * g);
        at[g] = _mm512_loadu_pd(grid + 8 * g);
    }
    for (int t = 1; t < n; t++) {
        __m512d low = _mm512_min_pd(costs[0], costs[1]), v = _mm512_set1_pd(x[t]), by = _mm512_set1_pd(w[t]);
        for (int g = 2; g < GROUPS; g++)
            low = _mm512_min_pd(low, costs[g]);
        double cheapest = _mm512_reduce_min_pd(low);
        __m512d least = _mm512_set1_pd(cheapest), other = _mm512_set1_pd(cheapest + penalty), now = _mm512_set1_pd(t);
        uint64_t equal = 0;
        for (int g = 0; g < GROUPS; g++)
            equal |= (uint64_t)_mm512_cmp_pd_mask(costs[g], least, _CMP_EQ_OQ) << 8 * g;
        before[t] = born[__builtin_ctzll(equal)];
        for (int g = 0; g < GROUPS; g++) {
            __m512d d = _mm512_mul_pd(_mm512_sub_pd(v, at[g]), by);
            _mm512_mask_store_pd(born + 8 * g, _mm512_cmp_pd_mask(costs[g], other, _CMP_GT_OQ), now);
            costs[g] = _mm512_add_pd(_mm512_min_pd(costs[g], other), _mm512_min_pd(_mm512_mul_pd(d, d), bound));
        }
    }
    for (int g = 0; g < GROUPS; g++)
        _mm512_store_pd(cost + 8 * g, costs[g]);
#else
    for (int t = 1; t < n; t++) {
        double least = NAME(least_cost)(cost, &level), other = least + penalty, v = x[t], by = w[t], now = t;
        before[t] = born[level];
        for (int j = 0; j < KP_LEVELS; j++) {
            double d = (v - grid[j]) * by, stay = cost[j];
            d *= d;
            born[j] = stay > other ? now : born[j];
            cost[j] = (stay > other ? other : stay) + (d < cap ? d : cap);
        }
    }
#endif

    /* Backtracking from the cheapest end, then in ascending order. */
    NAME(least_cost)(cost, &level);
    for (int t = (int)born[level]; t > 0; t = (int)before[t])
        out[count++] = t;
    for (int a = 0, b = count - 1; a < b; a++, b--) {
        int t = out[a];
        out[a] = out[b];
        out[b] = t;
    }
    return count;
}
