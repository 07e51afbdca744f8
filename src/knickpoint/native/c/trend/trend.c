/* Levels, steps and slow changes of a series, fitted robustly, and the slope that explains most beside them.

   Levels between steps do not overlap, so their part of a least squares fit is the mean of each; what is left is a
   fit of a few slopes without their means on each level, by Gram and Schmidt. What a slope between two places explains
   follows from the products of ramps with each other, which are sums of integers and squares in closed form, and from
   their products with the values, which are sums of sums: a grid of g places costs O(n + g^2), whatever the number of
   levels. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exports.h"
#include "segmentation/exports.h"
#include "sort.h"
#include "vectors.h"

/* Blocks whose means say how much neighbours are alike: their least length, and how many there are at least. */
enum { ROUNDS = 3, BLOCK = 8, BLOCKS = 5, PLACES = 4 * KP_NEARBY + 2 };

static const double FARTHEST = 3.0, MOST_PHI = 0.9, CLEARLY = 2.0, EXPLAINABLE = 1e-9;

/* The share of the ordinary standard deviation that the robust one is at least. */
static const double LEAST_SHARE = 1e-6;

/* Slopes of which the levels and the other slopes leave a smaller share of their squares say nothing. */
static const double INDEPENDENT = 1e-20;

/* A series in levels: level l has the values from first[l] to before first[l + 1]. */
typedef struct {
    const double *x;
    int64_t n, levels;
    int64_t *first;
} Levels;

static int open_levels(Levels *all, const double *x, int64_t n, const int64_t *places, int64_t k)
{
    all->x = x;
    all->n = n;
    all->levels = k + 1;
    all->first = malloc((size_t)(k + 2) * sizeof(int64_t));
    if (!all->first)
        return -1;
    all->first[0] = 0;
    memcpy(all->first + 1, places, (size_t)k * sizeof(int64_t));
    all->first[k + 1] = n;
    return 0;
}

static double mean_of(const double *v, int64_t from, int64_t to)
{
    double sum = 0;
    for (int64_t t = from; t < to; t++)
        sum += v[t];
    return sum / (double)(to - from);
}

static double product(const double *a, const double *b, int64_t n)
{
    double sum[4] = {0, 0, 0, 0};
    int64_t t = 0;
    for (; t + 4 <= n; t += 4)
        for (int lane = 0; lane < 4; lane++)
            sum[lane] += a[t + lane] * b[t + lane];
    for (; t < n; t++)
        sum[0] += a[t] * b[t];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void subtract(double *v, const double *from, double times, int64_t n)
{
    for (int64_t t = 0; t < n; t++)
        v[t] -= times * from[t];
}

/* The slopes without their level means and without each other, each of length 1 or none: q; r has what they were. */
static void separate_slopes(const Levels *all, const int64_t *slopes, int64_t s, double *q, double (*r)[KP_MOST_SLOPES],
                            double *means)
{
    int64_t n = all->n;
    for (int64_t j = 0; j < s; j++) {
        double *column = q + j * n;
        int64_t start = slopes[2 * j], end = slopes[2 * j + 1];
        for (int64_t t = 0; t < n; t++)
            column[t] = (double)((t < start ? start : t > end ? end : t) - start);
        for (int64_t l = 0; l < all->levels; l++) {
            double mean = mean_of(column, all->first[l], all->first[l + 1]);
            means[l * s + j] = mean;
            for (int64_t t = all->first[l]; t < all->first[l + 1]; t++)
                column[t] -= mean;
        }
        double whole = product(column, column, n);
        for (int64_t i = 0; i <= j; i++)
            r[i][j] = 0;
        for (int again = 0; again < 2; again++) /* twice is enough */
            for (int64_t i = 0; i < j; i++) {
                double along = product(q + i * n, column, n);
                r[i][j] += along;
                subtract(column, q + i * n, along, n);
            }
        double left = product(column, column, n);
        double length = left > INDEPENDENT * whole ? sqrt(left) : 0;
        r[j][j] = length;
        for (int64_t t = 0; t < n; t++)
            column[t] = length > 0 ? column[t] / length : 0;
    }
}

/* Fit the target by the levels and the slopes; along gets what each slope takes. */
static void fit(const Levels *all, const double *q, int64_t s, const double *target, double *fitted, double *along)
{
    for (int64_t l = 0; l < all->levels; l++) {
        double mean = mean_of(target, all->first[l], all->first[l + 1]);
        for (int64_t t = all->first[l]; t < all->first[l + 1]; t++)
            fitted[t] = mean;
    }
    for (int64_t j = 0; j < s; j++) {
        along[j] = product(q + j * all->n, target, all->n);
        subtract(fitted, q + j * all->n, -along[j], all->n);
    }
}

/* A robust standard deviation; where most residuals are 0 it is the ordinary one, and never 0. */
static double deviation(const double *residuals, int64_t n, double *spare)
{
    double lower, upper, squares = 0, most = 0, farthest[8] = {0};
    for (int64_t t = 0; t < n; t++)
        spare[t] = fabs(residuals[t]);
    for (int64_t t = 0; t + 8 <= n; t += 8)
        for (int lane = 0; lane < 8; lane++)
            farthest[lane] = spare[t + lane] > farthest[lane] ? spare[t + lane] : farthest[lane];
    for (int64_t t = n - n % 8; t < n; t++)
        most = spare[t] > most ? spare[t] : most;
    for (int lane = 0; lane < 8; lane++)
        most = farthest[lane] > most ? farthest[lane] : most;
    kp_middle_pair(spare, n, &lower, &upper);
    double robust = KP_MAD * (0.5 * (lower + upper)), smallest = 1e-12 * most + 1e-150;
    robust = robust > smallest ? robust : smallest;
    if (robust > 4 * LEAST_SHARE * most) /* the ordinary one is at most twice the largest */
        return robust;
    double mean = mean_of(residuals, 0, n);
    for (int64_t t = 0; t < n; t++)
        squares += (residuals[t] - mean) * (residuals[t] - mean);
    double plain = LEAST_SHARE * sqrt(squares / (double)n);
    return robust > plain ? robust : plain;
}

static double clip(double v, double bound)
{
    return v < -bound ? -bound : v > bound ? bound : v;
}

/* How much more a mean of many residuals varies than one of independent ones; kept has room for them. */
static double inflation_of(const double *residuals, double noise, int64_t n, double *kept)
{
    for (int64_t t = 0; t < n; t++)
        kept[t] = clip(residuals[t], FARTHEST * noise);
    double total = product(kept, kept, n);
    if (!(total > 0))
        return 1.0;
    double first = product(kept, kept + 1, n - 1) / total;
    double phi = first + (1 + 3 * first) / (double)n;
    phi = phi < 0 ? 0 : phi > MOST_PHI ? MOST_PHI : phi;
    double by_lag = (1 + phi) / (1 - phi);
    int64_t length = (int64_t)sqrt((double)n);
    length = length > BLOCK ? length : BLOCK;
    int64_t count = n / length;
    if (count < BLOCKS)
        return by_lag;
    double varied = 0;
    for (int64_t b = 0; b < count; b++) /* the means take the place of values that are used up */
        kept[b] = mean_of(kept, b * length, (b + 1) * length);
    double mean = mean_of(kept, 0, count);
    for (int64_t b = 0; b < count; b++)
        varied += (kept[b] - mean) * (kept[b] - mean);
    double by_blocks = (double)length * (varied / (double)(count - 1)) / (total / (double)n);
    if (!(by_blocks > CLEARLY))
        return by_lag;
    by_blocks = by_blocks < 3 * by_lag ? by_blocks : 3 * by_lag;
    return by_blocks > by_lag ? by_blocks : by_lag;
}

/* How far the slopes move each value by their rates, one slope after another. */
static void move_values(const int64_t *slopes, const double *rates, int64_t s, int64_t n, double *moved)
{
    memset(moved, 0, (size_t)n * sizeof(double));
    for (int64_t j = 0; j < s; j++) {
        int64_t start = slopes[2 * j], end = slopes[2 * j + 1];
        for (int64_t t = start < 0 ? 0 : start; t < n; t++)
            moved[t] += rates[j] * (double)((t > end ? end : t) - start);
    }
}

int64_t kp_fit_trend(const double *x, int64_t n, const int64_t *places, int64_t k, const int64_t *slopes, int64_t s,
                     double *coefficients, double *series, double *facts)
{
    double *fitted = series, *residuals = series + n, *clipped = residuals + n, *moved = clipped + n;
    Levels all;
    if (open_levels(&all, x, n, places, k))
        return -1;
    double *q = malloc(((size_t)n * (size_t)(s + 2) + (size_t)(all.levels * s)) * sizeof(double));
    if (!q) {
        free(all.first);
        return -1;
    }
    double *target = q + n * s, *spare = target + n, *means = spare + n;
    double r[KP_MOST_SLOPES][KP_MOST_SLOPES], along[KP_MOST_SLOPES], *rates = coefficients + all.levels;
    separate_slopes(&all, slopes, s, q, r, means);

    /* Fit, bring outliers near, and fit again. */
    memcpy(target, x, (size_t)n * sizeof(double));
    for (int round = 0;; round++) {
        fit(&all, q, s, target, fitted, along);
        for (int64_t t = 0; t < n; t++)
            residuals[t] = x[t] - fitted[t];
        facts[0] = deviation(residuals, n, spare);
        if (round == ROUNDS)
            break;
        for (int64_t t = 0; t < n; t++)
            target[t] = fitted[t] + clip(residuals[t], FARTHEST * facts[0]);
    }

    /* The rates from the last slope to the first, then the levels without them. */
    for (int64_t j = s - 1; j >= 0; j--) {
        double rest = along[j];
        for (int64_t i = j + 1; i < s; i++)
            rest -= r[j][i] * rates[i];
        rates[j] = r[j][j] > 0 ? rest / r[j][j] : 0;
    }
    double before = 0;
    for (int64_t l = 0; l < all.levels; l++) {
        double level = mean_of(target, all.first[l], all.first[l + 1]);
        for (int64_t j = 0; j < s; j++)
            level -= rates[j] * means[l * s + j];
        coefficients[l] = level - before;
        before = level;
    }
    facts[1] = inflation_of(residuals, facts[0], n, spare);
    for (int64_t t = 0; t < n; t++)
        clipped[t] = fitted[t] + clip(residuals[t], FARTHEST * facts[0]);
    move_values(slopes, rates, s, n, moved);
    free(q);
    free(all.first);
    return 0;
}

/* What is known of the values for every grid of places: with[t] is the product of the values with the ramp from t on,
   after[l] the squares of a ramp on all levels behind l, without their means. */
typedef struct {
    Levels levels;
    double *with, *after;
} Ramps;

static void close_ramps(Ramps *ramps)
{
    free(ramps->with);
    free(ramps->levels.first);
}

static int open_ramps(Ramps *ramps, const double *x, int64_t n, const int64_t *places, int64_t k)
{
    memset(ramps, 0, sizeof *ramps);
    if (open_levels(&ramps->levels, x, n, places, k))
        return -1;
    ramps->with = malloc((size_t)(n + k + 1) * sizeof(double));
    if (!ramps->with) {
        close_ramps(ramps);
        return -1;
    }
    ramps->after = ramps->with + n;
    double tail = 0, sum = 0, total = 0;
    for (int64_t l = k; l >= 0; l--) {
        int64_t from = ramps->levels.first[l], to = ramps->levels.first[l + 1];
        double count = (double)(to - from), mean = mean_of(x, from, to);
        ramps->after[l] = tail;
        tail += count * (count * count - 1) / 12;
        for (int64_t t = to - 1; t >= from; t--) {
            ramps->with[t] = total;
            sum += x[t] - mean;
            total += sum;
        }
    }
    return 0;
}

/* A ramp from one place on: its level, and the sums of its values there, and of their squares. */
typedef struct {
    int64_t start, level;
    double sum, squares, own, with;
} Ramp;

/* The product of the ramp a with the later ramp b, both without their means on each level. */
static double together(const Ramps *ramps, const Ramp *a, const Ramp *b)
{
    double from = (double)ramps->levels.first[b->level], to = (double)ramps->levels.first[b->level + 1];
    double behind = ramps->after[b->level], start = (double)b->start;
    if (a->level == b->level)
        return b->squares + (start - (double)a->start) * b->sum - a->sum * b->sum / (to - from) + behind;
    return b->squares + (start - (from + to - 1) / 2) * b->sum + behind;
}

static void begin_ramps(const Ramps *ramps, const int64_t *starts, int64_t g, Ramp *out)
{
    int64_t level = 0;
    for (int64_t i = 0; i < g; i++) {
        while (ramps->levels.first[level + 1] <= starts[i])
            level++;
        double m = (double)(ramps->levels.first[level + 1] - 1 - starts[i]);
        out[i] = (Ramp){starts[i], level, m * (m + 1) / 2, m * (m + 1) * (2 * m + 1) / 6, 0, ramps->with[starts[i]]};
        out[i].own = together(ramps, out + i, out + i);
    }
}

/* What the slope from each of g places to each later one explains; pairs has room for g x g numbers. */
static void explain(const Ramps *ramps, const int64_t *starts, int64_t g, Ramp *room, double *pairs)
{
    double widest = 0;
    begin_ramps(ramps, starts, g, room);
    for (int64_t i = 0; i < g; i++)
        for (int64_t j = i + 1; j < g; j++) {
            double spread = room[i].own + room[j].own - 2 * together(ramps, room + i, room + j);
            pairs[i * g + j] = spread;
            widest = spread > widest ? spread : widest;
        }
    for (int64_t i = 0; i < g; i++) {
        for (int64_t j = 0; j <= i; j++)
            pairs[i * g + j] = -1;
        for (int64_t j = i + 1; j < g; j++) {
            double spread = pairs[i * g + j], share = room[i].with - room[j].with;
            int usable = starts[j] - starts[i] >= KP_SLOPE && spread > EXPLAINABLE * widest;
            pairs[i * g + j] = usable ? share * share / spread : -1;
        }
    }
}

int64_t kp_explain_slopes(const double *x, int64_t n, const int64_t *places, int64_t k, const int64_t *starts,
                          int64_t g, double *explained)
{
    Ramps ramps;
    if (open_ramps(&ramps, x, n, places, k))
        return -1;
    Ramp *room = malloc((size_t)(g + 1) * sizeof *room);
    if (room)
        explain(&ramps, starts, g, room, explained);
    free(room);
    close_ramps(&ramps);
    return room ? 0 : -1;
}

/* Put places that are rounded and within the series in order, each once; returns how many there are. */
static int64_t order_places(double *at, int64_t count, int64_t n, int64_t *out)
{
    int64_t kept = 0;
    for (int64_t c = 0; c < count; c++) {
        double place = rint(at[c]);
        int64_t whole = place<0 ? 0 : place>(double)(n - 1) ? n - 1 : (int64_t)place, i = kept;
        while (i > 0 && out[i - 1] > whole)
            i--;
        if (i > 0 && out[i - 1] == whole)
            continue;
        memmove(out + i + 1, out + i, (size_t)(kept - i) * sizeof *out);
        out[i] = whole;
        kept++;
    }
    return kept;
}

/* The best slope of a grid of places, where it explains more than the one that is known. */
static void improve(const Ramps *ramps, double *at, int64_t count, int64_t *slope, double *explained)
{
    int64_t starts[PLACES];
    double pairs[PLACES * PLACES];
    Ramp room[PLACES];
    int64_t g = order_places(at, count, ramps->levels.n, starts);
    explain(ramps, starts, g, room, pairs);
    for (int64_t i = 0; i < g; i++)
        for (int64_t j = i + 1; j < g; j++)
            if (pairs[i * g + j] > *explained) {
                *explained = pairs[i * g + j];
                slope[0] = starts[i];
                slope[1] = starts[j];
            }
}

int64_t kp_best_slope(const double *x, int64_t n, const int64_t *places, int64_t k, const int64_t *slopes,
                      const double *rates, int64_t s, int64_t *slope, double *explained)
{
    Ramps ramps;
    double at[PLACES];
    if (n <= KP_SLOPE)
        return 0;
    double *rest = malloc((size_t)n * sizeof(double));
    if (!rest)
        return -1;
    move_values(slopes, rates, s, n, rest);
    for (int64_t t = 0; t < n; t++)
        rest[t] = x[t] - rest[t];
    int failed = open_ramps(&ramps, rest, n, places, k);
    free(rest);
    if (failed)
        return -1;
    for (int i = 0; i <= KP_GRID; i++)
        at[i] = i < KP_GRID ? i * ((double)(n - 1) / KP_GRID) : (double)(n - 1);
    *explained = 0;
    improve(&ramps, at, KP_GRID + 1, slope, explained);

    /* The grid becomes finer until it has every place. */
    int64_t step = n / KP_GRID > 1 ? n / KP_GRID : 1;
    for (int refined = 0; *explained > 0 && !refined; step = (step + KP_NEARBY - 1) / KP_NEARBY) {
        int64_t half = step < KP_NEARBY ? step : KP_NEARBY, count = 2 * half + 1;
        for (int64_t i = 0; i < count; i++) {
            double offset =
                i < count - 1 ? (double)i * ((double)(2 * step) / (double)(count - 1)) - (double)step : (double)step;
            at[i] = (double)slope[0] + rint(offset);
            at[count + i] = (double)slope[1] + rint(offset);
        }
        refined = step <= KP_NEARBY;
        improve(&ramps, at, 2 * count, slope, explained);
    }
    close_ramps(&ramps);
    return *explained > 0;
}
