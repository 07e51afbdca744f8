/* Decision trees that judge candidates: what Python may call. */

#ifndef KP_FOREST_EXPORTS_H
#define KP_FOREST_EXPORTS_H

#include <stdint.h>

/* Decision trees, all of one depth of at least KP_LEAST_DEPTH, trees a multiple of kp_trees_together(). Node 1 of a
   tree is its first, and node i leads to 2 i where a feature is at most the bound of the node, else to 2 i + 1. feature
   and bound have 2^depth entries a tree, mean has 2^(depth + 1): what a node gives on average, and a leaf exactly. base
   are the log-odds before any tree.

   The rest has the same trees as kp_judge() follows them. cuts has the different bounds of each feature, ascending;
   those of feature i begin at first[i], of which there are features + 1. coded has for each two trees the features of
   their nodes, then the places of their bounds among the cuts: 2^(depth + 1) of each. leaf has the leaves alone. */
typedef struct {
    int64_t trees, depth;
    double base;
    const uint8_t *feature;
    const double *bound, *mean;
    int64_t features;
    const double *cuts;
    const int32_t *first;
    const uint16_t *coded;
    const double *leaf;
} KpForest;

/* Trees that are less deep are filled up to this depth: the nodes of one fill a vector then. */
enum { KP_LEAST_DEPTH = 4 };

/* How many trees are followed side by side. */
int64_t kp_trees_together(void);

/* Add to parts, one a feature, what each feature of each of count candidates adds to the log-odds, from the first nodes
   of all trees to their leaves. Both have so many rows, as wide as there are features. */
void kp_take_parts(const KpForest *forest, const double *features, int64_t count, int64_t width, double *parts);

#endif
