"""The sources of textmill, the small library that the demonstration benchmarks.

Each module is a template: ``$name`` is a piece that a commit may replace, and ``_PIECES`` has the variants of each
module. No variant sleeps or waits; slower variants do more work.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Final

BENCHMARKS: Final = (
    "count_words",
    "edit_distance",
    "find_prefix",
    "parse_csv",
    "render_letter",
    "slug_titles",
    "wrap_text",
)

_CLEAN: Final = '''"""What every module does to text before it looks at it."""

$imports
def clean(text):
    """Return the text as the other modules expect it."""
$body
'''

_COUNT: Final = '''"""Count words."""

from collections import Counter

from textmill.clean import clean


def words(text):
    """Return the words of a text, in order."""
    return [word.strip(".,;:!?") for word in clean(text).split()]


def count(text):
    """Return how often each word occurs."""
$body
'''

_DISTANCE: Final = '''"""Compare words."""


def distance(left, right):
    """Return the number of single-letter edits between two words."""
$body
'''

_TRIE: Final = '''"""Find words by how they begin."""

from textmill.clean import clean


class Trie:
    """A set of words, ready for questions about their beginnings."""

    def __init__(self, words):
        self.root = {}
        for word in words:
            self.add(word)

    def add(self, word):
        """Add one word."""
        node = self.root
        for letter in clean(word):
            node = node.setdefault(letter, {})
        node[""] = word

    def find(self, prefix):
        """Return all words that begin with the prefix, in order of insertion."""
$find
        node = self.root
        for letter in prefix:
            if letter not in node:
                return []
            node = node[letter]
        found = []
        stack = [node]
        while stack:
            node = stack.pop()
            for letter, child in node.items():
                if letter == "":
                    found.append(child)
                else:
                    stack.append(child)
        return found
'''

_CSV: Final = '''"""Read comma separated lines."""


def parse_line(line):
    """Return the fields of one line."""
$body
'''

_TEMPLATE: Final = '''"""Fill in letters."""

import re

_FIELD = re.compile(r"\\{(\\w+)\\}")


def render(template, values):
    """Return the template with its fields filled in."""
$check
    return _FIELD.sub(lambda match: str(values[match[1]]), template)
'''

_SLUG: Final = '''"""Make names for addresses."""

import re

from textmill.clean import clean
$pattern

def slug(title):
    """Return a title as it may stand in an address."""
$body
'''

_WRAP: Final = '''"""Break text into lines."""

from textmill.clean import clean
$imports

def wrap(text, width=72):
    """Return the lines of a text, none longer than width where words allow it."""
    lines = []
    line = []
    used = 0
    for word in clean(text).split():
$measure
        if line and used + length + 1 > width:
            lines.append(" ".join(line))
            line = []
            used = 0
        line.append(word)
        used += length + 1
    if line:
        lines.append(" ".join(line))
    return lines
'''

_SUITE: Final = '''"""Benchmarks of textmill: run this file, and it prints seconds per call as JSON, each beside those of a reference."""

import gc
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

WORDS = """amber anchor apple arrow autumn barley basket beacon birch bramble bridge candle canyon cedar cherry
cinder clover cobalt copper coral cotton cradle crystal dawn ember falcon feather fern forest garden ginger granite
harbor hazel heather hollow indigo ivory jasper juniper lantern laurel lichen linen marble meadow mirror mosaic
nectar nettle oyster paper pebble pepper pine plume quartz raven reed ribbon river saffron sage shadow silver
spruce stone sugar summer thistle timber tulip valley velvet walnut willow winter""".split()
TEXT = " ".join(WORDS[(7 * k) % len(WORDS)] + (", " if k % 5 else ". ") for k in range(420))
TITLES = [f"{WORDS[k % len(WORDS)].title()} & {WORDS[(3 * k + 1) % len(WORDS)]}: part {k}!" for k in range(150)]
LINES = [",".join([WORDS[(k + j) % len(WORDS)] if j % 3 else f"{k}.{j}" for j in range(9)]) for k in range(28)]
LETTER = "Dear {name}, your order {number} of {amount} {thing} left {place} on {day}. " * 12
VALUES = {"name": "Ada", "number": 4711, "amount": 3, "thing": "lanterns", "place": "Harbor", "day": "Monday"}
PREFIXES = [word[: 2 + k % 3] for k, word in enumerate(WORDS * 5)]


def count_words():
    from textmill.wordcount import count

    return lambda: count(TEXT)


def edit_distance():
    from textmill.distance import distance

    return lambda: [distance(WORDS[k], WORDS[k + 9]) for k in range(14)]


def find_prefix():
    from textmill.trie import Trie

    find = Trie(WORDS).find
    return lambda: [find(prefix) for prefix in PREFIXES]


def parse_csv():
    from textmill.csvline import parse_line

    return lambda: [parse_line(line) for line in LINES]


def render_letter():
    from textmill.template import render

    return lambda: [render(LETTER, VALUES) for _ in range(7)]


def slug_titles():
    from textmill.slug import slug

    return lambda: [slug(title) for title in TITLES]


def wrap_text():
    from textmill.wrap import wrap

    return lambda: wrap(TEXT)


def reference():
    """Do some work that no commit changes: its time tells how fast the machine is just now."""
    parts = {}
    for word in WORDS:
        for part in word.title().split("r"):
            parts[part] = parts.get(part, 0) + len(part)


def seconds(run):
    """Return the time of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def best_of(run, calls=12):
    """Return the shortest of some calls, and of the reference between them: what is least disturbed by others."""
    run()
    times = [(seconds(run), seconds(reference)) for _ in range(calls)]
    return [min(column) for column in zip(*times)]


def alone(benchmark):
    """Run one benchmark in a process forked for it: nothing that others import or leave in memory is there."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, json.dumps(best_of(benchmark())).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        times = json.load(answer)
    os.waitpid(child, 0)
    return times


BENCHMARKS = [count_words, edit_distance, find_prefix, parse_csv, render_letter, slug_titles, wrap_text]

if __name__ == "__main__":
    gc.disable()
    BENCHMARKS.sort(key=lambda benchmark: hash(benchmark.__name__))  # another order for each PYTHONHASHSEED
    print(json.dumps({benchmark.__name__: alone(benchmark) for benchmark in BENCHMARKS}))
'''

_REPORT: Final = '''"""Run the benchmarks in several processes, and write build/results.json: one entry for each sample, in microseconds."""

import json
import os
import statistics
import subprocess
import sys

PROCESSES = 7


def run(number):
    """Return benchmark → seconds, and those of the reference beside it, from a new process."""
    done = subprocess.run(
        [sys.executable, "-S", os.path.join("benchmarks", "suite.py")],
        env={**os.environ, "PYTHONHASHSEED": str(number)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    runs = [run(number) for number in range(PROCESSES)]
    usual = statistics.median(reference for each in runs for _, reference in each.values())
    results = [
        {
            "key": {"benchmark": name, "unit": "us"},
            "measurement": each[name][0] / each[name][1] * usual * 1e6,
        }
        for name in sorted(runs[0])
        for each in runs
    ]
    key = {"project": "textmill", "python": "%d.%d" % sys.version_info[:2]}
    os.makedirs("build", exist_ok=True)
    with open(os.path.join("build", "results.json"), "w") as file:
        commit = os.environ["KNICKPOINT_COMMIT"]
        json.dump({"version": 1, "git_hash": commit, "key": key, "results": results}, file)
'''

_JUSTIFY: Final = '''"""Justify lines."""


def justify(line, width):
    """Return the line with its spaces widened so that it fills the width."""
    words = line.split()
    gaps = len(words) - 1
    if gaps < 1:
        return line
    spaces = width - sum(map(len, words)$bracket
    return "".join(word + " " * ((spaces * (k + 1)) // gaps - (spaces * k) // gaps) for k, word in enumerate(words))
'''

_TEMPLATES: Final = {
    "textmill/__init__.py": '"""Small tools for text."""\n',
    "textmill/clean.py": _CLEAN,
    "textmill/wordcount.py": _COUNT,
    "textmill/distance.py": _DISTANCE,
    "textmill/trie.py": _TRIE,
    "textmill/csvline.py": _CSV,
    "textmill/template.py": _TEMPLATE,
    "textmill/slug.py": _SLUG,
    "textmill/wrap.py": _WRAP,
}

_PIECES: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
    "textmill/clean.py": {
        "plain": {"imports": "", "body": "    return text.lower()"},
        "collapsing": {"imports": "", "body": '    return " ".join(text.split()).lower()'},
    },
    "textmill/wordcount.py": {
        "loop": {
            "body": (
                "    found = {}\n"
                "    for word in words(text):\n"
                "        if word not in found:\n"
                "            found[word] = 0\n"
                "        found[word] += 1\n"
                "    return found"
            )
        },
        "counter": {"body": "    return Counter(words(text))"},
    },
    "textmill/distance.py": {
        "matrix": {
            "body": (
                "    rows = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]\n"
                "    for i in range(len(left) + 1):\n"
                "        for j in range(len(right) + 1):\n"
                "            if i == 0 or j == 0:\n"
                "                rows[i][j] = i + j\n"
                "            else:\n"
                "                change = rows[i - 1][j - 1] + (left[i - 1] != right[j - 1])\n"
                "                rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, change)\n"
                "    return rows[-1][-1]"
            )
        },
        "rows": {
            "body": (
                "    above = list(range(len(right) + 1))\n"
                "    for i, one in enumerate(left, 1):\n"
                "        row = [i]\n"
                "        for j, other in enumerate(right):\n"
                "            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (one != other)))\n"
                "        above = row\n"
                "    return above[-1]"
            )
        },
    },
    "textmill/trie.py": {
        "clean": {"find": "        prefix = clean(prefix)"},
        "checked": {
            "find": (
                "        if not all(map(str.isalpha, prefix)):\n"
                '            raise ValueError(f"{prefix!r} is not the beginning of a word")\n'
                "        prefix = clean(prefix)"
            )
        },
    },
    "textmill/csvline.py": {
        "plain": {
            "body": (
                "    fields = []\n"
                "    field = []\n"
                "    for letter in line:\n"
                '        if letter == ",":\n'
                '            fields.append("".join(field))\n'
                "            field = []\n"
                "        else:\n"
                "            field.append(letter)\n"
                '    fields.append("".join(field))\n'
                "    return fields"
            )
        },
        "quoted": {
            "body": (
                "    fields = []\n"
                "    field = []\n"
                "    quoted = False\n"
                "    for letter in line:\n"
                "        if letter == '\"':\n"
                "            quoted = not quoted\n"
                '        elif letter == "," and not quoted:\n'
                '            fields.append("".join(field))\n'
                "            field = []\n"
                "        else:\n"
                "            field.append(letter)\n"
                '    fields.append("".join(field))\n'
                "    return fields"
            )
        },
    },
    "textmill/template.py": {
        "trusting": {"check": ""},
        "strict": {
            "check": (
                "    missing = [match[1] for match in _FIELD.finditer(template) if match[1] not in values]\n"
                "    if missing:\n"
                "        raise KeyError(missing[0])"
            )
        },
    },
    "textmill/slug.py": {
        "search": {
            "pattern": "",
            "body": ('    text = re.sub(r"[^a-z0-9]+", "-", clean(title))\n    return re.sub(r"^-|-$", "", text)'),
        },
        "compiled": {
            "pattern": '\n_OTHER = re.compile(r"[^a-z0-9]+")\n',
            "body": '    return _OTHER.sub("-", clean(title)).strip("-")',
        },
    },
    "textmill/wrap.py": {
        "len": {"imports": "", "measure": "        length = len(word)"},
        "wide": {
            "imports": '\n\ndef _columns(word):\n    return len(word) if word.isascii() else sum(2 if letter > "\\u2e80" else 1 for letter in word)\n',
            "measure": "        length = _columns(word)",
        },
    },
}

FIRST_PIECES: Final[Mapping[str, str]] = {
    "textmill/clean.py": "plain",
    "textmill/wordcount.py": "loop",
    "textmill/distance.py": "matrix",
    "textmill/trie.py": "clean",
    "textmill/csvline.py": "plain",
    "textmill/template.py": "trusting",
    "textmill/slug.py": "search",
    "textmill/wrap.py": "len",
}
"""Module → its variant in the first commit."""


def source_files(pieces: Mapping[str, str]) -> dict[str, str]:
    """Return path → text of the library and its benchmarks with these variants."""
    files = {
        path: Template(text).substitute(_PIECES[path][pieces[path]]) if path in pieces else text
        for path, text in _TEMPLATES.items()
    }
    return {**files, "benchmarks/suite.py": _SUITE, "benchmarks/report.py": _REPORT}


def justify_source(*, broken: bool) -> str:
    """Return the text of a module that no benchmark uses; ``broken``, it cannot be compiled."""
    return Template(_JUSTIFY).substitute(bracket="" if broken else ")")
