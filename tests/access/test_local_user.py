from __future__ import annotations

import os
import pwd

import pytest

from knickpoint.access.local_user import local_caller
from knickpoint.model.access import CallerKind, Permission


def test_the_local_person_is_the_user_of_the_process_and_may_do_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "KNICKPOINT_USER"):
        monkeypatch.setenv(name, "mallory")
    caller = local_caller()
    assert (caller.kind, caller.name) == (CallerKind.LOCAL, pwd.getpwuid(os.geteuid()).pw_name)
    assert all(caller.grants.allow(permission, "any") for permission in Permission)


def test_a_user_without_a_name_goes_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 987_654)
    assert local_caller().name == "uid:987654"
