"""Build the answer where the environment of a trace changed."""

from __future__ import annotations

from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.schemas.runs import EnvironmentAnswer, FactAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store.points.environments import environment_changes

__all__ = ["list_environments"]


def list_environments(visible: VisibleRepositories, key: int, line_name: str) -> list[EnvironmentAnswer]:
    """List the commits of a line at which machine, compiler or runner of the trace ``key`` changed, oldest first.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
    """
    store = visible.store
    repository, _ = visible.trace(key)
    line = store.commits.line(repository, line_name)
    changes = environment_changes(store.frames, store.runs, line, key)
    commits = {each.slot: each.commit for each in store.commits.get(repository, [change.slot for change in changes])}
    return [
        EnvironmentAnswer(
            previous=line.positions[change.previous],
            position=line.positions[change.slot],
            commit=commit_answer(commits[change.slot], line.positions[change.slot]),
            facts=[
                FactAnswer(name=name, before=before, after=after)
                for name, (before, after) in sorted(change.facts.items())
            ],
        )
        for change in changes
        if change.slot in commits
    ]
