"""Quarantine results by the rules of an instance, and call the hooks that ask for another run."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from knickpoint.instance.alert_sources import CANARY_PREFIX
from knickpoint.instance.config import HookSettings
from knickpoint.instance.instance import Instance
from knickpoint.model.alert import AlertKind
from knickpoint.model.errors import KnickpointError
from knickpoint.model.notification import Message, Recipient
from knickpoint.model.plain_text import plain_line
from knickpoint.model.quarantine import Quarantine
from knickpoint.store.quarantines import HookCall, HookState

if TYPE_CHECKING:
    from knickpoint.model.commit import Repository
    from knickpoint.watch.quarantine.assessment import CanaryHealth, KeptWalks
    from knickpoint.watch.quarantine.canaries import QuarantineRule
    from knickpoint.watch.quarantine.update import QuarantineUpdate


# Quarantine results by the rules of an instance: its canaries, its settings, and its hooks.


def quarantine_rule(instance: Instance) -> QuarantineRule:
    """Return the rule of the instance; its canaries are those of the alerts of the kind ``canary``."""
    from knickpoint.watch.quarantine.canaries import Canary, QuarantineRule

    settings = instance.config.quarantine
    return QuarantineRule(
        canaries=tuple(
            Canary(each.name.removeprefix(CANARY_PREFIX), each.query, each.repository)
            for each in instance.alerts
            if each.kind is AlertKind.CANARY
        ),
        machine=settings.machine,
        facts=settings.facts,
        minimum_effect=settings.minimum_effect,
        wait=timedelta(hours=settings.wait_hours),
        stays=settings.stays,
        facts_stay=settings.facts_stay,
    )


def quarantine_suspect_results(
    instance: Instance, *, now: datetime | None = None
) -> list[tuple[Repository, QuarantineUpdate]]:
    """Bring the quarantines of all repositories up to date; return what changed in each.

    Nothing is done where ``[quarantine] watch`` is false: results that are quarantined stay so.

    Raises:
        StoreError: the store cannot be read or written.
    """
    from knickpoint.watch.quarantine.update import update_quarantines

    if not instance.config.quarantine.watch:
        return []
    rule = quarantine_rule(instance)
    return [
        (repository, update_quarantines(instance.store, repository, rule, hooks=instance.config.hooks, now=now))
        for repository in instance.store.commits.repositories()
    ]


def canary_health(instance: Instance) -> list[CanaryHealth]:
    """Return the usefulness of each canary on each machine that measured it; nothing is written."""
    from knickpoint.watch.quarantine.assessment import assess_machine
    from knickpoint.watch.quarantine.update import canary_traces, read_runs

    store, rule = instance.store, quarantine_rule(instance)
    found: list[CanaryHealth] = []
    for repository in store.commits.repositories():
        if canaries := canary_traces(store, repository, rule):
            read = read_runs(store, store.commits.line(repository), canaries, rule)
            for machine, runs in sorted(read.machines.items()):
                found += assess_machine(runs, canaries, rule, machine=machine).health
    return found


@dataclass
class QuarantineRounds:
    """Does the same again and again for a worker, where something may have changed.

    That is when runs arrived or were corrected, and when a quarantine without an outcome ends.
    """

    instance: Instance
    _seen: dict[int, object] = field(default_factory=dict, init=False)
    _next_end: dict[int, datetime] = field(default_factory=dict, init=False)
    _kept: dict[int, KeptWalks] = field(default_factory=dict, init=False)
    _data: str | None = field(default=None, init=False)

    def run(self, now: datetime | None = None, *, data: str | None = None) -> list[str]:
        """Bring the quarantines up to date, and return a line about each that changed.

        Nothing is read while the store holds the same ``data``, by its name, and no quarantine ends.
        """
        from knickpoint.model.quarantine import QuarantineState
        from knickpoint.watch.quarantine.assessment import KeptWalks
        from knickpoint.watch.quarantine.update import update_quarantines

        if not self.instance.config.quarantine.watch:
            return []
        moment = now or datetime.now(UTC)
        if data is not None and data == self._data and all(moment < end for end in self._next_end.values()):
            return []
        self._data = None
        store, rule = self.instance.store, None
        lines = []
        for repository in store.commits.repositories():
            seen = store.runs.state(repository)
            ends = self._next_end.get(repository.id)
            if self._seen.get(repository.id) == seen and not (ends and moment >= ends):
                continue
            rule = rule or quarantine_rule(self.instance)
            kept = self._kept.setdefault(repository.id, KeptWalks())
            hooks = self.instance.config.hooks
            update = update_quarantines(store, repository, rule, hooks=hooks, now=moment, kept=kept)
            self._seen[repository.id] = seen
            active = store.quarantines.all(repository, states={QuarantineState.QUARANTINED})
            self._next_end.pop(repository.id, None)
            if active:
                self._next_end[repository.id] = min(each.until for each in active)
            lines += [f"quarantined: results of {each.identity}: {each.reason}" for each in update.begun]
            lines += [f"quarantine Q{each.id}: {each.state.value}; {each.outcome}" for each in update.changed]
        self._data = data
        return lines


# Call hooks about quarantined results: a command or a signed web request that may run the benchmarks again.
#
# A call is a row of the store, made in the transaction that begins the quarantine. It is tried until the hook takes it:
# a command that ends with 0, an address that answers 2xx. A process that is killed in the middle of a call repeats it,
# with the same key.


_FIRST_PAUSE: Final = 30.0
_LONGEST_PAUSE: Final = 3_600.0
_KEPT_OUTPUT: Final = 2_000
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "TZ")
"""Variables of the worker that a command gets; the others may hold secrets."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """Whether a hook took a call, and what it said."""

    taken: bool
    text: str


def call_hooks(instance: Instance, *, now: datetime | None = None) -> list[str]:
    """Make the calls of hooks that are due, and return a line about each.

    A call about results that are no longer quarantined is dropped. Errors of hooks are retried, never raised.

    Raises:
        StoreError: the store cannot be read or written.
    """
    moment = now or datetime.now(UTC)
    hooks = instance.config.hooks
    if not hooks:
        return []
    calls = instance.store.quarantines.hook_calls
    lease = 2 * max(hook.seconds for hook in hooks.values()) * len(hooks) + 60
    lines = []
    for call in calls.claim(moment, lease):
        facts = _facts(instance, call)
        hook = hooks.get(call.hook)
        if hook is None or facts is None:
            calls.finish(call.id, HookState.DROPPED, "the results are no longer quarantined")
            continue
        answer = _call(instance, hook, facts)
        said = plain_line(answer.text.strip(), _KEPT_OUTPUT)
        if answer.taken:
            calls.finish(call.id, HookState.DONE, said)
            lines.append(f"hook {hook.name}: called about {facts['run']}")
        elif call.attempts >= hook.attempts:
            calls.finish(call.id, HookState.FAILED, said)
            lines.append(f"hook {hook.name}: failed for good about {facts['run']}: {said}")
        else:
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (call.attempts - 1))
            calls.retry(call.id, moment + timedelta(seconds=pause), said)
            lines.append(f"hook {hook.name}: failed about {facts['run']}: {said}; tried again in {pause:.0f} s")
    return lines


def _facts(instance: Instance, call: HookCall) -> dict[str, str] | None:
    """Return the facts for a hook, None if the results are no longer quarantined."""
    store = instance.store
    repository = next((each for each in store.commits.repositories() if each.id == call.repository_id), None)
    if repository is None:
        return None
    known = store.quarantines.all(repository)
    quarantine: Quarantine | None = next((each for each in known if each.identity == call.identity), None)
    if quarantine is None or not quarantine.state.holds:
        return None
    (commit,) = store.commits.get(repository, [quarantine.slot])
    return {
        "key": f"{repository.name}/{call.identity}/{call.hook}",
        "repository": repository.name,
        "commit": commit.commit.hash,
        "machine": quarantine.machine,
        "run": quarantine.identity,
        "reason": quarantine.reason,
        "until": quarantine.until.isoformat(timespec="seconds"),
        "quarantine": f"Q{quarantine.id}",
    }


def _call(instance: Instance, hook: HookSettings, facts: Mapping[str, str]) -> _Answer:
    try:
        return _run_command(instance, hook, facts) if hook.command else _post(instance, hook, facts)
    except (KnickpointError, OSError) as error:
        return _Answer(taken=False, text=str(error))


def _run_command(instance: Instance, hook: HookSettings, facts: Mapping[str, str]) -> _Answer:
    """Run the command without a shell, with the facts in its environment and a bound on time and kept output."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {f"KNICKPOINT_{name.upper()}": value.replace("\0", "") for name, value in facts.items()}
    environment["KNICKPOINT_INSTANCE"] = str(instance.directory)
    with subprocess.Popen(  # noqa: S603  # the operator's configuration names the command
        list(hook.command),
        cwd=instance.directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        output, ended = _read_until(process, time.monotonic() + hook.seconds)
        if not ended:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return _Answer(taken=False, text=f"ended after {hook.seconds:g} s; {output}")
    return _Answer(process.returncode == 0, f"exit code {process.returncode}; {output}")


def _read_until(process: subprocess.Popen[bytes], deadline: float) -> tuple[str, bool]:
    """Return the last output of a process, and whether it ended before ``deadline``."""
    assert process.stdout is not None
    kept = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not selector.select(left):
                continue
            block = os.read(process.stdout.fileno(), 1 << 16)
            if not block:
                break
            kept = (kept + block)[-_KEPT_OUTPUT:]
    text = kept.decode(errors="replace")
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return text, False
    return text, True


def _post(instance: Instance, hook: HookSettings, facts: Mapping[str, str]) -> _Answer:
    """Post the facts as a signed message; see :class:`knickpoint.notify.channels.webhook.WebhookChannel`."""
    from knickpoint.notify.channel import Exchange
    from knickpoint.notify.channels.webhook import WebhookChannel

    exchange = Exchange(instance.outgoing.also(hook.url), seconds=hook.seconds)
    channel = WebhookChannel(hook.url, hook.signing_secret, instance.config.name, exchange)
    message = Message(
        key=facts["key"],
        thread=facts["quarantine"],
        recipient=Recipient(channel=f"hooks.{hook.name}", address=hook.name),
        subject=f"Run {facts['repository']} at {facts['commit'][:12]} on {facts['machine'] or 'the same machine'} again",
        text=facts["reason"],
        data=dict(facts),
    )
    channel.send(message)
    return _Answer(taken=True, text="taken")
