/* Values and points of the store: what Python may call. */

#ifndef KP_POINTS_EXPORTS_H
#define KP_POINTS_EXPORTS_H

#include <stdint.h>

/* Write x[0..n) as float32. Returns KP_LOST where a value lost something, plus KP_WILD where a value is not finite. */
enum { KP_LOST = 1, KP_WILD = 2 };

int kp_narrow(const double *x, int64_t n, float *out);

/* Lay points out in a matrix with stride values a row, float32 or (wide) float64. The points of a tile are records of
   4 + width bytes by place and then slot; facts has, for each tile, {count, width, first, begin, end, left, right}: how
   many points, their width, what their slots count from, the rows [begin, end) they belong to, and the columns
   [left, right) of these that are emptied before. ids has the trace of each row, sorted; a trace's place is what is
   left of its id modulo chunk. columns[slot - low] is the column of a slot, -1 for none, of span slots. */
void kp_lay(const char *const *points, const int64_t *facts, int64_t tiles, const int64_t *ids, int64_t chunk,
            const int32_t *columns, int64_t low, int64_t span, int64_t stride, int wide, void *values);

#endif
