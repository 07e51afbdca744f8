"""The settings of notifications and their channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from knickpoint.model.plain_text import address_with_secret, secret, secret_options


class ChannelKind(Enum):
    """What carries the messages of a channel."""

    MAIL = "mail"
    CHAT = "chat"
    WEBHOOK = "webhook"
    GITHUB = "github"
    GITLAB = "gitlab"
    JIRA = "jira"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """Describe one channel; ``[channels.NAME]``. Alerts name it in `notify`.

    Attributes:
        name: unique in the instance.
        kind: `mail`, `chat`, `webhook`, `github`, `gitlab` or `jira`; `other` is a kind that an installed package adds.
        server: of mail: `smtp://user:password@host:587`, which needs STARTTLS except on this machine;
            `smtps://user:password@host:465`, encrypted from the start; or `smtp+plain://host:25`, never encrypted. Of
            GitHub, GitLab and Jira: address of the API, for instances of your company.
        sender: of mail: the address that mails come from.
        authorities: of mail: path of a file (PEM), relative to the instance, with the certificates of the authorities
            to trust. Default: those of the system.
        to: of mail: addresses that get every message, beside the authors.
        authors: of mail: whether all authors of the suspects get messages. Without it, those of `[people]` and
            `domains` do.
        domains: of mail: domains of your company, as in `example.org`; authors with an address there get messages.
        provisional: whether findings that are not settled are sent as well.
        url: of a chat: its address as Apprise writes it. Of a webhook: the address that gets the messages.
        signing_secret: of a webhook: the secret that signs the messages, as in `${WEBHOOK_SECRET}`.
        token: of GitHub, GitLab and Jira: the secret that proves who writes, as in `${GITHUB_TOKEN}`.
        user: of Jira: the mail address that belongs to the token.
        project: of GitHub: `owner/name`; of GitLab: the path of the project; of Jira: the key of the project.
        labels: of GitHub, GitLab and Jira: the labels of new issues.
        close: of GitHub, GitLab and Jira: whether a ticket is closed when its change is gone again. Without it, a
            comment says so.
        issue_type: of Jira: the type of new issues.
        failing_field: of Jira: id of the field for the first failing revision, as in `customfield_10101`.
        fixing_field: of Jira: id of the field with the fixing revision.
        templates: directory, relative to the instance, with templates that replace those of the program.
        plugin: of `other`: name of the kind, as the package registers it.
        options: of `other`: further settings, as the package describes them.
    """

    name: str
    kind: ChannelKind
    server: str = address_with_secret("")
    sender: str = ""
    authorities: str = ""
    to: tuple[str, ...] = ()
    authors: bool = False
    domains: tuple[str, ...] = ()
    provisional: bool = False
    url: str = address_with_secret("")
    signing_secret: str = secret()
    token: str = secret()
    user: str = ""
    project: str = ""
    labels: tuple[str, ...] = ()
    close: bool = False
    issue_type: str = "Task"
    failing_field: str = ""
    fixing_field: str = ""
    templates: str = ""
    plugin: str = ""
    options: Mapping[str, float | int | str | bool] = secret_options()


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """Say when messages go out; ``[notify]``.

    Attributes:
        paused: whether nothing is sent; deliveries wait.
        attempts: how often a delivery is tried before it counts as failed.
        digest: `now`, or times of the day at which messages go out together, as in `["08:00", "16:00"]`.
        digest_below: changes of sizes, allocations and instructions by less than this share (0.005 is 0.5 %) wait for a
            digest, at 8:00 where `digest` names no times. 0 sends them as all others.
        quiet: hours in which nothing goes out, as in `22:00-07:00`.
        time_zone: time zone of these times, as in `Europe/Berlin`.
        escalate_hours: after how many hours a change that no person took goes to the owners of its alerts. 0 never.
        link_days: for how many days a signed link in a message is good.
        suspect_probability: the authors of suspects with at least this probability get the messages of mail channels.
        machine_owners: people or addresses that get the messages of mail channels in place of authors where the machine
            changed at the step.
    """

    paused: bool = False
    attempts: int = 12
    digest: tuple[str, ...] = ()
    digest_below: float = 0.005
    quiet: str = ""
    time_zone: str = "UTC"
    escalate_hours: float = 0.0
    link_days: float = 14.0
    suspect_probability: float = 0.2
    machine_owners: tuple[str, ...] = ()
