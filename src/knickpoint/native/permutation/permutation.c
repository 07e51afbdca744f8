/* Permutations of a series inside its clusters, and the largest Q-hat of each; see q_hat.c for Q.

   A permutation keeps the sorted values of a cluster and their distances to all others; only the distances to those
   before are new. Eight permutations are judged side by side. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "exports.h"
#include "q_hat/q_hat.h"
#include "vectors.h"

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

static uint64_t mixed(uint64_t v)
{
    v += UINT64_C(0x9E3779B97F4A7C15);
    v = (v ^ (v >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    v = (v ^ (v >> 27)) * UINT64_C(0x94D049BB133111EB);
    return v ^ (v >> 31);
}

/* A permutation of 0..n-1 into every eighth place of out: the last of i + 1 places so far is swapped with place j. */
static void shuffle(const uint32_t *drawn, int64_t n, int32_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t j = (int64_t)((uint64_t)drawn[i] * (uint64_t)(i + 1) >> 32);
        out[8 * i] = out[8 * j];
        out[8 * j] = (int32_t)i;
    }
}

static void tau_weights(int64_t n, int v_form, double *weight)
{
    double scale = 2.0 / (double)n;
    for (int64_t left = 1; left < n; left++) {
        double a = (double)(n - left) * kp_form_weight(left, v_form),
               b = (double)left * kp_form_weight(n - left, v_form);
        weight[3 * left] = scale * (1.0 + b);
        weight[3 * left + 1] = scale * b;
        weight[3 * left + 2] = scale * (2.0 + a + b);
    }
}

struct cluster {
    int64_t first, n;
    const double *sorted, *r;
    double *weight;
    double all;
};

int64_t kp_permute(const double *sorted, const int64_t *bounds, int64_t clusters, double alpha, int v_form, int both,
                   int64_t least, uint64_t seed, uint64_t round, int64_t first, int64_t count, double reach,
                   int64_t allowed, double *tops, int64_t *exceeded)
{
    enum { TREE_FROM = 300 };
    int way = kp_way_of(alpha);
    const struct divisive *level = kp_divisive();
    int64_t longest = 0, total = bounds[clusters] - bounds[0];
    for (int64_t c = 0; c < clusters; c++)
        longest = bounds[c + 1] - bounds[c] > longest ? bounds[c + 1] - bounds[c] : longest;
    struct tree tree;
    size_t lanes = (size_t)(8 * (longest + 1)) * sizeof(double);
    size_t sizes[] = {lanes,
                      lanes,
                      2 * lanes + lanes / 4 + 64,
                      kp_tree_layout(&tree, longest, NULL),
                      (size_t)(3 * (longest + 10)) * sizeof(double),
                      (size_t)(total + 1) * sizeof(double),
                      (size_t)(total + 1) * sizeof(double),
                      (size_t)(3 * (total + 1)) * sizeof(double),
                      (size_t)(8 * (longest + 1)) * sizeof(int32_t),
                      (size_t)(longest + 1) * sizeof(uint32_t),
                      (size_t)clusters * sizeof(struct cluster)};
    enum { PARTS = sizeof sizes / sizeof *sizes };
    char *parts[PARTS];
    size_t size = 64;
    for (int i = 0; i < PARTS; i++)
        size += (sizes[i] + 63) / 64 * 64;
    char *block = malloc(size);
    if (!block)
        return -1;
    char *next = block + (64 - (uintptr_t)block % 64) % 64;
    for (int i = 0; i < PARTS; i++) {
        parts[i] = next;
        next += (sizes[i] + 63) / 64 * 64;
    }
    double *x = (double *)parts[0], *row = (double *)parts[1], *work = (double *)parts[2];
    double *inverse = (double *)parts[4], *centred = (double *)parts[5], *r = (double *)parts[6];
    double *weights = (double *)parts[7];
    int32_t *order = (int32_t *)parts[8];
    uint32_t *drawn = (uint32_t *)parts[9];
    struct cluster *part = (struct cluster *)parts[10];

    int64_t used = 0;
    for (int64_t c = 0; c < clusters; c++) {
        int64_t n = bounds[c + 1] - bounds[c], at = bounds[c] - bounds[0];
        const double *own = sorted + bounds[c];
        if (n < 2 * least || own[0] == own[n - 1])
            continue;
        for (int64_t i = 0; i < n; i++)
            centred[at + i] = own[i] - own[n / 2];
        struct cluster fresh = {bounds[c], n, centred + at, r + at, weights + 3 * at, 0.0};
        if (!both) {
            if (way == FAR_ABSOLUTE)
                kp_row_sums(centred + at, n, r + at);
            else
                kp_row_sums_pairs(centred + at, n, way, alpha, r + at);
            tau_weights(n, v_form, fresh.weight);
            for (int64_t i = 0; i < n; i++)
                fresh.all += 0.5 * r[at + i];
        }
        part[used++] = fresh;
    }
    if (both)
        kp_tables(longest, v_form, inverse, inverse + longest + 10, inverse + 2 * (longest + 10));

    int64_t done = 0, hits = 0, stop = 0;
    uint64_t base = mixed(seed ^ mixed(round));
    while (done < count && !stop) {
        int64_t batch = count - done < 8 ? count - done : 8;
        double top[8] = {KP_EIGHT(-INFINITY)};
        for (int64_t c = 0; c < used; c++) {
            int64_t n = part[c].n, waiting = 0;
            for (int64_t l = 0; l < batch; l++)
                waiting += top[l] < reach;
            if (!waiting)
                break;
            for (int64_t l = 0; l < 8; l++) {
                uint64_t number = (uint64_t)(first + done + (l < batch ? l : 0));
                level->draw(mixed(base + number), part[c].first, n, drawn);
                shuffle(drawn, n, order + l);
            }
            if (!both && way == FAR_ABSOLUTE && n >= TREE_FROM) {
                kp_tree_layout(&tree, n, parts[3]);
                for (int64_t l = 0; l < batch; l++)
                    if (top[l] < reach) {
                        kp_tree_clear(&tree);
                        level->permuted_tree(part[c].sorted, part[c].r, order + l, n, least, part[c].weight,
                                             part[c].all, &tree, top + l);
                    }
                continue;
            }
            for (int64_t i = 0; i < 8 * n; i++)
                x[i] = part[c].sorted[order[i]];
            if (both) {
                level->permuted_both(x, n, least, inverse, way, alpha, work, top);
                continue;
            }
            for (int64_t i = 0; i < 8 * n; i++)
                row[i] = part[c].r[order[i]];
            level->permuted_tau(x, row, n, least, part[c].weight, part[c].all, way, alpha, top);
        }
        for (int64_t l = 0; l < batch && !stop; l++) {
            if (tops)
                tops[done] = top[l];
            hits += top[l] >= reach;
            done++;
            stop = allowed >= 0 && hits > allowed;
        }
    }
    *exceeded = hits;
    free(block);
    return done;
}
