/* A forest of decision trees, all of one depth; see KpForest. */

#ifndef KP_FOREST_H
#define KP_FOREST_H

#include <stdint.h>

#include "exports.h"

/* The log-odds that a candidate of these features is a change. */
double kp_judge(const KpForest *forest, const double *features);

#endif
