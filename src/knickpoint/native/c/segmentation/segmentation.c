/* The search of the default method: candidate changes of a series, described and judged, of which the weakest is
   dropped until all that are left reach a threshold.

   Candidates come from two cheapest paths over a grid of levels and from runs that lie far off (paths.c). Each is moved
   to where its two levels explain the values best (places.c), described by numbers that outliers, changing noise and
   autocorrelation do not fool (features.c), and judged by decision trees and by a proof that needs none (forest.c,
   proof.c). Dropping a candidate joins two levels, so its neighbours are placed and described anew: bottom-up
   segmentation as in Keogh and others (ICDM 2001), with a learnt criterion. O(n) time for the paths, O(k) descriptions
   of at most 2 x 100 values and O(k log k) comparisons for k candidates, O(n) memory. The guide page of the default
   method has the whole of it. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forest/forest.h"
#include "stages.h"

/* A row has the score, the proof and the features. */
enum { ROW = 1 + PROOFS + FEATURES };

/* What is known of a series: scale, autocorrelation, mean square and share beyond 4 sigma of its noise, share of the
   squares that two levels explain, and crossings between these. */
enum { FACTS = 6 };

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

/* What a candidate was found to be when its levels were described: while they stay, what lies beyond them may change.
   The noise is 0 where they have not been described yet. */
typedef struct {
    double noise, before, after, by_trees;
    KpPlaces places;
} Seen;

/* The candidates that are left, in a list, and a tree of their scores: place, row and score of a slot stay where they
   are, so dropping one takes O(log k). least[slots + i] is the score of slot i, infinite once it is dropped, and
   least[j] the lesser one of least[2 j] and least[2 j + 1]. */
typedef struct {
    int *places, *before, *after, k, slots, first;
    double (*rows)[ROW], *least;
    Seen *seen;
} Left;

static int open_left(Left *left, int *places, int k)
{
    memset(left, 0, sizeof *left);
    left->places = places;
    left->k = k;
    for (left->slots = 1; left->slots < k; left->slots *= 2)
        ;
    left->rows = malloc((size_t)(k + 1) * sizeof *left->rows);
    left->least = malloc((size_t)left->slots * 2 * sizeof(double));
    left->before = malloc((size_t)(k + 1) * 2 * sizeof(int));
    left->seen = malloc((size_t)(k + 1) * sizeof *left->seen);
    if (!left->rows || !left->least || !left->before || !left->seen)
        return -1;
    left->after = left->before + k + 1;
    for (int i = 0; i < k; i++) {
        left->before[i] = i - 1;
        left->after[i] = i + 1 < k ? i + 1 : -1;
        left->seen[i].noise = 0;
    }
    left->first = k ? 0 : -1;
    for (int i = 0; i < 2 * left->slots; i++)
        left->least[i] = INFINITY;
    return 0;
}

static void close_left(Left *left)
{
    free(left->rows);
    free(left->least);
    free(left->before);
    free(left->seen);
}

static void set_score(Left *left, int slot, double score)
{
    int i = left->slots + slot;
    left->least[i] = score;
    for (i /= 2; i; i /= 2)
        left->least[i] = left->least[2 * i] < left->least[2 * i + 1] ? left->least[2 * i] : left->least[2 * i + 1];
}

/* The weakest candidate, the first of equal ones. */
static int weakest_left(const Left *left)
{
    int i = 1;
    double bound = left->least[1] + KP_TIE;
    while (i < left->slots)
        i = 2 * i + (left->least[2 * i] > bound);
    return i - left->slots;
}

/* The places of a candidate and of up to two on each side of it; returns how many there are. at is its own number. */
static int places_around(const Left *left, int slot, int *around, int *at)
{
    int count = 0, one = left->before[slot], two = one < 0 ? -1 : left->before[one];
    if (two >= 0)
        around[count++] = left->places[two];
    if (one >= 0)
        around[count++] = left->places[one];
    *at = count;
    around[count++] = left->places[slot];
    one = left->after[slot];
    two = one < 0 ? -1 : left->after[one];
    if (one >= 0)
        around[count++] = left->places[one];
    if (two >= 0)
        around[count++] = left->places[two];
    return count;
}

/* Describe the candidate in a slot whose levels are new, and find the places of its features. */
static void describe_afresh(Series *s, const KpForest *forest, const Left *left, Spot *spot, Seen *seen, double *row)
{
    kp_survey(s, spot);
    kp_describe(s, spot, left->k, row + 1 + PROOFS);
    kp_prove(s, spot, row + 1);
    seen->noise = spot->noise;
    seen->before = spot->before;
    seen->after = spot->after;
    if (forest->trees)
        kp_place(forest, row + 1 + PROOFS, &seen->places);
}

/* Describe it again where only the levels beyond its own are new. Returns whether the trees may answer otherwise. */
static int describe_again(Series *s, const KpForest *forest, const Left *left, Spot *spot, Seen *seen, double *row)
{
    static const int beyond[] = {FEATURE_WAY_BACK, FEATURE_DENSITY};
    double *features = row + 1 + PROOFS;
    int other = 0;
    spot->noise = seen->noise;
    spot->before = seen->before;
    spot->after = seen->after;
    kp_describe_beyond(s, spot, left->k, features);
    kp_prove_run(s, spot, row + 1);
    for (int i = 0; i < 2 && forest->trees; i++) {
        uint16_t place = kp_place_one(forest, beyond[i], features[beyond[i]]);
        other |= seen->places.at[beyond[i]] != place;
        seen->places.at[beyond[i]] = place;
    }
    return other;
}

/* Describe the candidates in some slots, at most PART, and judge them together. The levels beside a candidate that
   stays are those with which it was described before. */
enum { PART = 16 };

static void examine(Series *s, const KpForest *forest, Left *left, const int *slots, const int *stays, int count)
{
    KpPlaces places[PART];
    int asked[PART], asking = 0;
    double totals[PART];
    for (int i = 0; i < count; i++) {
        double *row = left->rows[slots[i]];
        Seen *seen = left->seen + slots[i];
        int around[5], at, held = places_around(left, slots[i], around, &at), ask = 1;
        Spot spot;
        kp_locate(s, around, held, at, &spot);
        if (stays[i] && seen->noise > 0)
            ask = describe_again(s, forest, left, &spot, seen, row);
        else
            describe_afresh(s, forest, left, &spot, seen, row);
        if (!forest->trees) {
            seen->by_trees = judge_by_rule(row + 1 + PROOFS);
        } else if (ask) {
            places[asking] = seen->places;
            asked[asking++] = slots[i];
        }
    }
    kp_judge(forest, places, asking, totals);
    for (int i = 0; i < asking; i++)
        left->seen[asked[i]].by_trees = totals[i];
    for (int i = 0; i < count; i++) {
        double *row = left->rows[slots[i]];
        row[0] = left->seen[slots[i]].by_trees + kp_certainty(row + 1);
        set_score(left, slots[i], row[0]);
    }
}

static void examine_all(Series *s, const KpForest *forest, Left *left)
{
    static const int stays[PART] = {0};
    int slots[PART], count = 0;
    for (int slot = left->first; slot >= 0; slot = left->after[slot]) {
        slots[count++] = slot;
        if (count == PART || left->after[slot] < 0) {
            examine(s, forest, left, slots, stays, count);
            count = 0;
        }
    }
}

/* Take a candidate out of the list. Its neighbours have new levels beside them: one on each side moves, and the next
   one has a new level beyond its own, or beside it where its neighbour moved. */
static void drop(Series *s, const KpForest *forest, Left *left, int slot)
{
    int sides[2] = {left->before[slot], left->after[slot]}, slots[4], stays[4], count = 0;
    if (sides[0] >= 0)
        left->after[sides[0]] = sides[1];
    else
        left->first = sides[1];
    if (sides[1] >= 0)
        left->before[sides[1]] = sides[0];
    left->k--;
    set_score(left, slot, INFINITY);

    for (int side = 0; side < 2; side++) {
        int one = sides[side];
        if (one < 0)
            continue;
        int around[5], at, held = places_around(left, one, around, &at), place = left->places[one];
        kp_relocate(s, around, held, at);
        left->places[one] = around[at];
        stays[count] = 0;
        slots[count++] = one;
        int next = side ? left->after[one] : left->before[one];
        stays[count] = around[at] == place;
        slots[count] = next;
        count += next >= 0;
    }
    examine(s, forest, left, slots, stays, count);
}

/* Drop the weakest candidate until all reach the threshold. Returns how many stay, -2 when the record is full. */
static int prune(Series *s, const KpForest *forest, double threshold, int whole_path, int round, Left *left,
                 Record *out)
{
    for (;; round++) {
        /* What is dropped is written, in the end what stays. */
        int weakest = left->k ? weakest_left(left) : -1;
        int end = weakest < 0 || left->rows[weakest][0] >= threshold;
        for (int slot = left->first; slot >= 0 && (end || whole_path); slot = left->after[slot])
            if (write_row(out, end ? -1 : round, left->places[slot], left->rows[slot]))
                return -2;
        if (end)
            return left->k;
        if (!whole_path && write_row(out, round, left->places[weakest], left->rows[weakest]))
            return -2;
        drop(s, forest, left, weakest);
    }
}

/* Shorter series have no candidates, and longer ones are not searched. */
static int is_searched(int64_t n)
{
    return n >= 2 * KP_SHORTEST && n <= INT32_MAX / 8;
}

int64_t kp_segment_room(int64_t n)
{
    size_t arrays = is_searched(n) ? (size_t)n * 4 * sizeof(double) + 2 * kp_order_size((int)n) : 0;
    return (int64_t)(sizeof(Series) + arrays);
}

/* Put the values in order; s has kp_segment_room(n) bytes, in which its arrays follow. Returns -1 when there is no
   memory. */
static int prepare(Series *s, const double *x, int n)
{
    memset(s, 0, sizeof *s);
    s->n = n;
    s->x = x;
    s->scratch = (double *)(s + 1);
    s->residual = s->scratch + n;
    s->noise = s->residual + n;
    s->before = s->noise + n;
    s->spare = (char *)(s->before + n) + kp_order_size(n);
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

/* Take up the candidates that an earlier search kept, in the rows of the record. */
static void take_up(Left *left, const Record *out)
{
    for (int i = 0; i < left->k; i++) {
        memcpy(left->rows[i], out->rows + i * ROW, sizeof left->rows[i]);
        set_score(left, i, left->rows[i][0]);
    }
}

/* Search x as kp_segment() does, with the same room and the same answers, but for how many candidates stay, which it
   returns. */
static int search(const double *x, int64_t n, const KpForest *forest, double threshold, int whole_path, int64_t dropped,
                  int64_t known, int studied, Series *s, Record *out, double *facts)
{
    memset(facts, 0, FACTS * sizeof *facts);
    if (!is_searched(n))
        return 0;
    int *candidates = malloc((size_t)n * 4 * sizeof(int));
    if (!candidates)
        return -1;

    /* Each stage leaves the number of candidates in k, or -1 when there is no memory. */
    int k = 0;
    if (studied)
        s->x = s->values.x = x;
    else if (!(k = prepare(s, x, (int)n)) && (k = kp_study_values(s)) > 0)
        k = kp_find_candidates(s, known > 0, candidates);
    for (int64_t i = 0; i < known && k >= 0; i++)
        candidates[i] = out->places[2 * i + 1];
    if (known && k >= 0)
        k = (int)known;
    else if (k > 0)
        k = kp_place_candidates(s, candidates, k, candidates + 2 * n);
    Left left;
    int stay = open_left(&left, candidates, k < 0 ? 0 : k) || k < 0 ? -1 : 0;
    if (!stay) {
        if (known)
            take_up(&left, out);
        else
            examine_all(s, forest, &left);
        stay = prune(s, forest, threshold, whole_path, (int)dropped, &left, out);
    }

    facts[0] = s->scale;
    facts[1] = s->phi;
    facts[2] = s->square;
    facts[3] = s->tail;
    facts[4] = s->explained;
    facts[5] = s->crossings;
    close_left(&left);
    free(candidates);
    return stay;
}

int64_t kp_segment(const double *x, int64_t n, const KpForest *forest, double threshold, int whole_path,
                   int64_t dropped, int64_t known, int studied, uint8_t *room, int64_t capacity, int32_t *places,
                   double *rows, double *facts)
{
    Record out = {0, capacity, places, rows};
    int stay = search(x, n, forest, threshold, whole_path, dropped, known, studied, (Series *)room, &out, facts);
    return stay < 0 ? stay : out.used;
}

int64_t kp_segment_many(const double *x, const int64_t *ends, int64_t series, const KpForest *forest,
                        const double *thresholds, int64_t capacity, int32_t *places, double *rows, double *facts,
                        int64_t *used, int64_t *stay)
{
    int64_t filled = 0, most = 0;
    for (int64_t i = 0, begin = 0; i < series; begin = ends[i++]) {
        int64_t size = kp_segment_room(ends[i] - begin);
        most = size > most ? size : most;
    }
    Series *room = malloc((size_t)most + 1);
    int found = room ? 0 : -1;
    for (int64_t i = 0, begin = 0; i < series && found != -1; begin = ends[i++]) {
        Record out = {0, capacity - filled, places + 2 * filled, rows + ROW * filled};
        found = search(x + begin, ends[i] - begin, forest, thresholds[i], 0, 0, 0, 0, room, &out, facts + FACTS * i);
        used[i] = found < 0 ? found : out.used;
        stay[i] = found;
        filled += found < 0 ? 0 : out.used;
    }
    free(room);
    return found == -1 ? -1 : 0;
}
