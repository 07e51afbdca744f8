"""Match what commits accept with benchmarks: ``Knickpoint-Accept: parse, the new grammar costs a tenth``.

The benchmark is its name, what follows the last ``::`` of its name if no other benchmark ends so, its trace key, or a
query; the reason follows after a comma.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from knickpoint.model.commit import Commit
from knickpoint.model.errors import QueryError
from knickpoint.model.judged_benchmark import Acceptance
from knickpoint.model.params import decode_key
from knickpoint.model.quantity_text import trace_name
from knickpoint.model.query import parse_query


def match_accepted(
    trailers: Iterable[tuple[Commit, str]], keys: Iterable[str]
) -> tuple[dict[str, Acceptance], list[str]]:
    """Return trace key → the commit that accepts its change, and a warning for each trailer that accepts nothing.

    ``trailers`` are commits and the values of their trailers, newest first; of several for one trace the newest counts.
    """
    listed = list(keys)
    accepted: dict[str, Acceptance] = {}
    warnings = []
    for commit, value in trailers:
        matched, reason = _match(value, listed)
        if not matched:
            warnings.append(f"{commit.hash[:12]} accepts {value!r}, which names no benchmark of the results")
        elif not reason:
            warnings.append(f"{commit.hash[:12]} accepts {value!r} without a reason, so it does not count")
        else:
            author = commit.author or commit.email
            for key in matched:
                accepted.setdefault(key, Acceptance(value, reason, commit.hash, author))
    return accepted, warnings


def _match(value: str, keys: Sequence[str]) -> tuple[list[str], str]:
    """Return the keys that a trailer names, and its reason: by the longest name before a comma, else by a query."""
    benchmarks = {key: trace_name(decode_key(key))[0] for key in keys}
    endings = Counter(name.rpartition("::")[2] for name in set(benchmarks.values()))
    found = [
        (len(name), key)
        for key, benchmark in benchmarks.items()
        for name in (key, key.strip(","), benchmark, benchmark.rpartition("::")[2])
        if name and (value == name or value.startswith(f"{name},"))
        if name in {key, key.strip(","), benchmark} or endings[name] == 1
    ]
    if found:
        length = max(size for size, _ in found)
        return sorted({key for size, key in found if size == length}), value[length:].strip(" ,")
    text, _, reason = value.partition(",")
    if "=" not in text:
        return [], ""
    try:
        query = parse_query(text.strip())
    except QueryError:
        return [], ""
    return [key for key in keys if query.matches(decode_key(key))], reason.strip()
