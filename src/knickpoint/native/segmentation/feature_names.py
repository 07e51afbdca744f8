"""The features of a candidate, as users read them, in the order of the forest.

``feature_table.h`` has the same for C. The training script writes them into the forest, whose file has them, too; tests
compare all three.
"""

from __future__ import annotations

from typing import Final

FEATURE_NAMES: Final = (
    "t of the two sides",
    "t less chance and autocorrelation",
    "rank z",
    "rank z less chance and autocorrelation",
    "jump / noise",
    "jump of medians / noise",
    "jump / noise around it",
    "separation of the two sides",
    "values before",
    "values after",
    "values in the shorter level",
    "length of the series",
    "autocorrelation",
    "mean square of the noise",
    "share of outliers",
    "drift of the whole series",
    "uncertainty of the place",
    "log ratio of the variances",
    "first five values after / noise",
    "reaches the newest value",
    "return to a level nearby",
    "candidates per 100 values",
    "strongest split inside a level",
    "lead over the strongest split inside",
    "least of the first three after",
    "least of the last three before",
    "new level seen elsewhere",
    "memory over six lags",
    "jump of the nearest eight",
    "wrong side after",
    "wrong side before",
    "weight of the tails",
    "saving over one level",
    "share of distinct values",
    "trend before",
    "trend after",
    "certainty at the noise around it",
    "jump x length",
    "lead over the strongest run towards it",
    "lead over the strongest run",
    "share of the longer side beyond",
    "gap between quartiles",
    "log chance of the shorter side",
)
