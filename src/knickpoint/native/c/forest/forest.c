/* A forest of boosted decision trees: the log-odds that it gives a candidate, and what each feature adds to them.

   All trees are filled up to one depth, so a node needs no pointers: its children are 2 i and 2 i + 1. A candidate's
   features are replaced by their places among the bounds that the forest has of them, so that a node is four bytes and
   asks the same: x <= bound where the place of x is at most that of the bound. The part of a feature is the change of
   the mean over its branches on the path (Saabas, 2014). O(features x log bounds + trees x depth).

   A tree of depth 4 is one line of the cache; nodes of doubles took 830 kB, and trees three tenths of the search
   instead of a fifth. Tried and left: gathering the nodes of sixteen trees (a read for each question), bit vectors of
   leaves (QuickScorer visits more than the four nodes of a path here), floats (other answers at bounds that lie close),
   permuting the leaves of a tree for four candidates at once (all leaves are read then, and reading is what takes the
   time: 1.9 instead of 1.55 microseconds for one candidate, 2.4 instead of 2.9 for four).
 */

#include "forest.h"
#include "exports.h"
#include "vectors.h"

/* Trees, and candidates, that are followed side by side: their reads and sums do not wait for each other, and no branch
   is predicted. */
enum { TOGETHER = 16, ABREAST = 4 };

/* The place of what is not a number. */
enum { BEYOND = UINT16_MAX };

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

void kp_place(const KpForest *forest, const double *features, KpPlaces *places)
{
    KP_CHOOSE(place)(forest, features, places->at);
}

uint16_t kp_place_one(const KpForest *forest, int feature, double value)
{
    if (feature >= forest->features)
        return 0;
    int first = forest->first[feature];
    return place_among(forest->cuts + first, forest->first[feature + 1] - first, value);
}

void kp_judge(const KpForest *forest, const KpPlaces *places, int count, double *totals)
{
    for (int begin = 0; begin < count; begin += ABREAST)
        KP_CHOOSE(judge)(forest, places + begin, count - begin < ABREAST ? count - begin : ABREAST, totals + begin);
}

void kp_take_parts(const KpForest *forest, const double *features, int64_t count, int64_t width, double *parts)
{
    int64_t nodes = (int64_t)1 << forest->depth;
    for (int64_t tree = 0; tree < forest->trees; tree++) {
        const double *mean = forest->mean + tree * 2 * nodes, *bound = forest->bound + tree * nodes;
        const uint8_t *feature = forest->feature + tree * nodes;
        for (int64_t c = 0; c < count; c++) /* the paths of candidates do not wait for each other */
            for (int64_t at = 1; at < nodes;) {
                int64_t cell = c * width + feature[at], next = 2 * at + !(features[cell] <= bound[at]);
                parts[cell] += mean[next] - mean[at];
                at = next;
            }
    }
}
