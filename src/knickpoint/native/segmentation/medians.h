/* Values of a series in order: all of them, and those of any window, after one sort.

   A series is cut into chunks of CHUNK values, one beginning every half chunk, and each is sorted once. A window no
   longer than half a chunk lies in one of them and is a set of bits there, one for each rank: two windows are joined
   word by word, and a median is found by counting bits. */

#ifndef KP_MEDIANS_H
#define KP_MEDIANS_H

#include <stddef.h>
#include <stdint.h>

enum { CHUNK = 1024, LONGEST = CHUNK / 2 };

/* sorted and rank have the values of each chunk, ascending, and the rank of each within it; all is every value. */
typedef struct {
    int n, chunks;
    const double *x, *all;
    double *sorted;
    uint16_t *rank;
} Order;

/* A set of values of one chunk. */
typedef struct {
    const double *sorted;
    const uint16_t *rank; /* of x[0], were it in the chunk */
    int words, count;
    uint64_t bits[CHUNK / 64];
} Window;

/* Bytes that the order of n values takes. */
size_t kp_order_size(int n);

/* Put the values x[0..n) in order; block has kp_order_size(n) bytes. Returns -1 when there is no memory. */
int kp_order(Order *order, const double *x, int n, void *block);

/* A window with nothing in it, for values from first on, and the values [a, b) put into it or taken out. */
void kp_open(const Order *order, int first, Window *window);
void kp_put(Window *window, int a, int b);
void kp_take(Window *window, int a, int b);

/* Put what is in the other window into this one, too; they have nothing in common. */
void kp_join(Window *window, const Window *other);

/* Write the values of the window, ascending. */
void kp_list(const Window *window, double *out);

double kp_middle(const Window *window);

/* The median of the values [a, b); scratch has room for them. */
double kp_median_at(const Order *order, int a, int b, double *scratch);

/* The median of v[0..n), whose order is destroyed. */
double kp_median_of(double *v, int n);

double kp_sorted_quantile(const double *v, int n, double q);
double kp_sorted_median(const double *v, int n);

#endif
