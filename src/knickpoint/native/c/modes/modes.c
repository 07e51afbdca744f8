/* The modes of a series, and the stretches of one way of flipping between them.

   The cheapest level of each value, where a change of the level has a price, is found by the algorithm of Viterbi. A
   change may come from the cheapest level only, so a step takes time linear in the levels, and all changes before one
   value come from the same level: which one, and since when that level was kept, is all that has to be remembered.

   The likeliest division of the visits into levels and stretches that flip is found by dynamic programming over the
   last visit of a stretch. Its likelihood has the unknown chances to leave a mode and the shares of the modes
   integrated out, which leaves gamma functions of half numbers: they are in a table. */

#include <math.h>
#include <stdlib.h>

#include "exports.h"
#include "sort.h"

/* Write to labels the cheapest level of each value. */
static int label_values(const double *x, int64_t n, const double *levels, int64_t m, double noise, double furthest,
                        double change, int64_t *labels)
{
    double cost[KP_MOST_LEVELS];
    int64_t since[KP_MOST_LEVELS], *origin = malloc((size_t)n * 2 * sizeof *origin), *kept = origin + n;
    if (!origin)
        return -1;
    for (int64_t j = 0; j < m; j++) {
        cost[j] = 0;
        since[j] = 0;
    }
    for (int64_t t = 0; t < n; t++) {
        int64_t least = 0;
        for (int64_t j = 1; j < m; j++)
            least = cost[j] < cost[least] ? j : least;
        double entry = cost[least] + change;
        origin[t] = least;
        kept[t] = since[least];
        for (int64_t j = 0; j < m; j++) {
            double far = (x[t] - levels[j]) / noise, apart = far * far / 2;
            if (cost[j] > entry) {
                cost[j] = entry;
                since[j] = t;
            }
            cost[j] += apart < furthest ? apart : furthest;
        }
    }
    int64_t mode = 0;
    for (int64_t j = 1; j < m; j++)
        mode = cost[j] < cost[mode] ? j : mode;
    for (int64_t end = n, first = since[mode]; end;) {
        for (int64_t t = first; t < end; t++)
            labels[t] = mode;
        end = first;
        mode = origin[end];
        first = kept[end];
    }
    free(origin);
    return 0;
}

int64_t kp_medians_of_modes(const double *x, const int64_t *labels, int64_t n, int64_t m, double *medians)
{
    int64_t ends[KP_MOST_LEVELS] = {0}, end = 0;
    double *sorted = malloc((size_t)(n + 1) * sizeof *sorted);
    if (!sorted)
        return -1;
    for (int64_t t = 0; t < n; t++)
        ends[labels[t]]++;
    for (int64_t j = 0; j < m; j++) { /* where each mode begins, and once it is filled, where it ends */
        int64_t count = ends[j];
        ends[j] = end;
        end += count;
    }
    for (int64_t t = 0; t < n; t++)
        sorted[ends[labels[t]]++] = x[t];
    for (int64_t j = 0, begin = 0; j < m; begin = ends[j++]) {
        double lower = NAN, upper = NAN;
        if (ends[j] > begin)
            kp_middle_pair(sorted + begin, ends[j] - begin, &lower, &upper);
        medians[j] = (ends[j] - begin) % 2 ? upper : 0.5 * lower + 0.5 * upper;
    }
    free(sorted);
    return 0;
}

int64_t kp_sort_into_modes(const double *x, int64_t n, double *levels, int64_t m, double noise, double furthest,
                           double change, int64_t rounds, int64_t *labels)
{
    for (int64_t round = 0; round < rounds; round++) {
        int64_t number[KP_MOST_LEVELS] = {0}, used = 0;
        if (label_values(x, n, levels, m, noise, furthest, change, labels))
            return -1;
        for (int64_t t = 0; t < n; t++)
            number[labels[t]] = 1;
        for (int64_t j = 0; j < m; j++)
            number[j] = number[j] ? used++ : 0;
        for (int64_t t = 0; t < n; t++)
            labels[t] = number[labels[t]];
        m = used;
        if (kp_medians_of_modes(x, labels, n, m, levels))
            return -1;
    }
    return m;
}

/* A stretch of visits that begins with one start: how often each mode was visited, and how many values stayed in it. */
typedef struct {
    int64_t visited[KP_MOST_LEVELS], stayed[KP_MOST_LEVELS], present;
} Stretch;

/* The log likelihood of flipping from visit start to visit last. */
static double price(const Stretch *stretch, int64_t m, int64_t start_mode, int64_t last_mode, int64_t moves,
                    const double *gammas, const double *logs)
{
    int64_t all = 2 * (moves + 1) + KP_SHARE * m;
    double leaving = 0, arriving = 0;
    double prior = gammas[KP_LEAVING] + gammas[KP_STAYING] - gammas[KP_LEAVING + KP_STAYING];
    for (int64_t j = 0; j < m; j++) {
        int64_t visited = stretch->visited[j], stayed = 2 * stretch->stayed[j];
        if (!visited)
            continue;
        int64_t left = visited - (j == last_mode), arrived = visited - (j == start_mode);
        leaving += gammas[KP_LEAVING + 2 * left] + gammas[KP_STAYING + stayed] -
                   gammas[KP_LEAVING + KP_STAYING + 2 * left + stayed] - prior;
        arriving += gammas[KP_SHARE + 2 * arrived] - gammas[KP_SHARE];
        arriving -= (double)left * (logs[all - 2 * visited - KP_SHARE] - logs[all]);
    }
    return m > 2 ? leaving + (arriving + gammas[KP_SHARE * m] - gammas[KP_SHARE * m + 2 * moves]) : leaving;
}

int64_t kp_divide_visits(const int64_t *modes, const int64_t *lengths, int64_t count, int64_t m, const int64_t *starts,
                         int64_t g, const double *gammas, const double *logs, const double *step, const double *change,
                         const double *other, const double *chances, int64_t *from, int64_t *kind, double *best)
{
    Stretch *stretches = calloc((size_t)g, sizeof *stretches);
    int64_t *back = malloc((size_t)count * 2 * sizeof *back), *again = back + count, latest[KP_MOST_LEVELS];
    if (!stretches || !back) {
        free(stretches);
        free(back);
        return -1;
    }
    /* The visits before and after each one to the same mode: -1, and count, where there is none. */
    for (int64_t j = 0; j < m; j++)
        latest[j] = -1;
    for (int64_t i = 0; i < count; i++) {
        back[i] = latest[modes[i]];
        again[i] = count;
        if (back[i] >= 0)
            again[back[i]] = i;
        latest[modes[i]] = i;
    }

    double *calm = best, *flips = best + count + 1;
    calm[0] = 0;
    flips[0] = -INFINITY;
    from[0] = kind[0] = from[count + 1] = kind[count + 1] = 0;
    for (int64_t last = 0; last < count; last++) {
        /* A level is one visit. */
        double stays = calm[last] + step[last] + (last ? chances[1] : 0);
        double calmed = flips[last] + change[last] + chances[3];
        int64_t end = last + 1, of_flips = count + 1 + end;
        calm[end] = calmed > stays ? calmed : stays;
        from[end] = last;
        kind[end] = calmed > stays;

        /* Flipping began at one of the starts, after a level or after other flipping; the first of equal ones stays. */
        double likeliest[2] = {-INFINITY, -INFINITY};
        int64_t began[2] = {starts[0], starts[0]};
        for (int64_t i = 0; i < g && starts[i] <= last; i++) {
            Stretch *stretch = stretches + i;
            int64_t start = starts[i];
            stretch->present += !stretch->visited[modes[last]];
            stretch->visited[modes[last]]++;
            stretch->stayed[modes[last]] += lengths[last] - 1;
            /* Too few returns; or a level at an end that the series did not come back to, or from. */
            if (last - start + 1 < stretch->present + KP_FEWEST_RETURNS || again[start] > last || back[last] < start)
                continue;
            double likelihood = price(stretch, m, modes[start], modes[last], last - start, gammas, logs);
            double ways[2] = {calm[start] + chances[0] + change[start] + likelihood,
                              flips[start] + chances[2] + other[start] + likelihood};
            for (int way = 0; way < 2; way++)
                if (ways[way] > likeliest[way]) {
                    likeliest[way] = ways[way];
                    began[way] = start;
                }
        }
        int way = likeliest[1] > likeliest[0];
        flips[end] = likeliest[way];
        from[of_flips] = began[way];
        kind[of_flips] = way;
    }
    free(stretches);
    free(back);
    return 0;
}
