#include "kernels.h"
double kp_version(void) { return 1.0; }
