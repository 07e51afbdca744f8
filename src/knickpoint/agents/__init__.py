"""Tools for AI agents, by the Model Context Protocol: what the API and the commands do, in replies of bounded length.

``tool`` says what a tool is and what it replies; ``changes``, ``measurements``, ``bisections``, ``attempts`` and
``documentation`` define them, from the functions of the room ``answers``; ``server`` connects them with the SDK. To add
a tool, write a function in one of the five, and name it in ``server``.
"""

from typing import TYPE_CHECKING

from knickpoint.model.lazy_names import lazy_names

if TYPE_CHECKING:
    from knickpoint.agents.documentation import read_instructions
    from knickpoint.agents.server import answer_http, serve_stdio
    from knickpoint.agents.tool import begin_session

__all__ = ["answer_http", "begin_session", "read_instructions", "serve_stdio"]

__getattr__ = lazy_names(
    __name__,
    {
        "answer_http": "knickpoint.agents.server",
        "begin_session": "knickpoint.agents.tool",
        "read_instructions": "knickpoint.agents.documentation",
        "serve_stdio": "knickpoint.agents.server",
    },
)
