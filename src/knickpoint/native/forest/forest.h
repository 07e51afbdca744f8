/* What the search of candidates needs of a forest; exports.h has KpForest. */

#ifndef KP_FOREST_H
#define KP_FOREST_H

#include "exports.h"

/* The log-odds that a candidate of these features is a change. */
double kp_judge(const KpForest *forest, const double *features);

#endif
