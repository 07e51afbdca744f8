/* The passes of k-means over rows of float32: what Python may call. */

#ifndef KP_KMEANS_EXPORTS_H
#define KP_KMEANS_EXPORTS_H

#include <stdint.h>

/* The packed form of a matrix has kp_pack_rows() rows side by side, column by column; kmeans.c says why. kp_pack_size()
   is how many floats the packed form of n rows of c columns takes. */
int64_t kp_pack_rows(void);
int64_t kp_pack_size(int64_t n, int64_t c);
void kp_pack(const float *x, int64_t n, int64_t c, float *packed);

/* Assign rows [first, stop) of the packed matrix to the nearest of k centroids; first is a multiple of
   kp_pack_rows(). near gets half the squared distance less half the squared norm of the row. Returns 0, or -1
   when there is no memory. */
int64_t kp_assign(const float *packed, int64_t c, int64_t first, int64_t stop, const float *centroids, int64_t k,
                  int32_t *labels, float *near);

/* Lower near to the squared distance of rows [first, stop) of the packed matrix to the centroid, where that is less;
   first is a multiple of kp_pack_rows(). */
void kp_approach(const float *packed, int64_t c, int64_t first, int64_t stop, const float *centroid, float *near);

/* Move the rows [first, stop) whose label changed from one sum to another; old labels of -1 were in none.
   Returns how many changed. sums: k x c, counts: k. */
int64_t kp_move(const float *x, int64_t c, int64_t first, int64_t stop, const int32_t *before, const int32_t *after,
                double *sums, int64_t *counts);

#endif
