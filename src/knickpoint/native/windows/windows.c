/* E-Divisive in sliding windows with a t-test at each split, then merging of the weakest: the procedure of Hunter and
   Apache Otava, and the same over a whole series in one window. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exports.h"
#include "q_hat/q_hat.h"
#include "student/exports.h"

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

struct levels {
    double p, magnitude, before, after;
};

static double apart(double base, double other)
{
    return base == 0.0 ? 0.0 : fabs(other / base - 1.0);
}

/* The mean of x[a..b), by distances from x[a]: exact where all are equal, and with all digits far from 0. */
static double mean_of(const double *x, int64_t a, int64_t b)
{
    double sum = 0.0;
    for (int64_t i = a; i < b; i++)
        sum += x[i] - x[a];
    return x[a] + sum / (double)(b - a);
}

/* Pooled t-test of x[a..b) against x[b..c). p is 1 where two constants are equal or nothing is left to estimate by. */
static struct levels compare(const double *x, int64_t a, int64_t b, int64_t c, int population)
{
    double n = (double)(b - a), m = (double)(c - b), squares = 0.0, others = 0.0;
    double before = mean_of(x, a, b), after = mean_of(x, b, c);
    for (int64_t i = a; i < b; i++)
        squares += (x[i] - before) * (x[i] - before);
    for (int64_t i = b; i < c; i++)
        others += (x[i] - after) * (x[i] - after);
    double up = apart(before, after), down = apart(after, before);
    struct levels found = {1.0, up > down ? up : down, before, after};
    if (n + m <= 2.0)
        return found;
    if (population) {
        squares *= (n - 1.0) / n;
        others *= (m - 1.0) / m;
    }
    double freedom = n + m - 2.0, error = (squares + others) / freedom * (1.0 / n + 1.0 / m), gap = before - after;
    if (error == 0.0)
        found.p = gap == 0.0 ? 1.0 : 0.0;
    else
        found.p = kp_student(gap / sqrt(error), freedom);
    return found;
}

struct note {
    double kind, index, q, p, magnitude;
};

struct notes {
    struct note *rows;
    int64_t used, most;
};

static void write_note(struct notes *notes, double kind, int64_t index, double q, struct levels found)
{
    if (notes->used < notes->most)
        notes->rows[notes->used] = (struct note){kind, (double)index, q, found.p, found.magnitude};
    notes->used++;
}

struct tables {
    const double *inverse, *twice, *count;
    double *work, *q;
    int64_t *bounds, *tau;
};

/* Split x[start..stop) until the best candidate of all clusters is not significant. Returns the last point, 0 when
   there is none; q of each point found goes to strength where it is more. */
static int64_t split_window(const double *x, int64_t start, int64_t stop, double alpha, int64_t least, double bound,
                            int population, const struct tables *tables, char *found, double *strength,
                            struct notes *notes)
{
    int64_t clusters = 1, last = 0, *bounds = tables->bounds;
    int way = alpha == 1.0 ? FAR_ABSOLUTE : alpha == 2.0 ? FAR_SQUARE : FAR_POWER;
    bounds[0] = start;
    bounds[1] = stop;
    tables->tau[0] = -1;
    for (;;) {
        int64_t best = -1;
        double best_q = -INFINITY;
        for (int64_t c = 0; c < clusters; c++) {
            int64_t n = bounds[c + 1] - bounds[c];
            if (n < 2 * least)
                continue;
            if (tables->tau[c] < 0) {
                double place[3];
                kp_best_both(x + bounds[c], n, least, tables->inverse, tables->twice, tables->count, way, alpha,
                             tables->work, place);
                tables->tau[c] = (int64_t)place[0];
                tables->q[c] = place[2];
            }
            if (best < 0 || tables->q[c] > best_q + KP_TIED * fabs(best_q)) {
                best_q = tables->q[c];
                best = c;
            }
        }
        if (best < 0)
            return last;
        int64_t index = bounds[best] + tables->tau[best];
        struct levels levels = compare(x, bounds[best], index, bounds[best + 1], population);
        if (!(levels.p <= bound)) {
            write_note(notes, 1.0, index, best_q, levels);
            return last;
        }
        write_note(notes, 0.0, index, best_q, levels);
        found[index] = 1;
        strength[index] = best_q > strength[index] ? best_q : strength[index];
        last = index > last ? index : last;
        for (int64_t c = clusters; c > best; c--) {
            bounds[c + 1] = bounds[c];
            tables->tau[c] = tables->tau[c - 1];
            tables->q[c] = tables->q[c - 1];
        }
        bounds[best + 1] = index;
        tables->tau[best] = tables->tau[best + 1] = -1;
        clusters++;
    }
}

static struct levels around(const double *x, int64_t n, const int64_t *points, int64_t count, int64_t i, int population)
{
    return compare(x, i > 0 ? points[i - 1] : 0, points[i], i + 1 < count ? points[i + 1] : n, population);
}

/* Take away the weakest until all that stay are significant and large enough. stale leaves the level before a point
   taken away as it was, as Otava 0.8 does. */
static int64_t merge(const double *x, int64_t n, int64_t *points, int64_t count, struct levels *levels, double max_p,
                     double least_magnitude, int population, int stale, const double *strength, struct notes *notes)
{
    for (int64_t i = 0; i < count; i++)
        levels[i] = around(x, n, points, count, i, population);
    while (count > 0) {
        int64_t weakest = 0;
        double kind = 2.0;
        for (int64_t i = 1; i < count; i++)
            if (levels[i].p > levels[weakest].p)
                weakest = i;
        if (levels[weakest].p < max_p) {
            kind = 3.0;
            weakest = 0;
            for (int64_t i = 1; i < count; i++)
                if (levels[i].magnitude < levels[weakest].magnitude)
                    weakest = i;
            if (levels[weakest].magnitude > least_magnitude)
                return count;
        }
        write_note(notes, kind, points[weakest], strength[points[weakest]], levels[weakest]);
        count--;
        for (int64_t i = weakest; i < count; i++) {
            points[i] = points[i + 1];
            levels[i] = levels[i + 1];
        }
        for (int64_t i = stale ? weakest : weakest - 1; i <= weakest + stale; i++)
            if (i >= 0 && i < count)
                levels[i] = around(x, n, points, count, i, population);
    }
    return 0;
}

int64_t kp_windows(const double *x, int64_t n, double alpha, int v_form, int64_t least, int64_t window, int64_t stride,
                   double first_p, double max_p, double least_magnitude, int population, int stale, double *notes,
                   int64_t most, int64_t *found)
{
    int64_t longest = window < n ? window : n;
    size_t doubles = (size_t)(3 * (longest + 10) + 5 * longest + 37 + longest + 2 + n + 1);
    double *block = malloc(doubles * sizeof(double) + (size_t)(2 * longest + 6 + n) * sizeof(int64_t) +
                           (size_t)(n + 1) * sizeof(struct levels) + (size_t)(n + 1));
    if (!block)
        return -1;
    double *inverse = block, *twice = inverse + longest + 10, *count = twice + longest + 10;
    double *work = count + longest + 10, *q = work + 5 * longest + 37, *strength = q + longest + 2;
    struct levels *levels = (struct levels *)(block + doubles);
    int64_t *points = (int64_t *)(levels + n + 1), *bounds = points + n, *tau = bounds + longest + 3;
    char *marks = (char *)(tau + longest + 3);
    struct tables tables = {inverse, twice, count, work, q, bounds, tau};
    struct notes log = {(struct note *)notes, 0, most};
    kp_tables(longest, v_form, inverse, twice, count);
    memset(marks, 0, (size_t)(n + 1));
    for (int64_t i = 0; i <= n; i++)
        strength[i] = -INFINITY;
    for (int64_t start = 0; start < n;) {
        int64_t stop = start + window < n ? start + window : n;
        int64_t last = split_window(x, start, stop, alpha, least, first_p, population, &tables, marks, strength, &log);
        start = last > start + stride ? last : start + stride;
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (marks[i])
            points[kept++] = i;
    kept = merge(x, n, points, kept, levels, max_p, least_magnitude, population, stale, strength, &log);
    for (int64_t i = 0; i < kept; i++)
        write_note(&log, 4.0, points[i], strength[points[i]], around(x, n, points, kept, i, population));
    *found = kept;
    free(block);
    return log.used;
}
