"""Compare what the runs of two sides say of their machines: which facts matter, and which of them differ.

The processor, its cores and frequency, the architecture, the power state and the host are facts of the
*machine*, which no patch changes. The image, the system, the kernel and the toolchain are *software*, which a patch may
bring itself. Other facts, such as the id of a job, say nothing of speed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from knickpoint.model.plain_text import plain_line

_MACHINE: Final = {
    "processor": r"cpu|processor|processor_?name(\.value)?|cpu[._ ]?(brand|brand_raw|model|model_?name|type)",
    "cores": r"num_cpus?|cpu[._]count|cpu_(core|thread)_count|(logical|physical)corecount|processorcount|gomaxprocs|cores",
    "frequency": r"mhz_per_cpu|cpu\.hz_advertised_friendly|cpu_(max_)?(mhz|ghz|freq|frequency)|cpu_frequency_max_hz|frequency",
    "architecture": r"goarch|arch|architecture|cpu\.arch|architecture_name",
    "power state": r"cpu_scaling_enabled|cpu_config|governor|scaling_governor|turbo|power_(state|profile|mode)",
    "host": r"host|host_?name|node|runner|machine|machine_name|instance_type",
}
_SOFTWARE: Final = {
    "image": r"image|runner_image|imageos|container_image|docker_image",
    "system": r"goos|os|os_?name|system|os_?version|platform",
    "kernel": r"kernel|kernel_(name|version|release)|release|uname",
    "toolchain": r"compiler|compiler_version|python_compiler|python_(implementation_)?version|(go|rustc?|node|gcc|clang)_?version"
    r"|cc|cxx|jdk_?version|vm_?version|runtime_?version|clr_?version|toolchain|library_build_type|build_type",
}
"""Aspect → names of facts, with or without the name of the group that a tool puts them in."""

_NAMES: Final = {
    aspect: re.compile(rf"(?:machine_info\.|context\.)?(?:{names})", re.IGNORECASE)
    for aspect, names in (_MACHINE | _SOFTWARE).items()
}

_SAME_FREQUENCY: Final = 0.05
"""Relative difference up to which two frequencies are one: tools read them while they vary."""

_LASTING: Final = ("frequency", "host")
_RUNS_OF_A_TEXT: Final = 2
"""Runs that state each text of a fact, on average, from which on it says which machine it is.

Hosted runners have a new host name for each job, and some tools state the frequency of the moment.
"""

_LONGEST: Final = 40
"""Characters of a fact in a sentence."""

_NUMBER: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kmg]?hz)?", re.IGNORECASE)
_HERTZ: Final = {"": 1e6, "hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9}

Facts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MachineDifference:
    """How the machine of new results differs from those of past ones.

    ``unlike`` has, for each past run, whether another machine measured it, and ``machines`` is how many different ones
    the past runs state. ``machine`` and ``software`` name what
    differs from the newest past run that is unlike, else from the newest one; "" for nothing that both sides state.
    """

    unlike: tuple[bool, ...] = ()
    machine: str = ""
    software: str = ""
    machines: int = 1


def compare_machines(past: Sequence[Facts], new: Sequence[Facts]) -> MachineDifference:
    """Compare the facts of ``new`` runs with those of ``past`` ones, oldest first; what a side does not state is alike.

    A past run is unlike where any of the new ones is. A fact about host or frequency counts where it is lasting: where
    the past runs state at most one text of it for every two runs.
    """
    fleeting = {name for aspect in _LASTING for name in _fleeting(aspect, past)}
    lasting = [{name: text for name, text in facts.items() if name not in fleeting} for facts in new]
    known: dict[int, bool] = {}  # by the identity of the mapping: many runs share one
    for facts in past:
        if id(facts) not in known:
            known[id(facts)] = any(_difference(aspect, facts, each) for aspect in _MACHINE for each in lasting)
    unlike = tuple(known[id(facts)] for facts in past)
    newest_first = list(zip(unlike, past, strict=True))[::-1]
    stated = next((facts for facts in past[::-1] if facts), {})
    compared = next((facts for other, facts in newest_first if other), stated)
    machine, software = (_described(list(names), compared, lasting) for names in (_MACHINE, _SOFTWARE))
    return MachineDifference(unlike, machine, software, _machines(past, fleeting))


def _machines(past: Sequence[Facts], fleeting: Collection[str]) -> int:
    """Count the different machines of past runs, as far as they state them; a run that states none is not counted."""
    known: dict[int, tuple[str, ...]] = {}
    for facts in past:
        if id(facts) not in known:
            names = (name for aspect in _MACHINE for name in _names(aspect, facts) if name not in fleeting)
            known[id(facts)] = tuple(f"{name}={_plain_fact(facts[name])}" for name in names)
    return max(1, len({stated for stated in known.values() if stated}))


def _plain_fact(text: str) -> str:
    """Simplify the text of a fact: frequencies of one machine, which vary, hardly ever differ in it."""
    hertz = _hertz(text)
    return str(round(math.log(hertz) / (4 * _SAME_FREQUENCY))) if hertz else text.strip().casefold()


def _fleeting(aspect: str, past: Sequence[Facts]) -> list[str]:
    """Return the names of facts about an aspect that differ too often to say which machine it is."""
    found: dict[str, list[str]] = {}
    for facts in past:
        for name in _names(aspect, facts):
            found.setdefault(name, []).append(facts[name])
    return [
        name for name, texts in found.items() if len(set(texts)) > 1 and len(texts) < _RUNS_OF_A_TEXT * len(set(texts))
    ]


def _described(aspects: Sequence[str], past: Facts, new: Sequence[Facts]) -> str:
    """Name the differences: ``frequency 3.2 against 3.5 GHz, host ci-77 against ci-1``."""
    found = ((aspect, next(filter(None, (_difference(aspect, past, each) for each in new)), "")) for aspect in aspects)
    return ", ".join(f"{aspect} {text}" for aspect, text in found if text)


def _names(aspect: str, facts: Facts) -> list[str]:
    """Return the names of the facts about an aspect."""
    return sorted(name for name in facts if _NAMES[aspect].fullmatch(name) and facts[name].strip())


def _difference(aspect: str, past: Facts, new: Facts) -> str:
    """Return the texts of the first fact about an aspect that both sides state, and differently, "" for none."""
    for name in _names(aspect, past):
        before, after = past[name].strip(), new.get(name, "").strip()
        if not after or before.casefold() == after.casefold():
            continue
        if aspect != "frequency" or not (old := _hertz(before)) or not (now := _hertz(after)):
            return f"{plain_line(after, _LONGEST)} against {plain_line(before, _LONGEST)}"
        if abs(now - old) > _SAME_FREQUENCY * min(now, old):
            return f"{now / 1e9:.2g} against {old / 1e9:.2g} GHz"
    return ""


def _hertz(text: str) -> float:
    """Return a frequency in Hz, 0 for what is none; a plain number is in MHz, or in Hz where it is that large."""
    found = _NUMBER.fullmatch(text.strip())
    if not found:
        return 0.0
    number, unit = float(found["number"]), (found["unit"] or "").casefold()
    return number if not unit and number >= _HERTZ["mhz"] else number * _HERTZ[unit]
