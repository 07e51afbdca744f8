/* E-Divisive in sliding windows with a t-test at each split, then merging of the weakest: the procedure of Hunter
   (Fleming and others, ICPE 2023) and Apache Otava, and the same over a whole series in one window.

   Each window is split at its largest Q until the t-test of the best candidate is not significant; O(w^2) time for a
   window of w points. Points that were found are then judged against the levels around them, and the weakest is taken
   away until all that stay are significant and large enough. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exports.h"
#include "q_hat/q_hat.h"
#include "student/exports.h"

/* The levels before and after a point, compared: p of the t-test, and the relative size of the change. */
struct comparison {
    double p, magnitude;
};

static double relative(double base, double other)
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
static struct comparison compare(const double *x, int64_t a, int64_t b, int64_t c, int population)
{
    double n = (double)(b - a), m = (double)(c - b), squares = 0.0, others = 0.0;
    double before = mean_of(x, a, b), after = mean_of(x, b, c);
    for (int64_t i = a; i < b; i++)
        squares += (x[i] - before) * (x[i] - before);
    for (int64_t i = b; i < c; i++)
        others += (x[i] - after) * (x[i] - after);
    double up = relative(before, after), down = relative(after, before);
    struct comparison found = {1.0, up > down ? up : down};
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

/* A row of what Python gets; rows beyond the room are counted and not kept. */
struct note {
    double kind, index, q, p, magnitude;
};

struct notes {
    struct note *rows;
    int64_t used, most;
};

static void write_note(struct notes *notes, int kind, int64_t index, double q, struct comparison found)
{
    if (notes->used < notes->most)
        notes->rows[notes->used] = (struct note){(double)kind, (double)index, q, found.p, found.magnitude};
    notes->used++;
}

/* What the call asks for. */
struct rules {
    enum power power;
    double alpha, first_p, max_p, least_magnitude;
    int64_t least;
    int population, stale;
};

/* The clusters of a window: bounds, and of each the best tau (-1 where it is not known) with its Q. */
struct clusters {
    struct lengths lengths;
    double *work, *q;
    int64_t *bounds, *tau;
};

/* Split x[start..stop) until the best candidate of all clusters is not significant. Returns the last point found, 0
   when there is none. Marks each point in marks, and raises its entry of strength to its Q. */
static int64_t split_window(const double *x, int64_t start, int64_t stop, const struct rules *rules,
                            const struct clusters *clusters, char *marks, double *strength, struct notes *notes)
{
    int64_t count = 1, last = 0, *bounds = clusters->bounds, *tau = clusters->tau;
    double *q = clusters->q;
    bounds[0] = start;
    bounds[1] = stop;
    tau[0] = -1;
    for (;;) {
        /* The best candidate of all clusters; only clusters that changed are scanned. */
        int64_t best = -1;
        double best_q = -INFINITY;
        for (int64_t c = 0; c < count; c++) {
            int64_t n = bounds[c + 1] - bounds[c];
            if (n < 2 * rules->least)
                continue;
            if (tau[c] < 0) {
                double found[3];
                kp_best_both(x + bounds[c], n, rules->least, &clusters->lengths, rules->power, rules->alpha,
                             clusters->work, found);
                tau[c] = (int64_t)found[0];
                q[c] = found[2];
            }
            if (best < 0 || q[c] > best_q + KP_TIED * fabs(best_q)) {
                best_q = q[c];
                best = c;
            }
        }
        if (best < 0)
            return last;

        /* Its test decides whether the window is done. */
        int64_t index = bounds[best] + tau[best];
        struct comparison sides = compare(x, bounds[best], index, bounds[best + 1], rules->population);
        if (!(sides.p <= rules->first_p)) {
            write_note(notes, KP_REFUSED, index, best_q, sides);
            return last;
        }
        write_note(notes, KP_SPLIT, index, best_q, sides);
        marks[index] = 1;
        strength[index] = best_q > strength[index] ? best_q : strength[index];
        last = index > last ? index : last;

        /* Its cluster becomes two. */
        for (int64_t c = count; c > best; c--) {
            bounds[c + 1] = bounds[c];
            tau[c] = tau[c - 1];
            q[c] = q[c - 1];
        }
        bounds[best + 1] = index;
        tau[best] = tau[best + 1] = -1;
        count++;
    }
}

/* Compare the levels before and after point i. */
static struct comparison around(const double *x, int64_t n, const int64_t *points, int64_t count, int64_t i,
                                int population)
{
    return compare(x, i > 0 ? points[i - 1] : 0, points[i], i + 1 < count ? points[i + 1] : n, population);
}

/* Take away the weakest point until all that stay are significant and large enough; returns how many stay. With stale,
   the comparison of the point before one that is taken away stays as it was, as in Otava 0.8. */
static int64_t merge(const double *x, int64_t n, int64_t *points, int64_t count, struct comparison *sides,
                     const struct rules *rules, const double *strength, struct notes *notes)
{
    for (int64_t i = 0; i < count; i++)
        sides[i] = around(x, n, points, count, i, rules->population);
    while (count > 0) {
        /* The least significant point, or when all are significant, the smallest. */
        int64_t weakest = 0;
        int kind = KP_INSIGNIFICANT;
        for (int64_t i = 1; i < count; i++)
            if (sides[i].p > sides[weakest].p)
                weakest = i;
        if (sides[weakest].p < rules->max_p) {
            kind = KP_TOO_SMALL;
            weakest = 0;
            for (int64_t i = 1; i < count; i++)
                if (sides[i].magnitude < sides[weakest].magnitude)
                    weakest = i;
            if (sides[weakest].magnitude > rules->least_magnitude)
                return count;
        }
        write_note(notes, kind, points[weakest], strength[points[weakest]], sides[weakest]);

        /* Its neighbours have a new level beside them. */
        count--;
        for (int64_t i = weakest; i < count; i++) {
            points[i] = points[i + 1];
            sides[i] = sides[i + 1];
        }
        for (int64_t i = rules->stale ? weakest : weakest - 1; i <= weakest + rules->stale; i++)
            if (i >= 0 && i < count)
                sides[i] = around(x, n, points, count, i, rules->population);
    }
    return 0;
}

int64_t kp_windows(const double *x, int64_t n, double alpha, int v_form, int64_t least, int64_t window, int64_t stride,
                   double first_p, double max_p, double least_magnitude, int population, int stale, double *notes,
                   int64_t most, int64_t *found)
{
    struct rules rules = {kp_power_of(alpha), alpha, first_p, max_p, least_magnitude, least, population, stale};
    struct notes log = {(struct note *)notes, 0, most};

    /* Room in one block: first all doubles, then comparisons, whole numbers and marks. */
    int64_t longest = window < n ? window : n;
    size_t doubles = (size_t)(KP_LENGTHS(longest) + KP_SCAN_WORK(longest) + longest + 2 + n + 1);
    double *block = malloc(doubles * sizeof(double) + (size_t)(2 * longest + 6 + n) * sizeof(int64_t) +
                           (size_t)(n + 1) * sizeof(struct comparison) + (size_t)(n + 1));
    if (!block)
        return -1;
    double *work = block + KP_LENGTHS(longest), *q = work + KP_SCAN_WORK(longest), *strength = q + longest + 2;
    struct comparison *sides = (struct comparison *)(block + doubles);
    int64_t *points = (int64_t *)(sides + n + 1), *bounds = points + n, *tau = bounds + longest + 3;
    char *marks = (char *)(tau + longest + 3);
    struct clusters clusters = {kp_lengths(longest, v_form, block), work, q, bounds, tau};

    /* Split window by window. */
    memset(marks, 0, (size_t)(n + 1));
    for (int64_t i = 0; i <= n; i++)
        strength[i] = -INFINITY;
    for (int64_t start = 0; start < n;) {
        int64_t stop = start + window < n ? start + window : n;
        int64_t last = split_window(x, start, stop, &rules, &clusters, marks, strength, &log);
        start = last > start + stride ? last : start + stride;
    }

    /* Merge what all windows found. */
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (marks[i])
            points[kept++] = i;
    kept = merge(x, n, points, kept, sides, &rules, strength, &log);
    for (int64_t i = 0; i < kept; i++)
        write_note(&log, KP_STAYS, points[i], strength[points[i]], around(x, n, points, kept, i, population));
    *found = kept;
    free(block);
    return log.used;
}
