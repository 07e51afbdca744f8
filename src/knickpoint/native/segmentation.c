/* Candidate changes of a series, the features of each, and the order in which the weakest are dropped: the numeric
   half of the default method. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "forest.h"
#include "segmentation.h"

static void release(Series *s)
{
    free(s->scratch);
}

static int prepare(Series *s, const double *x, int n)
{
    memset(s, 0, sizeof *s);
    s->n = n;
    s->x = x;
    s->scratch = malloc(((size_t)n * 5 + 2 * WINDOW) * sizeof(double));
    if (!s->scratch) return -1;
    s->residual = s->scratch + n;
    s->noise = s->residual + n;
    s->sorted = s->noise + n;
    s->before = s->sorted + n;
    s->left = s->before + n;
    s->right = s->left + WINDOW;
    return 0;
}

typedef struct {
    int64_t rows, capacity;
    int32_t *round, *index;
    double *score, *features, *parts, *proofs;
} Record;

static int write_down(Record *out, const Forest *forest, int round, int index, const double *held)
{
    if (out->rows >= out->capacity) return -1;
    int64_t row = out->rows++;
    double *parts = out->parts + row * FEATURES;
    out->round[row] = round;
    out->index[row] = index;
    memcpy(out->features + row * FEATURES, held, FEATURES * sizeof(double));
    memcpy(out->proofs + row * PROOFS, held + FEATURES, PROOFS * sizeof(double));
    memset(parts, 0, FEATURES * sizeof(double));
    kp_take_parts(forest, held, parts);
    out->score[row] = held[FEATURES + PROOFS];
    return 0;
}

/* A row has the features, the proofs and the score. */
enum { SCORE = FEATURES + PROOFS, ROW = SCORE + 1 };

static void examine(Series *s, const Forest *forest, const int *cps, int k, int i, double *row)
{
    kp_describe(s, cps, k, i, row);
    kp_prove(s, cps, k, i, row + FEATURES);
    row[SCORE] = kp_judge(forest, row) + kp_certainty(row + FEATURES);
}

/* Drop the weakest candidate until all reach the threshold; held has room for k rows. */
static int prune(Series *s, const Forest *forest, double threshold, int whole_path, int *cps, int k, double *held,
                 Record *out)
{
    for (int i = 0; i < k; i++) examine(s, forest, cps, k, i, held + i * ROW);
    for (int round = 0;; round++) {
        int weakest = 0;
        for (int i = 1; i < k; i++)
            if (held[i * ROW + SCORE] < held[weakest * ROW + SCORE] - TIE) weakest = i;
        int end = !k || held[weakest * ROW + SCORE] >= threshold;
        for (int i = 0; i < k; i++)
            if ((end || whole_path || i == weakest) && write_down(out, forest, end ? -1 : round, cps[i], held + i * ROW))
                return -1;
        if (end) return 0;
        k--;
        memmove(cps + weakest, cps + weakest + 1, (size_t)(k - weakest) * sizeof(int));
        memmove(held + weakest * ROW, held + (weakest + 1) * ROW, (size_t)(k - weakest) * ROW * sizeof(double));
        for (int i = weakest - 1; i <= weakest; i++)
            if (i >= 0 && i < k) kp_settle(s, cps, k, i);
        for (int i = weakest - 2; i <= weakest + 1; i++)
            if (i >= 0 && i < k) examine(s, forest, cps, k, i, held + i * ROW);
    }
}

int64_t kp_segment_features(void) { return FEATURES; }

int64_t kp_segment_proofs(void) { return PROOFS; }

int64_t kp_segment(const double *x, int64_t n, int64_t trees, double base, const int32_t *root, const KpNode *nodes,
                   const double *mean, double threshold, int whole_path, int64_t capacity, int32_t *round,
                   int32_t *index, double *score, double *features, double *parts, double *proofs, double *facts)
{
    if (n < 2 * SHORTEST || n > INT32_MAX / 8) return 0;
    Series s;
    Forest forest = {trees, base, root, nodes, mean};
    Record out = {0, capacity, round, index, score, features, parts, proofs};
    int *places = malloc((size_t)n * 4 * sizeof(int));
    double *held = NULL;
    int k = 0, failed = !places || prepare(&s, x, (int)n);
    if (failed) {
        free(places);
        return -1;
    }
    if (kp_study_values(&s)) {
        k = kp_find_candidates(&s, places);
        k = kp_place_candidates(&s, places, k, places + 2 * n);
    }
    held = malloc((size_t)(k + 1) * ROW * sizeof(double));
    failed = !held;
    if (!failed && prune(&s, &forest, threshold, whole_path, places, k, held, &out)) out.rows = -2;
    facts[0] = s.scale;
    facts[1] = s.phi;
    facts[2] = s.square;
    facts[3] = s.tail;
    free(held);
    free(places);
    release(&s);
    return failed ? -1 : out.rows;
}
