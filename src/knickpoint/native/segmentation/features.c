/* The numbers that the forest judges a candidate by. */

#include <math.h>

#include "stages.h"

/* Largest standardised difference of means over the splits of a piece, at least SHORTEST points on a side. */
static double strongest_split(const double *x, int m, double centre, double noise)
{
    if (m < 2 * SHORTEST)
        return 0;
    double total = 0, sum = 0, best = 0, reach = 2.5 * noise;
    for (int t = 0; t < m; t++)
        total += clip(x[t] - centre, -reach, reach);
    for (int i = 1; i <= m - SHORTEST; i++) {
        sum += clip(x[i - 1] - centre, -reach, reach);
        if (i < SHORTEST)
            continue;
        double d = sum - total * i / m;
        d = d * d * m / ((double)i * (m - i));
        best = d > best ? d : best;
    }
    return sqrt(best) / noise;
}

typedef struct {
    double towards, either;
} Run;

/* How far from the centre a mean of m values in a row strays, in noise: towards the sign, and either way. */
static Run strongest_run(const double *x, int count, int m, double centre, double noise, double sign)
{
    double sum = 0, reach = 4 * noise;
    Run run = {0, 0};
    for (int t = 0; t < count; t++) {
        sum += clip(x[t] - centre, -reach, reach);
        if (t >= m)
            sum -= clip(x[t - m] - centre, -reach, reach);
        if (t < m - 1)
            continue;
        double mean = sum * sign / m;
        run.towards = mean > run.towards ? mean : run.towards;
        run.either = fabs(mean) > run.either ? fabs(mean) : run.either;
    }
    return (Run){run.towards / noise, run.either / noise};
}

/* The k-th least distance from the centre, k from 1 on: the narrowest stretch of k values tells it. */
static double kth_distance(const double *sorted, int n, int k, double centre)
{
    int low = 0, high = n - k;
    while (low < high) {
        int middle = (low + high) / 2;
        if (centre - sorted[middle] > sorted[middle + k] - centre)
            low = middle + 1;
        else
            high = middle;
    }
    double below = centre - sorted[low], above = sorted[low + k - 1] - centre;
    return below > above ? below : above;
}

typedef struct {
    double mean, square;
} Side;

/* Mean and sum of squares of what is clipped at 2.5 deviations. */
static Side summarise(const double *sorted, int n, double median)
{
    double mad = kth_distance(sorted, n, n / 2 + 1, median);
    if (n % 2 == 0)
        mad = 0.5 * (kth_distance(sorted, n, n / 2, median) + mad);
    mad *= MAD;
    double reach = mad > 0 ? 2.5 * mad : INFINITY, mean = 0, square = 0;
    for (int i = 0; i < n; i++)
        mean += clip(sorted[i] - median, -reach, reach);
    mean /= n;
    for (int i = 0; i < n; i++) {
        double d = clip(sorted[i] - median, -reach, reach) - mean;
        square += d * d;
    }
    return (Side){mean + median, square};
}

/* Share of the pairs that the right side wins, by one merge of the two sides; ties count half. */
static double share_won(const Spot *spot)
{
    int64_t won = 0, ties = 0;
    int low = 0, high = 0;
    for (int j = 0; j < spot->nb; j++) {
        while (low < spot->na && spot->left[low] < spot->right[j])
            low++;
        while (high < spot->na && spot->left[high] <= spot->right[j])
            high++;
        won += low;
        ties += high - low;
    }
    return ((double)won + 0.5 * (double)ties) / ((double)spot->na * spot->nb);
}

/* Standard deviation of the place, in points, around the best one. */
static double uncertainty(const Series *s, const Spot *spot)
{
    int low = spot->place - 10 > spot->first + 1 ? spot->place - 10 : spot->first + 1;
    int high = spot->place + 10 < spot->stop - 1 ? spot->place + 10 : spot->stop - 1, places = high - low + 1, top = 0;
    if (places < 2)
        return 0;
    double profile[21], total = 0, w = 1.0 / s->scale, mass = 0, moment = 0;
    for (int q = 0; q < places; q++) {
        profile[q] = total;
        top = total < profile[top] ? q : top;
        total += bounded(s->x[low + q] - spot->before, w) - bounded(s->x[low + q] - spot->after, w);
    }
    for (int q = 0; q < places; q++) {
        double p = exp(-0.5 * (profile[q] - profile[top]));
        mass += p;
        moment += p * (q - top) * (q - top);
    }
    return sqrt(moment / mass);
}

/* How near the level beyond the next change, or the one before the last, is to the other side. */
static double way_back(Series *s, const Spot *spot)
{
    double back = INFINITY;
    if (spot->later > spot->stop) {
        int end = spot->later < spot->stop + SIDE ? spot->later : spot->stop + SIDE;
        back = fabs(kp_median_at(&s->values, spot->stop, end, s->scratch) - spot->before) / s->scale;
    }
    if (spot->earlier < spot->first) {
        int begin = spot->earlier > spot->first - SIDE ? spot->earlier : spot->first - SIDE;
        double other = fabs(kp_median_at(&s->values, begin, spot->first, s->scratch) - spot->after) / s->scale;
        back = other < back ? other : back;
    }
    return back < INFINITY ? back : 0;
}

/* Share of the values outside both levels that lie on the other side of the middle; -0.1 where there are none. */
static double seen_outside(const Series *s, const Spot *spot, double middle, double sign)
{
    int from = spot->first - WINDOW > 0 ? spot->first - WINDOW : 0;
    int to = spot->stop + WINDOW < s->n ? spot->stop + WINDOW : s->n, seen = 0;
    for (int q = from; q < spot->first; q++)
        seen += (s->x[q] - middle) * sign > 0;
    for (int q = spot->stop; q < to; q++)
        seen += (s->x[q] - middle) * sign < 0;
    int outside = spot->first - from + to - spot->stop;
    return outside ? (double)seen / outside : -0.1;
}

/* How much better two levels explain the values than one does. */
static double gain(const double *x, const Spot *spot)
{
    Window all = spot->halves[0];
    for (int half = 1; half < 4; half++)
        kp_join(&all, &spot->halves[half]);
    double centre = kp_middle(&all), sum = 0, w = 1.0 / spot->noise;
    for (int q = spot->a; q < spot->place; q++)
        sum += bounded(x[q] - centre, w) - bounded(x[q] - spot->before, w);
    for (int q = spot->place; q < spot->b; q++)
        sum += bounded(x[q] - centre, w) - bounded(x[q] - spot->after, w);
    return sum;
}

static double variance(double square, int n, double noise)
{
    double floor = 0.5 * noise * noise, found = (square + 6 * noise * noise) / (n + 5);
    return found > floor ? found : floor;
}

/* Least distance of three values in a row from the other level, towards the sign. */
static double worst(const double *x, int count, double level, double sign, double noise)
{
    double least = INFINITY;
    for (int q = 0; q < count && q < 3; q++) {
        double d = (x[q] - level) * sign / noise;
        least = d < least ? d : least;
    }
    return least;
}

void kp_describe(Series *s, const Spot *spot, int k, double *features)
{
    const double *left = spot->left, *right = spot->right, *x = s->x + spot->place;
    int n = s->n, na = spot->na, nb = spot->nb, m = na < nb ? na : nb, longest = na < nb ? nb : na;
    int before = spot->place - spot->first, after = spot->stop - spot->place, whole = before < after ? before : after;
    double noise = spot->noise, scale = s->scale;
    Side one = summarise(left, na, spot->before), two = summarise(right, nb, spot->after);
    double va = variance(one.square, na, noise), vb = variance(two.square, nb, noise);
    double jump = two.mean - one.mean, size = fabs(jump), sign = jump >= 0 ? 1 : -1;
    double t = size / sqrt(va / na + vb / nb), inflate = sqrt((1 + s->phi) / (1 - s->phi));
    double need = sqrt(2 * log(2.718281828459045 * n / m));
    double share = share_won(spot), z = fabs(share - 0.5) * sqrt(12.0 * na * nb / (na + nb + 1.0));
    double middle = 0.5 * (spot->before + spot->after), first5 = 0;
    int wrong_a = 0, wrong_b = 0, beyond = 0, five = nb < 5 ? nb : 5, three = na < 3 ? na : 3;
    for (int j = 0; j < na; j++)
        wrong_a += (left[j] - middle) * sign > 0;
    for (int j = 0; j < nb; j++)
        wrong_b += (right[j] - middle) * sign < 0;
    for (int q = 0; q < five; q++)
        first5 += x[q];
    double inner_a = strongest_split(x - na, na, spot->before, noise);
    double inner_b = strongest_split(x, nb, spot->after, noise);
    double inner = inner_a > inner_b ? inner_a : inner_b, plain = size / (noise * sqrt(1.0 / na + 1.0 / nb));
    double near = kp_median_at(&s->values, spot->place, spot->place + (nb < 8 ? nb : 8), s->scratch) -
                  kp_median_at(&s->values, spot->place - (na < 8 ? na : 8), spot->place, s->scratch);
    double trend_a = na < 8 ? 0 : kp_middle(&spot->halves[1]) - kp_middle(&spot->halves[0]);
    double trend_b = nb < 8 ? 0 : kp_middle(&spot->halves[3]) - kp_middle(&spot->halves[2]);
    /* the longer side tells how far a run as long as the shorter side strays without a change */
    int of_run = m < longest / 2 ? m : longest / 2;
    Run run = na >= nb ? strongest_run(x - na, na, of_run, spot->before, noise, sign)
                       : strongest_run(x, nb, of_run, spot->after, noise, -sign);
    for (int q = 0; q < longest; q++)
        beyond += na >= nb ? (left[q] - spot->after) * sign >= 0 : (right[q] - spot->before) * sign <= 0;
    /* the gap between the sides' quartiles */
    double gap = sign > 0 ? kp_sorted_quantile(right, nb, 0.25) - kp_sorted_quantile(left, na, 0.75)
                          : kp_sorted_quantile(left, na, 0.25) - kp_sorted_quantile(right, nb, 0.75);
    double all[FEATURES] = {
        t,
        t / inflate - need,
        z,
        z / inflate - need,
        size / scale,
        fabs(spot->after - spot->before) / scale,
        size / noise,
        fabs(share - 0.5) * 2,
        na,
        nb,
        whole < WINDOW ? whole : WINDOW,
        n < 400 ? n : 400,
        s->phi,
        s->square,
        s->tail,
        s->drift,
        uncertainty(s, spot),
        log(va / vb),
        (first5 / five - spot->before) * sign / scale,
        spot->stop == n,
        way_back(s, spot),
        100.0 * k / n,
        inner,
        plain - inner,
        worst(x, nb, spot->before, sign, noise),
        worst(x - three, three, spot->after, -sign, noise),
        seen_outside(s, spot, middle, sign),
        s->memory,
        near * sign / noise,
        (double)wrong_b / nb,
        (double)wrong_a / na,
        s->weight,
        gain(s->x, spot) / need,
        s->distinct,
        trend_a * sign / scale,
        trend_b * sign / scale,
        plain / inflate,
        size * m / scale,
        size / noise - run.towards,
        size / noise - run.either,
        (double)beyond / longest,
        gap / noise,
        m * log((beyond + 1.0) / (longest + 1.0)),
    };
    for (int q = 0; q < FEATURES; q++)
        features[q] = clip(all[q], -1e6, 1e6);
}
