"""Judge the new values of many benchmarks by one decision, with a stated rate of false positives for all of them.

``levels`` finds what each benchmark is compared with, ``scale`` its noise, ``serial`` how values that follow each other
resemble each other. ``past_deviations`` replays the past commits, ``bar`` turns them into what an unchanged commit
stays below, and ``decision`` gives the verdicts. ``common_move`` separates the effect of a machine on all
benchmarks from that of a patch on some.
"""

from knickpoint.detect.family.common_move import MoveJudgement, judge_moves, speed_sign
from knickpoint.detect.family.decision import NEWEST, FamilyJudgement, judge_family
from knickpoint.detect.family.short_history import FEWEST

__all__ = ["FEWEST", "NEWEST", "FamilyJudgement", "MoveJudgement", "judge_family", "judge_moves", "speed_sign"]
