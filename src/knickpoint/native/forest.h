/* A forest of decision trees as flat arrays; see KpNode. */

#ifndef KP_FOREST_H
#define KP_FOREST_H

#include <stdint.h>

#include "kernels.h"

typedef struct {
    int64_t trees;
    double base;
    const int32_t *root;
    const KpNode *nodes;
    const double *mean;
} Forest;

/* The log-odds that a candidate of these features is a change. */
double kp_judge(const Forest *forest, const double *features);

/* Add what each feature adds to the log-odds, from the start of all trees to their leaves. */
void kp_take_parts(const Forest *forest, const double *features, double *parts);

#endif
