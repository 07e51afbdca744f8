/* Values of a series in order: all of them, and those of any window, after one sort.

   A series is cut into chunks of CHUNK values, one beginning every half chunk, and each is sorted once. A window no
   longer than half a chunk lies in one of them and is a set of bits there, one for each rank: two windows are joined
   word by word, and a median is found by counting bits. */

#ifndef KP_MEDIANS_H
#define KP_MEDIANS_H

#include <stddef.h>
#include <stdint.h>

enum { CHUNK = 1024, LONGEST = CHUNK / 2 };

/* The order of x[0..n): sorted has the values of each chunk, ascending, rank the rank of each within its chunk, and all
   every value, ascending. */
typedef struct {
    int n, chunks;
    const double *x, *all;
    double *sorted;
    uint16_t *rank;
} Order;

/* A set of values of one chunk, a bit for each rank. */
typedef struct {
    const double *sorted;
    const uint16_t *rank; /* of x[0], were it in the chunk */
    int words, count;
    uint64_t bits[CHUNK / 64];
} Window;

/* Bytes that the order of n values takes. */
size_t kp_order_size(int n);

/* Put the values x[0..n) in order; block has kp_order_size(n) bytes. Returns 0, or -1 when there is no
   memory. O(n log n). */
int kp_order(Order *order, const double *x, int n, void *block);

/* Open an empty window for values from first on; put the values x[a..b) into it, or take them out. */
void kp_open(const Order *order, int first, Window *window);
void kp_put(Window *window, int a, int b);
void kp_take(Window *window, int a, int b);

/* Add the values of another window of the same chunk that has none in common. */
void kp_join(Window *window, const Window *other);

/* Write the values of the window, ascending. */
void kp_list(const Window *window, double *out);

/* The median of a window that is not empty. */
double kp_middle(const Window *window);

/* The median of the values [a, b); scratch has room for them. */
double kp_median_at(const Order *order, int a, int b, double *scratch);

/* The median of v[0..n), whose order is destroyed. */
double kp_median_of(double *v, int n);

/* A quantile, between two values in proportion, and the median of ascending values. */
double kp_sorted_quantile(const double *v, int n, double q);
double kp_sorted_median(const double *v, int n);

#endif
