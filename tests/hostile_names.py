"""Names that attack whoever shows them, and an instance in which every text from outside is one."""

from __future__ import annotations

import json
import random
from pathlib import Path

from tests.repositories import GitRepository

from knickpoint.ingest import import_files
from knickpoint.instance import CONFIG_FILE, create_instance, open_instance
from knickpoint.model.unit import MAXIMUM_UNIT_LENGTH
from knickpoint.watch.alert_run.run import run_alerts

__all__ = ["CONTROLS", "HOSTILE", "make_hostile"]

HOSTILE = {
    "html": "<img src=x onerror=\"document.title='pwned'\">",
    "script": "</script><script>document.title='pwned'</script>",
    "attribute": '" onmouseover="document.title=\'pwned\'" x="',
    "template": "${document.title='pwned'}{{7*7}}",
    "rtl": "evil\u202egnp.exe",
    "isolate": "a\u2066b\u2069",
    "csi": "c1\u009b31mred",
    "line separator": "one\u2028two\u2029three\u0085four",
    "long": "x" * 400,
    "formula": "=cmd|'/c calc'!A1",
    "plus": "+1+cmd|'/c calc'!A1",
    "at": "@SUM(1+1)*cmd|'/c calc'!A1",
    "minus": "-2+3+cmd|'/c calc'!A1",
    "traversal": "../../etc/passwd",
    "quotes": "\"'`\\",
    "percent": "%s%n%25{}{0}",
    "javascript": "javascript:document.title='pwned'",
    "zalgo": "e\u0301\u0301\u0301\u0301",
    "zero width": "a\u200bb\ufeffc",
}
"""Names that results may have: what a benchmark, param, unit, machine or branch is called."""

CONTROLS = {
    "escape": "a\x1b[31mred\x1b]0;title\x07",
    "newline": "one\ntwo\r\nthree",
    "tab": "a\tb",
    "delete": "a\x7f\x08b",
    "null": "a\x00b",
}
"""Names with control characters, which params refuse and other texts may have."""


def make_hostile(place: Path) -> None:
    """Make an instance whose every text from outside is hostile, with findings."""
    made = GitRepository.make(place / "repository")
    hashes = []
    texts = [*HOSTILE.values(), *(text for name, text in CONTROLS.items() if name != "null")]
    for number in range(40):
        text = texts[number % len(texts)]
        made.git("config", "user.name", text.replace("\n", " ").replace("<", "(").replace(">", ")"))
        hashes.append(made.commit(text))
    noise = random.Random(7)
    (place / "results").mkdir()
    for number, commit in enumerate(hashes):
        results = [
            {
                "key": {"benchmark": text, "unit": text[:MAXIMUM_UNIT_LENGTH]},
                "measurement": 100 + noise.random() + (50 if number >= 20 else 0),
            }
            for text in HOSTILE.values()
        ]
        file = place / "results" / f"{number}.json"
        file.write_text(json.dumps({"version": 1, "git_hash": commit, "results": results}))
        sidecar = {
            "environment": {**HOSTILE, **CONTROLS},
            "links": {**HOSTILE, "x": "javascript:document.title='pwned'"},
        }
        file.with_name(file.name + ".sidecar.json").write_text(json.dumps(sidecar))
    with create_instance(place / "instance") as instance:
        instance.close()
    config = place / "instance" / CONFIG_FILE
    config.write_text(
        f'name = "<b>\\u001b[31m\\u202e=cmd"\n[repositories.main]\nlocation = {json.dumps(str(made.directory))}\n'
    )
    with open_instance(place / "instance") as instance:
        import_files(instance, [place / "results"])
        for name, text in {**HOSTILE, **CONTROLS}.items():
            broken = place / f"broken {name[:20]}\x1b[31m\u202e=.json"
            broken.write_text(
                json.dumps({"version": 1, "git_hash": hashes[0], "results": [{"key": {"benchmark": text}}]})
            )
            import_files(instance, [broken])
        run_alerts(instance.store, instance.alerts, as_work=True)
