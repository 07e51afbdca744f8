"""Files of profiles by the names that a reader knows."""

from __future__ import annotations

import pytest

from knickpoint.profiles import ProfileBuilder, ValueKind, difference
from knickpoint.profiles.difference import shown_files


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/opt/venv/lib/python3.11/site-packages/numpy/core/fromnumeric.py", "numpy/core/fromnumeric.py"),
        ("/usr/lib/python3/dist-packages/yaml/loader.py", "yaml/loader.py"),
        ("/usr/lib/python3.11/json/decoder.py", "json/decoder.py"),
        (r"C:\Python\Lib\site-packages\numpy\linalg.py", "numpy/linalg.py"),
        ("/app/node_modules/lodash/map.js", "lodash/map.js"),
        ("/usr/local/go/src/runtime/proc.go", "runtime/proc.go"),
        (
            "/home/ann/.cargo/registry/src/index.crates.io-6f17d22bba15001f/serde-1.0.1/src/de.rs",
            "serde-1.0.1/src/de.rs",
        ),
        ("/rustc/90b35a6/library/core/src/iter.rs", "core/src/iter.rs"),
        ("/usr/lib/x86_64-linux-gnu/libc.so.6", "libc.so.6"),
        ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>"),
        ("node:internal/modules", "node:internal/modules"),
        ("src/parse.py", "src/parse.py"),
        ("", ""),
    ],
)
def test_what_leads_to_a_package_is_left_out(file: str, shown: str) -> None:
    assert shown_files([file]) == {file: shown}


def test_files_of_the_repository_have_their_path_in_it() -> None:
    def find(file: str) -> str:
        return "src/parse.py" if file.endswith("src/parse.py") else ""

    work_tree, library = "/root/.cache/knickpoint/7f/src/parse.py", "/usr/lib/python3.11/src/parse.py"
    assert shown_files([work_tree, library], find) == {work_tree: "src/parse.py", library: "src/parse.py"}


def test_without_a_repository_files_are_relative_to_the_directory_that_they_share() -> None:
    found = shown_files(["/tmp/tree/bench.py", "/tmp/tree/src/parse.py", "/usr/lib/python3.11/json/decoder.py"])
    assert sorted(found.values()) == ["bench.py", "json/decoder.py", "src/parse.py"]
    assert shown_files(["/home/ann/a.py", "/srv/b.py"]) == {
        "/home/ann/a.py": "/home/ann/a.py",
        "/srv/b.py": "/srv/b.py",
    }


def test_functions_of_two_work_trees_are_matched_before_their_files_are_shortened() -> None:
    sides = []
    for tree, cost in (("/tmp/a", 100.0), ("/tmp/b", 150.0)):
        builder = ProfileBuilder()
        builder.add_path([builder.frame("main", f"{tree}/main.py", 1), builder.frame("row", f"{tree}/row.py", 7)], cost)
        sides.append([builder.build("made", ValueKind.INSTRUCTIONS, "instructions")])
    found = difference(sides[0], sides[1]).with_files()
    assert [(each.name, each.place, each.explained.difference) for each in found.causes] == [("row", "row.py:7", 50.0)]
