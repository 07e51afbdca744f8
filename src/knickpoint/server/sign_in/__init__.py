"""The pages of signing in and out, made by the server: they work without script and while a provider is down."""

from knickpoint.server.sign_in.routes import add_sign_in

__all__ = ["add_sign_in"]
