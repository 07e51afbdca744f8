/* A forest of boosted decision trees: the log-odds that it gives a candidate, and what each feature adds to them.

   All trees are filled up to one depth, so a node needs no pointers: its children are 2 i and 2 i + 1. A candidate's
   features are replaced by their places among the bounds that the forest has of them, so that a node is four bytes and
   asks the same: x <= bound where the place of x is at most that of the bound. The part of a feature is the change of
   the mean over its branches on the path (Saabas, 2014). O(features x log bounds + trees x depth).

   A tree of depth 4 is one line of the cache; nodes of doubles took 830 kB, and trees three tenths of the search
   instead of a fifth. Tried and left: gathering the nodes of sixteen trees (a read for each question), bit vectors of
   leaves (QuickScorer visits more than the four nodes of a path here), floats (other answers at bounds that lie close).
 */

#include "forest.h"
#include "exports.h"
#include "vectors.h"

/* Trees, and candidates, that are followed side by side: their reads and sums do not wait for each other, and no branch
   is predicted. */
enum { TOGETHER = 16, ABREAST = 4 };

/* The most features of a forest, of one whose features fit two vectors, and the place of what is not a number. */
enum { FEATURES = 256, IN_VECTORS = 64, BEYOND = UINT16_MAX };

/* How many of count ascending numbers are below x: a binary search without branches. */
static uint16_t place_among(const double *cuts, int count, double x)
{
    const double *at = cuts;
    if (x != x)
        return BEYOND;
    while (count > 1) {
        int half = count / 2;
        at += half & -(at[half - 1] < x);
        count -= half;
    }
    return (uint16_t)(at - cuts + (count && *at < x));
}

#define KP_BODY "forest/judge_body.h"
#include "each_level.h"

int64_t kp_trees_together(void)
{
    return TOGETHER;
}

void kp_judge(const KpForest *forest, double *rows, int stride, int features, int count)
{
    _Alignas(KP_ALIGNMENT) uint16_t places[ABREAST][FEATURES];
    for (int begin = 0; begin < count; begin += ABREAST) {
        int some = count - begin < ABREAST ? count - begin : ABREAST;
        double totals[ABREAST];
        for (int c = 0; c < some; c++)
            KP_CHOOSE(place)(forest, rows + (begin + c) * stride + features, places[c]);
        KP_CHOOSE(judge)(forest, places, some, totals);
        for (int c = 0; c < some; c++)
            rows[(begin + c) * stride] = totals[c];
    }
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
