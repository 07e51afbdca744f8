/* The two-sided p-value of Student's t.

   P(|T| > t) with v degrees of freedom is the incomplete beta function I_x(v / 2, 1 / 2) at x = v / (v + t^2)
   (Abramowitz and Stegun 26.7.1). Its continued fraction (DLMF 8.17.22) is evaluated by Lentz's method, on the side on
   which it converges quickly. O(sqrt(v)) steps. */

#include <math.h>

#include "exports.h"

/* ln(Gamma(a + 1/2) / Gamma(a)), by its asymptotic series above 10 and by recurrence below. */
static double log_gamma_ratio(double a)
{
    double shift = 1.0;
    while (a < 10.0) {
        shift *= a / (a + 0.5);
        a += 1.0;
    }
    double v = 1.0 / a, w = v * v;
    double rest = 691.0 / 180224 - w * 5461.0 / 425984;
    rest = -31.0 / 18432 + w * rest;
    rest = 17.0 / 14336 + w * rest;
    rest = -1.0 / 640 + w * rest;
    rest = 1.0 / 192 + w * rest;
    double series = v * (-1.0 / 8 + w * rest);
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

    /* x and 1 - x each come from a quotient: neither loses digits near 1. */
    double a = 0.5 * freedom, x = freedom / (freedom + square), rest = square / (freedom + square);
    if (x == 0.0)
        return 0.0;
    double log_x = x > 0.5 ? log1p(-rest) : log(x);

    /* The factor before the fraction, with B(a, 1/2) = sqrt(pi) Gamma(a) / Gamma(a + 1/2). */
    double front = exp(a * log_x + 0.5 * log(rest) + log_gamma_ratio(a) - 0.57236494292470008707);

    /* Past the mean of the beta distribution the fraction of the other tail converges sooner. */
    if (x < (a + 1.0) / (a + 2.5))
        return front * beta_fraction(a, 0.5, x) / a;
    return 1.0 - front * beta_fraction(0.5, a, rest) / 0.5;
}
