"""The forms of a report: what each says, and that names from outside stay names."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from knickpoint.gate import GateReport
from knickpoint.model.judged_benchmark import Acceptance, CommonMove, JudgedBenchmark, JudgedResults
from knickpoint.model.params import encode_key
from knickpoint.model.step import Verdict
from knickpoint.reports import html_page, junit, markdown_comment, sarif, workflow_commands
from knickpoint.reports.answer import answer, change, counts, headline

HOSTILE = "a|b`c`<img src=x onerror=alert(1)>\n@ada [x](http://e.org) #12 ::error::%0A</code>"


def row(name: str, verdict: Verdict = Verdict.UNCHANGED, relative: float = 0.0) -> JudgedBenchmark:
    return JudgedBenchmark(
        encode_key({"benchmark": name}),
        "ms",
        verdict,
        "beyond what unchanged commits do" if verdict is Verdict.REGRESSED else "within the bar",
        before=20.0,
        after=20.0 * (1 + relative),
        relative_size=relative,
        low=relative - 0.01,
        high=relative + 0.01,
        detectable=0.04,
        samples=3,
    )


def report(*rows: JudgedBenchmark) -> GateReport:
    return GateReport("mylib", "Base: 0123.", JudgedResults(rows, replayed=40))


def full() -> GateReport:
    worse, worst = (row(name, Verdict.REGRESSED, relative=size) for name, size in (("b", 0.1), ("c", 0.5)))
    return report(
        row("a"),
        worse,
        worst,
        row("d", Verdict.IMPROVED, relative=-0.2),
        row("e", Verdict.UNSTABLE),
        replace(row("f", Verdict.REGRESSED, math.nan), before=math.nan, vanished=True),
        row("g", Verdict.NO_DATA, math.nan),
        replace(row("h", Verdict.REGRESSED, relative=3.0), decides=False),
        replace(row("i", Verdict.REGRESSED, relative=4.0), canary=True, decides=False),
    )


def test_a_change_across_0_is_a_difference_and_no_share() -> None:
    crossing = replace(row("bias", Verdict.REGRESSED), before=-0.4, after=3.0, relative_size=8.5)
    assert change(crossing) == "+3.4 ms"
    assert change(replace(crossing, before=3.0, after=-0.4, relative_size=-1.13)) == "−3.4 ms"
    assert (
        change(replace(crossing, before=2.0, after=3.0, relative_size=0.5, low=0.49, high=0.51))
        == "+50.0 % (+49.0 … +51.0)"
    )


def test_the_answer_has_at_most_seven_lines_and_the_verdict_first() -> None:
    lines = answer(full())
    assert lines[0] == "Do not merge: 1 vanished and 2 regressed, of 7 benchmarks."
    assert lines[2] == "2 regressed, 1 improved, 1 unchanged, 1 unstable, 1 no data, 1 vanished."
    assert lines[3] == "Worst: c, 20 ms → 30 ms, +50.0 % (+49.0 … +51.0)."
    assert len(lines) <= 7


def test_an_accepted_regression_does_not_fail_and_names_who_accepted_it() -> None:
    accepted = replace(row("b", Verdict.REGRESSED, relative=0.1), accepted=Acceptance("b", "needed", "f" * 40, "Ada"))
    found = report(row("a"), accepted)
    assert found.failures == ()
    assert headline(found) == "May be merged: 1 regression accepted, of 2 benchmarks."
    assert "Accepted: b by Ada: needed." in answer(found)
    assert len(answer(found)) == 7


def test_too_few_data_are_no_verdict() -> None:
    found = report(row("a", Verdict.NO_DATA))
    assert headline(found) == "No verdict: there are too few data to judge 1 benchmark."
    assert counts(found) == "0 regressed, 0 improved, 1 no data."


def test_a_common_move_is_said_by_one_number_where_all_moved_alike_else_by_two() -> None:
    def condition(low: float, middle: float, high: float) -> str:
        move = CommonMove(20, 13, middle, low, high)
        return replace(full(), results=replace(full().results, move=move)).condition

    assert condition(0.46, 0.48, 0.51).startswith("13 of 20 moved together, +48 %,")
    assert condition(0.54, 1.0, 1.44).startswith("13 of 20 moved together, +54 to +144 %,")
    assert condition(-0.31, -0.3, -0.29).startswith("13 of 20 moved together, −30 %,")


def test_a_failure_beside_a_common_move_fails() -> None:
    found = replace(full(), results=replace(full().results, move=CommonMove(20, 13, 0.5, 0.4, 0.6)))
    assert (found.exit_code, found.again) == (1, False)
    assert headline(found).endswith("busy machine. Do not merge: 1 vanished and 2 regressed, of 7 benchmarks.")


def test_noise_that_hides_everything_is_no_clean_bill_and_has_a_remedy() -> None:
    found = report(*(replace(row(name, Verdict.UNSTABLE), detectable=99.0, samples=1) for name in "abc"))
    assert headline(found) == "May be merged, but nothing could be found: the noise hides any change of 3 benchmarks."
    assert answer(found)[-1] == (
        "The noise is too large to find changes in half of the benchmarks. "
        "Measure three times: samples in one results file count once."
    )
    often = report(*(replace(each, samples=3) for each in found.benchmarks))
    assert answer(often)[-1] == "The noise is too large to find changes in half of the benchmarks."


def test_the_verdict_says_how_many_benchmarks_could_not_be_judged() -> None:
    unclear = (*(row(name, Verdict.UNSTABLE) for name in "bcdef"), row("g", Verdict.NO_DATA))
    assert headline(report(row("a"), *unclear)) == (
        "May be merged: nothing regressed, of 7 benchmarks; 6 could not be judged."
    )
    accepted = replace(row("b", Verdict.REGRESSED, relative=0.1), accepted=Acceptance("b", "needed", "f" * 40, "Ada"))
    assert headline(report(row("a"), accepted, *unclear[1:])) == (
        "May be merged: 1 regression accepted, of 7 benchmarks; 5 could not be judged."
    )
    assert headline(report(*unclear)) == (
        "May be merged, but nothing could be found: the noise hides any change of 5 benchmarks, and there are too few "
        "data for 1."
    )


def test_a_comment_has_its_marker_first_and_what_fails_before_the_rest() -> None:
    text = markdown_comment(full())
    lines = text.splitlines()
    assert lines[0] == "<!-- knickpoint check mylib -->"
    assert lines[1].startswith("### ❌ Do not merge")
    assert (
        text.index("<code>c</code>")
        < text.index("<code>b</code>")
        < text.index("<details>")
        < text.index("<code>d</code>")
    )
    assert "<code>a</code>" not in text


def test_a_comment_ends_with_what_to_do_next_and_what_happened() -> None:
    text = markdown_comment(full())
    assert "accept it by a line in a commit message: <code>Knickpoint-Accept: f, REASON</code>." in text.replace(
        "&#58;", ":"
    )
    assert "<code>knick check --summary min</code>" in text
    assert text.endswith("<!-- knickpoint result: worse -->\n")
    again = report(replace(row("a", Verdict.UNSTABLE), together=True))
    assert "- Measure again: run the job again, or" in markdown_comment(again)
    assert markdown_comment(report(row("a"))).endswith("<!-- knickpoint result: nothing -->\n")
    assert "What to do next" not in markdown_comment(report(row("a")))
    better = markdown_comment(report(row("a"), row("b", Verdict.IMPROVED, relative=-0.2)))
    assert better.endswith("<!-- knickpoint result: changed -->\n")


def test_the_name_of_a_job_is_in_every_form() -> None:
    named = replace(full(), name="mac <os>")
    assert markdown_comment(named).splitlines()[:2] == [
        "<!-- knickpoint check mylib mac%20%3Cos%3E -->",
        "### ❌ <code>mac &#60;os&#62;</code>: Do not merge: 1 vanished and 2 regressed, of 7 benchmarks.",
    ]
    assert "<h1>mac &lt;os&gt;: Do not merge" in html_page(named)
    assert workflow_commands(named).startswith("::error title=knick check::mac <os>: Do not merge")
    suite = ET.fromstring(junit(named)).find("testsuite")
    assert suite is not None
    assert suite.get("name") == "mylib mac <os>"
    (run,) = json.loads(sarif(named))["runs"]
    assert run["automationDetails"] == {"id": "knickpoint/mac <os>/"}
    assert "automationDetails" not in json.loads(sarif(full()))["runs"][0]


def test_a_comment_is_cut_before_the_service_cuts_it() -> None:
    rows = [row(f"benchmark {number} " + "x" * 80, Verdict.REGRESSED, relative=0.1) for number in range(500)]
    text = markdown_comment(report(*rows))
    assert len(text) < 65_536
    assert "and 450 more rows" in text


def test_a_comment_with_long_reasons_shows_fewer_rows() -> None:
    worse = [replace(row(f"b{number}", Verdict.REGRESSED, relative=0.1), reason="[" * 290) for number in range(60)]
    other = [replace(each, trace=f"{each.trace}stat=max,", decides=False) for each in worse]
    text = markdown_comment(report(*worse, *other))
    assert len(text) < 65_536
    assert text.count("and 40 more rows") == 2


def test_pictures_stand_in_a_comment_where_they_have_an_address() -> None:
    shown = replace(row("b", Verdict.REGRESSED, relative=0.1), dashboard="https://perf.example.org")
    assert "(https://perf.example.org/api/v1/traces/%2Cbenchmark%3Db%2C/plot.png)" in markdown_comment(report(shown))


def test_a_history_is_drawn_where_there_is_no_picture() -> None:
    worse = row("b", Verdict.REGRESSED, relative=0.1)
    text = markdown_comment(report(worse), {worse.trace: [20.0, 20.2, 19.9]})
    assert "<code>b</code>, change from the level before:\n\n```mermaid\n" in text
    assert "  line [0.0, 1.0, -0.5, 10.0]\n  line [0.0, 0.0, 0.0, 10.0]\n```" in text
    shown = replace(worse, dashboard="https://perf.example.org")
    assert "mermaid" not in markdown_comment(report(shown), {worse.trace: [20.0]})


def test_a_comment_with_charts_is_cut_as_any_other() -> None:
    worse = [replace(row(f"b{number}", Verdict.REGRESSED, relative=0.1), reason="[" * 300) for number in range(60)]
    text = markdown_comment(report(*worse), {each.trace: [20.0] * 1_000 for each in worse})
    assert len(text) < 65_536
    assert text.count("```mermaid") == 5


class _Tags(HTMLParser):
    """Collect the names of the elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - as it is called
        self.names.add(tag)


def hostile() -> GateReport:
    accepted = Acceptance(HOSTILE, HOSTILE, "f" * 40, HOSTILE)
    bad = row(HOSTILE.replace("\n", " "), Verdict.REGRESSED, relative=0.1)
    bad = replace(bad, label=HOSTILE, reason=HOSTILE)
    return replace(report(bad, replace(bad, accepted=accepted, unit=HOSTILE)), base=HOSTILE)


def test_names_from_outside_are_text_in_markdown() -> None:
    text = markdown_comment(hostile())
    for sign in ("|b", "`", "<img", "@ada", "[x]", "#12 ", "</code>&", "\n@"):
        assert sign not in text
    assert text.count("<code>") == text.count("</code>")


def test_names_from_outside_are_text_on_the_page() -> None:
    tags = _Tags()
    tags.feed(html_page(hostile()))
    assert not tags.names & {"img", "script"}


def test_names_from_outside_end_no_annotation() -> None:
    lines = workflow_commands(hostile()).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("::error title=") for line in lines)
    assert "%250A" in lines[1]


def test_junit_fails_where_the_check_does() -> None:
    suite = ET.fromstring(junit(full())).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("7", "3", "1")
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert (cases["c"], cases["g"], cases["a"]) == (["failure"], ["skipped"], ["system-out"])


def test_junit_has_only_what_the_schema_of_jenkins_allows() -> None:
    allowed = {
        "testsuites": {"name", "time", "tests", "failures", "errors"},
        "testsuite": {"name", "time", "tests", "failures", "errors", "skipped", "timestamp", "hostname", "id"},
        "testcase": {"name", "time", "classname", "group"},
        "failure": {"type", "message"},
        "skipped": {"type", "message"},
        "system-out": set(),
    }
    rows = (*full().benchmarks, row("g", Verdict.NO_DATA))
    for element in ET.fromstring(junit(report(*rows))).iter():
        assert set(element.keys()) <= allowed[element.tag], element.tag


def test_junit_can_be_read_whatever_the_names() -> None:
    strange = replace(row("x", Verdict.REGRESSED, relative=0.1), label="\x00\x1b\ud800 é", reason="\x07")
    assert ET.fromstring(junit(report(strange))).get("failures") == "1"


def test_sarif_has_an_error_for_each_row_that_fails() -> None:
    log = json.loads(sarif(full(), file="results.json"))
    run = log["runs"][0]
    assert (log["version"], len(run["results"])) == ("2.1.0", 4)
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "results.json"
    assert [result["level"] for result in run["results"]] == ["error", "error", "error", "note"]


@pytest.mark.parametrize("file", ["out/a b.json", "größe [1].json", "50%.json"])
def test_sarif_names_a_file_by_a_valid_uri(file: str) -> None:
    (run,) = json.loads(sarif(full(), file=file))["runs"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"(?:[\w.~/-]|%[0-9A-F]{2})+", uri, re.ASCII)
    assert unquote(uri) == file


def _placed(name: str, file: str = "conf/knickpoint.toml") -> str:
    """Return the file at which a regression of the benchmark ``name`` is shown."""
    (run,) = json.loads(sarif(report(row(name, Verdict.REGRESSED, relative=0.1)), file=file))["runs"]
    return str(run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])


def test_a_test_is_shown_at_its_file_and_everything_else_at_the_configuration() -> None:
    assert _placed("tests/test_speed.py::TestSort::test_sort[10]") == "tests/test_speed.py"
    assert _placed("test_speed.py::test_sort") == "test_speed.py"
    for name in (
        "parse",
        "core::fmt::write",
        "../x.py::test",
        "/etc/x.py::test",
        "./x.py::y",
        "a/../../x.py::y",
        "x y.py::z",
    ):
        assert _placed(name) == "conf/knickpoint.toml"


def test_sarif_has_everything_that_code_scanning_requires() -> None:
    (run,) = json.loads(sarif(replace(full(), fail_on=frozenset(Verdict))))["runs"]
    rules = run["tool"]["driver"]["rules"]
    for rule in rules:
        assert all(rule[name]["text"] for name in ("shortDescription", "fullDescription", "help"))
    assert len(run["results"]) == len(full().deciding)
    for result in run["results"]:
        assert result["message"]["text"]
        assert result["ruleId"] == rules[result["ruleIndex"]]["id"]
        assert len(result["locations"]) == 1
        physical = result["locations"][0]["physicalLocation"]
        assert physical["artifactLocation"]["uri"]
        assert physical["region"]["startLine"] >= 1
        assert result["partialFingerprints"]


def test_an_accepted_regression_is_suppressed_in_sarif() -> None:
    accepted = replace(row("b", Verdict.REGRESSED, relative=0.1), accepted=Acceptance("b", "needed", "f" * 40, "Ada"))
    (result,) = json.loads(sarif(report(accepted)))["runs"][0]["results"]
    assert (result["level"], result["suppressions"][0]["kind"]) == ("note", "external")


@pytest.mark.parametrize("form", [markdown_comment, html_page, junit, sarif, workflow_commands])
def test_every_form_says_that_nothing_was_measured(form: object) -> None:
    assert callable(form)
    assert form(report())
