/* Permutations of a series inside its clusters, and the largest Q-hat of each: the significance test of E-Divisive
   (Matteson and James, JASA 109, 2014). See q_hat.c for Q. A permutation of n points takes O(n log n) or O(n^2) time.

   A permutation keeps the sorted values of a cluster and the distances of each to all others; only the distances to
   those before it are new. Eight permutations are judged side by side, or one after the other by the order-statistic
   tree where clusters are long. Counting ends as soon as the decision is certain.

   Place i of permutation k takes part in one swap of a Fisher-Yates shuffle, drawn from a counter by the finaliser of
   SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). So any permutation can be had without those before it, here and in
   the reference alike. */

#include <math.h>
#include <stdlib.h>

#include "exports.h"
#include "q_hat/q_hat.h"

/* EIGHT permutations go side by side. From TREE_FROM points on the tree is faster than all pairs. */
enum { EIGHT = 8, TREE_FROM = 300 };

/* The finaliser of SplitMix64, and the step between its counters. */
#define STEP UINT64_C(0x9E3779B97F4A7C15)

KP_INLINE uint64_t finalise(uint64_t v)
{
    v = (v ^ (v >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    v = (v ^ (v >> 27)) * UINT64_C(0x94D049BB133111EB);
    return v ^ (v >> 31);
}

static uint64_t mixed(uint64_t v)
{
    return finalise(v + STEP);
}

#define KP_BODY "permutation/permutation_body.h"
#include "each_level.h"

/* A permutation of 0..n-1 into every eighth place of out: the last of i + 1 places so far is swapped with place j. */
static void shuffle(const uint32_t *drawn, int64_t n, int32_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t j = (int64_t)((uint64_t)drawn[i] * (uint64_t)(i + 1) >> 32);
        out[EIGHT * i] = out[EIGHT * j];
        out[EIGHT * j] = (int32_t)i;
    }
}

/* The three factors of each split, so that Q = reach w[0] - inside w[2] - all w[1]: reach are the distances of the left
   points to all, inside those among themselves, all those of the cluster. weight has 3 n. */
static void split_weights(int64_t n, int v_form, double *weight)
{
    double scale = 2.0 / (double)n;
    for (int64_t left = 1; left < n; left++) {
        double of_left = (double)(n - left) * kp_form_weight(left, v_form);
        double of_right = (double)left * kp_form_weight(n - left, v_form);
        weight[3 * left] = scale * (1.0 + of_right);
        weight[3 * left + 1] = scale * of_right;
        weight[3 * left + 2] = scale * (2.0 + of_left + of_right);
    }
}

/* A cluster that can be split: where it begins, its points, its centred values in order, the distances of each to all,
   the weights of its splits, and the sum of its distances. */
struct cluster {
    int64_t first, n;
    double *sorted, *r, *weight;
    double all;
};

/* What one call needs, in one block; sizes are those of the longest cluster. */
struct room {
    char *block, *tree_block;
    struct tree tree;
    struct lengths lengths;
    struct cluster *clusters;
    double *x, *row, *work, *lengths_block, *centred, *r, *weights;
    int32_t *order;
    uint32_t *drawn;
};

/* Take size bytes from the block, at a multiple of 64; without a block only count them. */
static void *take(char *block, size_t *used, size_t size)
{
    void *part = block ? block + *used : NULL;
    *used += KP_ALIGN_UP(size);
    return part;
}

/* Lay the room out in the block, which is aligned; returns the bytes it takes. */
static size_t lay_out(struct room *room, char *block, int64_t clusters, int64_t longest, int64_t total)
{
    size_t used = 0, lanes = (size_t)(EIGHT * (longest + 1)) * sizeof(double);
    size_t values = (size_t)(total + 1) * sizeof(double);
    room->x = take(block, &used, lanes);
    room->row = take(block, &used, lanes);
    room->work = take(block, &used, 2 * lanes + lanes / 4 + 64);
    room->tree_block = take(block, &used, kp_tree_layout(&room->tree, longest, NULL));
    room->lengths_block = take(block, &used, (size_t)KP_LENGTHS(longest) * sizeof(double));
    room->centred = take(block, &used, values);
    room->r = take(block, &used, values);
    room->weights = take(block, &used, 3 * values);
    room->order = take(block, &used, (size_t)(EIGHT * (longest + 1)) * sizeof(int32_t));
    room->drawn = take(block, &used, (size_t)(longest + 1) * sizeof(uint32_t));
    room->clusters = take(block, &used, (size_t)clusters * sizeof(struct cluster));
    return used;
}

static int open_room(struct room *room, int64_t clusters, int64_t longest, int64_t total)
{
    room->block = malloc(lay_out(room, NULL, clusters, longest, total) + KP_ALIGNMENT);
    if (!room->block)
        return -1;
    lay_out(room, kp_aligned(room->block), clusters, longest, total);
    return 0;
}

/* What does not change from permutation to permutation. */
struct search {
    enum power power;
    double alpha, reach;
    int both;
    int64_t least;
};

/* Prepare the clusters that can be split: long enough, and not constant. Returns how many. */
static int64_t prepare(struct room *room, const struct search *search, const double *sorted, const int64_t *bounds,
                       int64_t clusters, int v_form)
{
    int64_t used = 0;
    for (int64_t c = 0; c < clusters; c++) {
        int64_t n = bounds[c + 1] - bounds[c], at = bounds[c] - bounds[0];
        const double *values = sorted + bounds[c];
        if (n < 2 * search->least || values[0] == values[n - 1])
            continue;
        struct cluster cluster = {bounds[c], n, room->centred + at, room->r + at, room->weights + 3 * at, 0.0};
        for (int64_t i = 0; i < n; i++)
            cluster.sorted[i] = values[i] - values[n / 2];
        if (!search->both) {
            if (search->power == POWER_ONE)
                kp_row_sums(cluster.sorted, n, cluster.r);
            else
                kp_row_sums_pairs(cluster.sorted, n, search->power, search->alpha, cluster.r);
            split_weights(n, v_form, cluster.weight);
            for (int64_t i = 0; i < n; i++)
                cluster.all += 0.5 * cluster.r[i];
        }
        room->clusters[used++] = cluster;
    }
    return used;
}

/* Raise top[l] to the largest Q of the cluster in permutation l, where that is still below what is to be reached; order
   has the eight permutations. */
static void judge(struct room *room, const struct search *search, const struct cluster *cluster, int64_t batch,
                  double *top)
{
    int64_t n = cluster->n;
    if (!search->both && search->power == POWER_ONE && n >= TREE_FROM) {
        kp_tree_layout(&room->tree, n, room->tree_block);
        for (int64_t l = 0; l < batch; l++)
            if (top[l] < search->reach) {
                kp_tree_clear(&room->tree);
                KP_CHOOSE(permuted_tree)(cluster->sorted, cluster->r, room->order + l, n, search->least,
                                         cluster->weight, cluster->all, &room->tree, top + l);
            }
        return;
    }
    for (int64_t i = 0; i < EIGHT * n; i++)
        room->x[i] = cluster->sorted[room->order[i]];
    if (search->both) {
        KP_CHOOSE(permuted_both)(room->x, n, search->least, room->lengths.inverse, search->power, search->alpha,
                                 room->work, top);
        return;
    }
    for (int64_t i = 0; i < EIGHT * n; i++)
        room->row[i] = cluster->r[room->order[i]];
    KP_CHOOSE(permuted_tau)(room->x, room->row, n, search->least, cluster->weight, cluster->all, search->power,
                            search->alpha, top);
}

int64_t kp_permute(const double *sorted, const int64_t *bounds, int64_t clusters, double alpha, int v_form, int both,
                   int64_t least, uint64_t seed, uint64_t round, int64_t first, int64_t count, double reach,
                   int64_t allowed, double *tops, int64_t *exceeded)
{
    struct search search = {kp_power_of(alpha), alpha, reach, both, least};
    int64_t longest = 0;
    for (int64_t c = 0; c < clusters; c++)
        longest = bounds[c + 1] - bounds[c] > longest ? bounds[c + 1] - bounds[c] : longest;
    struct room room;
    if (open_room(&room, clusters, longest, bounds[clusters] - bounds[0]))
        return -1;
    int64_t used = prepare(&room, &search, sorted, bounds, clusters, v_form);
    if (both)
        room.lengths = kp_lengths(longest, v_form, room.lengths_block);

    int64_t done = 0, hits = 0, stop = 0;
    uint64_t base = mixed(seed ^ mixed(round));
    while (done < count && !stop) {
        int64_t batch = count - done < EIGHT ? count - done : EIGHT;
        double top[EIGHT] = {KP_EIGHT(-INFINITY)};

        /* Cluster by cluster, until all eight have reached what is to be reached. */
        for (int64_t c = 0; c < used; c++) {
            const struct cluster *cluster = &room.clusters[c];
            int64_t waiting = 0;
            for (int64_t l = 0; l < batch; l++)
                waiting += top[l] < reach;
            if (!waiting)
                break;
            for (int64_t l = 0; l < EIGHT; l++) { /* an incomplete batch repeats its first permutation */
                uint64_t number = (uint64_t)(first + done + (l < batch ? l : 0));
                KP_CHOOSE(draw)(mixed(base + number), cluster->first, cluster->n, room.drawn);
                shuffle(room.drawn, cluster->n, room.order + l);
            }
            judge(&room, &search, cluster, batch, top);
        }

        /* Count in order, and stop at the permutation that decides. */
        for (int64_t l = 0; l < batch && !stop; l++) {
            if (tops)
                tops[done] = top[l];
            hits += top[l] >= reach;
            done++;
            stop = allowed >= 0 && hits > allowed;
        }
    }
    *exceeded = hits;
    free(room.block);
    return done;
}
