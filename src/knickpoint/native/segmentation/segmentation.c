/* Candidate changes of a series, described and judged, of which the weakest are dropped one by one: the numeric half of
   the default method. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exports.h"
#include "forest/forest.h"
#include "stages.h"

/* A row has the score, the proof and the features. */
enum { ROW = 1 + PROOFS + FEATURES };

typedef struct {
    int64_t used, capacity;
    int32_t *places;
    double *rows;
} Record;

static int write_down(Record *out, int round, int place, const double *row)
{
    if (out->used >= out->capacity)
        return -1;
    out->places[2 * out->used] = round;
    out->places[2 * out->used + 1] = place;
    memcpy(out->rows + out->used++ * ROW, row, ROW * sizeof(double));
    return 0;
}

static void examine(Series *s, const KpForest *forest, const int *places, int k, int i, double *row)
{
    double *proof = row + 1, *features = proof + PROOFS;
    Spot spot;
    kp_look(s, places, k, i, &spot);
    kp_describe(s, &spot, k, features);
    kp_prove(s, &spot, proof);
    row[0] = kp_judge(forest, features) + kp_certainty(proof);
}

/* Drop the weakest candidate until all reach the threshold; held has room for k rows. */
static int prune(Series *s, const KpForest *forest, double threshold, int whole_path, int *places, int k,
                 double (*held)[ROW], Record *out)
{
    for (int i = 0; i < k; i++)
        examine(s, forest, places, k, i, held[i]);
    for (int round = 0;; round++) {
        int weakest = 0;
        for (int i = 1; i < k; i++)
            if (held[i][0] < held[weakest][0] - TIE)
                weakest = i;
        int end = !k || held[weakest][0] >= threshold;
        for (int i = 0; i < k; i++)
            if ((end || whole_path || i == weakest) && write_down(out, end ? -1 : round, places[i], held[i]))
                return -1;
        if (end)
            return 0;
        k--;
        memmove(places + weakest, places + weakest + 1, (size_t)(k - weakest) * sizeof(int));
        memmove(held + weakest, held + weakest + 1, (size_t)(k - weakest) * sizeof *held);
        for (int i = weakest - 1; i <= weakest; i++)
            if (i >= 0 && i < k)
                kp_settle(s, places, k, i);
        for (int i = weakest - 2; i <= weakest + 1; i++)
            if (i >= 0 && i < k)
                examine(s, forest, places, k, i, held[i]);
    }
}

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

int64_t kp_segment(const double *x, int64_t n, const KpForest *forest, double threshold, int whole_path,
                   int64_t capacity, int32_t *places, double *rows, double *facts)
{
    if (n < 2 * SHORTEST || n > INT32_MAX / 8)
        return 0;
    Series s;
    Record out = {0, capacity, places, rows};
    int *held_places = malloc((size_t)n * 4 * sizeof(int));
    if (!held_places)
        return -1;
    int k = prepare(&s, x, (int)n);
    if (!k && (k = kp_study_values(&s)) > 0)
        k = kp_find_candidates(&s, held_places);
    if (k > 0)
        k = kp_place_candidates(&s, held_places, k, held_places + 2 * n);
    double (*held)[ROW] = k < 0 ? NULL : malloc((size_t)(k + 1) * sizeof *held);
    int64_t used = -1;
    if (held)
        used = prune(&s, forest, threshold, whole_path, held_places, k, held, &out) ? -2 : out.used;
    facts[0] = s.scale;
    facts[1] = s.phi;
    facts[2] = s.square;
    facts[3] = s.tail;
    free(held);
    free(held_places);
    free(s.scratch);
    return used;
}
