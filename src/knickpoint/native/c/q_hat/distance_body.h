/* Distances of eight values at a time, and the order-statistic tree, for one level of instructions: what the bodies of
   E-Divisive begin with.

   Eight values go side by side, whatever the registers of the machine hold, and each sum has one order: every level
   computes the same bits. Where the power of the distance is a parameter called power, it is a constant once the
   function is inlined. */

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

/* The distances from v, whose rank is rank, to the earlier values in the tree, which are so many and sum up to sum;
   puts v in. With the count and the sum of the smaller ones, the distances are v (2 count - earlier) + sum - 2 below.
   Each level adds v to what lies after its place in its node, so a query reads one number a level, and nothing
   branches. */
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
