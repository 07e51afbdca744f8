/* What the search of candidates needs of a forest; exports.h has KpForest. */

#ifndef KP_FOREST_H
#define KP_FOREST_H

#include "exports.h"

/* The places of a candidate's features among the cuts of a forest, which has no more features. */
enum { KP_PLACES = 64 };

typedef struct {
    uint16_t at[KP_PLACES];
} KpPlaces;

/* Find the places of all features, and of one. */
void kp_place(const KpForest *forest, const double *features, KpPlaces *places);
uint16_t kp_place_one(const KpForest *forest, int feature, double value);

/* Write the log-odds that each of count candidates is a change. */
void kp_judge(const KpForest *forest, const KpPlaces *places, int count, double *totals);

#endif
