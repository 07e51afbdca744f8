"""Compare two commits by measuring them in turns on this machine.

``comparison`` makes the rounds, with real builds and commands, and ``kept_rounds`` keeps what they measured. The rest
is pure: ``paired_values`` collects the values and tests all benchmarks at once; ``shapes`` sees modes and tails;
``effect`` estimates one change, and plans the rounds to find it; ``judgement`` says what is known of each benchmark and
whether it is enough. ``calibration_run`` measures one commit in several ways instead, and ``calibration`` says what
comparisons can see, there and on several machines.
"""

from knickpoint.bisect.comparison.calibration import (
    BenchmarkState,
    CalibratedBenchmark,
    Calibration,
    JoinedMachines,
    join_machines,
    rounded_up,
    suggested_limits,
)
from knickpoint.bisect.comparison.calibration_run import CalibrationRun, Plant
from knickpoint.bisect.comparison.comparison import (
    Comparison,
    ComparisonEnd,
    ComparisonRequest,
    Round,
    SideFailedError,
    SideSkippedError,
)
from knickpoint.bisect.comparison.judgement import MOST_ROUNDS, ComparisonRules, RoundsJudge
from knickpoint.bisect.comparison.kept_rounds import KeptRounds, judge_kept
from knickpoint.bisect.comparison.paired_values import COMMAND_KEY, MeasuredValue

__all__ = [
    "COMMAND_KEY",
    "MOST_ROUNDS",
    "BenchmarkState",
    "CalibratedBenchmark",
    "Calibration",
    "CalibrationRun",
    "Comparison",
    "ComparisonEnd",
    "ComparisonRequest",
    "ComparisonRules",
    "JoinedMachines",
    "KeptRounds",
    "MeasuredValue",
    "Plant",
    "Round",
    "RoundsJudge",
    "SideFailedError",
    "SideSkippedError",
    "join_machines",
    "judge_kept",
    "rounded_up",
    "suggested_limits",
]
