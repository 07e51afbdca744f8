"""Check new results against history, or against other results: the verdict on a commit, a patch or a pull request.

Benchmarks that fail, vanish or change their unit have no values to compare; they get a verdict with a reason. Only the
main value of a benchmark decides; its other statistics are judged apart.
"""

from knickpoint.watch.results_check.check import CheckRules, check_files, check_results

__all__ = ["CheckRules", "check_files", "check_results"]
