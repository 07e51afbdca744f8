/* The mode of each value of a series: what Python may call. */

#ifndef KP_MODES_EXPORTS_H
#define KP_MODES_EXPORTS_H

#include <stdint.h>

enum { KP_MOST_LEVELS = 64 };

/* In halves: the prior of the chance to leave a mode, a beta distribution, and of the shares of the modes. And the
   visits to a mode that was left before, from which a stretch can be flipping. */
enum { KP_LEAVING = 1, KP_STAYING = 9, KP_SHARE = 1, KP_FEWEST_RETURNS = 2 };

/* Sort x[0..n) into at most m levels, of which there are at most KP_MOST_LEVELS. Each value gets the cheapest level:
   half the squared distance in noise, at most furthest, and for each change of the level the price of a switch. Then
   each level becomes the median of its values; so in turn, for a number of rounds. levels and labels get those that
   have values, and their number is returned, -1 without memory. O(n m). */
int64_t kp_sort_into_modes(const double *x, int64_t n, double *levels, int64_t m, double noise, double furthest,
                           double change, int64_t rounds, int64_t *labels);

/* The median of the values with each of m labels, at most KP_MOST_LEVELS, NaN where there are none. Returns 0, or -1
   without memory. O(n + m). */
int64_t kp_medians_of_modes(const double *x, const int64_t *labels, int64_t n, int64_t m, double *medians);

/* Divide count visits to m modes, at most KP_MOST_LEVELS, into levels of one visit and stretches that flip, from one of
   g ascending starts on. gammas has the logarithm of the gamma function at 0, 1/2, 1, ..., logs that of 0, 1/2, 1, ...
   step, change and other have the log chance that a step, a change from or to a level, and other flipping begin with
   each visit; chances those of flipping, of a level after a level, of flipping after flipping and of a level after it.
   from and kind have 2 (count + 1) entries: where the last regime of the visits before each one began, and whether the
   one before it flips, if the last one is a level (the first half) or flips. best has the log likelihood of both.
   Returns 0, or -1 without memory. O(g count m) time, O(count + g m) memory. */
int64_t kp_divide_visits(const int64_t *modes, const int64_t *lengths, int64_t count, int64_t m, const int64_t *starts,
                         int64_t g, const double *gammas, const double *logs, const double *step, const double *change,
                         const double *other, const double *chances, int64_t *from, int64_t *kind, double *best);

#endif
