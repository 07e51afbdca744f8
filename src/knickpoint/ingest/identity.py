"""Tell runs apart: which execution a run is, and whether its content is what we know already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from knickpoint.model.report import RunReport

__all__ = ["digest_file", "digest_run", "run_identity"]


def digest_file(data: bytes, context: Mapping[str, object]) -> str:
    """Return the digest of a file's bytes and of what was said beside it: commit, branch, params."""
    told = json.dumps(context, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.blake2b(
        data, digest_size=20, key=hashlib.blake2b(told.encode(), digest_size=32).digest()
    ).hexdigest()


def digest_run(run: RunReport) -> str:
    """Return the digest of everything that a run says, its commit and its branch aside."""
    table = run.results
    digest = hashlib.blake2b(digest_size=20)
    for column in (table.samples, table.offsets, table.unit_codes, table.better_codes, table.outcome_codes):
        digest.update(column.tobytes())
    facts = (table.keys, table.units, table.messages, table.summaries, table.links)
    about = (run.identity, run.time, run.environment, run.links, run.revisions)
    told = json.dumps(
        [dict(fact) if isinstance(fact, Mapping) else fact for fact in (*facts, *about)],
        sort_keys=True,
        default=str,
        separators=(",", ":"),
    )
    digest.update(told.encode())
    return digest.hexdigest()


def run_identity(
    run: RunReport,
    *,
    commit: str,
    source: str,
    ci: str = "",
    keys: Iterable[str] = (),
    params: Mapping[str, str],
) -> str:
    """Return the text that names the execution ``run`` within its repository.

    It is the id that the file gives; else, inside a history file, the entry with the names of its results,
    for two files may tell different benchmarks of one entry; else the execution that CI or sidecar names,
    with the file's name; else the source with the commit and, where the file tells it, the time of the run:
    the next commit's file of the same name is another run, and so is a second execution. ``params`` that
    were added from outside always belong to it: the same file may come from two machines. ``keys`` are the
    names as the file has them, so that a rule about names makes no other run of it.
    """
    if run.identity:
        parts = ["id", run.identity, run.entry]
    elif run.entry:
        names = hashlib.blake2b("".join(sorted(keys)).encode(), digest_size=8).hexdigest()
        parts = ["entry", run.entry, names]
    elif ci:
        parts = ["ci", ci, source.rpartition("/")[2], commit]
    else:
        parts = ["file", source, commit, run.time.isoformat() if run.time else ""]
    parts.extend(f"{name}={params[name]}" for name in sorted(params))
    return ":".join(part.replace("%", "%25").replace(":", "%3A") for part in parts)
