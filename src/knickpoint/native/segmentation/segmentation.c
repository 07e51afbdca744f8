/* The search of the default method: candidate changes of a series, described and judged, of which the weakest is
   dropped until all that are left reach a threshold.

   Candidates come from two cheapest paths over a grid of levels and from runs that lie far off (paths.c). Each is moved
   to where its two levels explain the values best (places.c), described by numbers that outliers, changing noise and
   autocorrelation do not fool (features.c), and judged by decision trees and by a proof that needs none (forest.c,
   proof.c). Dropping a candidate joins two levels, so its neighbours are placed and described anew: bottom-up
   segmentation as in Keogh and others (ICDM 2001), with a learnt criterion. O(n) time for the paths, O(k) descriptions
   of at most 2 x 100 values and O(k^2) comparisons for k candidates, O(n) memory. The guide page of the default method
   has the whole of it. */

#include <stdlib.h>
#include <string.h>

#include "forest/forest.h"
#include "stages.h"

/* A row has the score, the proof and the features. */
enum { ROW = 1 + PROOFS + FEATURES };

/* What is known of the noise: its scale, autocorrelation, mean square and share beyond 4 sigma. */
enum { FACTS = 4 };

/* The rows that Python gets. */
typedef struct {
    int64_t used, capacity;
    int32_t *places;
    double *rows;
} Record;

/* Returns -1 when there is no room. */
static int write_row(Record *out, int round, int place, const double *row)
{
    if (out->used >= out->capacity)
        return -1;
    out->places[2 * out->used] = round;
    out->places[2 * out->used + 1] = place;
    memcpy(out->rows + out->used++ * ROW, row, ROW * sizeof(double));
    return 0;
}

/* Without trees, the less of two standardised statistics less what chance needs, on which the first forest is learnt.
 */
static double judge_by_rule(const double *features)
{
    double by_mean = features[FEATURE_T_LESS_CHANCE], by_rank = features[FEATURE_RANK_Z_LESS_CHANCE] / 0.75;
    return by_mean < by_rank ? by_mean : by_rank;
}

/* Describe the candidates from first to last, and judge them together. */
static void examine(Series *s, const KpForest *forest, const int *places, int k, int first, int last,
                    double (*rows)[ROW])
{
    if (first < 0)
        first = 0;
    if (last > k - 1)
        last = k - 1;
    for (int i = first; i <= last; i++) {
        double *proof = rows[i] + 1, *features = proof + PROOFS;
        Spot spot;
        kp_survey(s, places, k, i, &spot);
        kp_describe(s, &spot, k, features);
        kp_prove(s, &spot, proof);
        if (!forest->trees)
            rows[i][0] = judge_by_rule(features);
    }
    if (forest->trees && first <= last)
        kp_judge(forest, rows[first], ROW, 1 + PROOFS, last - first + 1);
    for (int i = first; i <= last; i++)
        rows[i][0] += kp_certainty(rows[i] + 1);
}

/* Drop the weakest candidate until all reach the threshold; rows has room for k. Returns how many stay, -2 when the
   record is full. */
static int prune(Series *s, const KpForest *forest, double threshold, int whole_path, int *places, int k,
                 double (*rows)[ROW], Record *out)
{
    examine(s, forest, places, k, 0, k - 1, rows);
    for (int round = 0;; round++) {
        /* The weakest, the first of equal ones; what is dropped is written, in the end what stays. */
        int weakest = 0;
        for (int i = 1; i < k; i++)
            if (rows[i][0] < rows[weakest][0] - KP_TIE)
                weakest = i;
        int end = !k || rows[weakest][0] >= threshold;
        for (int i = 0; i < k; i++)
            if ((end || whole_path || i == weakest) && write_row(out, end ? -1 : round, places[i], rows[i]))
                return -2;
        if (end)
            return k;

        k--;
        memmove(places + weakest, places + weakest + 1, (size_t)(k - weakest) * sizeof(int));
        memmove(rows + weakest, rows + weakest + 1, (size_t)(k - weakest) * sizeof *rows);

        /* The neighbours have new levels beside them: one on each side moves, two on each side change their features.
         */
        for (int i = weakest - 1; i <= weakest; i++)
            if (i >= 0 && i < k)
                kp_relocate(s, places, k, i);
        examine(s, forest, places, k, weakest - 2, weakest + 1, rows);
    }
}

/* Put the values in order, with all other room of the series in the same block. Returns -1 when there is no memory. */
static int prepare(Series *s, const double *x, int n)
{
    size_t order = kp_order_size(n);
    memset(s, 0, sizeof *s);
    s->n = n;
    s->x = x;
    s->scratch = malloc((size_t)n * 4 * sizeof(double) + 2 * order);
    if (!s->scratch)
        return -1;
    s->residual = s->scratch + n;
    s->noise = s->residual + n;
    s->before = s->noise + n;
    s->spare = (char *)(s->before + n) + order;
    return kp_order(&s->values, x, n, s->before + n);
}

int64_t kp_segment_features(void)
{
    return FEATURES;
}

int64_t kp_segment_proofs(void)
{
    return PROOFS;
}

const char *kp_segment_feature_name(int64_t i)
{
    static const char *const names[FEATURES] = {
#define KP_FEATURE(name, text) [FEATURE_##name] = text,
#include "feature_table.h"
#undef KP_FEATURE
    };
    return names[i];
}

/* Search x as kp_segment() does; returns how many candidates stay, -1 without memory, -2 when the record is full. */
static int search(const double *x, int64_t n, const KpForest *forest, double threshold, int whole_path, Record *out,
                  double *facts)
{
    memset(facts, 0, FACTS * sizeof *facts);
    if (n < 2 * KP_SHORTEST || n > INT32_MAX / 8)
        return 0;
    Series s;
    int *candidates = malloc((size_t)n * 4 * sizeof(int));
    if (!candidates)
        return -1;

    /* Each stage leaves the number of candidates in k, or -1 when there is no memory. */
    int k = prepare(&s, x, (int)n);
    if (!k && (k = kp_study_values(&s)) > 0)
        k = kp_find_candidates(&s, candidates);
    if (k > 0)
        k = kp_place_candidates(&s, candidates, k, candidates + 2 * n);
    double (*described)[ROW] = k < 0 ? NULL : malloc((size_t)(k + 1) * sizeof *described);
    int stay = described ? prune(&s, forest, threshold, whole_path, candidates, k, described, out) : -1;

    facts[0] = s.scale;
    facts[1] = s.phi;
    facts[2] = s.square;
    facts[3] = s.tail;
    free(described);
    free(candidates);
    free(s.scratch);
    return stay;
}

int64_t kp_segment(const double *x, int64_t n, const KpForest *forest, double threshold, int whole_path,
                   int64_t capacity, int32_t *places, double *rows, double *facts)
{
    Record out = {0, capacity, places, rows};
    int stay = search(x, n, forest, threshold, whole_path, &out, facts);
    return stay < 0 ? stay : out.used;
}

int64_t kp_segment_many(const double *x, const int64_t *ends, int64_t series, const KpForest *forest,
                        const double *thresholds, int64_t capacity, int32_t *places, double *rows, double *facts,
                        int64_t *used, int64_t *stay)
{
    int64_t filled = 0;
    for (int64_t i = 0, begin = 0; i < series; begin = ends[i++]) {
        Record out = {0, capacity - filled, places + 2 * filled, rows + ROW * filled};
        int found = search(x + begin, ends[i] - begin, forest, thresholds[i], 0, &out, facts + FACTS * i);
        if (found == -1)
            return -1;
        used[i] = found < 0 ? found : out.used;
        stay[i] = found;
        filled += found < 0 ? 0 : out.used;
    }
    return 0;
}
