/* What lies around a candidate: the levels beside it, their values in order, and the noise. Values come in order from
   the sorted chunks of the series (medians.h), in O(window / 64) steps and one a value. */

#include "stages.h"

/* Points on each side of a place whose noise counts as the noise around it. */
enum { NEAR = 20 };

void kp_locate(const Series *s, const int *places, int k, int i, Spot *spot)
{
    int n = s->n, place = places[i], first = i ? places[i - 1] : 0, stop = i + 1 < k ? places[i + 1] : n;
    spot->earlier = i > 1 ? places[i - 2] : 0;
    spot->first = first;
    spot->place = place;
    spot->stop = stop;
    spot->later = i + 2 < k ? places[i + 2] : n;
    spot->a = place - KP_WINDOW > first ? place - KP_WINDOW : first;
    spot->b = place + KP_WINDOW < stop ? place + KP_WINDOW : stop;
    spot->na = place - spot->a;
    spot->nb = spot->b - place;
}

void kp_survey(const Series *s, Spot *spot)
{
    int place = spot->place, a = spot->a, b = spot->b;
    int from = place - NEAR > a ? place - NEAR : a, to = place + NEAR < b ? place + NEAR : b;
    double noise = 0;
    for (int t = from; t < to; t++)
        noise += s->noise[t];
    spot->noise = noise / (to - from);

    /* The values of each half of each side, and the two halves of a side together. */
    int bounds[5] = {a, a + spot->na / 2, place, place + spot->nb / 2, b};
    for (int half = 0; half < 4; half++) {
        kp_open(&s->values, a, &spot->halves[half]);
        kp_put(&spot->halves[half], bounds[half], bounds[half + 1]);
    }
    Window left = spot->halves[0], right = spot->halves[2];
    kp_join(&left, &spot->halves[1]);
    kp_join(&right, &spot->halves[3]);
    kp_list(&left, spot->left);
    kp_list(&right, spot->right);
    spot->before = kp_sorted_median(spot->left, spot->na);
    spot->after = kp_sorted_median(spot->right, spot->nb);
}
