"""``knick quality corpus``: write decisions as labelled examples."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import click

from knickpoint.cli.commands.quality.command import command
from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.terminal import plain_json
from knickpoint.model.spreadsheet import guarded

__all__ = ["corpus"]


@command.command("corpus")
@click.option("--values", is_flag=True, help="Write the series of each trace, in the first of its rows.")
@click.option(
    "--format",
    "output",
    type=click.Choice(["jsonl", "csv"]),
    default="jsonl",
    show_default=True,
    help="JSON Lines, or CSV without series.",
)
@instance_option
def corpus(*, values: bool, output: str, instance: str | None) -> None:
    """Write decided findings and missed changes as labelled examples, one row each.

    Rows have no ids, times or names of people, and their order depends on the labels alone.
    """
    from knickpoint.model.errors import InputError
    from knickpoint.watch.quality.corpus import COLUMNS, corpus_rows

    if values and output == "csv":
        raise InputError("CSV has no place for series", where="--values", remedy="Write JSON Lines: --format jsonl.")
    stream = sys.stdout
    with open_chosen_instance(instance) as opened:
        store = opened.store
        rows: Iterable[Mapping[str, Any]] = (
            row
            for repository in sorted(store.commits.repositories(), key=lambda each: each.name)
            for row in corpus_rows(store, repository, values=values)
        )
        if output == "jsonl":
            for row in rows:
                stream.write(plain_json(json.dumps(row, ensure_ascii=False)) + "\n")
            return
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([_field(row[name]) for name in COLUMNS])


def _field(value: Any) -> str:
    if value is None:
        return ""
    return guarded(value) if isinstance(value, str) else repr(value)
