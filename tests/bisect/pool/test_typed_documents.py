"""Documents of jobs: they come back as they went, and what is wrong with one is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.pool.documents import job_from_text, read_document, text_of_job
from knickpoint.bisect.settings import DeviceUse, RecipeSettings
from knickpoint.ingest.settings import IngestSettings, Rename, SourceSettings
from knickpoint.model.bisection import Target
from knickpoint.model.errors import InputError

_JOB = ProbeJob(
    probe="1",
    target=Target("c" * 40, (("library", "d" * 40),)),
    recipe=RecipeSettings("quick", measure=("make", "bench"), params={"arch": "arm64"}, measure_seconds=0.1),
    locations={"": "/srv/é.git"},
    requester="B1",
    use=DeviceUse.SCHEDULE,
    ingest=IngestSettings(drop_params=("pid",), renames=(Rename({"a": "1"}, {"a": "2"}),)),
)


def test_a_job_comes_back_as_it_went() -> None:
    assert job_from_text(text_of_job(_JOB)) == _JOB


def test_the_sources_of_an_instance_stay_there() -> None:
    ingest = replace(_JOB.ingest, sources={"ci": SourceSettings("s3://results", options={"secret": "hidden"})})
    text = text_of_job(replace(_JOB, ingest=ingest))
    assert "hidden" not in text
    assert job_from_text(text) == _JOB


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda job: job.pop("probe"), "the field probe is missing"),
        (lambda job: job.update(colour="red"), "the field colour is not known"),
        (lambda job: job.update(priority="1"), "priority is not a valid int"),
        (lambda job: job.update(priority=True), "priority is not a valid int"),
        (lambda job: job.update(use="sale"), "use is none of all, bisect, schedule"),
        (lambda job: job.update(use=[]), "use is none of all, bisect, schedule"),
        (lambda job: job.update(target=[]), "target is not an object"),
        (lambda job: job["target"].update(pins=[["one"]]), "target.pins[0] has 1 items, not 2"),
        (lambda job: job["recipe"].update(measure="make"), "recipe.measure is not a valid tuple"),
        (lambda job: job["recipe"].update(measure=["make", 1]), "recipe.measure[1] is not a valid str"),
        (lambda job: job["recipe"].update(params={"arch": 1}), "recipe.params.arch is not a valid str"),
        (lambda job: job["recipe"].update(measure_seconds=float("nan")), "recipe.measure_seconds is not a valid float"),
    ],
)
def test_what_is_wrong_with_a_job_is_named(change: Callable[[dict[str, Any]], Any], reason: str) -> None:
    change(document := json.loads(text_of_job(_JOB)))
    with pytest.raises(InputError) as raised:
        job_from_text(json.dumps(document))
    assert raised.value.message == f"it is not readable: {reason}"


@pytest.mark.parametrize("text", ["", "[]", "null", "{", b"\xff", "[" * 100_000])
def test_text_that_is_no_job_is_refused(text: str | bytes) -> None:
    with pytest.raises(InputError, match="it is not readable"):
        job_from_text(text)


def test_lists_may_come_as_tuples() -> None:
    assert read_document(Target, {"commit": "c", "pins": (("library", "d"),)}) == Target("c", (("library", "d"),))
