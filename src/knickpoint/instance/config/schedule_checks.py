"""Check the settings of schedules, as far as their types cannot."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from knickpoint.bisect.settings import ProfileSettings, ScheduleSettings
from knickpoint.instance.config.settings import Config
from knickpoint.model.errors import ConfigError

__all__ = ["check_schedules"]


def check_schedules(config: Config, path: Path) -> None:
    """Check the schedules of ``config``, read from the file at ``path``, and the repositories that their profiles name.

    Raises:
        ConfigError: a setting is missing or cannot be used.
    """
    for schedule in config.schedule.values():
        where = f"{path}, [schedule.{schedule.name}]"
        profile = config.bisect.get(schedule.profile)
        if profile is None:
            known = f" There are: {', '.join(config.bisect)}." if config.bisect else ""
            raise ConfigError(
                f"there is no profile {schedule.profile!r}",
                where=where,
                remedy=f"Add [bisect.{schedule.profile}], or correct profile.{known}",
            )
        _check_numbers(schedule, where)
        _check_profile(config, profile, f"{path}, [bisect.{profile.name}]")


def _check_numbers(schedule: ScheduleSettings, where: str) -> None:
    for name, value, wanted, fits in (
        ("commits", schedule.commits, "1 or more", schedule.commits >= 1),
        ("minutes", schedule.minutes, "more than 0", schedule.minutes > 0),
        ("fill_hours", schedule.fill_hours, "0 or more", schedule.fill_hours >= 0),
    ):
        if not fits:
            raise ConfigError(f"{name} is {value:g}", where=where, remedy=f"Give {wanted}.")


def _check_profile(config: Config, profile: ProfileSettings, where: str) -> None:
    if not profile.measure or not profile.results:
        raise ConfigError(
            "a schedule needs results, and the profile has no measure command or no results",
            where=where,
            remedy='Give measure, as in ["make", "bench"], and results, as in ["build/*.json"].',
        )
    located = [name for name, settings in config.repositories.items() if settings.location]
    if profile.repository not in located and (profile.repository or len(located) != 1):
        raise ConfigError(
            f"repository is {profile.repository!r}",
            where=where,
            remedy=f"Name a repository with a location: {', '.join(located) or 'none has one'}.",
        )
    for name, folder in profile.also.items():
        if name not in located:
            raise ConfigError(
                f"also names the repository {name!r}, which has no location",
                where=where,
                remedy=f"Add it as [repositories.{name}], or correct the name.",
            )
        parts = PurePosixPath(folder)
        if not folder or parts.is_absolute() or ".." in parts.parts or not parts.parts:
            raise ConfigError(
                f"also puts {name!r} into {folder!r}, outside the worktree",
                where=where,
                remedy="Name a directory below the worktree, as in third_party/lib.",
            )
