"""The pages of the dashboard that tests open one after the other, each as it opens and with all that it can show."""

from __future__ import annotations

from typing import Final

from tests.server.story import SLOWER, commit_hash

PAGES: Final = (
    "/",
    "/triage",
    "/triage?open=R1",
    "/triage?tab=gone",
    "/explore",
    "/explore?plot=suite%3Dspeed",
    "/explore?traces=0,1&f=norm(filter(%22benchmark%3Dload%22))",
    "/compare",
    f"/compare?base={commit_hash(SLOWER - 1)}&head={commit_hash(SLOWER + 5)}&all=1",
    f"/compare?base={commit_hash(SLOWER - 5)}&head={commit_hash(SLOWER - 1)}&more={commit_hash(SLOWER + 5)}",
    "/trace/1",
    "/trace/0?commit=30&why=1",
    "/change/R1",
    f"/commit/{commit_hash(SLOWER)}",
    "/benchmark?name=parse",
    "/clusters?k=0",
    "/alerts",
    "/alerts?name=default",
    "/alerts?name=default&edit=1",
    "/status",
    "/missing",
    "/quality",
    "/settings",
    "/tokens",
    "/audit",
)
