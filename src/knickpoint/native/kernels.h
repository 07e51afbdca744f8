/* What Python may call. Arrays are contiguous and owned by the caller; nothing here keeps state. */

/* Describe x[first..last]: out = {first, last, count, minimum, maximum, median, mean, variance}; work holds
   last - first + 1 values. Returns the count of measured values. */
int64_t kp_region(const double *x, int64_t first, int64_t last, double *out, double *work);

/* Which instruction set the kernels use: 0 plain, 1 AVX2 with FMA, 2 AVX-512. */
int kp_level(void);

/* k-means on rows of float32. kp_pack_size: floats that the packed form of n rows of c columns takes. */
int64_t kp_pack_size(int64_t n, int64_t c);
void kp_pack(const float *x, int64_t n, int64_t c, float *packed);

/* Assign rows [first, stop) of the packed matrix to the nearest of k centroids; first is a multiple of
   kp_pack_rows(). near gets half the squared distance less half the squared norm of the row. Returns 0, or -1
   when there is no memory. */
int64_t kp_pack_rows(void);
int64_t kp_assign(const float *packed, int64_t c, int64_t first, int64_t stop, const float *centroids, int64_t k,
                  int32_t *labels, float *near);

/* Move the rows [first, stop) whose label changed from one sum to another; old labels of -1 were in none.
   Returns how many changed. sums: k x c, counts: k. */
int64_t kp_move(const float *x, int64_t c, int64_t first, int64_t stop, const int32_t *before,
                const int32_t *after, double *sums, int64_t *counts);

/* The default method: candidates of x[0..n), n of 6 or more, the weakest dropped until all score the threshold or
   more. The forest's node has a feature (-1: a leaf), a bound, the nodes below (<=) and above, and a value. Without
   trees a rule judges. Rows come in the order of dropping, those that stay last, with round -1; whole_path writes
   every candidate of every round. features and parts are capacity x kp_segment_features(). facts: scale of the
   noise, autocorrelation, mean square, share beyond 4 sigma. Returns the rows, -1 without memory, -2 when they
   exceed the capacity. */
int64_t kp_segment_features(void);
int64_t kp_segment(const double *x, int64_t n, int64_t trees, double base, const int32_t *root, const int32_t *feature,
                   const int32_t *below, const int32_t *above, const double *bound, const double *value,
                   double threshold, int whole_path, int64_t capacity, int32_t *round, int32_t *index, double *score,
                   double *features, double *parts, double *facts);
