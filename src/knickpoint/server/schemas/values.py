"""Bodies about values: of traces, of commits, and as Grafana asks for them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from knickpoint.server.schemas.base import Answer, Text

__all__ = [
    "GrafanaAnnotation",
    "GrafanaAnnotationRequest",
    "GrafanaAnnotationsRequest",
    "GrafanaMetric",
    "GrafanaQueryRequest",
    "GrafanaRange",
    "GrafanaSearchRequest",
    "GrafanaSeries",
    "GrafanaTarget",
    "TimesAnswer",
    "TraceValuesAnswer",
]


class TraceValuesAnswer(Answer):
    """The values of a trace: `measured` commits, of which some may be thinned out."""

    trace: int
    measured: int
    positions: list[int]
    values: list[float]


class TimesAnswer(Answer):
    """The time of each commit of a line, oldest first; null where it is unknown."""

    times: list[datetime | None]


class _Foreign(BaseModel):
    """Base of the bodies that Grafana sends: it adds fields from version to version, so unknown ones are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


GrafanaText = Annotated[Text, Field(max_length=10_000)] | None
"""A text that Grafana leaves out, or sends as null, while its field is empty."""


class GrafanaSearchRequest(_Foreign):
    """What a person typed into the field of a query."""

    target: GrafanaText = ""


class GrafanaRange(_Foreign):
    """The time range of a dashboard."""

    start: datetime = Field(alias="from")
    end: datetime = Field(alias="to")


class GrafanaTarget(_Foreign):
    """A query of a panel: terms on params, or a formula behind `=`."""

    target: GrafanaText = ""
    hide: bool = False


class GrafanaQueryRequest(_Foreign):
    """The queries of a panel."""

    range: GrafanaRange
    targets: Annotated[list[GrafanaTarget], Field(max_length=50)]
    maxDataPoints: Annotated[int, Field(ge=2, le=100_000)] = 2400  # noqa: N815  # as Grafana writes it


class GrafanaAnnotationRequest(_Foreign):
    """Which annotations a dashboard wants: those of the traces that `query` matches."""

    query: GrafanaText = ""


class GrafanaAnnotationsRequest(_Foreign):
    """The annotations of a dashboard."""

    range: GrafanaRange
    annotation: GrafanaAnnotationRequest = GrafanaAnnotationRequest()


class GrafanaMetric(Answer):
    """A term that a query can have."""

    label: str
    value: str


class GrafanaSeries(Answer):
    """A series of a panel: pairs of a value and the time of its commit in milliseconds since 1970."""

    target: str
    datapoints: list[tuple[float, int]]


class GrafanaAnnotation(Answer):
    """A change at the time of the first commit measured at its new level, in milliseconds since 1970."""

    time: int
    title: str
    text: str
    tags: list[str]
