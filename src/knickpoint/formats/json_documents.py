"""Read files that hold several JSON documents, one a line or in turn, or documents among the lines of a log.

CI jobs append the output of each run to one file, and services write JSON Lines. Each document is read as a file of
its own. Where each is an entry of the list that a format has, all together are read as that list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from knickpoint.formats.format import Format, Parsed
from knickpoint.formats.toolbox.file_content import Document, FileContent
from knickpoint.model.commit import Commit
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Report, RunReport, Severity

_MOST_NAMED: Final = 3
_MOST_AMONG_LINES: Final = 1000
"""Documents among lines, of which each is shown to each format; a log of more is one of events."""
Fitting = Callable[[FileContent], tuple[Format, ...]]
"""Return the formats that a file looks like."""


def among_lines(file: FileContent, fitting: Fitting) -> tuple[FileContent, tuple[Problem, ...]]:
    """Return the results among the lines of a log: documents that begin on lines of their own.

    Lines around them become empty, so that messages count lines as the file does; a warning says what was left out. A
    file without such documents is returned as it is.
    """
    if file.document is not None or file.several or len(file.embedded) > _MOST_AMONG_LINES:
        return file, ()
    documents = [
        each for each in file.embedded if fitting(replace(file, data=each.text.encode(errors="surrogatepass")))
    ]
    if not documents or file.text.lstrip().startswith(documents[0].text):  # behind results, other text is damage
        return file, ()
    text, line = "", 1
    for document in documents:
        text += "\n" * (document.line - line) + document.text
        line = document.line + document.text.count("\n")
    begin = " and ".join(f"line {document.line}" for document in documents[:_MOST_NAMED])
    warning = Problem(
        f"JSON begins on {begin}; the other lines were left out",
        where=begin,
        remedy="Let the tool write its results to a file of their own.",
        severity=Severity.WARNING,
    )
    return replace(file, data=text.encode(errors="surrogatepass")), (warning,)


def read_documents(file: FileContent, fitting: Fitting, wanted: Format | None) -> Parsed | None:
    """Read the documents of ``file`` as runs in their order; None if they are in no format.

    Args:
        file: a file with several documents.
        fitting: returns the formats that a file looks like.
        wanted: the format that was named, None to find it by looking.

    Raises:
        FormatError: a document breaks off, is not in the format of the first, or has an error; nothing of the file is
            to be kept.
    """
    documents = file.documents
    joined = _joined(file, documents)
    if joined is not None:
        chosen = (wanted,) if wanted is not None and wanted.fits(joined) else () if wanted else fitting(joined)
        if len(chosen) == 1:
            return chosen[0].read(joined)
    parts = [replace(file, data=document.text.encode(errors="surrogatepass")) for document in documents]
    found = (wanted,) if wanted is not None else fitting(parts[0])
    if len(found) != 1:
        return None
    _check(parts, documents, found[0])
    return _merged(found[0], [_read(found[0], part, document) for part, document in zip(parts, documents, strict=True)])


def _joined(file: FileContent, documents: Sequence[Document]) -> FileContent | None:
    """Return the documents as one list, None where one of them is a list itself."""
    if any(document.text.startswith("[") for document in documents):
        return None
    text = ",\n".join(document.text for document in documents)
    return replace(file, data=f"[{text}]".encode(errors="surrogatepass"))


def _check(parts: Sequence[FileContent], documents: Sequence[Document], found: Format) -> None:
    """Refuse the file where a document does not look like the format ``found``, that of the first."""
    for part, document in zip(parts, documents, strict=True):
        if not found.fits(part):
            raise FormatError(
                f"document {document.number} is not in the format of the first, {found.title}",
                where=f"line {document.line}",
                remedy="Put results of one format into one file.",
            )


def _read(known: Format, part: FileContent, document: Document) -> Parsed:
    try:
        report, problems = known.read(part)
    except FormatError as error:
        where = f"{document}, {error.where}" if error.where else str(document)
        raise FormatError(error.message, where=where, remedy=error.remedy) from error
    return report, tuple(replace(problem, where=f"{document}, {problem.where}") for problem in problems)


def _merged(known: Format, read: Sequence[Parsed]) -> Parsed:
    reports = [report for report, _ in read]
    repositories = list(dict.fromkeys(report.repository for report in reports if report.repository))
    if len(repositories) > 1:
        raise FormatError(
            f"the documents belong to {len(repositories)} repositories: {', '.join(repositories)}",
            remedy="Split the file, one per repository.",
        )
    runs: tuple[RunReport, ...] = tuple(run for report in reports for run in report.runs)
    commits: dict[str, Commit] = {}
    for report in reports:
        for commit in report.commits:
            commits.setdefault(commit.hash, commit)
    problems: tuple[Problem, ...] = tuple(problem for _, found in read for problem in found)
    return Report(known.name, runs, tuple(commits.values()), next(iter(repositories), "")), problems
