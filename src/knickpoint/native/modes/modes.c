/* The cheapest level of each value, where a change of the level has a price: the algorithm of Viterbi.

   A change may come from the cheapest level only, so a step takes time linear in the levels, and all changes before one
   value come from the same level: which one, and since when that level was kept, is all that has to be remembered. */

#include <stdlib.h>

#include "exports.h"

int64_t kp_likeliest_modes(const double *x, int64_t n, const double *levels, int64_t m, double noise, double furthest,
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
