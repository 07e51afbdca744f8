/* What the parts of the E-Divisive kernels share; see q_hat.c. */

#ifndef KP_DIVISIVE_H
#define KP_DIVISIVE_H

#include <stddef.h>
#include <stdint.h>

typedef double eight __attribute__((vector_size(64)));
typedef double loose8 __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t whole8 __attribute__((vector_size(64)));

typedef int32_t small16 __attribute__((vector_size(64)));

#define KP_EIGHT(v) v, v, v, v, v, v, v, v

/* A Q this much short of another, relatively, equals it: the same sums were only added in another order. */
#define KP_TIED 1e-10

enum { FAR_ABSOLUTE, FAR_SQUARE, FAR_POWER };

/* An order-statistic tree of 16 places a node: what each place's earlier neighbours in the node sum up to. */
enum { TREE_LEVELS = 8 };

struct tree {
    int levels;
    int64_t sizes[TREE_LEVELS];
    double *sums[TREE_LEVELS];
    int32_t *counts[TREE_LEVELS];
};

/* Masks of the places after each of 16. */
extern const struct after {
    whole8 of_sums[16][2];
    small16 of_counts[16];
} kp_after;

/* What to add to eight values of which the last lie beyond an end, so that they are the largest of nothing. */
extern const double kp_beyond[16];

/* The functions that exist once for each level of instructions. */
struct divisive {
    void (*prefix)(const double *z, int64_t n, int way, double alpha, double *p);
    void (*prefix_tree)(const double *z, const int64_t *rank, int64_t n, const struct tree *tree, double *p);
    void (*permuted_tau)(const double *x, const double *row, int64_t n, int64_t least, const double *weight, double all,
                         int way, double alpha, double *top);
    void (*permuted_tree)(const double *sorted, const double *r, const int32_t *order, int64_t n, int64_t least,
                          const double *weight, double all, const struct tree *tree, double *top);
    void (*permuted_both)(const double *x, int64_t n, int64_t least, const double *inverse, int way, double alpha,
                          double *work, double *top);
    void (*scan_both)(const double *z, int64_t n, int64_t least, const double *inverse, const double *twice,
                      const double *count, int way, double alpha, const double *whole, double *rows, double *found);
    void (*draw)(uint64_t stream, int64_t first, int64_t n, uint32_t *out);
};

const struct divisive *kp_divisive(void);

/* FAR_... for the power of the distance. */
int kp_way_of(double alpha);

/* What the sum of distances inside a block of so many points counts, but for a factor of the other block's points. */
double kp_form_weight(int64_t points, int v_form);

/* r of each sorted value: distances to all others, alpha = 1. */
void kp_row_sums(const double *sorted, int64_t n, double *r);

/* r by pairs, any alpha: row sums in the order of z. */
void kp_row_sums_pairs(const double *z, int64_t n, int way, double alpha, double *r);

/* Bytes for a tree over n ranks; when block is given, lay the tree out in it, at multiples of 64. */
size_t kp_tree_layout(struct tree *tree, int64_t n, char *block);
void kp_tree_clear(const struct tree *tree);

/* Tables for lengths up to n, in one block of 3 (n + 10): reciprocals (1 / (i - 1) in the U form, 0 for 1;
   1 / i in the V form), 2 / i, and i itself. */
void kp_tables(int64_t n, int v_form, double *inverse, double *twice, double *count);

/* The best (tau, kappa) of z[0..n) with tables at hand; work: 5 n + 37. */
void kp_best_both(const double *z, int64_t n, int64_t least, const double *inverse, const double *twice,
                  const double *count, int way, double alpha, double *work, double *found);

#endif
