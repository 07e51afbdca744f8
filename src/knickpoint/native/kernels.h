/* What Python may call. Arrays are contiguous and owned by the caller; nothing here keeps state. */

/* Describe x[bounds[i]..bounds[i + 1]) for each of the pieces: out has {first, last, count, minimum, maximum, median,
   mean, variance} of what is measured, all 0 where nothing is; work holds the values of the longest. */
void kp_regions(const double *x, const int64_t *bounds, int64_t pieces, double *out, double *work);

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

/* Lower near to the squared distance of rows [first, stop) of the packed matrix to the centroid, where that is less;
   first is a multiple of kp_pack_rows(). */
void kp_approach(const float *packed, int64_t c, int64_t first, int64_t stop, const float *centroid, float *near);

/* The best division of the prefixes of n sorted numbers into one group more than former has: cost, and where the last
   group begins, for prefixes of two numbers or more. weight, value and square are sums over prefixes, n + 1 each. */
void kp_layer(const double *former, const double *weight, const double *value, const double *square, int64_t n,
              double *cost, int64_t *begin);

/* Move the rows [first, stop) whose label changed from one sum to another; old labels of -1 were in none.
   Returns how many changed. sums: k x c, counts: k. */
int64_t kp_move(const float *x, int64_t c, int64_t first, int64_t stop, const int32_t *before,
                const int32_t *after, double *sums, int64_t *counts);

/* E-Divisive. q[t] for t = 0..n-1 is Q-hat of z[0..t) against z[t..n); q[0] = 0. v_form: 0 is U, 1 is V.
   Returns 0, or -1 when there is no memory. */
int64_t kp_qhat(const double *z, int64_t n, double alpha, int v_form, double *q);

/* The largest Q of z[0..tau) against z[tau..kappa) with both blocks of least points or more: found = {tau, kappa,
   Q}, the first of equal ones, tau -1 when there is none. */
int64_t kp_scan_both(const double *z, int64_t n, double alpha, int v_form, int64_t least, double *found);

/* The same for n points of so many dimensions, which come one dimension after the other: q[t] for t = 0..n-1 is the
   largest Q of the first t points against those up to any kappa (both), or to the end, with blocks of least points or
   more; -inf where there is none. Returns 0, or -1 when there is no memory. */
int64_t kp_joint_q(const double *points, int64_t n, int64_t dimensions, double alpha, int v_form, int both,
                   int64_t least, double *q);

/* Shuffle inside each cluster [bounds[c], bounds[c + 1]) of values sorted cluster by cluster, and take the largest Q
   of all. Permutations first, first + 1, ... are judged in order; counting ends when more than allowed reach the
   value reach; a negative allowed judges all. tops may be NULL; beyond reach a top may be less than the largest.
   Returns how many were judged, -1 when there is no memory. */
int64_t kp_permute(const double *sorted, const int64_t *bounds, int64_t clusters, double alpha, int v_form, int both,
                   int64_t least, uint64_t seed, uint64_t round, int64_t first, int64_t count, double reach,
                   int64_t allowed, double *tops, int64_t *exceeded);

/* Decision trees, all of one depth, trees a multiple of kp_trees_together(). Node 1 of a tree is its first, and node i
   leads to 2 i where a feature is at most the bound of the node, else to 2 i + 1. feature and bound have 2^depth
   entries a tree, mean has 2^(depth + 1): what a node gives on average, and a leaf exactly. base is where all begin. */
typedef struct {
    int64_t trees, depth;
    double base;
    const uint8_t *feature;
    const double *bound, *mean;
} KpForest;

int64_t kp_trees_together(void);

/* Add to parts, one a feature, what each feature adds to the log-odds, from the start of all trees to their leaves. */
void kp_take_parts(const KpForest *forest, const double *features, double *parts);

/* The default method: candidates of x[0..n), n of 6 or more, the weakest dropped until all score the threshold or
   more. Without trees a rule judges. Rows come in the order of dropping, those that stay last; whole_path writes every
   candidate of every round. places has the round, -1 for what stays, and the place of each row; rows its score,
   kp_segment_proofs() and kp_segment_features() numbers: see segmentation_stages.h. facts: scale of the noise,
   autocorrelation, mean square, share beyond 4 sigma. Returns the rows, -1 without memory, -2 when they exceed the
   capacity. */
int64_t kp_segment_features(void);
int64_t kp_segment_proofs(void);
int64_t kp_segment(const double *x, int64_t n, const KpForest *forest, double threshold, int whole_path,
                   int64_t capacity, int32_t *places, double *rows, double *facts);

/* The two-sided p-value of Student's t with freedom degrees of freedom. */
double kp_student(double t, double freedom);

/* Split windows of x (stride apart, or from the last point found) while the pooled t-test at the split gives
   first_p or less; then take away the least significant until all are below max_p, and the smallest until all
   are above least_magnitude. notes: most rows of {kind, index, q, p, magnitude}: 0 split, 1 candidate refused,
   2 taken away for its p, 3 for its magnitude, and at the end 4 for each of the found that stay. Returns the rows
   there were, which may be more than most, or -1 when there is no memory. */
int64_t kp_windows(const double *x, int64_t n, double alpha, int v_form, int64_t least, int64_t window, int64_t stride,
                   double first_p, double max_p, double least_magnitude, int population, int stale, double *notes,
                   int64_t most, int64_t *found);

/* Write x[0..n) as float32. Returns 1 where a value lost something, plus 2 where one is not finite. */
int kp_narrow(const double *x, int64_t n, float *out);

/* Lay points out in a matrix with stride values a row, float32 or (wide) float64. The points of a tile are records of
   4 + width bytes by place and then slot; facts has, for each tile, {count, width, first, begin, end, left, right}: how
   many points, their width, what their slots count from, the rows [begin, end) they belong to, and the columns
   [left, right) of these that are emptied before. ids has the trace of each row, sorted; a trace's place is what is left
   of its id modulo chunk. columns[slot - low] is the column of a slot, -1 for none, of span slots. */
void kp_lay(const char *const *points, const int64_t *facts, int64_t tiles, const int64_t *ids, int64_t chunk,
            const int32_t *columns, int64_t low, int64_t span, int64_t stride, int wide, void *values);

/* The Mann-Whitney U test of samples i, x[i * step .. i * step + n) against the m values after them: twice gets 2U, the
   pairs in which the first is larger, twice, and ties; tied the sum of t^3 - t over groups of t equal values; tail, for
   tied samples of 25 values at most, how many ways to draw n of the values have a U as far on its side, else -1.
   Returns 0, or -1 when there is no memory. */
int64_t kp_ranks(const double *x, int64_t rows, int64_t step, int64_t n, int64_t m, double *twice, double *tied,
                 double *tail);
