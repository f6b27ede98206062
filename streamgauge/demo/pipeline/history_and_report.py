"""Sixty days of history into the archive, then the rollup and the report: the demo's slow part."""

import asyncio
import shutil
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from streamgauge.demo.pipeline.services import archive, plain_environment
from streamgauge.demo.processes.child import STREAMGAUGE, Child
from streamgauge.demo.processes.programs import java
from streamgauge.demo.web.server import Front

DAYS: Final = 60


class StepError(Exception):
    """A step of the past failed; the text is its last line."""


@dataclass(frozen=True)
class Past:
    """Where everything is, and whom to tell how it goes."""

    folder: Path
    archive_port: int
    front: Front
    say: Callable[[str], None]

    @property
    def data(self) -> Path:
        return self.folder / "archive-data"

    async def live_through(self, stack: AsyncExitStack) -> Child | None:
        """History, then the archive's server over it, then rollup and report.

        A failure is told on the pages and ends this part only: the rest of the demo needs none of it.
        """
        yesterday = datetime.now(UTC).date() - timedelta(days=1)
        until = ["--until", f"{yesterday}", "--days", str(DAYS)]
        history = (
            sys.executable,
            "-m",
            "streamgauge.demo.history.main",
            "--out",
            str(self.data),
            *until,
        )
        server = None
        try:
            await self._step("history", history)
            server = await stack.enter_async_context(
                archive(self.folder, self.data, self.archive_port)
            )
            self._tell("archive", "receives what Prometheus sends")
            await self._roll_up(f"{yesterday:%Y-%m}")
        except StepError as error:
            self._tell("report", f"not there: {error}")
        return server

    async def _roll_up(self, month: str) -> None:
        if await asyncio.to_thread(java) is None:
            raise StepError("rollups need Java 17 or newer, which cannot be had here")
        rollups, out = self.folder / "rollups", self.folder / "report"
        folders = ("--archive", str(self.data), "--out", str(rollups))
        await self._step("rollup", (*STREAMGAUGE, "rollup", *folders))
        wanted = ("--rollups", str(rollups), "--month", month, "--out", str(out))
        await self._step("report", (*STREAMGAUGE, "report", *wanted))
        found = await asyncio.to_thread(lambda: sorted(out.glob("*.html")))
        if not found:
            raise StepError("the report left no page")
        self.front.report = found[0]

    async def _step(self, name: str, command: tuple[str, ...]) -> None:
        started = time.monotonic()
        self._tell(name, "under way")
        # The living parts come first: whoever looks at them must not feel this.
        polite = ("nice", "-n", "10") if shutil.which("nice") else ()
        process = await asyncio.create_subprocess_exec(
            *polite, *command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, process_group=0,
            env=plain_environment(),
        )  # fmt: skip
        try:
            output, _ = await process.communicate()
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
        if process.returncode:
            lines = output.decode(errors="replace").strip().splitlines() or ["it said nothing"]
            raise StepError(f"{name}: {lines[-1]}")
        self._tell(name, f"ready after {time.monotonic() - started:.0f} s")

    def _tell(self, name: str, text: str) -> None:
        self.front.progress[name] = text
        self.say(f"{name}: {text}")
