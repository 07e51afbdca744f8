/* Medians, quantiles and the order of values; see medians.h. */

#include <string.h>

#include "medians.h"
#include "sort.h"

double kp_median_of(double *v, int n)
{
    double lower, upper;
    kp_middle_pair(v, n, &lower, &upper);
    return n % 2 ? upper : 0.5 * (lower + upper);
}

double kp_sorted_quantile(const double *v, int n, double q)
{
    double place = q * (n - 1);
    int i = (int)place;
    return i >= n - 1 ? v[n - 1] : v[i] + (place - i) * (v[i + 1] - v[i]);
}

double kp_sorted_median(const double *v, int n)
{
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

/* Chunks begin every LONGEST values, so that a window of that length lies in one of them. */
static int chunks_of(int n)
{
    return n <= CHUNK ? 1 : (n - 1) / LONGEST;
}

/* Values that all chunks have together, the last one filled up. */
static size_t room_of(int n)
{
    return n <= CHUNK ? (size_t)n : (size_t)chunks_of(n) * CHUNK;
}

size_t kp_order_size(int n)
{
    size_t whole = n <= CHUNK ? 0 : (size_t)n;
    return (whole + room_of(n)) * sizeof(double) + (room_of(n) + 3) / 4 * 8;
}

int kp_order(Order *order, const double *x, int n, void *block)
{
    int64_t place[CHUNK];
    double *whole = block;
    order->n = n;
    order->chunks = chunks_of(n);
    order->x = x;
    order->all = whole;
    order->sorted = whole + (order->chunks > 1 ? n : 0);
    order->rank = (uint16_t *)(order->sorted + room_of(n));
    if (order->chunks > 1 && kp_sort_places(x, n, whole, NULL))
        return -1;
    for (int chunk = 0; chunk < order->chunks; chunk++) {
        int first = chunk * LONGEST, count = n - first < CHUNK ? n - first : CHUNK;
        if (kp_sort_places(x + first, count, order->sorted + (size_t)chunk * CHUNK, place))
            return -1;
        for (int k = 0; k < count; k++)
            order->rank[(size_t)chunk * CHUNK + (size_t)place[k]] = (uint16_t)k;
    }
    return 0;
}

void kp_open(const Order *order, int first, Window *window)
{
    int chunk = first / LONGEST < order->chunks ? first / LONGEST : order->chunks - 1;
    int count = order->n - chunk * LONGEST;
    window->sorted = order->sorted + (size_t)chunk * CHUNK;
    window->rank = order->rank + (ptrdiff_t)chunk * (CHUNK - LONGEST);
    window->words = ((count < CHUNK ? count : CHUNK) + 63) / 64;
    window->count = 0;
    memset(window->bits, 0, (size_t)window->words * sizeof *window->bits);
}

void kp_put(Window *window, int a, int b)
{
    window->count += b - a;
    for (int i = a; i < b; i++)
        window->bits[window->rank[i] / 64] |= UINT64_C(1) << window->rank[i] % 64;
}

void kp_take(Window *window, int a, int b)
{
    window->count -= b - a;
    for (int i = a; i < b; i++)
        window->bits[window->rank[i] / 64] &= ~(UINT64_C(1) << window->rank[i] % 64);
}

void kp_join(Window *window, const Window *other)
{
    window->count += other->count;
    for (int word = 0; word < window->words; word++)
        window->bits[word] |= other->bits[word];
}

void kp_list(const Window *window, double *out)
{
    for (int word = 0; word < window->words; word++)
        for (uint64_t rest = window->bits[word]; rest; rest &= rest - 1)
            *out++ = window->sorted[64 * word + __builtin_ctzll(rest)];
}

/* How many bits of v are set; without a call where the machine has no instruction for it. */
static int count_bits(uint64_t v)
{
    v -= v >> 1 & UINT64_C(0x5555555555555555);
    v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
    v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (int)(v * UINT64_C(0x0101010101010101) >> 56);
}

double kp_middle(const Window *window)
{
    int word = 0, left = (window->count - 1) / 2;
    for (int held; left >= (held = count_bits(window->bits[word])); word++)
        left -= held;
    uint64_t rest = window->bits[word];
    while (left--)
        rest &= rest - 1;
    double lower = window->sorted[64 * word + __builtin_ctzll(rest)];
    if (window->count % 2)
        return lower;
    rest &= rest - 1;
    while (!rest)
        rest = window->bits[++word];
    return 0.5 * (lower + window->sorted[64 * word + __builtin_ctzll(rest)]);
}

double kp_median_at(const Order *order, int a, int b, double *scratch)
{
    if (b - a > LONGEST) {
        memcpy(scratch, order->x + a, (size_t)(b - a) * sizeof(double));
        return kp_median_of(scratch, b - a);
    }
    Window window;
    kp_open(order, a, &window);
    kp_put(&window, a, b);
    return kp_middle(&window);
}
