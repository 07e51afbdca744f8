"""Profile the two ends of a comparison or a search, and print which functions changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from knickpoint.cli.terminal import announcer, note
from knickpoint.model.errors import InputError, KnickpointError

if TYPE_CHECKING:
    from knickpoint.bisect.profiling import Profiler
    from knickpoint.bisect.settings import RecipeSettings
    from knickpoint.model.bisection import ProbeResult


def show_profiles(
    profiler: Profiler,
    recipe: RecipeSettings,
    run: Callable[[int, RecipeSettings], ProbeResult],
    keep: Path | None,
    *,
    err: bool,
) -> None:
    """Profile both ends, print what differs, and keep the profiles in ``keep``; a failure is a note, and no more."""
    from knickpoint.bisect.profiling import record_profiles
    from knickpoint.profiles import difference

    with TemporaryDirectory(prefix="knick-profiles-") as made:
        directory = Path(made)
        try:
            if keep is not None:
                directory = keep.absolute()
                directory.mkdir(parents=True)
            sides = record_profiles(profiler, recipe, run, directory, announcer(err=True))
            found = difference(*sides)
        except OSError as error:
            failed = InputError(
                f"the directory cannot be made: {error.strerror}", where=str(keep), remedy="Name a new one."
            )
            note(f"Not profiled: {failed}", err=True)
        except KnickpointError as error:
            note(f"Not profiled: {error}", err=True)
        else:
            click.echo(found.sentence, err=err)
            if keep is not None:
                note(f"knick profile diff {keep}/before {keep}/after --html FILE draws them.", err=err)
