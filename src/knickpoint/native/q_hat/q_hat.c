/* All Q-hat of E-Divisive for one series; those of its permutations are in permutation.c.

   With L the sum of distances inside the left n points, R inside the right m, X across, W = L + R + X:

       U form  Q = nm/(n+m) (2 X / nm - L / C(n,2) - R / C(m,2)),  a block of one point adds nothing
       V form  Q = nm/(n+m) (2 X / nm - 2 L / n^2 - 2 R / m^2)

   Where the right block reaches to the end, two vectors give every Q: p[t], the distances from point t to all
   before it, and r[t], to all points. L grows by p[t], R shrinks by r[t] - p[t]. For alpha = 1, r comes from one
   sort and p from order statistics (a Fenwick tree over ranks), so T points take O(T log T) time and O(T) memory.
   A permutation keeps the sorted values and their r; only p is new. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exports.h"
#include "order.h"
#include "q_hat.h"
#include "vectors.h"

#if KP_X86
#include <immintrin.h>
#endif

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

const double kp_beyond[16] = {KP_EIGHT(0.0), KP_EIGHT(-INFINITY)};

/* Row d is set after place d. */
const struct after kp_after = {
    {
        {{0, -1, -1, -1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1, -1, -1, -1}},
        {{0, 0, -1, -1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1, -1, -1, -1}},
        {{0, 0, 0, -1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1, -1, -1, -1}},
        {{0, 0, 0, 0, -1, -1, -1, -1}, {-1, -1, -1, -1, -1, -1, -1, -1}},
        {{0, 0, 0, 0, 0, -1, -1, -1}, {-1, -1, -1, -1, -1, -1, -1, -1}},
        {{0, 0, 0, 0, 0, 0, -1, -1}, {-1, -1, -1, -1, -1, -1, -1, -1}},
        {{0, 0, 0, 0, 0, 0, 0, -1}, {-1, -1, -1, -1, -1, -1, -1, -1}},
        {{0, 0, 0, 0, 0, 0, 0, 0}, {-1, -1, -1, -1, -1, -1, -1, -1}},
        {{0, 0, 0, 0, 0, 0, 0, 0}, {0, -1, -1, -1, -1, -1, -1, -1}},
        {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, -1, -1, -1, -1, -1, -1}},
        {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, -1, -1, -1, -1, -1}},
        {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, -1, -1, -1, -1}},
        {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, -1, -1, -1}},
        {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, -1, -1}},
        {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, -1}},
        {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}},
    },
    {
        {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        {0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    },
};

#define NAME(x) KP_JOIN(x, _plain)
#define LEVEL 0
#include "q_hat_body.h"
#undef NAME
#undef LEVEL

#if KP_X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define NAME(x) KP_JOIN(x, _avx2)
#define LEVEL 1
#include "q_hat_body.h"
#undef NAME
#undef LEVEL
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512")
#endif
#define NAME(x) KP_JOIN(x, _avx512)
#define LEVEL 2
#include "q_hat_body.h"
#undef NAME
#undef LEVEL
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

const struct divisive *kp_divisive(void)
{
#if KP_X86
    int level = kp_level();
    if (level == 2)
        return &divisive_avx512;
    if (level == 1)
        return &divisive_avx2;
#endif
    return &divisive_plain;
}

/* ---- one series, sorted ------------------------------------------------------------------------------------------ */

void kp_row_sums(const double *sorted, int64_t n, double *r)
{
    double total = 0.0, before = 0.0;
    for (int64_t i = 0; i < n; i++)
        total += sorted[i];
    for (int64_t i = 0; i < n; i++) {
        r[i] = sorted[i] * (double)(2 * i - n) + total - 2.0 * before;
        before += sorted[i];
    }
}

void kp_row_sums_pairs(const double *z, int64_t n, int way, double alpha, double *r)
{
    for (int64_t i = 0; i < n; i++)
        r[i] = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            double d = fabs(z[i] - z[j]);
            d = way == FAR_SQUARE ? d * d : way == FAR_POWER ? pow(d, alpha) : d;
            r[i] += d;
            r[j] += d;
        }
}

/* ---- the tree --------------------------------------------------------------------------------------------------- */

size_t kp_tree_layout(struct tree *tree, int64_t n, char *block)
{
    size_t used = 0;
    tree->levels = 0;
    for (int64_t places = n; tree->levels < TREE_LEVELS; places = (places + 15) / 16) {
        int64_t size = (places + 15) / 16 * 16;
        int h = tree->levels++;
        tree->sizes[h] = size;
        tree->sums[h] = block ? (double *)(block + used) : NULL;
        used += (size_t)size * sizeof(double) + 64;
        tree->counts[h] = block ? (int32_t *)(block + used) : NULL;
        used += (size_t)size * sizeof(int32_t) + 64;
        if (places <= 16)
            break;
    }
    return used;
}

void kp_tree_clear(const struct tree *tree)
{
    for (int h = 0; h < tree->levels; h++) {
        memset(tree->sums[h], 0, (size_t)tree->sizes[h] * sizeof(double));
        memset(tree->counts[h], 0, (size_t)tree->sizes[h] * sizeof(int32_t));
    }
}

static int prefix_by_tree(const double *z, const int64_t *place, int64_t n, double *p)
{
    struct tree tree;
    size_t size = kp_tree_layout(&tree, n, NULL);
    char *block = malloc(size + 64 + (size_t)n * sizeof(int64_t));
    if (!block)
        return -1;
    char *aligned = block + (64 - (uintptr_t)block % 64) % 64;
    kp_tree_layout(&tree, n, aligned);
    int64_t *rank = (int64_t *)(aligned + size);
    for (int64_t i = 0; i < n; i++)
        rank[place[i]] = i;
    kp_tree_clear(&tree);
    kp_divisive()->prefix_tree(z, rank, n, &tree, p);
    free(block);
    return 0;
}

/* ---- one series ------------------------------------------------------------------------------------------------- */

int kp_way_of(double alpha)
{
    return alpha == 1.0 ? FAR_ABSOLUTE : alpha == 2.0 ? FAR_SQUARE : FAR_POWER;
}

double kp_form_weight(int64_t points, int v_form)
{
    return v_form ? 1.0 / (double)points : points > 1 ? 1.0 / (double)(points - 1) : 0.0;
}

int64_t kp_qhat(const double *z, int64_t n, double alpha, int v_form, double *q)
{
    enum { TREE_FROM = 160 };
    int way = kp_way_of(alpha);
    double *work = malloc((size_t)(4 * n + 1) * sizeof *work);
    int64_t *place = malloc((size_t)(n + 1) * sizeof *place);
    if (!work || !place) {
        free(work);
        free(place);
        return -1;
    }
    double *p = work, *r = work + n, *centred = work + 2 * n, *sorted = work + 3 * n;
    int failed = kp_sort_places(z, n, sorted, place);
    double middle = n && !failed ? sorted[n / 2] : 0.0;
    for (int64_t t = 0; t < n; t++)
        centred[t] = z[t] - middle;
    if (!failed && way == FAR_ABSOLUTE) {
        for (int64_t t = 0; t < n; t++)
            sorted[t] -= middle;
        kp_row_sums(sorted, n, p);
        for (int64_t i = 0; i < n; i++)
            r[place[i]] = p[i];
        if (n < TREE_FROM)
            kp_divisive()->prefix(centred, n, way, alpha, p);
        else
            failed = prefix_by_tree(centred, place, n, p);
    } else if (!failed) {
        kp_row_sums_pairs(centred, n, way, alpha, r);
        kp_divisive()->prefix(centred, n, way, alpha, p);
    }
    if (!failed) {
        double all = 0.0, left = 0.0;
        for (int64_t t = 0; t < n; t++)
            all += p[t];
        double right = all;
        if (n)
            q[0] = 0.0;
        for (int64_t t = 1; t < n; t++) {
            left += p[t - 1];
            right -= r[t - 1] - p[t - 1];
            double before = (double)t, after = (double)(n - t);
            double across = all - left - right;
            q[t] = 2.0 / (double)n *
                   (across - left * after * kp_form_weight(t, v_form) - right * before * kp_form_weight(n - t, v_form));
        }
    }
    free(work);
    free(place);
    return failed;
}

void kp_tables(int64_t n, int v_form, double *inverse, double *twice, double *count)
{
    for (int64_t i = 0; i < n + 10; i++) {
        inverse[i] = i < 1 ? 0.0 : kp_form_weight(i, v_form);
        twice[i] = i < 1 ? 0.0 : 2.0 / (double)i;
        count[i] = (double)i;
    }
}

void kp_best_both(const double *z, int64_t n, int64_t least, const double *inverse, const double *twice,
                  const double *count, int way, double alpha, double *work, double *found)
{
    const struct divisive *level = kp_divisive();
    double *left = work, *right = work + n + 1, sum = 0.0;
    level->prefix(z, n, way, alpha, right);
    left[0] = 0.0;
    for (int64_t t = 0; t < n; t++) {
        sum += right[t];
        left[t + 1] = sum;
    }
    level->scan_both(z, n, least, inverse, twice, count, way, alpha, left, right, found);
}

int64_t kp_scan_both(const double *z, int64_t n, double alpha, int v_form, int64_t least, double *found)
{
    double *work = malloc((size_t)(3 * (n + 10) + 5 * n + 37) * sizeof *work);
    if (!work)
        return -1;
    double *inverse = work, *twice = work + n + 10, *count = work + 2 * (n + 10);
    kp_tables(n, v_form, inverse, twice, count);
    kp_best_both(z, n, least, inverse, twice, count, kp_way_of(alpha), alpha, work + 3 * (n + 10), found);
    free(work);
    return 0;
}
