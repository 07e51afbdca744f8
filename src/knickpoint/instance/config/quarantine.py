"""The settings of quarantined results and of the hooks that ask for re-runs."""

from __future__ import annotations

from dataclasses import dataclass

from knickpoint.model.secrets import address_with_secret, secret

__all__ = ["HookSettings", "QuarantineSettings"]


@dataclass(frozen=True, slots=True)
class QuarantineSettings:
    """Say when results of a machine that moved are quarantined; ``[quarantine]``.

    Attributes:
        watch: whether results are quarantined at all.
        wait_hours: without an outcome, quarantined results count after this time.
        minimum_effect: canaries that move by less, as a share of their level, have not moved.
        machine: facts of the environment that name the machine of a run; the first that it states counts.
        facts: facts of the environment whose change makes results suspect where no canary was measured.
        stays: so many commits in a row with a moved canary are a new level of the machine, and their results count.
        facts_stay: the same for changed facts without canaries.
    """

    watch: bool = True
    wait_hours: float = 48.0
    minimum_effect: float = 0.02
    machine: tuple[str, ...] = ("machine", "host", "hostname", "node")
    facts: tuple[str, ...] = ("kernel", "cpu", "cpu_governor", "governor", "microcode", "compiler", "os")
    stays: int = 5
    facts_stay: int = 3


@dataclass(frozen=True, slots=True)
class HookSettings:
    """Call a command or an address once for each run that is quarantined, to ask for a re-run; ``[hooks.NAME]``.

    Attributes:
        name: unique in the instance.
        command: program and arguments, as in `["/opt/bench/rerun", "--quick"]`; no shell reads it. The facts are in its
            environment.
        url: address that gets the facts as JSON, signed.
        signing_secret: of an address: the secret that signs, as in `${HOOK_SECRET}`.
        seconds: time after which a call counts as failed, and the command is ended.
        attempts: how often a call is tried.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = address_with_secret("")
    signing_secret: str = secret()
    seconds: float = 60.0
    attempts: int = 6
