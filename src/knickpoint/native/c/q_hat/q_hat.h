/* What the kernels of E-Divisive share: q_hat.c, permutation.c, joint.c and windows.c. See q_hat.c for Q. */

#ifndef KP_Q_HAT_H
#define KP_Q_HAT_H

#include "q_hat/exports.h"
#include "vectors.h"

/* The power of the distance: |a - b|, its square, or any power. Loops are compiled for each of the three. */
enum power { POWER_ONE, POWER_TWO, POWER_ANY };

enum power kp_power_of(double alpha);

/* What the sum of the distances inside a block of so many points is divided by, inverted, but for a factor of the
   points of the other block: 1 / n in the V form, 1 / (n - 1) in the U form, which gives a single point 0. */
double kp_form_weight(int64_t points, int v_form);

/* What a scan reads for blocks of every length up to n: kp_form_weight(i), 2 / i, and i. Each table has room for a
   whole vector beyond the end. block has KP_LENGTHS(n) doubles. */
struct lengths {
    double *inverse, *twice, *count;
};

#define KP_LENGTHS(n) (3 * ((n) + 10))

struct lengths kp_lengths(int64_t n, int v_form, double *block);

/* An order-statistic tree over ranks, 16 to a node; TREE_LEVELS levels hold 2^32 points. sums and counts of a place are
   those of the points at earlier places of its node, so a query reads one entry a level. */
enum { TREE_LEVELS = 8 };

struct tree {
    int levels;
    int64_t sizes[TREE_LEVELS];
    double *sums[TREE_LEVELS];
    int32_t *counts[TREE_LEVELS];
};

/* Bytes of a tree over n ranks. When block, which begins at a multiple of 64, is given, lay the tree out in it. */
size_t kp_tree_layout(struct tree *tree, int64_t n, char *block);
void kp_tree_clear(const struct tree *tree);

/* Masks of the places after each of 16: all bits for sums, 1 for counts. */
extern const struct after {
    i64x8 of_sums[16][2];
    i32x16 of_counts[16];
} kp_after;

/* What to add to eight values of which the last lie beyond an end, so that none of those is a maximum: eight zeros,
   then eight times minus infinity, to be read from 8 less the values that count. */
extern const double kp_beyond[16];

/* The distances of each sorted value to all others, alpha 1. O(n). */
void kp_row_sums(const double *sorted, int64_t n, double *r);

/* The distances of each value to all others, any alpha. O(n^2). */
void kp_row_sums_pairs(const double *z, int64_t n, enum power power, double alpha, double *r);

/* The best (tau, kappa) of z[0..n) with its Q, as kp_scan_both() finds it. work has KP_SCAN_WORK(n) doubles. */
#define KP_SCAN_WORK(n) (5 * (n) + 37)

void kp_best_both(const double *z, int64_t n, int64_t least, const struct lengths *lengths, enum power power,
                  double alpha, double *work, double *found);

#endif
