/* Compile one body for several instruction sets and choose at run time.

   A body is a header that defines static functions called NAME(something); it is included once for each level,
   between pragmas that name the instructions. Explicit inclusion, instead of function clones made by the
   compiler, works with gcc and clang, with and without ifunc, and lets a body know its level. */

#ifndef KP_VECTORS_H
#define KP_VECTORS_H

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__) && !defined(KP_PLAIN)
#define KP_X86 1
#else
#define KP_X86 0
#endif

#if defined(__GNUC__)
#define KP_RESTRICT __restrict__
#define KP_INLINE static inline __attribute__((always_inline))
#else
#define KP_RESTRICT restrict
#define KP_INLINE static inline
#endif

#define KP_JOIN_(a, b) a##b
#define KP_JOIN(a, b) KP_JOIN_(a, b)

int kp_level(void);

#endif
