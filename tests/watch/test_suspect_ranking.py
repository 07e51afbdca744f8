"""The rule that ranks suspects: what it promises for any facts, and what it says about some."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Line, Repository
from knickpoint.model.suspects import CommitFiles, Suspect, TouchedFile
from knickpoint.watch.suspects.commit_facts import BenchmarkWords, CommitFacts, contrast, count_words, words_of
from knickpoint.watch.suspects.ranking import largest_share, rank_suspects
from knickpoint.watch.suspects.update import MOST_CANDIDATES, candidates_of

MOVED = [",benchmark=parse_large,metric=ns,", ",benchmark=parse_small,metric=ns,"]
STILL = [",benchmark=render_page,metric=ns,", ",benchmark=sort_keys,metric=ns,"]
BENCHMARKS = contrast(count_words(MOVED), count_words(MOVED + STILL))
PATHS = [
    "src/parser.py",
    "src/parse.c",
    "src/render.py",
    "docs/parse.md",
    "tests/test_parse.py",
    "Cargo.toml",
    "src/x/y.rs",
]


def commit(position: int, *paths: str, subject: str = "Change", lines: int = 5, distance: int = 0) -> CommitFacts:
    files = CommitFiles(tuple(TouchedFile(path, lines, 0) for path in paths))
    return CommitFacts(100 + position, position, subject, files, distance)


def ranked(
    *commits: CommitFacts, none: float = 0.15, interval: int = 0, earlier: tuple[str, ...] = ()
) -> list[Suspect]:
    return rank_suspects(commits, BENCHMARKS, none=none, interval=interval, earlier=earlier)


def order(suspects: list[Suspect]) -> list[int]:
    return [suspect.slot - 100 for suspect in suspects]


files = st.none() | st.lists(
    st.builds(TouchedFile, st.sampled_from(PATHS), st.none() | st.integers(0, 3000), st.integers(0, 50)), max_size=4
).map(lambda several: CommitFiles(tuple(several)))
subjects = st.sampled_from(["Fix the parser", "Revert it", "Speed up parse", "Tidy", ""])


@st.composite
def lists_of_commits(draw: st.DrawFn) -> list[CommitFacts]:
    """Draw commits of one suspect range, some before and after it."""
    count = draw(st.integers(1, 12))
    distances = sorted(draw(st.lists(st.integers(-2, 2), min_size=count, max_size=count)))
    distances[draw(st.integers(0, count - 1))] = 0
    return [
        CommitFacts(100 + k, k, draw(subjects), draw(files), distance) for k, distance in enumerate(sorted(distances))
    ]


@given(lists_of_commits(), st.floats(0, 1))
def test_probabilities_come_to_no_more_than_one_and_to_little_less(commits: list[CommitFacts], none: float) -> None:
    total = sum(suspect.probability for suspect in ranked(*commits, none=none, interval=2)) + none
    assert total <= 1 + 1e-12
    assert total >= 1 - 1e-5


@given(lists_of_commits(), st.floats(0, 1))
def test_no_commit_of_a_range_gets_more_than_the_largest_share(commits: list[CommitFacts], none: float) -> None:
    inside = [dataclasses.replace(each, distance=0) for each in commits]
    most = max(suspect.probability for suspect in ranked(*inside, none=none))
    assert most <= (1 - none) * largest_share(len(inside)) + 1e-12


@given(lists_of_commits())
def test_every_commit_of_a_range_keeps_half_of_an_equal_share(commits: list[CommitFacts]) -> None:
    inside = [dataclasses.replace(each, distance=0) for each in commits]
    assert min(suspect.probability for suspect in ranked(*inside, none=0)) >= 0.5 / len(inside) - 1e-5


@given(lists_of_commits(), st.randoms(use_true_random=False))
def test_the_order_of_the_commits_does_not_matter(commits: list[CommitFacts], random: object) -> None:
    shuffled = list(commits)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ranked(*shuffled, interval=2) == ranked(*commits, interval=2)


@given(lists_of_commits(), st.data())
def test_touching_a_file_named_after_what_moved_never_lowers_a_rank(
    commits: list[CommitFacts], data: st.DataObject
) -> None:
    place = data.draw(st.sampled_from([k for k, each in enumerate(commits) if each.files is not None] or [0]))
    chosen = commits[place]
    path = data.draw(st.sampled_from(["src/parser.py", "src/parse.c", "lib/large.py"]))
    more = (*(chosen.files.files if chosen.files else ()), TouchedFile(path, 3, 1))
    if chosen.files is None:
        return
    with_path = [*commits[:place], dataclasses.replace(chosen, files=CommitFiles(more)), *commits[place + 1 :]]
    before, after = ranked(*commits, interval=2), ranked(*with_path, interval=2)
    assert order(after).index(place) <= order(before).index(place)


@given(lists_of_commits())
def test_commits_with_the_same_facts_are_equally_likely(commits: list[CommitFacts]) -> None:
    twin = dataclasses.replace(commits[0], slot=100 + len(commits), position=len(commits))
    probabilities = {suspect.slot: suspect.probability for suspect in ranked(*commits, twin, interval=2)}
    assert probabilities[100] == probabilities[twin.slot]


def test_equal_suspects_are_listed_in_the_order_of_the_line() -> None:
    assert order(ranked(commit(2, "a.py"), commit(0, "a.py"), commit(1, "a.py"))) == [0, 1, 2]


def test_the_commit_that_touches_what_the_benchmark_is_named_after_comes_first_and_says_why() -> None:
    first = ranked(
        commit(0, "src/render.py"), commit(1, "README.md"), commit(2, "src/parser.py"), commit(3, "src/x.py")
    )[0]
    assert first.slot == 102
    assert first.reasons == ("touches src/parser.py, and benchmark=parse_large moved",)


def test_two_reasons_about_one_file_name_it_once() -> None:
    commits = [commit(0, "src/render.py"), commit(1, "src/parser.py")]
    (first, _) = rank_suspects(commits, BENCHMARKS, none=0.15, slower={"src/parser.py": "read_row"})
    said = "touches src/parser.py, and profiles show the change in read_row, and benchmark=parse_large moved"
    assert first.reasons == (said,)


def test_a_single_commit_is_as_certain_as_the_finding() -> None:
    assert [suspect.probability for suspect in ranked(commit(0, "src/parser.py"), none=0.15)] == [0.85]


def test_documents_tests_and_ci_come_last_also_if_they_are_named_after_the_benchmark() -> None:
    changed = ["src/other.py", "docs/parse.md", "tests/test_parse.py", ".github/workflows/parse.yml"]
    found = ranked(*(commit(k, path, subject="Parse") for k, path in enumerate(changed)))
    assert found[0].slot == 100
    assert all(each.reasons[0] == "touches documents, tests or CI only" for each in found[1:])


def test_a_path_in_every_commit_says_nothing_about_any() -> None:
    probabilities = {each.probability for each in ranked(*(commit(k, "parse/core.py") for k in range(4)))}
    assert len(probabilities) == 1


def test_a_commit_named_after_benchmarks_that_did_not_move_is_less_likely() -> None:
    found = ranked(commit(0, "src/render.py"), commit(1, "src/engine.py"))
    assert order(found) == [1, 0]
    assert found[1].reasons == ('touches src/render.py, and no trace with "render" in its name moved',)


def test_a_file_of_an_earlier_cause_counts() -> None:
    assert order(ranked(commit(0, "src/a.py"), commit(1, "src/b.py"), earlier=("src/b.py",))) == [1, 0]


def test_a_commit_outside_the_range_is_less_likely_by_the_likelihood_of_its_place() -> None:
    inside, outside = ranked(commit(0, "a.py"), commit(1, "a.py", distance=1), none=0, interval=1)
    assert inside.probability / outside.probability == pytest.approx(20, rel=1e-3)
    assert outside.reasons[-1] == "1 measured commit after the suspect range, within the interval of location"


def test_without_any_facts_all_commits_are_equally_likely() -> None:
    unknown = [CommitFacts(k, k, "Fix the parser") for k in range(5)]
    assert {each.probability for each in ranked(*unknown, none=0)} == {0.2}


def test_a_commit_of_unknown_files_lies_between_the_others() -> None:
    assert order(ranked(commit(0, "README.md"), CommitFacts(101, 1, "Fix"), commit(2, "src/parser.py"))) == [2, 1, 0]


def test_no_fact_about_authors_reaches_the_rule() -> None:
    assert {field.name for field in dataclasses.fields(CommitFacts)} == {
        "slot",
        "position",
        "subject",
        "files",
        "distance",
    }


# Words.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("src/HTTPServer_v2.cpp", {"http", "server", "cpp"}),
        ("parse-large/1024", {"parse", "large"}),
        ("bench_Größe", {"größe"}),
        ("test time of the run", set()),
    ],
)
def test_names_are_split_into_words(text: str, words: set[str]) -> None:
    assert words_of(text) == words


def test_a_word_weighs_by_how_well_it_tells_what_moved() -> None:
    assert BENCHMARKS.moved == {"parse": 1.0, "large": 0.5, "small": 0.5}
    assert BENCHMARKS.unmoved == {"render", "page", "sort", "keys"}


def test_what_all_traces_have_in_common_weighs_nothing() -> None:
    assert contrast(count_words([",os=linux,"]), count_words([",os=linux,"] * 3)) == BenchmarkWords()


# The commits of a range, and of the interval around it.

LINE = Line(Repository(1, "p"), "main", tuple(range(20)))


def around(previous: int, slot: int, measured: set[int], interval: int) -> dict[int, int]:
    found = candidates_of(LINE, SuspectRange("main", previous, slot), measured, interval)
    return {each.slot: each.distance for each in found}


def test_the_candidates_are_the_commits_of_the_range() -> None:
    assert around(4, 7, {0, 4, 7, 10}, 0) == {5: 0, 6: 0, 7: 0}


def test_the_interval_adds_the_ranges_of_the_measured_commits_beside() -> None:
    assert around(4, 7, {0, 2, 4, 7, 10, 11}, 1) == {3: -1, 4: -1, 5: 0, 6: 0, 7: 0, 8: 1, 9: 1, 10: 1}


def test_the_interval_counts_measured_commits() -> None:
    assert around(4, 5, {1, 3, 4, 5}, 2) == {2: -2, 3: -2, 4: -1, 5: 0}


def test_a_commit_that_left_its_line_has_no_candidates() -> None:
    assert around(4, 99, {4}, 0) == {}


def test_a_range_that_is_too_long_is_not_ranked() -> None:
    line = Line(Repository(1, "p"), "main", tuple(range(MOST_CANDIDATES + 5)))
    assert candidates_of(line, SuspectRange("main", 0, MOST_CANDIDATES + 1), {0}, 0) == []
    assert len(candidates_of(line, SuspectRange("main", 0, MOST_CANDIDATES), {0}, 3)) == MOST_CANDIDATES
