/* What the stages of the default method hand on to each other: a series, what is known of it, and its candidates.

   noise.c         what is known of the values and their noise
   paths.c         candidates: where cheapest paths change their level, and runs that lie far off
   places.c        the best place of each candidate
   spot.c          what lies around a candidate
   features.c      the numbers that the forest judges by
   proof.c         what makes a change certain without the forest
   segmentation.c  all of it: the weakest candidates are dropped
   medians.c       medians and quantiles of any part of the series

   Their twins in NumPy are features.py, candidates.py (noise, paths, places and proof; spot.c is part of both) and
   search.py, that of segmentation.c. A place is the first point of a new level, and noise a standard deviation. */

#ifndef KP_SEGMENTATION_STAGES_H
#define KP_SEGMENTATION_STAGES_H

#include "exports.h"
#include "medians.h"
#include "vectors.h"

enum {
#define KP_FEATURE(name, text) FEATURE_##name,
#include "feature_table.h"
#undef KP_FEATURE
    FEATURES
};

/* The numbers of a proof; see kp_prove(). */
enum { PROOF_JUMP, PROOF_AGREE, PROOF_CHANCE, PROOF_INTERVAL, PROOFS };

/* A series and what is known of its noise; noise is per point, scale for all. scratch and before hold n numbers each,
   spare what the order of n values takes. */
typedef struct {
    int n;
    const double *x;
    double *scratch, *residual, *noise, *before;
    void *spare;
    Order values;
    double scale, square, tail, phi, memory, weight, distinct, drift, explained, crossings;
} Series;

/* A candidate and what lies around it: the levels [first, place) and [place, stop), those beyond, [earlier, first) and
   [stop, later), and the values next to the place, at most KP_WINDOW of each level: [a, place) and [place, b). */
typedef struct {
    int earlier, first, place, stop, later, a, b, na, nb;
    double noise, before, after;              /* around the place; medians of [a, place) and [place, b) */
    double left[KP_WINDOW], right[KP_WINDOW]; /* the same values, ascending */
    Window halves[4];                         /* of both */
} Spot;

KP_INLINE double clip(double v, double lo, double hi)
{
    return v < lo ? lo : (v > hi ? hi : v);
}

/* The square of the distance d, no more than KP_CAP; w is the inverse of the noise. */
KP_INLINE double bounded(double d, double w)
{
    d *= w;
    d *= d;
    return d < KP_CAP ? d : KP_CAP;
}

KP_INLINE int compare_places(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Describe the values; the noise between neighbours is the scale for now. Returns 1, 0 where nothing varies, or -1 when
   there is no memory. O(n log n). */
int kp_study_values(Series *s);

/* Describe the noise around the levels that begin at k places. Returns -1 when there is no memory. O(n log n). */
int kp_study_noise(Series *s, const int *places, int k);

/* Find candidates, ascending; returns their number, -1 without memory. Where they are known, only the noise around the
   large levels is studied. places has room for 2 n. O(n KP_LEVELS). */
int kp_find_candidates(Series *s, int known, int *places);

/* Move each of k candidates to its best place, and drop what is then too close to another or to an end; returns how
   many stay. spare has room for k. */
int kp_place_candidates(Series *s, int *places, int k, int *spare);

/* Move candidate i to its best place where that leaves all levels long enough. */
void kp_relocate(Series *s, int *places, int k, int i);

/* Say between which levels candidate i lies; then describe what lies around it. */
void kp_locate(const Series *s, const int *places, int k, int i, Spot *spot);
void kp_survey(const Series *s, Spot *spot);

/* Describe one of k candidates by FEATURES numbers, or only by those that depend on the levels beyond those beside it.
 */
void kp_describe(Series *s, const Spot *spot, int k, double *features);
void kp_describe_beyond(Series *s, const Spot *spot, int k, double *features);

/* What makes a candidate certain without the forest: proof = {jump of the medians in noise, values of the shorter level
   that agree, chance per 1,000 of such a run, half width of the places that explain the values about as well}. */
void kp_prove(const Series *s, const Spot *spot, double *proof);

/* The values that agree and the chance alone, which depend on the levels beyond those beside the candidate. */
void kp_prove_run(const Series *s, const Spot *spot, double *proof);

/* What the proof adds to the log-odds. */
double kp_certainty(const double *proof);

#endif
