/* A forest of boosted decision trees: the log-odds that it gives a candidate, and what each feature adds to them.

   All trees are filled up to one depth, so a node needs no pointers: its children are 2 i and 2 i + 1. TOGETHER trees
   are followed side by side: their reads do not wait for each other, and no branch is predicted. The part of a feature
   is the change of the mean over its branches on the path (Saabas, 2014). O(trees x depth). */

#include "forest.h"
#include "exports.h"

enum { TOGETHER = 8 };

int64_t kp_trees_together(void)
{
    return TOGETHER;
}

double kp_judge(const KpForest *forest, const double *features)
{
    int64_t nodes = (int64_t)1 << forest->depth;
    double total = forest->base;
    for (int64_t tree = 0; tree < forest->trees; tree += TOGETHER) {
        const uint8_t *feature = forest->feature + tree * nodes;
        const double *bound = forest->bound + tree * nodes, *mean = forest->mean + tree * 2 * nodes;
        int64_t at[TOGETHER];
        for (int k = 0; k < TOGETHER; k++)
            at[k] = 1;
        for (int level = 0; level < forest->depth; level++)
            for (int k = 0; k < TOGETHER; k++) {
                int64_t node = k * nodes + at[k];
                at[k] = 2 * at[k] + !(features[feature[node]] <= bound[node]);
            }
        for (int k = 0; k < TOGETHER; k++)
            total += mean[k * 2 * nodes + at[k]];
    }
    return total;
}

void kp_take_parts(const KpForest *forest, const double *features, double *parts)
{
    int64_t nodes = (int64_t)1 << forest->depth;
    for (int64_t tree = 0; tree < forest->trees; tree++) {
        const double *mean = forest->mean + tree * 2 * nodes;
        for (int64_t at = 1; at < nodes;) {
            int64_t node = tree * nodes + at, next = 2 * at + !(features[forest->feature[node]] <= forest->bound[node]);
            parts[forest->feature[node]] += mean[next] - mean[at];
            at = next;
        }
    }
}
