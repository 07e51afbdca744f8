/* What Python may call of this kernel. Arrays are contiguous and belong to the caller; nothing keeps state. */

#ifndef KP_SEGMENTATION_EXPORTS_H
#define KP_SEGMENTATION_EXPORTS_H

#include <stdint.h>

#include "forest/exports.h"

/* The default method: candidates of x[0..n), n of 6 or more, the weakest dropped until all score the threshold or
   more. Without trees a rule judges. Rows come in the order of dropping, those that stay last; whole_path writes every
   candidate of every round. places has the round, -1 for what stays, and the place of each row; rows its score,
   kp_segment_proofs() and kp_segment_features() numbers: see stages.h. facts: scale of the noise,
   autocorrelation, mean square, share beyond 4 sigma. Returns the rows, -1 without memory, -2 when they exceed the
   capacity. */
int64_t kp_segment_features(void);
int64_t kp_segment_proofs(void);
int64_t kp_segment(const double *x, int64_t n, const KpForest *forest, double threshold, int whole_path,
                   int64_t capacity, int32_t *places, double *rows, double *facts);

#endif
