"""A Firefox that tests drive by WebDriver BiDi, the protocol that browsers speak themselves."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import aiohttp

_STEP_SECONDS: Final = 30.0
_LISTENING: Final = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
_FAILED: Final = 400


class Firefox:
    """One tab of a running Firefox.

    Attributes:
        errors: what its console and its responses said was wrong, in order.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.errors: list[str] = []
        self._socket = socket
        self._numbers = count(1)
        self._tab = ""

    async def begin(self) -> None:
        """Begin a session, and find the tab."""
        await self._ask("session.new", capabilities={})
        await self._ask("session.subscribe", events=["log.entryAdded", "network.responseCompleted"])
        (tab,) = (await self._ask("browsingContext.getTree"))["contexts"]
        self._tab = tab["context"]

    async def resize(self, width: int, height: int) -> None:
        """Give the page a size in pixels."""
        viewport = {"width": width, "height": height}
        await self._ask("browsingContext.setViewport", context=self._tab, viewport=viewport)

    async def open(self, address: str) -> None:
        """Open an address, and wait for what it loads at once."""
        await self._ask("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    async def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; what it promises is awaited."""
        wanted = {"expression": f"Promise.resolve({expression}).then(JSON.stringify)", "awaitPromise": True}
        answer = await self._ask("script.evaluate", target={"context": self._tab}, **wanted)
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        return json.loads(answer["result"].get("value", "null"))

    async def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        await self.evaluate(
            f"new Promise((done) => {{ const look = () => ({condition}) ? done() : setTimeout(look, 50); look(); }})"
        )

    async def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(_STEP_SECONDS):
            while True:
                message = await self._socket.receive_json()
                if message.get("id") == number:
                    assert message["type"] == "success", message["message"]
                    return dict(message["result"])
                self._hear(message)

    def _hear(self, message: Mapping[str, Any]) -> None:
        said = message.get("params", {})
        if message.get("method") == "log.entryAdded" and said["level"] == "error":
            self.errors.append(str(said["text"]))
        elif message.get("method") == "network.responseCompleted" and said["response"]["status"] >= _FAILED:
            self.errors.append(f"{said['response']['status']} {said['response']['url']}")


@asynccontextmanager
async def running_firefox(program: str, profile: Path) -> AsyncIterator[Firefox]:
    """Start Firefox with a new profile; end it afterwards."""
    process = await asyncio.create_subprocess_exec(
        program,
        *("--headless", "--remote-debugging-port=0", "--no-remote", "--profile", str(profile), "about:blank"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(_STEP_SECONDS):
            while not (found := _LISTENING.search((line := await process.stderr.readline()).decode())):
                assert line, "Firefox ended before it listened"
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{found[1]}/session", max_msg_size=0) as socket,
        ):
            firefox = Firefox(socket)
            await firefox.begin()
            yield firefox
    finally:
        process.terminate()
        await process.wait()
