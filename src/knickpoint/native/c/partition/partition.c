/* One layer of exact k-means of sorted numbers: the best division of every prefix into one group more.

   Groups of sorted numbers are intervals, so the cheapest division of a prefix is that of a shorter prefix and one
   group behind it. Prefix sums give the cost of a group in O(1). The best beginning of the last group never falls as
   the prefix grows; the search of the middle prefix therefore halves that of all others, and a layer takes O(n log n)
   time (the divide and conquer of Ckmeans.1d.dp: Song and Zhong, Bioinformatics 36, 2020). */

#include "exports.h"

struct layer {
    const double *former, *weight, *value, *square;
    double *cost;
    int64_t *begin;
};

/* The squared distances of the numbers first..last to their mean, from prefix sums. */
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

/* Fill the prefixes low..high, whose last groups begin between least and most. */
static void halve(const struct layer *layer, int64_t low, int64_t high, int64_t least, int64_t most)
{
    while (low <= high) {
        /* Try every beginning for the middle prefix; the first of equally good ones stays. */
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

        /* Shorter prefixes begin their last group no later, longer ones no earlier. */
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
