/* One layer of exact k-means of sorted numbers: the best division of every prefix into one group more. */

#include <stdint.h>

#include "exports.h"
#include "vectors.h"

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

struct layer {
    const double *former, *weight, *value, *square;
    double *cost;
    int64_t *begin;
};

/* Squares of the numbers first..last around their mean, from prefix sums. */
static double group_cost(const struct layer *layer, int64_t first, int64_t last)
{
    if (first == last)
        return 0.0;
    double weight = layer->weight[last + 1] - layer->weight[first];
    double value = layer->value[last + 1] - layer->value[first];
    double square = layer->square[last + 1] - layer->square[first];
    double cost = square - value * value / weight;
    return cost > 0.0 ? cost : 0.0;
}

/* The best beginning never falls as the prefix grows, so that of the middle prefix bounds all others. */
static void halve(const struct layer *layer, int64_t low, int64_t high, int64_t least, int64_t most)
{
    while (low <= high) {
        int64_t middle = (low + high) / 2, best = least;
        int64_t last = middle < most ? middle : most;
        double lowest = layer->former[least - 1] + group_cost(layer, least, middle);
        for (int64_t place = least + 1; place <= last; place++) {
            double total = layer->former[place - 1] + group_cost(layer, place, middle);
            if (total < lowest) {
                lowest = total;
                best = place;
            }
        }
        layer->cost[middle] = lowest;
        layer->begin[middle] = best;
        halve(layer, low, middle - 1, least, best);
        low = middle + 1;
        least = best;
    }
}

void kp_layer(const double *former, const double *weight, const double *value, const double *square, int64_t n,
              double *cost, int64_t *begin)
{
    struct layer layer = {former, weight, value, square, cost, begin};
    halve(&layer, 1, n - 1, 1, n - 1);
}
