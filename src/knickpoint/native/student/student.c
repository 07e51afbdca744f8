/* The two-sided p-value of Student's t. */

#include <math.h>

#include "exports.h"

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* ln(Gamma(a + 1/2) / Gamma(a)), by its asymptotic series above 10 and by recurrence below. */
static double log_gamma_ratio(double a)
{
    double shift = 1.0;
    while (a < 10.0) {
        shift *= a / (a + 0.5);
        a += 1.0;
    }
    double v = 1.0 / a, w = v * v;
    double series =
        v *
        (-1.0 / 8 +
         w * (1.0 / 192 + w * (-1.0 / 640 +
                               w * (17.0 / 14336 + w * (-31.0 / 18432 + w * (691.0 / 180224 - w * 5461.0 / 425984))))));
    return 0.5 * log(a) + series + log(shift);
}

/* The continued fraction of the incomplete beta function, evaluated by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 1000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m));
        d = 1.0 + even * d;
        c = 1.0 + even / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0));
        d = 1.0 + odd * d;
        c = 1.0 + odd / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        if (fabs(d * c - 1.0) < 1e-16)
            break;
    }
    return value;
}

double kp_student(double t, double freedom)
{
    double square = t * t;
    if (isnan(square) || freedom <= 0.0)
        return NAN;
    if (square == 0.0)
        return 1.0;
    if (isinf(square))
        return 0.0;
    double a = 0.5 * freedom, x = freedom / (freedom + square), rest = square / (freedom + square);
    if (x == 0.0)
        return 0.0;
    double log_x = x > 0.5 ? log1p(-rest) : log(x);
    /* B(a, 1/2) = sqrt(pi) Gamma(a) / Gamma(a + 1/2) */
    double front = exp(a * log_x + 0.5 * log(rest) + log_gamma_ratio(a) - 0.57236494292470008707);
    if (x < (a + 1.0) / (a + 2.5))
        return front * beta_fraction(a, 0.5, x) / a;
    return 1.0 - front * beta_fraction(0.5, a, rest) / 0.5;
}
