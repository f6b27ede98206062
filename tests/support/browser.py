"""A tiny driver of headless Chromium over the DevTools protocol: just what page tests need."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
_ENDPOINT = re.compile(rb"DevTools listening on (ws://\S+)")
_KEYS = {
    "Enter": {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    "Tab": {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9},
}


class BrowserError(Exception):
    """Chromium did not start, refused a command, or the page's script threw."""


def chromium_path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """One tab in its own, empty browser context."""

    def __init__(self, browser: Browser, session: str, context: str) -> None:
        self._browser = browser
        self._session = session
        self._context = context
        self._loaded = asyncio.Event()
        self.console: list[str] = []  # what was logged, thrown or reported, by the page or about it
        self.requests: list[str] = []

    async def command(self, method: str, **params: Any) -> dict[str, Any]:
        return await self._browser.command(method, session=self._session, **params)

    def on_event(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(arg.get("value")) for arg in params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(params["exceptionDetails"]))
        elif method == "Page.javascriptDialogOpening":
            self.console.append(f"dialog: {params['message']}")

    async def open(self, url: str) -> None:
        self._loaded.clear()
        response = await self.command("Page.navigate", url=url)
        if "errorText" in response:
            raise BrowserError(f"{url}: {response['errorText']}")
        await self._loaded.wait()

    @contextlib.asynccontextmanager
    async def reloaded(self) -> AsyncIterator[None]:
        """Around what makes the page load itself again; leaves when it has."""
        self._loaded.clear()
        yield
        await self._loaded.wait()

    async def evaluate(self, expression: str) -> Any:
        response = await self.command(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in response:
            raise BrowserError(f"{expression}: {response['exceptionDetails']}")
        return response["result"].get("value")

    async def click(self, selector: str) -> None:
        x, y = await self.evaluate(
            f"(() => {{ const e = document.querySelector({selector!r});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.command(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    async def type_text(self, text: str) -> None:
        await self.command("Input.insertText", text=text)

    async def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            await self.command("Input.dispatchKeyEvent", type=kind, **_KEYS[key])

    async def viewport(self, width: int, height: int, mobile: bool = False) -> None:
        await self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if mobile else 1,
            mobile=mobile,
        )

    async def colour_scheme(self, scheme: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        await self.command("Emulation.setEmulatedMedia", features=[feature])

    async def without_script(self) -> None:
        await self.command("Emulation.setScriptExecutionDisabled", value=True)

    async def before_load(self, script: str) -> None:
        await self.command("Page.addScriptToEvaluateOnNewDocument", source=script)

    async def screenshot(self, path: Path, whole: bool = True) -> None:
        response = await self.command("Page.captureScreenshot", captureBeyondViewport=whole)
        await asyncio.to_thread(path.write_bytes, base64.b64decode(response["data"]))

    async def close(self) -> None:
        await self._browser.command("Target.disposeBrowserContext", browserContextId=self._context)


class Browser:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}

    async def command(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json(message)
        response = await future
        if "error" in response:
            raise BrowserError(f"{method}: {response['error']['message']}")
        result: dict[str, Any] = response["result"]
        return result

    async def listen(self) -> None:
        async for raw in self._socket:
            message = raw.json()
            if "id" in message:
                self._waiting.pop(message["id"]).set_result(message)
            elif message.get("sessionId") in self._pages:
                self._pages[message["sessionId"]].on_event(message["method"], message["params"])
        for future in self._waiting.values():
            future.set_exception(BrowserError("Chromium closed the connection"))

    @contextlib.asynccontextmanager
    async def page(self) -> AsyncIterator[Page]:
        context = (await self.command("Target.createBrowserContext"))["browserContextId"]
        target = await self.command(
            "Target.createTarget", url="about:blank", browserContextId=context
        )
        attached = await self.command(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        page = self._pages[attached["sessionId"]] = Page(self, attached["sessionId"], context)
        for domain in ("Page", "Runtime", "Log", "Network"):
            await page.command(f"{domain}.enable")
        try:
            yield page
        finally:
            await page.close()


@contextlib.asynccontextmanager
async def started_browser(profile: Path) -> AsyncIterator[Browser]:
    """A fresh Chromium on an empty profile; gone, with all its processes, at the end."""
    program = await asyncio.to_thread(chromium_path)
    if program is None:
        raise BrowserError("no chromium on PATH")
    process = await asyncio.create_subprocess_exec(
        program,
        *_FLAGS,
        f"--user-data-dir={profile}",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # its children end with it, and only they
    )
    try:
        endpoint = await _endpoint(process)
        async with _drained(process), _connected(endpoint) as browser:
            yield browser
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _endpoint(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    output = b""
    async for line in process.stderr:
        output += line
        if found := _ENDPOINT.search(line):
            return found[1].decode()
    raise BrowserError(f"Chromium did not start: {output.decode(errors='replace')}")


@contextlib.asynccontextmanager
async def _drained(process: asyncio.subprocess.Process) -> AsyncIterator[None]:
    """Reads the stderr of Chromium, which would block on a full pipe."""
    assert process.stderr is not None
    reading = asyncio.create_task(process.stderr.read())
    try:
        yield
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading


@contextlib.asynccontextmanager
async def _connected(endpoint: str) -> AsyncIterator[Browser]:
    async with (
        aiohttp.ClientSession() as http,
        http.ws_connect(endpoint, max_msg_size=0) as socket,
    ):
        browser = Browser(socket)
        listening = asyncio.create_task(browser.listen())
        yield browser
        await socket.close()
        await listening
