"""The settings of people."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PersonSettings"]


@dataclass(frozen=True, slots=True)
class PersonSettings:
    """Name the addresses of one person; ``[people.NAME]``. Authors without a section are known by their mail address.

    Attributes:
        name: unique in the instance, as it stands in `owners` of alerts.
        title: name to show. Default: the name.
        mail: address that mails go to.
        also: further mail addresses of the person, as in the author of a commit.
        sign_in: names under which the person signs in, as the audit log shows them.
        github: user name on GitHub.
        gitlab: user name on GitLab.
        jira: account id in Jira.
        chat: how to mention the person in chats.
        mute: whether the person gets no notifications.
    """

    name: str
    title: str = ""
    mail: str = ""
    also: tuple[str, ...] = ()
    sign_in: tuple[str, ...] = ()
    github: str = ""
    gitlab: str = ""
    jira: str = ""
    chat: str = ""
    mute: bool = False
