/* Find out which instructions the kernels use: those of the machine, or less where KNICKPOINT_KERNELS asks for it. */

#include <stdlib.h>
#include <string.h>

#include "vectors.h"

static int machine_level(void)
{
#if KP_X86
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 0;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw"))
        return 1;
    return 2;
#else
    return 0;
#endif
}

int kp_level(void)
{
    /* Threads that come here at the same time all find the same level. */
    static volatile int known = -1;
    if (known < 0) {
        const char *wanted = getenv("KNICKPOINT_KERNELS");
        int level = machine_level();
        if (wanted && !strcmp(wanted, "plain"))
            level = 0;
        else if (wanted && !strcmp(wanted, "avx2") && level > 1)
            level = 1;
        known = level;
    }
    return known;
}
