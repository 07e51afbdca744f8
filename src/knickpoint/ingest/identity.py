"""Identify files and runs: which execution a run is, and whether its content is stored already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Final

from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import IngestSettings
from knickpoint.ingest.sidecar import STATED_KEY, hashes_in_name
from knickpoint.model.report import RunReport

_LONGEST: Final = 2000
"""Bytes of an identity; an index of PostgreSQL takes 2,700."""


def digest_bytes(data: bytes, context: Mapping[str, object]) -> str:
    """Return the digest of a file's bytes and of what is stated beside it: commit, branch, params."""
    key = json.dumps(context, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.blake2b(data, digest_size=20, key=hashlib.blake2b(key.encode(), digest_size=32).digest()).hexdigest()


def file_digests(file: ResultsFile, settings: IngestSettings) -> tuple[str, ...]:
    """Return the digests by which the content of ``file`` may be known, one or two.

    The first covers the file and what is stated beside it. The second is for results that name no commit: it adds what
    takes the place of the commit, which is the CI, the name of the file, or else HEAD. With HEAD, the time when the
    file was written belongs to it, as equal results may have been measured at another commit. The naming rules belong
    to both: under other rules the file is read again.
    """
    options = file.context.as_options()
    stated: dict[str, object] = {STATED_KEY: options[STATED_KEY]}
    rules = [list(settings.drop_params), [[dict(each.old), dict(each.new)] for each in settings.renames]]
    if any(rules):
        stated["rules"] = rules
    instead: dict[str, object] = {}
    if options["fallback"]:
        instead |= options
    elif file.written:
        instead["written"] = file.written
    if any(hashes := hashes_in_name(file.source)):
        instead["name"] = hashes
    return (_digest(file, stated), *([_digest(file, stated | instead)] if instead else []))


def _digest(file: ResultsFile, context: Mapping[str, object]) -> str:
    """Return the digest of the bytes, the mapping and the companions of ``file``, with ``context``."""
    beside = dict(context)
    if file.context.mapping:
        beside["mapping"] = file.context.mapping
    if file.companions:
        beside["companions"] = {name: digest_bytes(data, {}) for name, data in file.companions.items()}
    return digest_bytes(file.data, beside)


def digest_run(run: RunReport) -> str:
    """Return the digest of all that a run reports, except for its commit and its branch."""
    table = run.results
    digest = hashlib.blake2b(digest_size=20)
    for column in (table.samples, table.offsets, table.unit_codes, table.better_codes, table.outcome_codes):
        digest.update(column.tobytes())
    facts = (table.keys, table.units, table.messages, table.summaries, table.links)
    about = (run.identity, run.time, run.environment, run.links, run.revisions)
    text = json.dumps(
        [dict(fact) if isinstance(fact, Mapping) else fact for fact in (*facts, *about)],
        sort_keys=True,
        default=str,
        separators=(",", ":"),
    )
    digest.update(text.encode())
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

    The first of these that is there decides:

    1. the id that the file gives to the run;
    2. in a history file, the entry with the names of its results, as two files may hold different benchmarks of one
       entry;
    3. the execution that the CI or a sidecar names, with the name of the file;
    4. the source with the commit and, where the file has it, the time of the run: the file of the same name at the next
       commit is another run, and so is a second execution.

    ``params`` that are added to all results always belong to the identity: the same file may come from two machines.
    ``keys`` are the names as the file has them, so that a naming rule does not make another run of it. A digest stands
    for a text that is too long for an index of the database.
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
    identity = ":".join(part.replace("%", "%25").replace(":", "%3A") for part in parts)
    data = identity.encode(errors="surrogatepass")
    return identity if len(data) <= _LONGEST else f"digest:{hashlib.blake2b(data, digest_size=20).hexdigest()}"
