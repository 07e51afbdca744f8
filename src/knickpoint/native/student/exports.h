/* What Python may call of this kernel. Arrays are contiguous and belong to the caller; nothing keeps state. */

#ifndef KP_STUDENT_EXPORTS_H
#define KP_STUDENT_EXPORTS_H

#include <stdint.h>

/* The two-sided p-value of Student's t with freedom degrees of freedom. */
double kp_student(double t, double freedom);

#endif
