/* Decision trees that judge candidates: what Python may call. */

#ifndef KP_FOREST_EXPORTS_H
#define KP_FOREST_EXPORTS_H

#include <stdint.h>

/* Decision trees, all of one depth, trees a multiple of kp_trees_together(). Node 1 of a tree is its first, and node i
   leads to 2 i where a feature is at most the bound of the node, else to 2 i + 1. feature and bound have 2^depth
   entries a tree, mean has 2^(depth + 1): what a node gives on average, and a leaf exactly. base are the log-odds
   before any tree. */
typedef struct {
    int64_t trees, depth;
    double base;
    const uint8_t *feature;
    const double *bound, *mean;
} KpForest;

/* How many trees are followed side by side. */
int64_t kp_trees_together(void);

/* Add to parts, one a feature, what each feature adds to the log-odds, from the first nodes of all trees to their
   leaves. */
void kp_take_parts(const KpForest *forest, const double *features, double *parts);

#endif
