"""The user of the operating system, who is the caller of commands, and of pages where no sign-in is configured."""

from __future__ import annotations

import os

from knickpoint.model.access import Caller, CallerKind, Grants, Permission


def local_caller() -> Caller:
    """Return the user who runs this process, with all permissions: they can write to the files of the instance."""
    name = _user_name()
    return Caller(CallerKind.LOCAL, name, Grants.of(Permission), title=name)


def _user_name() -> str:
    """Return the name of the user of the process. Variables of the environment do not count: anyone can set them."""
    try:
        import pwd
    except ImportError:  # Windows
        return os.getlogin()
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"uid:{os.geteuid()}"
