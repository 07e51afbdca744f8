"""Make, change and remove alerts, within what the caller administers, and count beforehand what that does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from knickpoint.instance import Instance
from knickpoint.instance.alert_definition import (
    check_settable,
    preview_change,
    read_alert,
    remove_alert,
    set_alert,
)
from knickpoint.model.access import Caller, Permission
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Sighting
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.answers.traces import trace_answer
from knickpoint.server.errors import UnknownError
from knickpoint.server.permissions import require, require_everywhere
from knickpoint.server.schemas.alerts import (
    AlertChangeAnswer,
    AlertFileAnswer,
    AlertPreviewRequest,
    AlertRequest,
    NewAlertRequest,
    PreviewAnswer,
    PreviewExampleAnswer,
)
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store

__all__ = ["change_alert", "create_alert", "delete_alert", "list_alert_files", "preview_alert"]


def create_alert(instance: Instance, caller: Caller, request: NewAlertRequest) -> AlertChangeAnswer:
    """Make an alert.

    Raises:
        ForbiddenError: the caller is no admin of all that it watches.
        InputError: there is one of this name.
        InputError: a setting cannot be used.
    """
    if request.name in {alert.name for alert in instance.alerts}:
        raise InputError(
            f"there is an alert {request.name!r} already", where="name", remedy="PUT changes it, if the store has it."
        )
    return _set(instance, caller, request.name, request)


def change_alert(instance: Instance, caller: Caller, name: str, request: AlertRequest) -> AlertChangeAnswer:
    """Give the alert ``name`` of the store the settings of a request, and no others.

    Raises:
        ForbiddenError: the caller is no admin of all that it watches.
        UnknownError: the store has no such alert.
        InputError: a setting cannot be used.
    """
    _stored(instance, caller, name)
    return _set(instance, caller, name, request)


def _set(instance: Instance, caller: Caller, name: str, request: AlertRequest) -> AlertChangeAnswer:
    _require(caller, request.repository)
    with _as_input():
        alert = read_alert(instance, name, request.table(), where=f"alert {name!r}")
        set_alert(instance, alert, who=caller.name)
    return AlertChangeAnswer(name=name, change="set")


def delete_alert(instance: Instance, caller: Caller, name: str) -> AlertChangeAnswer:
    """Remove the alert ``name`` from the store; what it alone found is gone.

    Raises:
        ForbiddenError: the caller is no admin of all that it watches.
        UnknownError: the store has no such alert.
    """
    _stored(instance, caller, name)
    remove_alert(instance, name, who=caller.name)
    return AlertChangeAnswer(name=name, change="removed")


def preview_alert(instance: Instance, caller: Caller, request: AlertPreviewRequest) -> list[PreviewAnswer]:
    """Count the findings that come and go with a change of the store, for each alert that it concerns.

    Raises:
        ForbiddenError: the caller is no admin of all that the alert watches.
        UnknownError: an alert to be removed is not in the store.
        InputError: a setting cannot be used.
    """
    changed: list[Alert] = []
    if request.removed:
        _stored(instance, caller, request.name)
    else:
        _require(caller, request.repository)
        with _as_input():
            check_settable(instance, request.name)
            changed = [read_alert(instance, request.name, request.table(), where=f"alert {request.name!r}")]
    removed = {request.name} if request.removed else set()
    found = preview_change(instance, changed, removed, seconds=request.seconds)
    return [
        PreviewAnswer.of(
            preview,
            name=name,
            left_out={each.value: count for each, count in preview.left_out.items()},
            examples=_examples(instance.store, caller, preview.examples),
        )
        for name, preview in found.items()
    ]


def _examples(store: Store, caller: Caller, sightings: Sequence[Sighting]) -> list[PreviewExampleAnswer]:
    """Return the answers for sightings in repositories that the caller may read."""
    owners = VisibleRepositories(store, caller).owners([each.trace_id for each in sightings])
    traces = {trace.id: trace for trace in store.traces.get(list(owners))}
    answers = []
    for each in sightings:
        repository = owners.get(each.trace_id)
        commits = store.commits.get(repository, [each.suspect_range.slot]) if repository else []
        if repository is None or not commits:
            continue
        position = store.commits.line(repository, each.suspect_range.line).positions.get(each.suspect_range.slot)
        answers.append(
            PreviewExampleAnswer(
                trace=trace_answer(traces[each.trace_id], repository.name),
                commit=commit_answer(commits[0].commit, position),
                relative_size=each.numbers.relative_size,
                size=each.numbers.size,
            )
        )
    return answers


def list_alert_files(instance: Instance, visible: VisibleRepositories) -> list[AlertFileAnswer]:
    """List the files of alerts of the repositories that the caller may read."""
    files = instance.store.findings.alert_definitions.files().values()
    return [AlertFileAnswer.of(file, alerts=sorted(file.alerts)) for file in files if visible.shows(file.repository)]


@contextmanager
def _as_input() -> Iterator[None]:
    """Let what a request asks for be the fault of the request, where the configuration would be at fault."""
    try:
        yield
    except ConfigError as error:
        raise InputError(error.message, where=error.where, remedy=error.remedy) from error


def _stored(instance: Instance, caller: Caller, name: str) -> None:
    """Check that the store has the alert ``name``, and that ``caller`` administers what it watches."""
    stored = instance.store.findings.alert_definitions.stored().get(name)
    if stored is None:
        require(caller, Permission.ADMIN)
        raise UnknownError(
            f"the store has no alert {name!r}", where="name", remedy="GET /api/v1/alerts lists them with their sources."
        )
    _require(caller, stored.alert.repository)


def _require(caller: Caller, repository: str) -> None:
    if repository:
        require(caller, Permission.ADMIN, repository=repository)
    else:
        require_everywhere(caller, Permission.ADMIN)
