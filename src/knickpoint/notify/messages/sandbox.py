"""Render a template with facts, and with nothing else: what a template may do is a short list.

Templates come from the directory of an instance, so their authors are trusted to write texts, not programs. A template
has values, conditions, loops and includes. It cannot call anything, assign anything, or reach an attribute that is no
fact. Loops are nested three deep at most, the facts in them have bounded lengths, and so has the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from knickpoint.model.errors import ConfigError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import number_text, percent_text
from knickpoint.notify.markup import code_span, escape_markdown, link_target
from knickpoint.notify.messages.facts import LikelyFacts

if TYPE_CHECKING:
    import jinja2
    from jinja2 import nodes


# The filters of templates: numbers and commits as words.


_HOURS_OF_DAY: Final = 24
_MOST_TIMES: Final = 100


def signed_percent(fraction: float) -> str:
    """Return a relative size with its sign: ``+22.8 %``."""
    sign = "+" if fraction > 0 else "−" if fraction < 0 else ""
    size = abs(fraction)
    digits = 0 if size >= 0.9995 else 1 if size >= 0.09995 else 2
    return f"{sign}{size * 100:,.{digits}f} %" if size else percent_text(0)


def times_text(ratio: float) -> str:
    """Return the factor in words: ``6.4 times``."""
    if ratio > _MOST_TIMES:
        return f"more than {_MOST_TIMES} times"
    return f"{number_text(ratio, 2)} times"


def hours_text(hours: float) -> str:
    """Return a time in days from two days on, else in hours: ``5 hours``, ``3 days``."""
    if hours >= 2 * _HOURS_OF_DAY:
        return counted(int(hours // _HOURS_OF_DAY), "day")
    return counted(max(1, int(hours)), "hour")


def likely_text(likely: LikelyFacts) -> str:
    """Return the likely commit in a few words, as in "1a2b3c4 Keep names, by Ada (62 %)" or "… (bisected)"."""
    commit = likely.commit
    named = " ".join(filter(None, (commit.short, commit.subject))) + (f", by {commit.author}" if commit.author else "")
    why = {"bisected": "found by bisection", "only": "the only commit"}.get(likely.basis, likely.percent)
    return f"{named} ({why})"


INSTALL_REMEDY: Final = 'Install it with pip install "knickpoint[server]".'
_MOST_CHARACTERS: Final = 200_000
"""Characters of one rendered part of a message."""
_MOST_SOURCE: Final = 64_000
"""Characters of one template."""
_DEEPEST_LOOPS: Final = 3
_ALLOWED_NODES: Final = frozenset({
    "Template", "Output", "TemplateData", "Name", "Const", "Getattr", "If", "For", "Compare", "Operand", "And", "Or", "Not",
    "Filter", "Test", "CondExpr", "Concat", "Include", "Add", "Sub", "Neg", "Tuple", "List",
})  # fmt: skip
_NAMES: Final = {
    "Call": "a call", "Assign": "set", "AssignBlock": "set", "Macro": "macro", "CallBlock": "call",
    "Import": "import", "FromImport": "import", "Extends": "extends", "Block": "block", "With": "with",
    "FilterBlock": "filter", "Mul": "*", "Pow": "**", "Getitem": "[ ]", "Slice": "[ ]", "Mod": "%",
}  # fmt: skip
_FILTERS: Final = ("join", "length", "upper", "lower", "capitalize", "first", "last", "default", "trim")
_OWN_FILTERS: Final[Mapping[str, Callable[..., object]]] = {
    "counted": counted,
    "likely": likely_text,
    "hours": hours_text,
    "signed_percent": signed_percent,
    "times": times_text,
}
_TESTS: Final = ("none", "defined", "in", "equalto", "eq", "ne", "gt", "ge", "lt", "le", "odd", "even")


class _Marked(str):
    """Text that is Markdown already."""

    __slots__ = ()


def _escaped(value: object) -> object:
    """Return ``value`` as Markdown."""
    return _Marked(escape_markdown(value)) if isinstance(value, str) and not isinstance(value, _Marked) else value


_MARKING: Final[Mapping[str, Callable[[str], str]]] = {
    "code": lambda value: _Marked(code_span(value)),
    "address": lambda value: _Marked(link_target(value)),
}
"""Filters of Markdown: a code span, and the target of a link as in ``[text]({{ address|address }})``."""


class TemplateSet:
    """Templates that may include each other, compiled and checked.

    ``sources`` has the text of each by name; ``places`` where it comes from, for errors. The ending of a name says how
    values are written into it: ``.html`` escapes them for HTML, ``.md`` for Markdown, anything else leaves them as they
    are.

    Raises:
        ConfigError: a template has an error, uses what templates may not, or the library is missing.
    """

    def __init__(self, sources: Mapping[str, str], places: Mapping[str, str]) -> None:
        self._places = places
        self._sources = sources
        self._environments = {ending: self._environment(ending) for ending in ("html", "md", "txt")}
        self._trees = {name: self._parsed(name) for name in sorted(sources)}
        for name, tree in self._trees.items():
            self._check_nodes(name, tree)
        for name in self._trees:
            self._check_depth(name, ())

    def render(self, name: str, variables: Mapping[str, object]) -> str:
        """Return the text of the template ``name`` with ``variables``.

        Raises:
            ConfigError: the template names what does not exist, or its text is too long.
        """
        import jinja2

        pieces: list[str] = []
        length = 0
        try:
            for piece in self._of(name).get_template(name).generate(dict(variables)):
                pieces.append(piece)
                length += len(piece)
                if length > _MOST_CHARACTERS:
                    raise ConfigError(
                        f"the text is longer than {_MOST_CHARACTERS:,} characters",
                        where=self._places[name],
                        remedy="Leave something out.",
                    )
        except jinja2.TemplateError as error:
            raise self._error(name, error) from None
        except (TypeError, ValueError, ArithmeticError) as error:
            raise self._located(name, f"cannot be rendered: {error}", error.__traceback__) from None
        return "".join(pieces)

    # Checks

    def _of(self, name: str) -> jinja2.Environment:
        return self._environments[_ending(name)]

    def _environment(self, ending: str) -> jinja2.Environment:
        try:
            import jinja2
        except ImportError:
            raise ConfigError(
                "the texts of messages need Jinja2, which is not installed", where="[channels]", remedy=INSTALL_REMEDY
            ) from None
        environment = _sandbox()(
            loader=jinja2.DictLoader({name: text for name, text in self._sources.items() if _ending(name) == ending}),
            autoescape=ending == "html",
            undefined=jinja2.StrictUndefined,
            finalize=_escaped if ending == "md" else None,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
        )
        environment.globals.clear()
        kept: dict[str, Callable[..., Any]] = {name: environment.filters[name] for name in _FILTERS}
        environment.filters = kept | dict(_OWN_FILTERS) | (dict(_MARKING) if ending == "md" else {})
        environment.tests = {name: environment.tests[name] for name in _TESTS}
        return environment

    def _parsed(self, name: str) -> nodes.Template:
        import jinja2

        source = self._sources[name]
        if len(source) > _MOST_SOURCE:
            raise ConfigError(
                f"the template is longer than {_MOST_SOURCE:,} characters",
                where=self._places[name],
                remedy="Leave something out.",
            )
        try:
            return self._of(name).parse(source, name, name)
        except jinja2.TemplateError as error:
            raise self._error(name, error) from None
        except RecursionError:
            raise ConfigError(
                "is nested too deeply", where=self._places[name], remedy="Write it in fewer levels."
            ) from None

    def _check_nodes(self, name: str, tree: nodes.Template) -> None:
        for node in _walk(tree):
            kind = type(node).__name__
            if kind not in _ALLOWED_NODES or getattr(node, "recursive", False):
                raise ConfigError(
                    f"{_NAMES.get(kind, kind)} is not allowed in templates of messages",
                    where=f"{self._places[name]}, line {node.lineno}",
                    remedy="Use values, if, for and include.",
                )
            if kind == "Getattr" and str(getattr(node, "attr", "")).startswith("_"):
                raise ConfigError(
                    f"{getattr(node, 'attr', '')} is not a fact",
                    where=f"{self._places[name]}, line {node.lineno}",
                    remedy="Take a variable from docs/reference/templates.md.",
                )

    def _check_depth(self, name: str, way: tuple[str, ...]) -> int:
        """Return the depth of the loops of a template, with those of the templates that it includes."""
        if name in way:
            raise ConfigError(
                f"includes itself: {' → '.join((*way, name))}",
                where=self._places[name],
                remedy="Take one of the includes out.",
            )
        return self._depth(self._trees[name], name, (*way, name), 0)

    def _depth(self, node: nodes.Node, name: str, way: tuple[str, ...], loops: int) -> int:
        loops += type(node).__name__ == "For"
        if loops > _DEEPEST_LOOPS:
            raise ConfigError(
                f"loops are nested more than {_DEEPEST_LOOPS} deep",
                where=f"{self._places[name]}, line {node.lineno}",
                remedy="Use fewer loops within loops.",
            )
        deepest = loops
        if type(node).__name__ == "Include":
            included = self._included(node, name)
            deepest = self._depth_of_included(included, way, loops)
        return max([deepest, *(self._depth(child, name, way, loops) for child in node.iter_child_nodes())])

    def _depth_of_included(self, included: str, way: tuple[str, ...], loops: int) -> int:
        deepest = loops + self._check_depth(included, way)
        if deepest > _DEEPEST_LOOPS:
            raise ConfigError(
                f"loops are nested more than {_DEEPEST_LOOPS} deep, with those around the include",
                where=self._places[included],
                remedy="Use fewer loops within loops.",
            )
        return deepest

    def _included(self, node: nodes.Node, name: str) -> str:
        target = getattr(getattr(node, "template", None), "value", None)
        if not isinstance(target, str) or target not in self._sources or _ending(target) != _ending(name):
            known = ", ".join(other for other in sorted(self._sources) if _ending(other) == _ending(name))
            raise ConfigError(
                "includes what is not a template"
                if target is None
                else f"includes {target!r}, which is not a template",
                where=f"{self._places[name]}, line {node.lineno}",
                remedy=f"Include one of {known}, by its name in quotes.",
            )
        return target

    # Errors

    def _error(self, name: str, error: jinja2.TemplateError) -> ConfigError:
        import jinja2

        if isinstance(error, jinja2.TemplateSyntaxError):
            where = f"{self._places.get(error.name or name, name)}, line {error.lineno}"
            return ConfigError(f"is not a template: {error.message}", where=where, remedy="Correct it there.")
        if isinstance(error, jinja2.UndefinedError):
            return self._located(name, f"{error.message}", error.__traceback__)
        return self._located(name, f"cannot be rendered: {error.message}", error.__traceback__)

    def _located(self, name: str, message: str, trace: TracebackType | None) -> ConfigError:
        """Return an error at the line of the template where ``trace`` left it."""
        line, found = 0, name
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if file in self._sources or file == "<template>":
                found = file if file in self._sources else found
                line = trace.tb_lineno
            trace = trace.tb_next
        where = self._places[found] + (f", line {line}" if line else "")
        return ConfigError(message, where=where, remedy="Take a variable from docs/reference/templates.md.")


def _ending(name: str) -> str:
    ending = name.rpartition(".")[2]
    return ending if ending in {"html", "md"} else "txt"


def _walk(node: nodes.Node) -> Iterator[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from _walk(child)


@lru_cache(maxsize=256)
def _facts_of(kind: type) -> frozenset[str]:
    """Return the names of the facts in a dataclass; none in values of another kind."""
    return frozenset(each.name for each in fields(kind)) if is_dataclass(kind) else frozenset()


@lru_cache(maxsize=1)
def _sandbox() -> type[jinja2.Environment]:
    """Return the environment in which only facts have attributes, and nothing can be called."""
    from jinja2.runtime import LoopContext
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class FactSandbox(ImmutableSandboxedEnvironment):
        """A sandbox without calls."""

        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            """Return True if ``attr`` is a fact, or a number of the loop."""
            del value
            if isinstance(obj, LoopContext):
                return attr in {"index", "index0", "first", "last", "length", "revindex"}
            return attr in _facts_of(type(obj))  # type: ignore[arg-type]

        def is_safe_callable(self, obj: Any) -> bool:
            """Return False: a template calls nothing."""
            del obj
            return False

        def wrap_str_format(self, value: Any) -> None:
            """Return None: the formatting of texts is not a fact either."""
            del value

    return FactSandbox
