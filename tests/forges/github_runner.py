"""Run the steps of GitHub Actions as they are written: expressions, scripts in bash, files for outputs and paths.

Of the expressions, it knows what ``action.yml`` and the guide use: names, texts, ``==``, ``!=``, ``!``, ``&&``, ``||``,
parentheses, ``contains``, ``startsWith``, and ``join`` of all values of an object (``matrix.*``). What it does not know is an error,
and no empty text.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<name>[\w.*-]+)|(?P<sign>==|!=|&&|\|\||[!(),]))")
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)


@dataclass
class _Parser:
    tokens: list[str]
    context: Mapping[str, Any]

    def either(self) -> Any:
        found = self.both()
        while self._next("||"):
            other = self.both()
            found = found or other
        return found

    def both(self) -> Any:
        found = self.equal()
        while self._next("&&"):
            other = self.equal()
            found = other if found else found
        return found

    def equal(self) -> Any:
        found = self.value()
        for sign in ("==", "!="):
            if self._next(sign):
                return (found == self.value()) is (sign == "==")
        return found

    def value(self) -> Any:
        token = self.tokens.pop(0)
        if token == "!":
            return not self.value()
        if token == "(":
            return self._closed(self.either())
        if token in {"contains", "join", "startsWith"}:
            assert self._next("(")
            whole = self.either()
            assert self._next(",")
            other = self._closed(self.either())
            if token == "startsWith":
                return str(whole).lower().startswith(other.lower())
            return other in whole if token == "contains" else other.join(map(str, whole))
        return token[1:-1] if token.startswith("'") else self._named(token)

    def _named(self, name: str) -> Any:
        first, *rest = name.split(".")
        found: Any = self.context[first]
        for part in rest:
            if part == "*":
                return list(found.values()) if isinstance(found, Mapping) else []
            found = found.get(part) if isinstance(found, Mapping) else None
        return "" if found is None else found

    def _closed(self, value: Any) -> Any:
        assert self._next(")")
        return value

    def _next(self, sign: str) -> bool:
        if self.tokens[:1] != [sign]:
            return False
        self.tokens.pop(0)
        return True


def evaluate(expression: str, context: Mapping[str, Any]) -> Any:
    """Evaluate an expression of GitHub Actions."""
    tokens = [found[found.lastgroup or 0] for found in _TOKEN.finditer(expression.strip())]
    assert "".join(tokens).replace(" ", "") == re.sub(r"\s", "", expression), expression
    parser = _Parser(tokens, context)
    found = parser.either()
    assert not parser.tokens, expression
    return found


def fill(text: str, context: Mapping[str, Any]) -> str:
    """Replace each ``${{ … }}`` in a text."""
    return _EXPRESSION.sub(lambda found: str(evaluate(found[1], context)), text)


def condition(text: object, context: Mapping[str, Any]) -> bool:
    """Return whether a step with this ``if`` runs."""
    found = _EXPRESSION.fullmatch(str(text).strip())
    return bool(evaluate(found[1] if found else str(text), context))


@dataclass
class Ran:
    """What became of a job: whether it passed, the names of the steps that ran, what they printed, the summary."""

    passed: bool = True
    steps: list[str] = field(default_factory=list)
    printed: str = ""
    outputs: dict[str, str] = field(default_factory=dict)

    def add(self, other: Ran) -> None:
        self.steps += other.steps
        self.printed += other.printed
        self.passed = self.passed and other.passed


Action = Callable[[Mapping[str, str], Mapping[str, Any], Mapping[str, str]], Ran]


@dataclass
class Runner:
    """A machine that runs steps in ``workspace``; ``variables`` are all that their environment has.

    ``actions`` stand for what ``uses:`` names, by the name before ``@``. ``skipped`` are names of steps that are left
    out.
    """

    workspace: Path
    room: Path
    variables: dict[str, str]
    actions: dict[str, Action] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()
    known: Mapping[str, Any] = field(default_factory=dict)
    """The context after the last step that ran."""

    def __post_init__(self) -> None:
        self.room.mkdir(parents=True, exist_ok=True)
        self.variables.setdefault("RUNNER_TEMP", str(self.room))
        self.variables["GITHUB_STEP_SUMMARY"] = str(self.room / "summary.md")

    def run_job(self, job: dict[str, Any], context: Mapping[str, Any]) -> Ran:
        """Run a job of a workflow, unless its condition leaves it out."""
        if not condition(job.get("if", "true"), {**context, "true": True}):
            return Ran()
        env = {name: fill(str(value), context) for name, value in job.get("env", {}).items()}
        return self.run_steps(job["steps"], context, env)

    def run_steps(self, steps: list[dict[str, Any]], context: Mapping[str, Any], env: Mapping[str, str]) -> Ran:
        """Run steps until one fails."""
        ran, known = Ran(), {**context, "steps": {}}
        for step in steps:
            if step.get("name") in self.skipped or not condition(step.get("if", "true"), {**known, "true": True}):
                continue
            own = {**env, **{name: fill(str(value), known) for name, value in step.get("env", {}).items()}}
            if "uses" in step:
                given = {name: fill(str(value), known) for name, value in step.get("with", {}).items()}
                found = self.actions[step["uses"].partition("@")[0]](given, known, own)
            else:
                found = self._script(step["run"], own)
            ran.add(found)
            ran.steps.append(str(step.get("name") or step.get("uses") or step["run"]))
            known["steps"] = {**known["steps"], step.get("id", "-"): {"outputs": found.outputs}}
            if not found.passed:
                break
        self.known = known
        return ran

    def run_action(
        self, file: Path, given: Mapping[str, str], context: Mapping[str, Any], env: Mapping[str, str]
    ) -> Ran:
        """Run a composite action."""
        action = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert set(given) <= set(action["inputs"])
        required = {name for name, each in action["inputs"].items() if each.get("required")}
        assert required <= set(given)
        context = {"matrix": None, **context}
        inputs = {name: fill(str(each.get("default", "")), context) for name, each in action["inputs"].items()}
        inside = {**context, "inputs": {**inputs, **given}}
        self.variables["GITHUB_ACTION_PATH"] = str(file.parent)
        ran = self.run_steps(action["runs"]["steps"], inside, env)
        ran.outputs = {name: fill(each["value"], self.known) for name, each in action.get("outputs", {}).items()}
        return ran

    def _script(self, text: str, env: Mapping[str, str]) -> Ran:
        assert "${{" not in text, "a value stands in the text of a script"
        script, output, path = (self.room / name for name in ("script.sh", "output", "path"))
        script.write_text(text, encoding="utf-8")
        output.write_text("", encoding="utf-8")
        path.touch()
        added = ":".join([*reversed(path.read_text(encoding="utf-8").split()), self.variables["PATH"]])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env={**self.variables, **env, "PATH": added, "GITHUB_OUTPUT": str(output), "GITHUB_PATH": str(path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        lines = output.read_text(encoding="utf-8").splitlines()
        return Ran(done.returncode == 0, [], done.stdout, dict(line.split("=", 1) for line in lines))
