/* What the search of candidates needs of a forest; exports.h has KpForest. */

#ifndef KP_FOREST_H
#define KP_FOREST_H

#include "exports.h"

/* Write the log-odds that each of count candidates is a change to the first number of its row. Rows are stride numbers
   apart, and features of a candidate begin at the number features of its row. */
void kp_judge(const KpForest *forest, double *rows, int stride, int features, int count);

#endif
