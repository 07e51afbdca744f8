/* Student's t: what Python may call. */

#ifndef KP_STUDENT_EXPORTS_H
#define KP_STUDENT_EXPORTS_H

#include <stdint.h>

/* The two-sided p-value of Student's t with freedom degrees of freedom. */
double kp_student(double t, double freedom);

#endif
