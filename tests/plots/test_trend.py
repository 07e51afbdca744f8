"""Pictures of traces: what they show, that they are bounded, and that names cannot harm."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image
from tests.hostile_names import HOSTILE

from knickpoint.model.change_point import Direction
from knickpoint.plots import (
    ChangeMark,
    FocusedChange,
    Level,
    Theme,
    TicketMark,
    Trend,
    draw_badge,
    draw_trend,
    png,
    svg,
)
from knickpoint.plots.shapes import Dots, Drawing, Polygon, Polyline, Text

_SPACE = "{http://www.w3.org/2000/svg}"


def _trend(values: Iterable[float], *, unit: str = "ms", name: str = "parse/names") -> Trend:
    array = np.fromiter(values, dtype=np.float64)
    return Trend(
        name,
        "os=linux",
        unit,
        0,
        len(array) - 1,
        np.arange(len(array)),
        array,
        lambda position: (f"commit{position}", "2026-03-01"),
    )


def _two_levels(before: float = 12.0, after: float = 15.0, unit: str = "ms") -> Trend:
    noise = np.random.default_rng(1).normal(0, abs(after - before) / 20, 100)
    values = np.where(np.arange(100) < 60, before, after) + noise
    focus = FocusedChange(
        59, 60, Level(0, 59, before), Level(60, 99, after), (after - before) / abs(before), Direction.REGRESSION
    )
    return replace(_trend(values, unit=unit), focus=focus)


def _texts(drawing: Drawing) -> list[str]:
    return [shape.text for shape in drawing.shapes if isinstance(shape, Text)]


def _lines(drawing: Drawing) -> list[Polyline]:
    return [shape for shape in drawing.shapes if isinstance(shape, Polyline)]


def test_the_heading_names_the_benchmark_the_levels_and_the_change() -> None:
    texts = _texts(draw_trend(_two_levels()))
    assert "parse/names" in texts
    assert "12 ms → 15 ms, 25 % slower" in texts
    assert "os=linux" in texts


def test_levels_are_drawn_on_both_sides_of_the_change() -> None:
    thick = [line for line in _lines(draw_trend(_two_levels())) if line.width > 2]
    (before, after) = thick
    assert before.points[0][1] > after.points[0][1]
    assert before.points[-1][0] <= after.points[0][0]
    assert after.colour == "#b3261e"


def test_the_commit_of_the_change_is_named_at_the_axis() -> None:
    (commit,) = [
        shape
        for shape in draw_trend(_two_levels()).shapes
        if isinstance(shape, Text) and shape.bold and shape.text == "commit60"
    ]
    assert commit.colour == "#945600"


def test_other_changes_and_tickets_are_marked() -> None:
    trend = replace(
        _two_levels(),
        marks=(
            ChangeMark(20, rise=True, direction=Direction.REGRESSION),
            ChangeMark(30, rise=False, direction=Direction.IMPROVEMENT),
        ),
        tickets=(TicketMark(70, "PARSE-7"),),
    )
    drawing = draw_trend(trend)
    triangles = [shape for shape in drawing.shapes if isinstance(shape, Polygon)]
    assert [shape.fill for shape in triangles] == ["#b3261e", "#17723b"]
    assert "PARSE-7" in _texts(drawing)


def test_a_line_breaks_where_the_trace_was_not_measured() -> None:
    whole = _trend(np.sin(np.arange(100)))
    gap = replace(whole, values=np.where((np.arange(100) > 40) & (np.arange(100) < 60), np.nan, whole.values))
    assert len(_trails(gap)) == len(_trails(whole)) + 1


def _trails(trend: Trend) -> list[Polyline]:
    return [line for line in _lines(draw_trend(trend)) if line.colour == "#b4bdca"]


@pytest.mark.parametrize("theme", Theme)
def test_a_hundred_thousand_values_make_a_small_picture_with_every_peak(theme: Theme) -> None:
    values = np.random.default_rng(2).normal(100, 1, 100_000)
    values[54_321] = 110.0
    drawing = draw_trend(_trend(values), theme=theme)
    assert len(svg(drawing)) < 40_000
    assert len(png(drawing)) < 60_000
    highest = min(y for line in _lines(drawing) if len(line.points) > 100 for _, y in line.points)
    others = sorted(y for line in _lines(drawing) if len(line.points) > 100 for _, y in line.points)
    assert highest < others[1] - 10


def test_an_outlier_does_not_flatten_the_others_and_is_marked_at_the_frame() -> None:
    values = 10 + np.random.default_rng(3).normal(0, 0.2, 100)
    values[50] = 1e6
    drawing = draw_trend(_trend(values))
    heights = [y for shape in drawing.shapes if isinstance(shape, Dots) for _, y in shape.centres]
    assert max(heights) - min(heights) > 100
    assert any(isinstance(shape, Polygon) for shape in drawing.shapes)


@pytest.mark.parametrize(
    ("before", "after", "unit", "heading"),
    [
        (123456.789, 123456.799, "ns", "123.45679 µs → 123.4568 µs, 0.0000081 % slower"),
        (-5.0, -3.0, "", "−5 → −3, 40 % higher"),
        (34.5e-6, 41e-3, "s/iter", None),
        (2.0**53 - 100, 2.0**53, "instructions", None),
        (0.0, 3.0, "s", None),
        (1e-9, 1e9, "MB", None),
    ],
)
def test_levels_of_every_size_differ_at_the_axis(before: float, after: float, unit: str, heading: str | None) -> None:
    values = [before] * 30 + [after] * 30
    relative = (after - before) / abs(before) if before else np.inf
    focus = FocusedChange(29, 30, Level(0, 29, before), Level(30, 59, after), relative, Direction.REGRESSION)
    drawing = draw_trend(replace(_trend(values, unit=unit), focus=focus))
    texts = _texts(drawing)
    ticks = [shape.text for shape in drawing.shapes if isinstance(shape, Text) and shape.anchor.value == "end"]
    assert len(ticks) >= 2
    assert len(set(ticks)) == len(ticks)
    assert heading is None or heading in texts
    thick = [line for line in _lines(drawing) if line.width > 2]
    assert thick[0].points[0][1] - thick[1].points[0][1] > 50


@pytest.mark.parametrize("values", [[], [np.nan] * 5, [3.0], [0.0] * 20, [1e308, -1e308, 5e-324, np.inf]])
def test_every_series_has_a_picture(values: list[float]) -> None:
    for theme in Theme:
        drawing = draw_trend(_trend(values), theme=theme)
        ET.fromstring(svg(drawing))
        assert png(drawing).startswith(b"\x89PNG")


def test_shapes_stay_within_the_picture() -> None:
    values = [*np.random.default_rng(4).normal(0, 1, 300), 1e300, -1e300]
    drawing = draw_trend(_trend(values))
    for shape in drawing.shapes:
        points = (
            shape.points if isinstance(shape, Polyline | Polygon) else shape.centres if isinstance(shape, Dots) else ()
        )
        assert all(0 <= x <= drawing.width and 0 <= y <= drawing.height for x, y in points)


@pytest.mark.parametrize(
    ("size", "drawn"), [((1, 1), (240, 140)), ((10**9, 10**9), (1600, 1000)), ((600, 260), (600, 260))]
)
def test_the_size_of_a_picture_is_bounded(size: tuple[int, int], drawn: tuple[int, int]) -> None:
    drawing = draw_trend(_two_levels(), size=size)
    assert (drawing.width, drawing.height) == drawn


def test_the_same_trend_gives_the_same_bytes() -> None:
    assert svg(draw_trend(_two_levels())) == svg(draw_trend(_two_levels()))
    assert png(draw_trend(_two_levels())) == png(draw_trend(_two_levels()))


@pytest.mark.parametrize(("theme", "paper"), [(Theme.LIGHT, (255, 255, 255)), (Theme.DARK, (21, 24, 29))])
def test_a_png_has_twice_the_pixels_and_the_background_of_its_theme(theme: Theme, paper: tuple[int, int, int]) -> None:
    image = Image.open(io.BytesIO(png(draw_trend(_two_levels(), theme=theme)))).convert("RGB")
    assert image.size == (1200, 520)
    assert image.getpixel((2, 2)) == paper


@pytest.mark.parametrize(
    "name", [*HOSTILE.values(), "<script>alert(1)</script>", "\"&'", "\x00\x1b[31m\u202e", "x" * 10_000]
)
def test_a_hostile_name_is_text_in_the_picture(name: str) -> None:
    trend = replace(
        _two_levels(),
        name=name,
        params=name,
        unit=name,
        tickets=(TicketMark(3, name),),
        commit_name=lambda _: (name, name),
    )
    file = svg(draw_trend(trend))
    assert len(file) < 60_000
    tags = {element.tag.removeprefix(_SPACE) for element in ET.fromstring(file).iter()}
    assert tags <= {"svg", "title", "rect", "polyline", "polygon", "path", "text"}
    assert png(draw_trend(trend)).startswith(b"\x89PNG")


def test_a_badge_names_benchmark_value_and_change() -> None:
    badge = draw_badge("parse/names", "12.3 ms", "12 % slower", Direction.REGRESSION)
    assert _texts(badge) == ["parse/names", "12.3 ms", "12 % slower"]
    assert badge.title == "parse/names: 12.3 ms, 12 % slower"
    assert badge.height == 20


def test_a_badge_without_a_change_has_two_fields() -> None:
    assert _texts(draw_badge("parse", "12.3 ms")) == ["parse", "12.3 ms"]


def test_a_badge_with_a_hostile_name_is_small_and_whole() -> None:
    file = svg(draw_badge("<b>" * 1000, "&" * 1000, "\x00"))
    ET.fromstring(file)
    assert len(file) < 4_000
