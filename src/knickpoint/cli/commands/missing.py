"""``knick missing`` and ``canaries``: results that should be there, and results that are held back."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import find_trace, instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.answers.missing import MissingAnswer
    from knickpoint.instance import Instance
    from knickpoint.model.commit import Repository
    from knickpoint.model.quarantine import QuarantineState
    from knickpoint.store import Store
    from knickpoint.watch.missing_data import MissingEntry


def _share(value: float | None) -> str:
    return "" if value is None else figure_text(value, ".0%")


_LIST = (
    Column("repository"),
    Column("kind"),
    Column("what"),
    Column("count", "traces", text=lambda count: f"{count:,}" if count else "", right=True),
    Column("last", "last results", text=lambda commit: commit[:10]),
    Column("date"),
    Column("silent", "commits without", right=True),
    Column("usual", "usual gap", right=True),
)
_RENAMES = (
    Column("repository"),
    Column("old"),
    Column("new"),
    Column("name_likeness", "names alike", text=_share, right=True),
    Column("value_likeness", "values alike", text=_share, right=True),
    Column("probability", text=_share, right=True),
    Column("accepted"),
)


@click.group("missing", invoke_without_command=True)
@instance_option
@format_option
@click.pass_context
def missing(context: click.Context, instance: str | None, output: OutputFormat) -> None:
    """List jobs, series and commits whose results are overdue by their usual schedule.

    A series is missing when its silence is longer than twice its longest recent gap. Series that stopped together,
    such as a whole job, are one row. `knick missing renames` shows which new series may continue old ones.
    """
    if context.invoked_subcommand is not None:
        return
    from knickpoint.instance.notices import find_missing

    rows: list[Row] = []
    with open_chosen_instance(instance) as opened:
        if output is not OutputFormat.TEXT:
            from knickpoint.answers.missing import MissingEntryAnswer

            show_answers(MissingEntryAnswer, [entry for each in _answers(opened) for entry in each.entries], output)
            return
        for repository in opened.store.commits.repositories():
            found = find_missing(opened, repository)
            rows += _missing_rows(opened, repository, found.entries)
    show(_LIST, rows, output, empty="Nothing is missing.")


def _answers(opened: Instance) -> list[MissingAnswer]:
    from knickpoint.answers.missing import list_missing
    from knickpoint.answers.visible_repositories import VisibleRepositories

    return list_missing(opened, VisibleRepositories.to_local_user(opened.store), "", traces=None)


def _missing_rows(opened: Instance, repository: Repository, entries: tuple[MissingEntry, ...]) -> Iterator[Row]:
    slots = sorted({each.last for each in entries if each.last >= 0})
    commits = {each.slot: each.commit for each in opened.store.commits.get(repository, slots)}
    for each in entries:
        last = commits.get(each.last)
        yield {
            "repository": repository.name,
            "kind": each.kind.value,
            "what": _what(each),
            "count": len(each.traces),
            "last": last.hash if last else "",
            "date": last.time.date().isoformat() if last and last.has_time else "",
            "silent": each.silent,
            "usual": each.usual,
        }


def _what(entry: MissingEntry) -> str:
    from knickpoint.watch.missing_data import MissingKind

    if entry.kind is MissingKind.COMMITS:
        return f"{counted(entry.silent, 'commit')} without results"
    if len(entry.traces) == 1:
        return entry.traces[0].trace.key
    return " ".join(entry.params) or ("everything" if not entry.traces else "several series")


@missing.command("renames")
@instance_option
@format_option
def renames(instance: str | None, output: OutputFormat) -> None:
    """List renames that may explain what is missing, the most likely first, and those that were accepted."""
    from knickpoint.instance.notices import find_missing

    rows: list[Row] = []
    with open_chosen_instance(instance) as opened:
        if output is not OutputFormat.TEXT:
            from knickpoint.answers.missing import RenameAnswer

            found = [rename for each in _answers(opened) for rename in (*each.proposed, *each.accepted)]
            show_answers(RenameAnswer, found, output)
            return
        traces = opened.store.traces
        for repository in opened.store.commits.repositories():
            rows += [
                {
                    "repository": repository.name,
                    "old": each.old.key,
                    "new": each.new.key,
                    "name_likeness": each.name_likeness,
                    "value_likeness": each.value_likeness,
                    "probability": each.probability,
                    "accepted": "",
                }
                for each in find_missing(opened, repository).renames
            ]
            for each in traces.renames.all(repository):
                old, new = traces.get([each.old, each.new])
                accepted = f"{each.who}, {each.time:%Y-%m-%d}"
                row = dict.fromkeys(("name_likeness", "value_likeness", "probability"))
                rows.append(
                    {**row, "repository": repository.name, "old": old.key, "new": new.key, "accepted": accepted}
                )
    show(_RENAMES, rows, output, empty="No likely or accepted renames.")


@missing.command("rename")
@click.argument("old")
@click.argument("new")
@click.option("--undo", is_flag=True, help="Withdraw an accepted rename.")
@instance_option
def rename(*, old: str, new: str, undo: bool, instance: str | None) -> None:
    """Let the series NEW continue OLD: for plots, detection and findings. No stored value changes.

    OLD and NEW are trace keys, or queries that match one trace each. The findings of OLD, with their decisions, become
    findings of NEW, which the next run judges as one series with OLD.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.watch.explanation import find_trace_in
    from knickpoint.watch.missing_data import accept_rename, withdraw_rename

    change = withdraw_rename if undo else accept_rename
    with open_chosen_instance(instance) as opened:
        repository, before = find_trace_in(opened.store, find_trace(opened.store, old))
        other, after = find_trace_in(opened.store, find_trace(opened.store, new))
        if repository.id != other.id:
            raise InputError("the series belong to two repositories", remedy="A rename stays within one repository.")
        change(opened.store, repository, before, after, who=local_caller().name)
    verb = "no longer continues" if undo else "continues"
    note(f"{after.key} {verb} {before.key}; the next run judges again.")


_COLUMNS: Final = (
    Column("id"),
    Column("repository"),
    *(Column(name) for name in ("commit", "machine", "state", "traces", "reason", "since", "until", "outcome")),
)
_HEALTH: Final = (
    Column("canary"),
    Column("trace"),
    Column("machine", text=lambda name: name or "–"),
    Column("judged"),
    Column("moved"),
    Column("noise", text=lambda share: figure_text(share, ".1%") if share is not None else "–"),
    Column("useless", "ignored because", text=lambda text: text or "–"),
)


@click.group("canaries", invoke_without_command=True)
@click.option("--all", "everything", is_flag=True, help="Include ended ones.")
@instance_option
@format_option
@click.pass_context
def canaries(context: click.Context, *, everything: bool, instance: str | None, output: OutputFormat) -> None:
    """List the quarantined results: a canary, or a fact of their machine, changed."""
    if context.invoked_subcommand:
        return
    from knickpoint.model.quarantine import QuarantineState

    states = [each for each in QuarantineState if everything or each.withholds]
    with open_chosen_instance(instance) as opened:
        if output is OutputFormat.TEXT:
            rows = list(_quarantine_rows(opened.store, states))
            show(_COLUMNS, rows, output, empty="No results are quarantined.")
            return
        from knickpoint.answers.quarantines import QuarantineAnswer, list_quarantines
        from knickpoint.answers.visible_repositories import VisibleRepositories

        visible = VisibleRepositories.to_local_user(opened.store)
        show_answers(QuarantineAnswer, list_quarantines(visible, "", states, limit=None), output)


def _quarantine_rows(store: Store, states: Collection[QuarantineState]) -> Iterator[Row]:
    for repository in store.commits.repositories():
        found = store.quarantines.all(repository, states=states)
        commits = {each.slot: each.commit.hash for each in store.commits.get(repository, [q.slot for q in found])}
        for each in found:
            yield {
                "id": f"Q{each.id}",
                "repository": repository.name,
                "commit": commits.get(each.slot, "")[:10],
                "machine": each.machine or "–",
                "state": each.state.value,
                "traces": each.traces,
                "reason": each.reason,
                "since": each.since.isoformat(timespec="seconds"),
                "until": each.until.isoformat(timespec="seconds"),
                "outcome": f"{each.outcome} ({each.who})" if each.who else each.outcome or "–",
            }


@canaries.command("lift")
@click.argument("number")
@click.option("--reason", required=True, help="Why the results count; the audit log has it.")
@instance_option
def lift(number: str, reason: str, instance: str | None) -> None:
    """Let quarantined results count after all; NUMBER is Q3 or 3."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.watch.quarantine.update import lift_quarantine

    digits = number.removeprefix("Q").removeprefix("q")
    if not (digits.isascii() and digits.isdigit()):
        raise InputError(f"{number!r} is not an id of a quarantine", remedy="Write Q3 or 3; see knick canaries.")
    with open_chosen_instance(instance) as opened:
        store = opened.store
        owner = store.quarantines.get(int(digits)).quarantine.repository_id
        repository = next(each for each in store.commits.repositories() if each.id == owner)
        lifted = lift_quarantine(store, repository, int(digits), who=local_caller().name, reason=reason)
    note(f"Q{lifted.id} is lifted; the next knick run judges {counted(lifted.traces, 'trace')} again.")


@canaries.command("health")
@instance_option
@format_option
def health(instance: str | None, output: OutputFormat) -> None:
    """List how useful each canary is on each machine; one that moves all the time is ignored."""
    from knickpoint.instance import canary_health

    with open_chosen_instance(instance) as opened:
        rows: list[Row] = [
            {
                "canary": each.trace.canary,
                "trace": each.trace.key,
                "machine": each.machine,
                "judged": each.judged,
                "moved": each.episodes,
                "noise": None if each.noise != each.noise else each.noise,  # nan where it is unknown
                "useless": each.useless,
            }
            for each in canary_health(opened)
        ]
    show(_HEALTH, rows, output, empty="There are no canaries: see [canaries.NAME] in knickpoint.toml.")
