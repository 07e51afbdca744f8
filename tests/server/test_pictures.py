"""Pictures of traces over the API: plots and badges, by ETag, in the sizes that are allowed."""

from __future__ import annotations

import io
from xml.etree import ElementTree as ET

import pytest
from PIL import Image
from tests.server.client import Client


def _trace(reader: Client) -> int:
    found = reader.get("/api/v1/changes").json()["changes"][0]["members"][0]["trace"]["id"]
    assert isinstance(found, int)
    return found


def test_a_plot_is_svg_that_names_the_benchmark_and_the_change(reader: Client) -> None:
    answer = reader.get(f"/api/v1/traces/{_trace(reader)}/plot.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    title = ET.fromstring(answer.content).findtext("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert "→" in title


def test_a_plot_is_png_of_the_size_and_theme_of_the_request(reader: Client) -> None:
    answer = reader.get(f"/api/v1/traces/{_trace(reader)}/plot.png?width=300&height=200&theme=dark")
    assert answer.headers["content-type"] == "image/png"
    image = Image.open(io.BytesIO(answer.content)).convert("RGB")
    assert image.size == (600, 400)
    assert image.getpixel((2, 2)) == (21, 24, 29)


def test_a_badge_has_the_newest_value(reader: Client) -> None:
    answer = reader.get(f"/api/v1/traces/{_trace(reader)}/badge.svg")
    texts = [each.text for each in ET.fromstring(answer.content).iter("{http://www.w3.org/2000/svg}text")]
    assert len(texts) == 3


@pytest.mark.parametrize("name", ["plot.svg", "plot.png", "badge.svg"])
def test_a_picture_that_the_caller_has_is_not_sent_again(name: str, reader: Client) -> None:
    path = f"/api/v1/traces/{_trace(reader)}/{name}"
    first = reader.get(path)
    again = reader.get(path, headers={"if-none-match": first.headers["etag"]})
    assert first.headers["cache-control"] == "private, no-cache"
    assert (again.status_code, again.content) == (304, b"")
    assert reader.get(path, headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize("query", ["width=10", "width=100000", "height=1", "theme=blue"])
def test_sizes_and_themes_that_are_not_offered_are_refused(query: str, reader: Client) -> None:
    assert reader.get(f"/api/v1/traces/{_trace(reader)}/plot.svg?{query}").status_code in {400, 422}


def test_a_commit_that_is_not_there_is_named(reader: Client) -> None:
    answer = reader.get(f"/api/v1/traces/{_trace(reader)}/plot.svg?at=nothing")
    assert answer.status_code in {400, 404}
    assert "nothing" in answer.text


def test_a_plot_near_a_commit_is_about_the_change_there(reader: Client) -> None:
    trace = _trace(reader)
    changes = reader.get(f"/api/v1/traces/{trace}/change-points").json()["change_points"]
    commit = changes[0]["commit"]
    assert commit["short"][:7] in reader.get(f"/api/v1/traces/{trace}/plot.svg?at={commit['hash']}").text
