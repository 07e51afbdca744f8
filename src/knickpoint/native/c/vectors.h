/* What C needs to know of compilers and processors. No other file asks for either.

   A kernel that gains from wide vectors is written once, as a body: a header of static functions called
   NAME(something). each_level.h compiles a body for each level of instructions, and KP_CHOOSE takes the level of this
   machine:

       LEVEL   NAME(x)    instructions            LANES: floats in a vector
         0     x_plain    what every machine has    4
         1     x_avx2     AVX2, FMA                 8
         2     x_avx512   AVX-512 F, DQ, VL, BW    16

   Bodies are included, not cloned by the compiler, because inclusion works with GCC and Clang, with and without ifunc,
   and because a body may then depend on its level.

   The build forbids the compiler to fuse a multiplication and an addition into one rounding, so that every level
   computes the same bits. A file that needs no equal bits begins with KP_FUSE. */

#ifndef KP_VECTORS_H
#define KP_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__) && !defined(KP_PLAIN)
#define KP_X86 1
#include <immintrin.h>
#else
#define KP_X86 0
#endif

#if defined(__clang__)
#define KP_FUSE _Pragma("clang fp contract(fast)")
#else
#define KP_FUSE _Pragma("GCC optimize(\"fp-contract=fast\")")
#endif

#define KP_RESTRICT __restrict__
#define KP_INLINE static inline __attribute__((always_inline))

#define KP_JOIN_(a, b) a##b
#define KP_JOIN(a, b) KP_JOIN_(a, b)

/* Vectors of a fixed width, whatever the registers of the machine hold: f64x8 is eight doubles. The loose ones may
   begin at any double or float, the others at a multiple of their size. */
typedef double f64x8 __attribute__((vector_size(64)));
typedef double f64x8_loose __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t i64x8 __attribute__((vector_size(64)));
typedef int32_t i32x16 __attribute__((vector_size(64)));

typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x4_loose __attribute__((vector_size(16), aligned(4)));
typedef float f32x8_loose __attribute__((vector_size(32), aligned(4)));
typedef float f32x16_loose __attribute__((vector_size(64), aligned(4)));
typedef int32_t i32x4 __attribute__((vector_size(16)));
typedef int32_t i32x8 __attribute__((vector_size(32)));

#define KP_EIGHT(v) v, v, v, v, v, v, v, v

/* Where in a block the first multiple of 64 bytes is: a block that needs n aligned bytes has n + KP_ALIGNMENT. */
#define KP_ALIGNMENT 64
#define KP_ALIGN_UP(size) (((size_t)(size) + KP_ALIGNMENT - 1) / KP_ALIGNMENT * KP_ALIGNMENT)

KP_INLINE char *kp_aligned(char *block)
{
    return block + (KP_ALIGNMENT - (uintptr_t)block % KP_ALIGNMENT) % KP_ALIGNMENT;
}

/* Little-endian numbers at any address. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define KP_LITTLE(bits, v) __builtin_bswap##bits(v)
#else
#define KP_LITTLE(bits, v) (v)
#endif

KP_INLINE uint16_t kp_read_u16(const char *from)
{
    uint16_t v;
    memcpy(&v, from, sizeof v);
    return KP_LITTLE(16, v);
}

KP_INLINE float kp_read_f32(const char *from)
{
    uint32_t v;
    float value;
    memcpy(&v, from, sizeof v);
    v = KP_LITTLE(32, v);
    memcpy(&value, &v, sizeof value);
    return value;
}

KP_INLINE double kp_read_f64(const char *from)
{
    uint64_t v;
    double value;
    memcpy(&v, from, sizeof v);
    v = KP_LITTLE(64, v);
    memcpy(&value, &v, sizeof value);
    return value;
}

/* The level of instructions to use: that of the machine, or less where KNICKPOINT_KERNELS is plain or avx2. */
int kp_level(void);

/* The function of a body for that level. */
#if KP_X86
#define KP_CHOOSE(name) (kp_level() == 2 ? name##_avx512 : kp_level() == 1 ? name##_avx2 : name##_plain)
#else
#define KP_CHOOSE(name) name##_plain
#endif

#endif
