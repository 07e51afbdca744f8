"""Run the script of a component of GitLab as it is written."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import yaml


def run_component(
    component: Path, workspace: Path, inputs: Mapping[str, str], variables: Mapping[str, str]
) -> tuple[int, str]:
    """Run the only job of a component, and return its exit code and what it printed.

    ``python3 -m pip`` does nothing, for the program is there.
    """
    text = component.read_text(encoding="utf-8")
    spec, _ = yaml.safe_load_all(text)
    values = {name: str((each or {}).get("default", "")) for name, each in spec["spec"]["inputs"].items()} | dict(
        inputs
    )
    filled = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda found: values[found[1]], text)
    (job,) = list(yaml.safe_load_all(filled))[1].values()
    script = "\n".join(["set -eo pipefail", *job["script"]]).replace("python3 -m pip", "true python3 -m pip")
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script],
        cwd=workspace,
        env={**variables, **job["variables"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout
