/* How near each row lies to the nearest centroid chosen so far, kept up as one more is chosen: the pass of k-means++
   (Arthur and Vassilvitskii, SODA 2007) over the rows.

   Rows are packed as in kmeans.c, 32 side by side, and each sums its squared differences column by column without fused
   steps, so every machine computes the same bits and therefore draws the same rows. O(n c) time for n rows of c
   columns. */

#include "exports.h"
#include "packed.h"

#define KP_BODY "kmeans/approach_body.h"
#include "each_level.h"

void kp_approach(const float *packed, int64_t c, int64_t first, int64_t stop, const float *centroid, float *near)
{
    KP_CHOOSE(approach)(packed, c, first, stop, centroid, near);
}
