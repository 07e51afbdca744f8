/* What the stages of the default method hand on to each other: a series, what is known of it, and its candidates.

   noise.c      what is known of the values and their noise
   paths.c      candidates: where cheapest paths change their level, and runs that lie far off
   places.c     the best place of each candidate
   spot.c       what lies around a candidate
   features.c   the numbers that the forest judges by
   proof.c      what makes a change certain without the forest
   forest.c                  the judgement
   segmentation.c            all of it: the weakest candidates are dropped

   But for spot.c, each has a twin in NumPy of the same name, forest/reference.py and
   reference.py being those of the last two. A place is the first point of a new level, and noise is a
   standard deviation. */

#ifndef KP_SEGMENTATION_STAGES_H
#define KP_SEGMENTATION_STAGES_H

#include "medians.h"
#include "vectors.h"

enum { WINDOW = 100, SHORTEST = 3, SIDE = 40, FEATURES = 43, PROOFS = 4 };

#define MAD 1.4826 /* makes the median absolute deviation a standard deviation of normal noise */
#define CAP 9.0    /* a value costs no more than one that is 3 standard deviations off */
#define TIE 1e-9   /* what differs by less is equal: rounding decides nothing */

/* scratch and before hold n numbers each, spare what the order of n values takes. */
typedef struct {
    int n;
    const double *x;
    double *scratch, *residual, *noise, *before;
    void *spare;
    Order values;
    double scale, square, tail, phi, memory, weight, distinct, drift;
} Series;

/* A candidate and what lies around it: the levels [first, place) and [place, stop), those beyond, [earlier, first) and
   [stop, later), and the values next to the place, at most WINDOW of each level: [a, place) and [place, b). */
typedef struct {
    int earlier, first, place, stop, later, a, b, na, nb;
    double noise, before, after;        /* around the place; medians of [a, place) and [place, b) */
    double left[WINDOW], right[WINDOW]; /* the same values, ascending */
    Window halves[4];                   /* of both */
} Spot;

KP_INLINE double clip(double v, double lo, double hi)
{
    return v < lo ? lo : (v > hi ? hi : v);
}

/* The square of the distance d, no more than CAP; w is one over the noise. */
KP_INLINE double bounded(double d, double w)
{
    d *= w;
    d *= d;
    return d < CAP ? d : CAP;
}

/* Look at the values, once in order: the noise between neighbours is the scale for now. Returns 0 where nothing varies,
   -1 when there is no memory. */
int kp_study_values(Series *s);

/* Look at the noise around the levels that begin at k places. Returns -1 when there is no memory. */
int kp_study_noise(Series *s, const int *places, int k);

/* Candidates, ascending; returns their number, -1 when there is no memory. places has room for 2 n. */
int kp_find_candidates(Series *s, int *places);

/* Move each of k candidates to its best place, and drop what is then too close to another or to an end; returns how
   many stay. spare has room for k. */
int kp_place_candidates(Series *s, int *places, int k, int *spare);

/* Move a candidate to its best place where that leaves all levels long enough. */
void kp_settle(Series *s, int *places, int k, int i);

/* Look around candidate i. */
void kp_look(const Series *s, const int *places, int k, int i, Spot *spot);

/* Describe one of k candidates by FEATURES numbers. */
void kp_describe(Series *s, const Spot *spot, int k, double *features);

/* What makes a candidate certain without the forest: proof = {jump of the medians in noise, values of the shorter level
   that agree, chance per 1,000 of such a run, half width of the places that explain the values about as well}. */
void kp_prove(const Series *s, const Spot *spot, double *proof);

/* What the proof adds to the log-odds. */
double kp_certainty(const double *proof);

#endif
