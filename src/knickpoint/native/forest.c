/* A forest of decision trees: what it says of a candidate, and what each feature added. */

#include "forest.h"

/* A leaf leads to itself. */
static int32_t step_down(const Forest *forest, const double *f, int32_t at)
{
    const KpNode *node = forest->nodes + at;
    int32_t up = !(f[node->feature] <= node->bound);
    return at + 1 + (-up & (node->above - at - 1)); /* arithmetic, for a processor guesses a branch wrong half the time */
}

enum { TOGETHER = 8 };

/* Eight trees go down together: they do not wait for each other. */
double kp_judge(const Forest *forest, const double *f)
{
    if (!forest->trees) return f[1] < f[3] / 0.75 ? f[1] : f[3] / 0.75;
    double total = forest->base;
    int64_t t = 0;
    for (; t + TOGETHER <= forest->trees; t += TOGETHER) {
        int32_t at[TOGETHER], moved = 1;
        for (int k = 0; k < TOGETHER; k++) at[k] = forest->root[t + k];
        while (moved) {
            moved = 0;
            for (int k = 0; k < TOGETHER; k++) {
                int32_t next = step_down(forest, f, at[k]);
                moved |= next ^ at[k];
                at[k] = next;
            }
        }
        for (int k = 0; k < TOGETHER; k++) total += forest->mean[at[k]];
    }
    for (; t < forest->trees; t++) {
        int32_t at = forest->root[t], next;
        while ((next = step_down(forest, f, at)) != at) at = next;
        total += forest->mean[at];
    }
    return total;
}

void kp_take_parts(const Forest *forest, const double *f, double *parts)
{
    for (int64_t t = 0; t < forest->trees; t++) {
        int32_t at = forest->root[t], next;
        while ((next = step_down(forest, f, at)) != at) {
            parts[forest->nodes[at].feature] += forest->mean[next] - forest->mean[at];
            at = next;
        }
    }
}
