"""``knick alerts``: list the alerts, change them, compare them with the applied ones, and apply them."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.instance import Instance
    from knickpoint.instance.alert_sources import SourcedAlert
    from knickpoint.model.alert import Alert
    from knickpoint.watch.alert_config.applied_alerts import AlertDifference, AlertState
    from knickpoint.watch.alert_config.finding_preview import AlertEffect, Preview
    from knickpoint.watch.lines import Lines

_SECONDS: Final = 30.0
"""How long a preview judges traces by default."""

_LIST = (
    Column("name"),
    Column("query", text=lambda query: query or "every trace"),
    Column("method"),
    Column("direction"),
    Column("minimum_effect", right=True),
    Column("minimum_traces", right=True),
    Column("kind"),
    Column("severity"),
    Column("source"),
    Column("state"),
    Column("failure"),
)


def _number(count: int) -> str:
    return f"{count:,}" if count else ""


def _filters(preview: Preview) -> list[str]:
    """Return the number of steps that each filter leaves out, as in "minimum_effect=40", the most first."""
    counts = {each.value: count for each, count in preview.left_out.items()}
    return [f"{name}={counts[name]}" for name in sorted(counts, key=lambda name: (-counts[name], name))]


_PREVIEW = (
    Column("added", "findings added", text=_number, right=True),
    Column("history", "of them history", text=_number, right=True),
    Column("gone", "findings gone", text=_number, right=True),
    Column("decided", "of them decided", text=_number, right=True),
    Column("staying", "kept by others", text=_number, right=True),
    Column("off_list", "no more work", text=_number, right=True),
    Column("on_list", "new as work", text=_number, right=True),
    Column("left_out", "left out by", text=", ".join),
)
_JUDGED = (Column("judged", right=True), Column("traces", right=True))
_DIFFERENCE = (
    Column("name"),
    Column("change"),
    Column("settings", text=" · ".join),
    *_PREVIEW,
    Column("failure"),
)
_SECONDS_OPTION = click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=_SECONDS,
    show_default=True,
    help="Time limit for the counts in seconds; if it is too short, they are 'at least'.",
)
_YES_OPTION = click.option(
    "--yes", is_flag=True, help="Do not ask, even if no alert would watch some changes any more."
)


def _require_consent(effect: AlertEffect, remedy: str = "", *, yes: bool) -> None:
    """Ask whether changes may leave the work of people; without a terminal, refuse.

    Raises:
        InputError: a person has to agree, and did not.
    """
    if yes or not effect.takes_changes:
        return
    what = (
        effect.text
        if effect.unwatched + effect.off_list + effect.members
        else "the time was up before all findings were judged"
    )
    if sys.stdin.isatty() and sys.stdout.isatty():
        if click.confirm(f"{what[0].upper()}{what[1:]}. {remedy}Do it?", default=False, err=True):
            return
        raise InputError("nothing was changed", remedy="--dry-run only counts.")
    raise InputError(f"{what}; nothing was changed", remedy=f"{remedy}--yes does it, --dry-run only counts.")


@click.group("alerts")
def command() -> None:
    """List and change the alerts, and apply those of the configuration."""


@command.command("list")
@instance_option
@format_option
def list_(instance: str | None, output: OutputFormat) -> None:
    """List all alerts: where each is defined, whether it is applied, and why some cannot run.

    A shadowed alert does not run, because the configuration has one of its name. Files of repositories that cannot be
    used are named below the list; the alerts of their last good version stay.
    """
    from knickpoint.instance.alert_sources import sourced_alerts
    from knickpoint.watch.alert_config.applied_alerts import alert_states
    from knickpoint.watch.lines import Lines

    with open_chosen_instance(instance) as opened:
        failed = [each for each in opened.store.findings.alert_definitions.files().values() if each.failure]
        if output is OutputFormat.TEXT:
            known = alert_states(opened.store, opened.alerts)
            lines = [Lines(opened.store, repository) for repository in opened.store.commits.repositories()]
            show(
                _LIST,
                [_row(opened, each, known, lines) for each in sourced_alerts(opened.config, opened.store)],
                output,
            )
        else:
            from knickpoint.answers.health import AlertAnswer, list_alerts
            from knickpoint.answers.visible_repositories import VisibleRepositories

            visible = VisibleRepositories.to_local_user(opened.store)
            show_answers(AlertAnswer, list_alerts(opened, visible, shadowed=True), output)
    for file in failed:
        click.echo(f"{file.path} of {file.repository} at {file.failed_at[:10]}: {file.failure}", err=True)


def _row(opened: Instance, each: SourcedAlert, states: Mapping[str, AlertState], lines: Sequence[Lines]) -> Row:
    from knickpoint.instance.alert_definition import alert_problem
    from knickpoint.watch.alert_config.alert_health import missing_params

    alert = each.alert
    return {
        "name": alert.name,
        "query": alert.query,
        "method": alert.method,
        "direction": alert.direction.value,
        "minimum_effect": alert.minimum_effect,
        "minimum_traces": alert.minimum_traces,
        "kind": alert.kind.value,
        "severity": alert.severity.value,
        "source": each.source.value,
        "state": "shadowed" if each.shadowed else states[alert.name].value,
        "failure": alert_problem(opened, alert, lines) or missing_params(opened.store, alert),
    }


@command.command("set")
@click.argument("name")
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--dry-run", is_flag=True, help="Count the findings that would appear and disappear; change nothing.")
@click.option(
    "--replace-default",
    is_flag=True,
    help="End the default alert with the first one that you make; without this it keeps watching everything.",
)
@_YES_OPTION
@_SECONDS_OPTION
@instance_option
@format_option
def set_(
    *,
    name: str,
    settings: Sequence[str],
    dry_run: bool,
    replace_default: bool,
    yes: bool,
    seconds: float,
    instance: str | None,
    output: OutputFormat,
) -> None:
    """Make an alert in the store, or change those of its settings that are given.

    Values are written as in knickpoint.toml; texts need no quotes, and lists may be written with commas: knick alerts
    set render query=benchmark=render* minimum_effect=0.02 owners=ann,bob. KEY= resets a setting to its default. The
    table counts the findings that come and go with it; those of a changed alert do so at the next run. Alerts of the
    configuration and of files in repositories are changed there.

    The default alert is kept in the store beside the first alert that you make. If changes would no longer be watched
    by any alert, the command asks; without a terminal it needs --yes.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.instance.alert_definition import (
        changed_settings,
        check_settable,
        read_alert,
        set_alert,
        with_default,
    )

    with open_chosen_instance(instance) as opened:
        check_settable(opened, name)
        stored = opened.store.findings.alert_definitions.stored().get(name)
        table = changed_settings(stored.alert if stored else None, settings)
        alert = read_alert(opened, name, table, where=f"alert {name!r}")
        changed = [alert] if replace_default else with_default(opened, alert)
        effect = _preview_and_show(opened, name, changed, (), output, seconds=seconds)
        if not dry_run:
            _require_consent(effect, yes=yes)
            with opened.store.transaction():
                for each in changed:
                    set_alert(opened, each, who=local_caller().name)


@command.command("remove")
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Count the findings that would disappear; change nothing.")
@_YES_OPTION
@_SECONDS_OPTION
@instance_option
@format_option
def remove(*, name: str, dry_run: bool, yes: bool, seconds: float, instance: str | None, output: OutputFormat) -> None:
    """Remove an alert from the store.

    Findings that no other alert reports are gone; decisions about them stay in the log. If there are any, the command
    asks; without a terminal it needs --yes.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.instance.alert_definition import check_settable, remove_alert

    with open_chosen_instance(instance) as opened:
        check_settable(opened, name, existing=True)
        effect = _preview_and_show(opened, name, [], (name,), output, seconds=seconds)
        if not dry_run:
            _require_consent(effect, yes=yes)
            remove_alert(opened, name, who=local_caller().name)


def _preview_and_show(
    opened: Instance,
    given: str,
    changed: Sequence[Alert],
    removed: Collection[str],
    output: OutputFormat,
    *,
    seconds: float,
) -> AlertEffect:
    from knickpoint.instance.alert_definition import preview_change

    effect = preview_change(opened, changed, removed, seconds=seconds)
    rows: list[Row] = [
        {"name": name, "change": _change(name, given, changed, removed), **_counts(preview)}
        for name, preview in effect.previews.items()
    ]
    _show_preview((Column("name"), Column("change"), *_PREVIEW), rows, effect.previews.values(), output)
    return effect


def _change(name: str, given: str, changed: Sequence[Alert], removed: Collection[str]) -> str:
    """Describe the change of an alert.

    One beside the ``given`` one is the default alert, which stays, comes or goes with it.
    """
    if name in {alert.name for alert in changed}:
        return "set" if name == given else "kept"
    return "removed" if changed or name in removed else "added"


def _counts(preview: Preview) -> Row:
    return {
        "added": preview.added,
        "history": preview.history,
        "gone": preview.gone,
        "decided": preview.decided,
        "staying": preview.staying,
        "off_list": preview.off_list,
        "on_list": preview.on_list,
        "left_out": _filters(preview),
        "judged": preview.judged,
        "traces": preview.traces,
    }


def _show_preview(
    columns: Sequence[Column], rows: Sequence[Row], previews: Collection[Preview], output: OutputFormat
) -> None:
    show(columns if output is OutputFormat.TEXT else (*columns, *_JUDGED), rows, output)
    if not all(preview.complete for preview in previews):
        judged, traces = sum(each.judged for each in previews), sum(each.traces for each in previews)
        click.echo(f"At least: {judged:,} of {traces:,} traces were judged; --seconds allows more time.", err=True)


@command.command("apply")
@click.option("--dry-run", is_flag=True, help="Show the difference; change nothing.")
@click.option(
    "--prune", is_flag=True, help="Remove alerts created by a command or the API, so that only files define alerts."
)
@_YES_OPTION
@_SECONDS_OPTION
@instance_option
@format_option
def apply(*, dry_run: bool, prune: bool, yes: bool, seconds: float, instance: str | None, output: OutputFormat) -> None:
    """Apply the alerts: findings that only a removed alert reports are gone.

    For each changed, added or removed alert, the table counts the findings that appear and disappear, how many of the
    latter have a status or a ticket, and those that stay because another alert reports them as well. The findings of
    an added or changed alert come and go at the next run.

    If changes would no longer be watched by any alert, the command asks; without a terminal it needs --yes, and ends
    with exit code 2 otherwise. A worker with this configuration takes them at its next run in any case.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.instance.alert_definition import prune_alerts
    from knickpoint.instance.alert_sources import sourced_alerts
    from knickpoint.watch.alert_config.applied_alerts import AlertChange, apply_alerts, compare_alerts
    from knickpoint.watch.alert_config.finding_preview import preview_effect

    with open_chosen_instance(instance) as opened:
        sourced = sourced_alerts(opened.config, opened.store, made={} if prune else None)
        alerts = [each.alert for each in sourced if not each.shadowed]
        differences = compare_alerts(opened.store, alerts)
        changed = [each.name for each in differences if each.judges_otherwise]
        other_kind = [each.name for each in differences if each.has_other_kind]
        effect = preview_effect(opened.store, alerts, judging=changed, kinds=other_kind, seconds=seconds)
        _show_preview(_DIFFERENCE, list(_rows(differences, effect.previews)), effect.previews.values(), output)
        if not dry_run:
            ending = any(each.name == "default" and each.change is AlertChange.REMOVED for each in differences)
            keeping = "`knick alerts set default` keeps watching everything. " if ending else ""
            _require_consent(effect, keeping, yes=yes)
            with opened.store.transaction():
                if prune:
                    prune_alerts(opened, who=local_caller().name)
                apply_alerts(opened.store, alerts, who=local_caller().name)


def _rows(differences: Sequence[AlertDifference], previews: Mapping[str, Preview]) -> Iterator[Row]:
    from knickpoint.watch.alert_config.finding_preview import Preview

    for difference in differences:
        yield {
            "name": difference.name,
            "change": difference.change.value,
            "settings": _changed_settings(difference),
            **_counts(previews.get(difference.name) or Preview()),
            "failure": difference.failure,
        }


def _changed_settings(difference: AlertDifference) -> list[str]:
    """Return the settings that change for people: those of an alert that comes or goes, without its defaults."""
    from knickpoint.model.alert import Alert, alert_settings
    from knickpoint.watch.alert_config.applied_alerts import AlertChange

    if difference.change is AlertChange.CHANGED:
        return [
            f"{each.name}: {_setting_text(each.before)} → {_setting_text(each.after)}" for each in difference.settings
        ]
    defaults = alert_settings(Alert(""))
    alone = {each.name: each.before if each.after is None else each.after for each in difference.settings}
    return [f"{name}: {_setting_text(value)}" for name, value in alone.items() if value != defaults.get(name)]


def _setting_text(value: object) -> str:
    """Return the value of a setting as it is written in knickpoint.toml; a setting without a value is a dash."""
    return "–" if value is None else json.dumps(value, ensure_ascii=False)
