"""Serve the tools by the SDK of the Model Context Protocol: over stdio, or in answer to one HTTP request."""

from __future__ import annotations

import asyncio
import logging
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import ValidationError
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope

from knickpoint.agents import attempts, bisections, changes, documentation, measurements
from knickpoint.agents.documentation import read_instructions
from knickpoint.agents.tool import Reply, Said, Session, Tool, call, for_agent, write_reply
from knickpoint.budget import Budget, spending
from knickpoint.model.access import Permission
from knickpoint.model.errors import ForbiddenError, InputError, KnickpointError
from knickpoint.version import __version__

TOOLS: Final = {
    each.name: each
    for each in (
        changes.list_repositories,
        changes.list_changes,
        changes.explain_change,
        changes.check_evidence,
        measurements.find_traces,
        measurements.trace_values,
        measurements.compare_commits,
        measurements.judge_results,
        measurements.list_missing,
        bisections.list_bisections,
        bisections.show_bisection,
        bisections.start_bisection,
        bisections.stop_bisection,
        attempts.start_attempts,
        attempts.try_commit,
        attempts.report_attempts,
        attempts.stop_attempts,
        changes.decide,
        changes.undo_decision,
        documentation.search_documentation,
    )
}
"""All tools by name, in the order in which agents see them."""

_LOG: Final = logging.getLogger("knickpoint.agents")
_MOST_DEFECTS: Final = 5


def build_server(session: Session) -> Server[Any]:
    """Return a server of the tools that the caller of ``session`` may use."""

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[_described(each) for each in TOOLS.values() if session.may(each.permission)]
        )

    async def call_tool(
        _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await asyncio.to_thread(answer_call, session, params.name, params.arguments or {})

    return Server(
        "knickpoint",
        version=__version__,
        title="Knickpoint",
        instructions=read_instructions(),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described(tool: Tool) -> types.Tool:
    reads = tool.permission is Permission.READ
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=reads, destructive_hint=None if reads else False, open_world_hint=False
        ),
    )


def answer_call(session: Session, name: str, arguments: Mapping[str, object]) -> types.CallToolResult:
    """Call a tool, and return its reply, or the error that it gives."""
    limits = session.instance.config.limits
    budget = spending(Budget.begin(limits.request_seconds, limits.request_values)) if session.local else nullcontext()
    try:
        with budget:
            return _answered(_run(session, name, arguments))
    except ValidationError as error:
        return _answered(_refusal(name, error), is_error=True)
    except KnickpointError as error:
        refusal = {"error": error.message, "where": error.where, "remedy": for_agent(error.remedy)}
        return _answered(Reply(refusal), is_error=True)
    except Exception:  # noqa: BLE001  # the agent is told; the log has it
        _LOG.exception("the tool %s failed", name if name in TOOLS else "of an unknown name")
        defect = Said("This is a defect of Knickpoint; its log has the details.")
        return _answered(Reply({"error": defect}, next=[call("list_repositories")]), is_error=True)


def _answered(reply: Reply, *, is_error: bool = False) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(text=write_reply(reply))]
    if reply.picture:
        content.append(types.ImageContent(data=b64encode(reply.picture).decode("ascii"), mime_type="image/png"))
    return types.CallToolResult(content=content, is_error=is_error)


def _run(session: Session, name: str, arguments: Mapping[str, object]) -> Reply:
    tool = TOOLS.get(name)
    if tool is None:
        raise InputError(f"there is no tool {name!r}", where="name", remedy=f"The tools are: {', '.join(TOOLS)}.")
    if not session.may(tool.permission):
        allowed = tool.permission.value
        raise ForbiddenError(
            f"this connection may not {allowed}",
            where=name,
            remedy=f"Ask the user to start knick mcp with --allow {allowed}."
            if session.local
            else f"Ask the user for a token with the scope {allowed}.",
        )
    return tool.run(session, tool.request.model_validate(dict(arguments)))


def _refusal(name: str, error: ValidationError) -> Reply:
    """Name the defects of an input, and the arguments of the tool."""
    defects = [
        {"argument": ".".join(map(str, each["loc"])), "error": each["msg"], "given": str(each["input"])}
        for each in error.errors(include_url=False)[:_MOST_DEFECTS]
    ]
    known = ", ".join(TOOLS[name].request.model_fields) or "none"
    return Reply({"error": Said("wrong input"), "defects": defects, "arguments": Said(known)})


async def serve_stdio(session: Session) -> None:
    """Serve the tools over standard input and output until the client closes them."""
    server = build_server(session)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def answer_http(
    session: Session, scope: Scope, receive: Receive, *, body_bytes: int
) -> tuple[int, Sequence[tuple[bytes, bytes]], bytes]:
    """Answer one HTTP request: return status, headers and body. Nothing is kept between requests."""
    status, headers, body = 500, list[tuple[bytes, bytes]](), bytearray()

    async def keep(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], list(message.get("headers", ()))
        else:
            body.extend(message.get("body", b""))

    manager = StreamableHTTPSessionManager(
        build_server(session), stateless=True, json_response=True, max_request_body_size=body_bytes
    )
    try:
        async with manager.run():
            await manager.handle_request(scope, receive, keep)
    except* ClientDisconnect:
        status = 400  # the client has disconnected: the message is incomplete, and the response goes nowhere
    return status, headers, bytes(body)
