"""Simulate the null law of E-Divisive on ranks and write ``detect/methods/e_divisive/null_law.json``.

Where all orders of the values are equally likely, the largest Q of their ranks depends on nothing but the
number of values: shuffle the ranks many times and keep the quantiles. Takes some minutes; seeded, so the
file comes out the same everywhere.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import numpy as np

from knickpoint.native.permutation import permute

_FILE: Final = Path(__file__).resolve().parent.parent / "src/knickpoint/detect/methods/e_divisive/null_law.json"
_LEVELS: Final = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0001)
_LENGTHS: Final = (6, 8, 10, 14, 20, 30, 50, 80, 130, 200, 350, 600, 1000)
_LEAST: Final = (1, 2, 3, 5, 10, 30)
_DRAWS: Final = 40_000
_SMOOTH_FROM: Final = 50
"""Lengths from which the rarest two levels, 20 and 4 draws, are taken from the straight tail of those before."""
_SEED: Final = 20261121


def _quantiles(count: int, least: int, *, both: bool, v_form: bool) -> list[float]:
    tops = np.empty(_DRAWS)
    permute(
        np.arange(float(count)),
        np.array([0, count]),
        1.0,
        v_form=v_form,
        both=both,
        least=least,
        seed=_SEED,
        turn=count,
        count=_DRAWS,
        tops=tops,
    )
    values = np.quantile(tops / ((count + 1) / 3), [1 - level for level in _LEVELS], method="higher")
    if count >= _SMOOTH_FROM:
        tail = np.log(_LEVELS[-6:-2])
        slope, start = np.polyfit(tail, values[-6:-2], 1)
        values[-2:] = start + slope * np.log(_LEVELS[-2:])
    return [round(float(value), 4) for value in values]


def main() -> None:
    """Simulate every scan, form and shortest block."""
    laws = []
    for scan, form in (("tau", "U"), ("tau", "V"), ("tau_kappa", "U"), ("tau_kappa", "V")):
        for least in _LEAST:
            lengths = [count for count in _LENGTHS if count >= 2 * least]
            rows = [_quantiles(count, least, both=scan == "tau_kappa", v_form=form == "V") for count in lengths]
            laws.append({"scan": scan, "form": form, "least": least, "lengths": lengths, "quantiles": rows})
            print(scan, form, least, rows[-1], flush=True)
    lines = ",\n  ".join(json.dumps(law) for law in laws)
    _FILE.parent.mkdir(parents=True, exist_ok=True)
    _FILE.write_text(f'{{\n "levels": {json.dumps(_LEVELS)},\n "laws": [\n  {lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
