"""``knick serve``: the API and the dashboard of an instance."""

from __future__ import annotations

import click

from knickpoint.cli.options import instance_option, open_chosen_instance

__all__ = ["command", "serve_instance"]


def serve_instance(directory: str | None, *, host: str | None = None, port: int | None = None) -> None:
    """Serve an instance until it is interrupted.

    Raises:
        ServiceError: the address or the port cannot be used.
    """
    from knickpoint.server import serve

    with open_chosen_instance(directory) as instance:
        serve(
            instance,
            host or "",
            port,
            ready=lambda address: click.echo(f"The dashboard is at {address} (Ctrl-C ends it)"),
        )


@click.command("serve")
@click.option("--host", default=None, help="The address to listen at. Default: the configuration's.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    help="The port. Default: the configuration's; 0 takes a free one.",
)
@instance_option
def command(host: str | None, port: int | None, instance: str | None) -> None:
    """Serve the API and the dashboard, on this machine unless told otherwise."""
    serve_instance(instance, host=host, port=port)
