/* The numbers that the forest judges a candidate by; feature_table.h has their names and their order.

   Robust statistics of both sides: medians, means of what is clipped at 2.5 deviations (Huber, Annals of Mathematical
   Statistics 35, 1964), ranks, quartiles, and how the candidate compares with the strongest split and the strongest run
   inside its levels. Each takes one pass over at most 2 x KP_WINDOW values. */

#include <math.h>

#include "stages.h"

/* Largest standardised difference of means over the splits of a piece, at least KP_SHORTEST points on a side; the
   values are clipped at 2.5 times the noise. */
static double strongest_split(const double *x, int m, double centre, double noise)
{
    if (m < 2 * KP_SHORTEST)
        return 0;
    double total = 0, sum = 0, best = 0, reach = 2.5 * noise;
    for (int t = 0; t < m; t++)
        total += clip(x[t] - centre, -reach, reach);
    for (int i = 1; i <= m - KP_SHORTEST; i++) {
        sum += clip(x[i - 1] - centre, -reach, reach);
        if (i < KP_SHORTEST)
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

/* The k-th least distance from the centre, k from 1 on: half the
   narrowest stretch around it that holds k of the sorted values, found by bisection. */
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
    mad *= KP_MAD;
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
        int end = spot->later < spot->stop + KP_SIDE ? spot->later : spot->stop + KP_SIDE;
        back = fabs(kp_median_at(&s->values, spot->stop, end, s->scratch) - spot->before) / s->scale;
    }
    if (spot->earlier < spot->first) {
        int begin = spot->earlier > spot->first - KP_SIDE ? spot->earlier : spot->first - KP_SIDE;
        double other = fabs(kp_median_at(&s->values, begin, spot->first, s->scratch) - spot->after) / s->scale;
        back = other < back ? other : back;
    }
    return back < INFINITY ? back : 0;
}

/* Share of the values outside both levels that lie on the other side of the middle; -0.1 where there are none. */
static double seen_outside(const Series *s, const Spot *spot, double middle, double sign)
{
    int from = spot->first - KP_WINDOW > 0 ? spot->first - KP_WINDOW : 0;
    int to = spot->stop + KP_WINDOW < s->n ? spot->stop + KP_WINDOW : s->n, seen = 0;
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

/* The variance of one side, drawn towards that of the noise by six values' worth, at least half of it. */
static double variance(double square, int n, double noise)
{
    double floor = 0.5 * noise * noise, found = (square + 6 * noise * noise) / (n + 5);
    return found > floor ? found : floor;
}

/* The least distance of the first count values, at most 3, from the other level, towards the sign and in noise. */
static double least_distance(const double *x, int count, double level, double sign, double noise)
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

    /* The jump: its size and its sign, by which everything below points the same way. */
    Side side_a = summarise(left, na, spot->before), side_b = summarise(right, nb, spot->after);
    double va = variance(side_a.square, na, noise), vb = variance(side_b.square, nb, noise);
    double jump = side_b.mean - side_a.mean, size = fabs(jump), sign = jump >= 0 ? 1 : -1;

    /* t and the rank statistic, what chance over all places needs, and what autocorrelation takes away. */
    double t = size / sqrt(va / na + vb / nb), inflate = sqrt((1 + s->phi) / (1 - s->phi));
    double need = sqrt(2 * log(2.718281828459045 * n / m));
    double share = share_won(spot), z = fabs(share - 0.5) * sqrt(12.0 * na * nb / (na + nb + 1.0));

    /* Values on the wrong side of the middle, and those next to the change. */
    double middle = 0.5 * (spot->before + spot->after), first5 = 0;
    int wrong_a = 0, wrong_b = 0, beyond = 0, five = nb < 5 ? nb : 5, three = na < 3 ? na : 3;
    for (int j = 0; j < na; j++)
        wrong_a += (left[j] - middle) * sign > 0;
    for (int j = 0; j < nb; j++)
        wrong_b += (right[j] - middle) * sign < 0;
    for (int q = 0; q < five; q++)
        first5 += x[q];

    /* The levels themselves: splits inside them, and trends from half to half. */
    double inner_a = strongest_split(x - na, na, spot->before, noise);
    double inner_b = strongest_split(x, nb, spot->after, noise);
    double inner = inner_a > inner_b ? inner_a : inner_b, plain = size / (noise * sqrt(1.0 / na + 1.0 / nb));
    double near = kp_median_at(&s->values, spot->place, spot->place + (nb < 8 ? nb : 8), s->scratch) -
                  kp_median_at(&s->values, spot->place - (na < 8 ? na : 8), spot->place, s->scratch);
    double trend_a = na < 8 ? 0 : kp_middle(&spot->halves[1]) - kp_middle(&spot->halves[0]);
    double trend_b = nb < 8 ? 0 : kp_middle(&spot->halves[3]) - kp_middle(&spot->halves[2]);

    /* A run as long as the shorter side, somewhere in the longer side, shows how far means stray without a change. */
    int of_run = m < longest / 2 ? m : longest / 2;
    Run run = na >= nb ? strongest_run(x - na, na, of_run, spot->before, noise, sign)
                       : strongest_run(x, nb, of_run, spot->after, noise, -sign);
    for (int q = 0; q < longest; q++)
        beyond += na >= nb ? (left[q] - spot->after) * sign >= 0 : (right[q] - spot->before) * sign <= 0;

    /* The gap between the quartiles of the two sides that face each other. */
    double gap = sign > 0 ? kp_sorted_quantile(right, nb, 0.25) - kp_sorted_quantile(left, na, 0.75)
                          : kp_sorted_quantile(left, na, 0.25) - kp_sorted_quantile(right, nb, 0.75);

    double all[FEATURES] = {
        [FEATURE_T] = t,
        [FEATURE_T_LESS_CHANCE] = t / inflate - need,
        [FEATURE_RANK_Z] = z,
        [FEATURE_RANK_Z_LESS_CHANCE] = z / inflate - need,
        [FEATURE_JUMP] = size / scale,
        [FEATURE_JUMP_OF_MEDIANS] = fabs(spot->after - spot->before) / scale,
        [FEATURE_JUMP_LOCAL] = size / noise,
        [FEATURE_SEPARATION] = fabs(share - 0.5) * 2,
        [FEATURE_VALUES_BEFORE] = na,
        [FEATURE_VALUES_AFTER] = nb,
        [FEATURE_SHORTER_LEVEL] = whole < KP_WINDOW ? whole : KP_WINDOW,
        [FEATURE_LENGTH] = n < 400 ? n : 400,
        [FEATURE_AUTOCORRELATION] = s->phi,
        [FEATURE_MEAN_SQUARE] = s->square,
        [FEATURE_OUTLIERS] = s->tail,
        [FEATURE_DRIFT] = s->drift,
        [FEATURE_UNCERTAINTY] = uncertainty(s, spot),
        [FEATURE_LOG_RATIO] = log(va / vb),
        [FEATURE_FIRST_FIVE] = (first5 / five - spot->before) * sign / scale,
        [FEATURE_NEWEST] = spot->stop == n,
        [FEATURE_INNER_SPLIT] = inner,
        [FEATURE_LEAD_OVER_INNER] = plain - inner,
        [FEATURE_LEAST_AFTER] = least_distance(x, nb, spot->before, sign, noise),
        [FEATURE_LEAST_BEFORE] = least_distance(x - three, three, spot->after, -sign, noise),
        [FEATURE_SEEN_OUTSIDE] = seen_outside(s, spot, middle, sign),
        [FEATURE_MEMORY] = s->memory,
        [FEATURE_NEAREST_EIGHT] = near * sign / noise,
        [FEATURE_WRONG_AFTER] = (double)wrong_b / nb,
        [FEATURE_WRONG_BEFORE] = (double)wrong_a / na,
        [FEATURE_TAIL_WEIGHT] = s->weight,
        [FEATURE_SAVING] = gain(s->x, spot) / need,
        [FEATURE_DISTINCT] = s->distinct,
        [FEATURE_TREND_BEFORE] = trend_a * sign / scale,
        [FEATURE_TREND_AFTER] = trend_b * sign / scale,
        [FEATURE_PLAIN_T] = plain / inflate,
        [FEATURE_AREA] = size * m / scale,
        [FEATURE_LEAD_OVER_RUN_TOWARDS] = size / noise - run.towards,
        [FEATURE_LEAD_OVER_RUN] = size / noise - run.either,
        [FEATURE_BEYOND] = (double)beyond / longest,
        [FEATURE_QUARTILE_GAP] = gap / noise,
        [FEATURE_LOG_CHANCE] = m * log((beyond + 1.0) / (longest + 1.0)),
    };
    for (int q = 0; q < FEATURES; q++)
        features[q] = clip(all[q], -1e6, 1e6);
    kp_describe_beyond(s, spot, k, features);
}

void kp_describe_beyond(Series *s, const Spot *spot, int k, double *features)
{
    features[FEATURE_WAY_BACK] = clip(way_back(s, spot), -1e6, 1e6);
    features[FEATURE_DENSITY] = 100.0 * k / s->n;
}
