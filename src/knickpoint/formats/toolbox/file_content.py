"""The content of one results file: its bytes, decoded at most once for all the formats that look at them.

The memory that reading takes is estimated before anything is parsed. A few bytes can stand for much: `{}` is a
dictionary of 64 bytes, a line of one letter a text of 50, a digit between two commas a row of a table. The estimate
counts the signs that begin such objects, each with what CPython takes for it. It is about right for what is made to
take much memory, and up to twice too large for what benchmark tools write.
"""

from __future__ import annotations

import codecs
import gc
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from json import JSONDecodeError
from threading import Lock
from typing import Final

from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Severity

LARGEST_CONTENT: Final = 1 << 30
"""Bytes that a compressed file may unpack to; more is taken for an attack or an accident."""

_MEGABYTE: Final = 1_000_000
_JSON: Final[Mapping[bytes, int]] = {b"{": 150, b"[": 90, b",": 45, b":": 45, b'"': 30}
_MARKUP: Final[Mapping[bytes, int]] = {b"<": 450, b"=": 120}
_LINE_BYTES: Final = 70
_CELL_BYTES: Final = 120
_DELIMITERS: Final = (b",", b"\t", b";", b"|")
_WIDEST: Final = 4
"""Bytes of a letter in memory where a text has letters beyond ASCII."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading one file may take, in bytes: its content when unpacked, and the memory; None is not a limit.

    ``remedy`` says what to do where the memory does not suffice.
    """

    unpacked: int = LARGEST_CONTENT
    memory: int | None = None
    remedy: str = "Split the file."


UNLIMITED: Final = ReadingLimits()


def parsing_bytes(content: bytes) -> int:
    """Return about how many bytes of memory reading the text ``content`` takes."""
    text = len(content) * (2 if content.isascii() else 1 + _WIDEST)
    start = content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    weights = _JSON if start in (b"{", b"[") else _MARKUP if start == b"<" else None
    if weights is not None:
        return text + sum(weight * content.count(sign) for sign, weight in weights.items())
    cells = max(content.count(sign) for sign in _DELIMITERS)
    return text + _LINE_BYTES * content.count(b"\n") + _CELL_BYTES * cells


def check_memory(wanted: int, limits: ReadingLimits, where: str) -> None:
    """Refuse to read what would take more memory than the limits allow.

    Raises:
        FormatError: it would; ``where`` is the name of the file.
    """
    if limits.memory is not None and wanted > limits.memory:
        raise FormatError(
            f"reading it would take about {wanted // _MEGABYTE:,} MB of memory, and may take "
            f"{limits.memory // _MEGABYTE:,} MB",
            where=where,
            remedy=limits.remedy,
        )


# Hold back Python's cyclic garbage collector while a large document is built.


_LOCK: Final = Lock()
_holders: list[bool] = []
"""Who holds it back now; the first one knows whether it was on before."""


@contextmanager
def held_back() -> Iterator[None]:
    """Run the body without cyclic collection, in all threads; it comes back with the last one that leaves.

    A parsed document is a large number of new objects without a cycle among them, which the collector would walk
    again and again: a third of the time of reading.
    """
    with _LOCK:
        _holders.append(gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _LOCK:
            was_on = _holders.pop()
            if was_on and not _holders:
                gc.enable()
            elif was_on:
                _holders[0] = True


_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_PACKED: Final = (
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"\xfd7zXZ\x00", "XZ"),
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "ZIP"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"\x04\x22\x4d\x18", "LZ4"),
)
_TAR: Final = (b"ustar", 257)
"""What a tar archive has, and where."""
_GAP: Final = re.compile("[\ufeff \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
_START: Final = re.compile(r'^[ \t]*(?=\{[ \t]*(?:"|\r?$)|\[[ \t]*(?:[\[{"\d-]|\r?$))', re.MULTILINE)
"""Before what may be a JSON document on a line of its own."""
_NOT_FINITE: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|(?<![\w.])([+-]?)(?:(nan)(?:\(ind\))?|inf(?:inity)?)(?![\w.])', re.IGNORECASE
)
"""A string, or a number as C prints it where it is not finite."""
_MOST_FAILURES: Final = 200
"""Beginnings that are none; each error counts the lines before it."""
_BARE: Final = re.compile(r"[:\[,]\s*[+-]?(?:nan|inf)", re.IGNORECASE)
_CUT: Final = re.compile(r'[\w.+-]{0,9}|"[^"]*', re.DOTALL)
"""What may stand last in a JSON text that was cut: the start of a word, a number or a string."""


@dataclass(frozen=True, slots=True)
class Document:
    """One of several JSON documents in a file: its number, counted from 1, its first line, and its text."""

    number: int
    line: int
    text: str

    def __str__(self) -> str:
        """Name it for messages."""
        return f"document {self.number} (line {self.line})"


def _readable_numbers(text: str) -> str:
    """Return ``text`` with numbers that are not finite spelt as Python's JSON reads them.

    ``text`` itself where all are.
    """
    if not _BARE.search(text):
        return text
    found = _NOT_FINITE.sub(_spelt, text)
    return text if found == text else found


def _spelt(found: re.Match[str]) -> str:
    """Return a number that is not finite as Python's JSON spells it; strings as they are."""
    if found[1] is None:
        return found[0]
    return "NaN" if found[2] else f"{found[1].strip('+')}Infinity"


@dataclass(frozen=True)
class FileContent:
    """One results file as it came.

    ``name`` is for messages; only files of Criterion, which do not say what they belong to, are named by their
    path. ``companions`` are the files beside it that its format asks for, by their last name. ``limits`` are what
    reading it may take.
    """

    data: bytes
    name: str = ""
    companions: Mapping[str, bytes] = field(default_factory=dict)
    limits: ReadingLimits = UNLIMITED

    def check_memory(self) -> None:
        """Refuse the file where reading it takes more memory than it may. Raises ``FormatError``."""
        check_memory(parsing_bytes(self.unpacked), self.limits, self.name)

    @cached_property
    def unpacked(self) -> bytes:
        """The bytes, unpacked where they are gzip. Raises ``FormatError`` where they end too early."""
        if not self.data.startswith(b"\x1f\x8b"):
            return self.data
        unpacker = zlib.decompressobj(wbits=31)
        try:
            content = unpacker.decompress(self.data, self.limits.unpacked)
        except zlib.error as error:
            raise FormatError(
                f"the gzip data are damaged ({error})", where=self.name, remedy="Fetch or write the file again."
            ) from error
        if unpacker.unconsumed_tail:
            raise FormatError(
                f"unpacks to more than {self.limits.unpacked:,} bytes",
                where=self.name,
                remedy="Split it, then import the parts.",
            )
        if not unpacker.eof:
            raise FormatError(
                f"truncated gzip data, after {len(self.data)} bytes",
                where=self.name,
                remedy="Fetch or write the file again.",
            )
        return content

    @property
    def is_utf16(self) -> bool:
        """Whether a byte order mark says that the text is UTF-16."""
        return self.unpacked.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))

    @cached_property
    def text(self) -> str:
        """The text; UTF-8, or UTF-16 where a byte order mark says so. Raises ``FormatError``."""
        content = self.unpacked
        self._check_packing(content)
        for mark, encoding in _BYTE_ORDER_MARKS:
            if content.startswith(mark):
                return self._decoded(content[len(mark) :], encoding)
        return self._decoded(content, "utf-8")

    def _check_packing(self, content: bytes) -> None:
        """Refuse what is packed otherwise than by gzip, and UTF-16 without its mark, which no format can be seen in."""
        packing = next((name for magic, name in _PACKED if content.startswith(magic)), "")
        if content.startswith(_TAR[0], _TAR[1]):
            packing = "tar"
        if packing:
            raise FormatError(
                f"is packed with {packing}, which is not unpacked here",
                where=self.name,
                remedy="Unpack it, or pack single files with gzip.",
            )
        start = content[:64]
        if len(start) >= 4 and any(start) and not (any(start[1::2]) and any(start[::2])):
            raise FormatError(
                "seems to be UTF-16 without a byte order mark",
                where=self.name,
                remedy="Save it as UTF-8, or as UTF-16 with a byte order mark.",
            )

    def _decoded(self, content: bytes, encoding: str) -> str:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise FormatError(
                f"byte {error.start} (line {line}) is not {encoding.upper()}: {error.reason}",
                where=self.name,
                remedy="Save the file as UTF-8; if it is truncated, write it again.",
            ) from error

    @cached_property
    def readable(self) -> str:
        """The text, or "" where there is none; for asking whether a format fits."""
        try:
            return self.text
        except FormatError:
            return ""

    @cached_property
    def prose(self) -> str:
        """The text where it is not JSON document, "" where it is one; for asking whether a format of lines fits."""
        return "" if self.document is not None else self.readable

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines of the text without their ends."""
        return tuple(line.rstrip("\r") for line in self.text.split("\n"))

    @property
    def open_line(self) -> int:
        """The number of the last line where it has no line end, else 0."""
        return len(self.lines) if self.lines[-1].strip() else 0

    def cut_short(self) -> FormatError:
        """Return the error that refuses the file, as its last line breaks off."""
        return FormatError(
            f"the last line (line {len(self.lines)}) has no line end and is incomplete: {self.lines[-1][-60:]!r}",
            where=self.name,
            remedy="The file is truncated; fetch or write it again.",
        )

    def open_line_warning(self) -> tuple[Problem, ...]:
        """Return the warning that the number in the last line may not be whole, none where that line has its end."""
        if not self.open_line:
            return ()
        warning = Problem(
            f"the last line has no line end; if the file is truncated, its number may be too: {self.lines[-1][-60:]!r}",
            where=f"line {self.open_line}",
            remedy="Compare it with what was measured, or let the file end with a line end.",
            severity=Severity.WARNING,
        )
        return (warning,)

    @cached_property
    def _json_text(self) -> str:
        return _readable_numbers(self.text)

    @cached_property
    def _parsed(self) -> tuple[object, FormatError | None]:
        try:
            return self.parse_json(self.text), None
        except FormatError as error:
            return None, error

    @property
    def document(self) -> object:
        """The JSON document, or None where there is none; for asking whether a format fits."""
        return self._parsed[0]

    @property
    def fault(self) -> FormatError | None:
        """What is wrong with the JSON, None where nothing is."""
        return self._parsed[1]

    @cached_property
    def several(self) -> bool:
        """Whether a whole JSON document is followed by what begins as another one does."""
        text = self.readable
        start = _GAP.match(text).end()  # type: ignore[union-attr]
        if text[start : start + 1] not in ("{", "[") or self.fault is None:
            return False
        text = self._json_text
        try:
            _, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            return False
        after = _GAP.match(text, end).end()  # type: ignore[union-attr]
        return text[after : after + 1] in ("{", "[")

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """The JSON documents of a file that has :attr:`several`. Raises ``FormatError`` where one breaks off."""
        text = self._json_text
        found: list[Document] = []
        position, line, counted = 0, 1, 0
        while (position := _GAP.match(text, position).end()) < len(text):  # type: ignore[union-attr]
            line += text.count("\n", counted, position)
            counted = position
            try:
                _, end = _DECODER.raw_decode(text, position)
            except JSONDecodeError as error:
                raise self._json_fault(text, error, 1) from error
            except RecursionError as error:
                raise self._too_deep() from error
            except ValueError as error:
                raise self._too_many_digits(error) from error
            found.append(Document(len(found) + 1, line, text[position:end]))
            position = end
        return tuple(found)

    @cached_property
    def embedded(self) -> tuple[Document, ...]:
        """The JSON documents that begin on lines of their own among others, as in a job's log."""
        text = _readable_numbers(self.readable)
        found: list[Document] = []
        position, counted, line, failures = 0, 0, 1, 0
        while failures < _MOST_FAILURES and (start := _START.search(text, position)) is not None:
            try:
                _, position = _DECODER.raw_decode(text, start.end())
            except JSONDecodeError as error:
                position, failures = max(error.pos, start.end() + 1), failures + 1
            except (ValueError, RecursionError):
                break
            else:
                line += text.count("\n", counted, start.end())
                counted = start.end()
                found.append(Document(len(found) + 1, line, text[start.end() : position]))
        return tuple(found)

    @property
    def json_line(self) -> int:
        """The first line that begins as a JSON document does, 0 where none does."""
        start = _START.search(self.text)
        return self.text.count("\n", 0, start.end()) + 1 if start else 0

    @property
    def json(self) -> object:
        """The JSON document. Raises ``FormatError`` saying where it breaks off."""
        document, error = self._parsed
        if error is not None:
            raise error
        return document

    @cached_property
    def strict_json(self) -> object:
        """The JSON document of a format that has benchmarks' names as member names: none may come twice.

        Raises:
            FormatError: the JSON breaks off, or an object has a name twice.
        """

        def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
            members = dict(pairs)
            if len(members) == len(pairs):
                return members
            counts = Counter(name for name, _ in pairs)
            twice = counts.most_common(1)[0][0]
            raise FormatError(
                f"one object has the name {twice!r} twice, and only one of the two could be kept",
                where=self.name,
                remedy="Give each benchmark a different name.",
            )

        if self.fault is not None:
            raise self.fault
        try:
            return json.loads(self._json_text, object_pairs_hook=once)
        except RecursionError as error:
            raise self._too_deep() from error

    def parse_json(self, text: str, *, first_line: int = 1) -> object:
        """Parse ``text``, a part of this file that begins on ``first_line``. Raises ``FormatError``."""
        try:
            return json.loads(text)
        except JSONDecodeError as error:
            sound = _readable_numbers(text)
            if sound is not text:
                return self.parse_json(sound, first_line=first_line)
            raise self._json_fault(text, error, first_line) from error
        except RecursionError as error:
            raise self._too_deep() from error
        except ValueError as error:
            raise self._too_many_digits(error) from error

    def _too_many_digits(self, error: ValueError) -> FormatError:
        return FormatError(
            f"a number in the JSON has too many digits ({error})",
            where=self.name,
            remedy="Write numbers as the tools do, with at most 17 significant digits.",
        )

    def _too_deep(self) -> FormatError:
        return FormatError(
            "the JSON is nested too deeply", where=self.name, remedy="Give a file that a benchmark tool wrote."
        )

    def _json_fault(self, text: str, error: JSONDecodeError, first_line: int) -> FormatError:
        line = error.lineno + first_line - 1
        byte = len(text[: error.pos].encode(errors="replace"))
        place = f"line {line} column {error.colno} (byte {byte})"
        if error.msg.startswith("Extra data"):
            return FormatError(
                f"extra content after the JSON document, at {place}",
                where=self.name,
                remedy="Remove everything that is not JSON.",
            )
        if (
            error.msg.startswith("Unterminated string")
            or _CUT.fullmatch(text, error.pos)
            or not text[error.pos :].strip()
        ):
            return FormatError(
                f"truncated JSON: the value that begins at {place} is incomplete",
                where=self.name,
                remedy="The file is truncated; fetch or write it again.",
            )
        return FormatError(
            f"is not valid JSON: {error.msg} at {place}",
            where=self.name,
            remedy="Correct that place, or write it again.",
        )
