"""Read XML without document types, entities or anything else that can be used against us."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.model.errors import FormatError

_DEEPEST: Final = 200
_ROOT: Final = re.compile(
    r"\ufeff?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?P<name>[A-Za-z_][\w.-]*)", re.DOTALL
)


@dataclass(slots=True)
class Element:
    """An element with its attributes, its children and the text directly in it; ``line`` is where it begins."""

    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def find(self, name: str) -> Element | None:
        """Return the first child called ``name``."""
        return next((child for child in self.children if child.name == name), None)

    def each(self, name: str) -> Iterator[Element]:
        """Iterate over the children called ``name``."""
        return (child for child in self.children if child.name == name)


def root_name(file: FileContent) -> str:
    """Return the name of the root element, "" where this is not XML."""
    found = _ROOT.match(file.readable[:65536])
    return found["name"] if found else ""


def read_markup(file: FileContent) -> Element:
    """Return the root element.

    Raises:
        FormatError: it is not a whole XML document, has a document type, or is nested too deeply.
    """
    parser = expat.ParserCreate()
    top: list[Element] = []
    path: list[Element] = []
    pieces: list[list[str]] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        element = Element(name, attributes, parser.CurrentLineNumber)
        if len(path) >= _DEEPEST:
            raise FormatError(
                f"elements are nested more than {_DEEPEST} deep",
                where=f"line {element.line}",
                remedy="Give a file that a benchmark tool wrote.",
            )
        (path[-1].children if path else top).append(element)
        path.append(element)
        pieces.append([])

    def end(_name: str) -> None:
        path.pop().text = "".join(pieces.pop())

    def text(data: str) -> None:
        if path:
            pieces[-1].append(data)

    def doctype(*_facts: object) -> None:
        raise FormatError(
            "the file has a document type, which could define entities",
            where=f"line {parser.CurrentLineNumber}",
            remedy="Remove the DOCTYPE; no benchmark tool writes one.",
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = doctype
    parser.buffer_text = True
    try:
        parser.Parse(file.unpacked, True)  # noqa: FBT003 - the signature of expat
    except expat.ExpatError as error:
        raise FormatError(
            f"not a well-formed XML document: {expat.ErrorString(error.code)}",
            where=f"line {error.lineno} column {error.offset + 1} (byte {parser.ErrorByteIndex})",
            remedy="If the file is truncated, write it again.",
        ) from error
    except (LookupError, ValueError) as error:
        raise FormatError(
            f"the XML declares an encoding that cannot be read ({error})",
            where="line 1",
            remedy="Save the file as UTF-8.",
        ) from error
    return top[0]
