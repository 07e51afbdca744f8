"""Run the tests that failed once more, alone, and print those that pass then as flaky; for the runs of CI.

A test that fails beside others and passes alone is a defect to be mended next, and no reason to drop what everybody
else did. More failures than a few are not chance: they fail the run as they are.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

_FAILED: Final = Path(".pytest_cache/v/cache/lastfailed")
_MOST: Final = 5


def main() -> int:
    """Return the exit code of the second run; 1 where there is none."""
    failed = sorted(json.loads(_FAILED.read_text(encoding="utf-8"))) if _FAILED.exists() else []
    if not 0 < len(failed) <= _MOST:
        return 1
    print(f"Running {len(failed)} failed tests once more, alone.", flush=True)
    options = ["-q", "--last-failed", "--last-failed-no-failures", "none", "--timeout", "1800"]
    ended = subprocess.run([sys.executable, "-m", "pytest", *options], check=False)
    for name in failed if ended.returncode == 0 else ():
        print(f"FLAKY: {name} failed beside other tests and passes alone")
    return ended.returncode


sys.exit(main())
