"""The slow part of the demo: sixty days of history in archive and Prometheus, rollup, report."""

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

from streamgauge.demo.pipeline.services import (
    archive,
    plain_environment,
    prometheus_data,
    rollups_folder,
)
from streamgauge.demo.processes.child import STREAMGAUGE, Child
from streamgauge.demo.processes.programs import java
from streamgauge.demo.web.server import DemoServer

DAYS: Final = 60
# Longer than the history: few blocks, and promtool reads the text once for each.
_BLOCK: Final = "2048h"


class StepError(Exception):
    """A step failed; the text is the last line of its output."""


@dataclass(frozen=True)
class HistoryRun:
    """Writes progress to the pages and to the terminal."""

    folder: Path
    archive_port: int
    promtool: Path
    server: DemoServer
    print_line: Callable[[str], None]

    @property
    def data(self) -> Path:
        return self.folder / "archive-data"

    async def run(self, stack: AsyncExitStack) -> Child | None:
        """Writes the history, starts the archive on it, then runs rollup and report.

        A failed step is shown on the pages; the rest of the demo goes on.
        """
        yesterday = datetime.now(UTC).date() - timedelta(days=1)
        until = ["--until", f"{yesterday}", "--days", str(DAYS)]
        history = (
            sys.executable,
            "-m",
            "streamgauge.demo.history.main",
            "--out",
            str(self.data),
            "--openmetrics",
            str(self._text),
            *until,
        )
        child = None
        try:
            await self._step("history", history)
            child = await stack.enter_async_context(
                archive(self.folder, self.data, self.archive_port)
            )
            self.server.archive = f"http://127.0.0.1:{self.archive_port}/metrics"
            self._report("archive", "receives remote write")
            await self._fill_prometheus()
            await self._roll_up(f"{yesterday:%Y-%m}")
        except StepError as error:
            self._report("report", f"failed: {error}")
        return child

    @property
    def _text(self) -> Path:
        return self.folder / "history.om"

    async def _fill_prometheus(self) -> None:
        """As blocks, which Prometheus finds within a minute. The report does not need them."""
        made, name = self.folder / "history-blocks", "boards' history"
        words = ("tsdb", "create-blocks-from", "-q", f"--max-block-duration={_BLOCK}")
        files = ("openmetrics", str(self._text), str(made))
        try:
            await self._step(name, (str(self.promtool), *words, *files))
        except StepError as error:
            self._report(name, f"failed: {error}")
            return
        await asyncio.to_thread(self._move_blocks, made)

    def _move_blocks(self, made: Path) -> None:
        for block in made.iterdir():
            block.rename(prometheus_data(self.folder) / block.name)
        self._text.unlink()

    async def _roll_up(self, month: str) -> None:
        if await asyncio.to_thread(java) is None:
            raise StepError("rollups need Java 17 or newer, which is not available here")
        rollups, out = rollups_folder(self.folder), self.folder / "report"
        folders = ("--archive", str(self.data), "--out", str(rollups))
        await self._step("rollup", (*STREAMGAUGE, "rollup", *folders))
        wanted = ("--rollups", str(rollups), "--month", month, "--out", str(out))
        await self._step("report", (*STREAMGAUGE, "report", *wanted))
        found = await asyncio.to_thread(lambda: sorted(out.glob("*.html")))
        if not found:
            raise StepError("the report wrote no page")
        self.server.report = found[0]

    async def _step(self, name: str, command: tuple[str, ...]) -> None:
        started = time.monotonic()
        self._report(name, "running")
        # Low priority: the pages must stay fast.
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
            lines = output.decode(errors="replace").strip().splitlines() or ["no output"]
            raise StepError(f"{name}: {lines[-1]}")
        self._report(name, f"ready after {time.monotonic() - started:.0f} s")

    def _report(self, name: str, text: str) -> None:
        self.server.progress[name] = text
        self.print_line(f"{name}: {text}")
