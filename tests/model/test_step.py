"""Steps, and evidence that is made when it is read."""

from __future__ import annotations

import pickle
from dataclasses import replace

from knickpoint.detect import find_steps
from knickpoint.model.step import Check, Step, with_late_evidence

VALUES = [10.0, 10.1, 9.9, 10.0, 10.2, 9.8] * 5 + [12.0, 12.1, 11.9, 12.0, 12.2, 11.8] * 5


def late_step(made: list[int]) -> Step:
    def make() -> tuple[Check, ...]:
        made.append(1)
        return (Check("jump", 2.0),)

    return with_late_evidence(replace(find_steps(VALUES)[0], evidence=()), make)


def test_late_evidence_is_made_once_when_it_is_read() -> None:
    made: list[int] = []
    step = late_step(made)
    assert not made
    assert step.evidence == step.evidence == (Check("jump", 2.0),)
    assert made == [1]


def test_a_step_with_late_evidence_is_like_any_other() -> None:
    step = late_step([])
    early = replace(find_steps(VALUES)[0], evidence=(Check("jump", 2.0),))
    assert step == early
    assert repr(step) == repr(early)
    assert hash(late_step([])) == hash(early)
    assert pickle.loads(pickle.dumps(late_step([]))) == early
    assert replace(late_step([]), order=7).evidence == early.evidence
