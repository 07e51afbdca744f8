/* Q-hat of E-Divisive for every split of one series (Matteson and James, JASA 109, 2014).

   Q compares the distances across two neighbouring blocks with those inside them. With L the sum of the distances
   inside the left n points, R inside the right m, X across, and W = L + R + X:

       U form  Q = nm/(n+m) (2 X / nm - L / C(n,2) - R / C(m,2)),  a block of one point adds nothing
       V form  Q = nm/(n+m) (2 X / nm - 2 L / n^2 - 2 R / m^2)

   The left block ends before tau and the right block before kappa. Where kappa is the end of the series, two vectors
   give every Q: p[t], the distances from point t to all before it, and r[t], to all points. As tau grows by one point,
   L grows by p[t] and R shrinks by r[t] - p[t]. For alpha 1, r comes from one sort and p from an order-statistic tree
   over ranks, so n points take O(n log n) time and O(n) memory; short series and other powers take O(n^2) time. A
   permutation keeps the sorted values and their r; only p is new (permutation.c).

   Every kappa takes O(n^2) time and O(n) memory: rows of tau from the right, each from the row before (scan_both). */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exports.h"
#include "q_hat.h"
#include "sort.h"

/* From this length on the tree is faster than all pairs. */
enum { TREE_FROM = 160 };

const double kp_beyond[16] = {KP_EIGHT(0.0), KP_EIGHT(-INFINITY)};

/* Row i has the places after place i. */
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

#define KP_BODY "q_hat/scan_body.h"
#include "each_level.h"

enum power kp_power_of(double alpha)
{
    return alpha == 1.0 ? POWER_ONE : alpha == 2.0 ? POWER_TWO : POWER_ANY;
}

double kp_form_weight(int64_t points, int v_form)
{
    return v_form ? 1.0 / (double)points : points > 1 ? 1.0 / (double)(points - 1) : 0.0;
}

struct lengths kp_lengths(int64_t n, int v_form, double *block)
{
    struct lengths lengths = {block, block + n + 10, block + 2 * (n + 10)};
    for (int64_t i = 0; i < n + 10; i++) {
        lengths.inverse[i] = i < 1 ? 0.0 : kp_form_weight(i, v_form);
        lengths.twice[i] = i < 1 ? 0.0 : 2.0 / (double)i;
        lengths.count[i] = (double)i;
    }
    return lengths;
}

/* ---- distances to all others ------------------------------------------------------------------------------------ */

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

void kp_row_sums_pairs(const double *z, int64_t n, enum power power, double alpha, double *r)
{
    for (int64_t i = 0; i < n; i++)
        r[i] = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            double d = fabs(z[i] - z[j]);
            d = power == POWER_TWO ? d * d : power == POWER_ANY ? pow(d, alpha) : d;
            r[i] += d;
            r[j] += d;
        }
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

size_t kp_tree_layout(struct tree *tree, int64_t n, char *block)
{
    size_t used = 0;
    tree->levels = 0;
    for (int64_t places = n; tree->levels < TREE_LEVELS; places = (places + 15) / 16) {
        int64_t size = (places + 15) / 16 * 16;
        int h = tree->levels++;
        tree->sizes[h] = size;
        tree->sums[h] = block ? (double *)(block + used) : NULL;
        used += (size_t)size * sizeof(double) + KP_ALIGNMENT;
        tree->counts[h] = block ? (int32_t *)(block + used) : NULL;
        used += (size_t)size * sizeof(int32_t) + KP_ALIGNMENT;
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

/* p[t], the distances of z[t] to all before it; place has the index of each sorted value. */
static int prefix_by_tree(const double *z, const int64_t *place, int64_t n, double *p)
{
    struct tree tree;
    size_t size = kp_tree_layout(&tree, n, NULL);
    char *block = malloc(size + KP_ALIGNMENT + (size_t)n * sizeof(int64_t));
    if (!block)
        return -1;
    char *aligned = kp_aligned(block);
    kp_tree_layout(&tree, n, aligned);
    int64_t *rank = (int64_t *)(aligned + size);
    for (int64_t i = 0; i < n; i++)
        rank[place[i]] = i;
    kp_tree_clear(&tree);
    KP_CHOOSE(prefix_tree)(z, rank, n, &tree, p);
    free(block);
    return 0;
}

/* ---- one series, kappa at its end -------------------------------------------------------------------------------- */

/* Q of every split, from the distances of each point to those before it (p) and to all (r). */
static void q_of_splits(const double *p, const double *r, int64_t n, int v_form, double *q)
{
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

int64_t kp_qhat(const double *z, int64_t n, double alpha, int v_form, double *q)
{
    enum power power = kp_power_of(alpha);
    double *work = malloc((size_t)(4 * n + 1) * sizeof *work);
    int64_t *place = malloc((size_t)(n + 1) * sizeof *place);
    if (!work || !place) {
        free(work);
        free(place);
        return -1;
    }
    double *p = work, *r = work + n, *centred = work + 2 * n, *sorted = work + 3 * n;

    /* Distances do not change when the median is taken away, and sums of small values keep more digits. */
    int failed = kp_sort_places(z, n, sorted, place);
    double middle = n && !failed ? sorted[n / 2] : 0.0;
    for (int64_t t = 0; t < n; t++)
        centred[t] = z[t] - middle;

    if (!failed && power == POWER_ONE) {
        for (int64_t t = 0; t < n; t++)
            sorted[t] -= middle;
        kp_row_sums(sorted, n, p);
        for (int64_t i = 0; i < n; i++)
            r[place[i]] = p[i];
        if (n < TREE_FROM)
            KP_CHOOSE(prefix)(centred, n, power, alpha, p);
        else
            failed = prefix_by_tree(centred, place, n, p);
    } else if (!failed) {
        kp_row_sums_pairs(centred, n, power, alpha, r);
        KP_CHOOSE(prefix)(centred, n, power, alpha, p);
    }
    if (!failed)
        q_of_splits(p, r, n, v_form, q);
    free(work);
    free(place);
    return failed;
}

/* ---- one series, every kappa ------------------------------------------------------------------------------------- */

void kp_best_both(const double *z, int64_t n, int64_t least, const struct lengths *lengths, enum power power,
                  double alpha, double *work, double *found)
{
    double *whole = work, *rows = work + n + 1, sum = 0.0;
    KP_CHOOSE(prefix)(z, n, power, alpha, rows);
    whole[0] = 0.0;
    for (int64_t t = 0; t < n; t++) {
        sum += rows[t];
        whole[t + 1] = sum;
    }
    KP_CHOOSE(scan_both)(z, n, least, lengths, power, alpha, whole, rows, found);
}

int64_t kp_scan_both(const double *z, int64_t n, double alpha, int v_form, int64_t least, double *found)
{
    double *block = malloc((size_t)(KP_LENGTHS(n) + KP_SCAN_WORK(n)) * sizeof *block);
    if (!block)
        return -1;
    struct lengths lengths = kp_lengths(n, v_form, block);
    kp_best_both(z, n, least, &lengths, kp_power_of(alpha), alpha, block + KP_LENGTHS(n), found);
    free(block);
    return 0;
}
