"""``knick suspects``: the commits that may have caused a change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.repositories import GitRepository

from .conftest import Knick, api


def test_suspects_are_listed_after_a_run_with_the_part_of_no_commit(judged: Path, knick: Knick) -> None:
    key = json.loads(knick("changes", "--format", "json", "--limit", "1").output)[0]["id"]
    assert "not ranked yet" in knick("suspects", key).output
    assert knick("run").code == 0
    printed = knick("suspects", key).output
    assert "None of these commits:" in printed
    assert "All commits weigh the same." in printed
    rows = json.loads(knick("suspects", key[1:], "--format", "json").output)
    assert rows == api(judged, f"changes/{key}/suspects")["suspects"]
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert sum(row["probability"] for row in rows) < 1


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(("text", "reason"), [("P1", "is not an id of a change"), ("R999", "no change")])
def test_what_is_no_change_is_refused(knick: Knick, text: str, reason: str) -> None:
    refused = knick("suspects", text)
    assert refused.code == 2
    assert reason in refused.errors


def test_a_merge_names_the_commits_that_it_brings(
    knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = GitRepository.make(tmp_path / "project")
    old = repository.commits(20)
    repository.git("switch", "--quiet", "--create", "topic")
    topic = [repository.commit("Render with shadows"), repository.commit("Draw shadows softly")]
    repository.git("switch", "--quiet", "main")
    merge = repository.merge("topic")
    new = [merge, *repository.commits(20)]
    monkeypatch.chdir(repository.directory)
    assert knick("init", ".knickpoint", "--repository", "project=.").code == 0
    rows = [f"{name},render,ms,{10 + place % 3 / 10}" for place, name in enumerate(old)]
    rows += [f"{name},render,ms,{15 + place % 3 / 10}" for place, name in enumerate(new)]
    Path("results.csv").write_text("\n".join(["commit,benchmark,unit,value", *rows, ""]), encoding="utf-8")
    assert knick("import", "results.csv", "--as-work", "--instance", ".knickpoint").code == 0
    assert knick("run", "--instance", ".knickpoint").code == 0
    (suspect, *_) = json.loads(knick("suspects", "R1", "--format", "json", "--instance", ".knickpoint").output)
    assert suspect["commit"]["hash"] == merge
    assert (
        f"merges 2 commits: {topic[1][:10]} Draw shadows softly; {topic[0][:10]} Render with shadows"
        in suspect["reasons"]
    )
