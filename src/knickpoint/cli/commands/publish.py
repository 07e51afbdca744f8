"""``knick publish``: write the dashboard with its data as files for any web server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from knickpoint.cli.options import instance_option, open_chosen_instance, require_results
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted


@click.command("publish")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--repository", "names", multiple=True, metavar="NAME", help="A repository to publish; can be repeated.")
@click.option("--all", "everything", is_flag=True, help="Publish all repositories of the instance.")
@click.option("--badges/--no-badges", default=True, show_default=True, help="Write a badge for each trace.")
@click.option("--address", default="", metavar="URL", help="The address of the pages, from which chats load pictures.")
@instance_option
def command(
    directory: Path, *, names: tuple[str, ...], everything: bool, badges: bool, address: str, instance: str | None
) -> None:
    """Write the dashboard into DIRECTORY, to be read without a server of Knickpoint.

    Any web server can serve the directory, in any place, such as GitHub Pages. Pages are a read-only copy of the
    instance. A second run replaces them; a directory with other files is refused.

    Everybody who can open the pages reads all values of the repositories. With several, choose by --repository or
    --all. Mail addresses, notes of decisions and assignees are left out.

    changes/R12.html is a page to share in a chat: it shows a sentence and a picture there, and leads to the change.
    """
    from knickpoint.publish import Chosen, publish

    with open_chosen_instance(instance) as opened:
        require_results(opened)
        known = [repository.name for repository in opened.store.commits.repositories()]
        chosen = Chosen(_choose(known, names, everything=everything), datetime.now(UTC), badges, _checked(address))
        done = publish(opened, directory, chosen)
    note(
        f"Wrote {directory}: {counted(done.traces, 'trace')}, {counted(done.commits, 'commit')}, "
        f"{counted(done.files, 'file')}, "
        f"{done.size / 1e6:.2f} MB ({done.compressed / 1e6:.2f} MB compressed)."
    )


def _checked(address: str) -> str:
    """Refuse an address that a chat could not load a picture from.

    Raises:
        InputError: it does not begin with http:// or https://.
    """
    if address and not address.startswith(("https://", "http://")):
        raise InputError(
            f"not a web address: {address!r}", where="--address", remedy="Write it as https://ada.github.io/engine."
        )
    return address


def _choose(known: list[str], names: tuple[str, ...], *, everything: bool) -> list[str]:
    """Return the names of the repositories to publish.

    Raises:
        InputError: there are several and none is chosen, or both options are given.
    """
    if everything and names:
        raise InputError("both are given", where="--all, --repository", remedy="Give one of them.")
    if names:
        return list(dict.fromkeys(names))
    if len(known) > 1 and not everything:
        raise InputError(
            f"there are {len(known)} repositories",
            where="--repository",
            remedy=f"Name those to publish ({', '.join(known)}), or use --all.",
        )
    return known
