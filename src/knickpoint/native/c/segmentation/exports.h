/* The search of the default method: what Python may call, and the constants that both languages have; constants.py has
   the same ones, and what they mean. */

#ifndef KP_SEGMENTATION_EXPORTS_H
#define KP_SEGMENTATION_EXPORTS_H

#include <stdint.h>

#include "forest/exports.h"

enum { KP_WINDOW = 100, KP_SHORTEST = 3, KP_REACH = 8, KP_SIDE = 40, KP_LEVELS = 64 };

static const double KP_MAD = 1.4826;
static const double KP_CAP = 9.0;
static const double KP_TIE = 1e-9;
static const double KP_FAR = 5.0;
static const double KP_LIKELY = 6.0;
static const double KP_JUMP = 7.0;
static const double KP_CHANCE = 0.02;
static const double KP_WIDE_JUMP = 20.0;
static const double KP_WIDE_CHANCE = 0.5;
static const double KP_CERTAIN = 10.0;

/* The default method: candidates of x[0..n), of which the weakest is dropped until all score the threshold or more.
   Without trees a rule judges. Rows come in the order of dropping, those that stay last; whole_path writes every
   candidate of every round. places has two entries a row: the round, -1 for what stays, and the place. rows has, a row,
   the score, kp_segment_proofs() and kp_segment_features() numbers. facts has six: scale of the noise,
   autocorrelation, mean square, share beyond 4 sigma, share of the squares that two levels explain, and how often the
   values go from one to the other. Returns the rows, -1 without memory, -2 when they exceed the capacity; 0 for fewer
   than 6 values. A search that begun with a lower threshold goes on where it stopped after `dropped` rounds with
   `known` candidates, if there are any: places and rows have theirs. room has kp_segment_room() bytes, in which a
   search leaves what it knows of the series; `studied` says that it is there from an earlier one. */
int64_t kp_segment_features(void);
int64_t kp_segment_proofs(void);
int64_t kp_segment_room(int64_t n);
int64_t kp_segment(const double *x, int64_t n, const KpForest *forest, double threshold, int whole_path,
                   int64_t dropped, int64_t known, int studied, uint8_t *room, int64_t capacity, int32_t *places,
                   double *rows, double *facts);

/* The same for many series, which lie end to end: series i ends before ends[i] and has thresholds[i]. The rows of
   all lie one after another. used has how many each has, -2 where they exceed what is left of the capacity: it has none
   then, and stay, the number of candidates that stay, is -2 as well. Returns 0, -1 without memory. */
int64_t kp_segment_many(const double *x, const int64_t *ends, int64_t series, const KpForest *forest,
                        const double *thresholds, int64_t capacity, int32_t *places, double *rows, double *facts,
                        int64_t *used, int64_t *stay);

/* What users read of feature i, below kp_segment_features(). */
const char *kp_segment_feature_name(int64_t i);

#endif
