"""Compute p-values of Student's t; ``student.c`` explains how."""

from __future__ import annotations

import math

from knickpoint.native.extension import choose, lib


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) >= tiny else tiny)
    value = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 + term * d
            c = 1.0 + term / c
            d = 1.0 / (d if abs(d) >= tiny else tiny)
            c = c if abs(c) >= tiny else tiny
            value *= d * c
        if abs(d * c - 1.0) < 1e-16:
            break
    return value


def student_p_value_in_numpy(t: float, freedom: float) -> float:
    """Return the two-sided p-value of Student's t with ``freedom`` degrees of freedom; ``nan`` for ``nan``."""
    square = t * t
    if math.isnan(square) or freedom <= 0:
        return math.nan
    if square == 0:
        return 1.0
    if math.isinf(square):
        return 0.0
    a, x, rest = freedom / 2, freedom / (freedom + square), square / (freedom + square)
    if x == 0:
        return 0.0
    log_x = math.log1p(-rest) if x > 0.5 else math.log(x)
    log_beta = math.lgamma(a) + 0.5 * math.log(math.pi) - math.lgamma(a + 0.5)
    front = math.exp(a * log_x + 0.5 * math.log(rest) - log_beta)
    if x < (a + 1) / (a + 2.5):
        return front * _beta_fraction(a, 0.5, x) / a
    return 1 - front * _beta_fraction(0.5, a, rest) / 0.5


def student_p_value_in_c(t: float, freedom: float) -> float:
    """Return the two-sided p-value of Student's t; see the reference."""
    return float(lib.kp_student(t, freedom))


student_p_value = choose(student_p_value_in_numpy, student_p_value_in_c)
