"""A child process with its log in a file: start, wait, stop."""

import asyncio
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# Our own command, in the same environment.
STREAMGAUGE: Final = (sys.executable, "-m", "streamgauge.cli")
STOP_DEADLINE_SECONDS: Final = 15.0
LAST_LINES: Final = 15


class ChildError(Exception):
    """A child did not start or died; the text ends with its last log lines."""


class Child:
    """One program. It can be started again after its end; the log is appended."""

    def __init__(self, name: str, log: Path) -> None:
        self.name = name
        self._log = log
        self._log_start = 0
        self._process: Process | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        return self._started().pid

    async def start(
        self, *command: str | Path, environment: Mapping[str, str] | None = None
    ) -> None:
        if self.running:
            raise ChildError(f"{self.name} is already running")
        self._log_start = len(await self.log_text())
        log = await asyncio.to_thread(self._log.open, "ab")
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                env=environment,
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
                # Its own group: Ctrl-C in the terminal reaches the demo only, which stops its children.
                process_group=0,
            )
        finally:
            log.close()

    async def stop(self) -> None:
        """Stops it gracefully; does nothing if it is not running."""
        await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        """Kills it, like a crash."""
        await self._end(signal.SIGKILL)

    async def ended(self) -> int:
        """Waits for its end and returns the exit code."""
        return await self._started().wait()

    async def log_text(self) -> str:
        """Its output since the first start."""
        return await asyncio.to_thread(_text_of, self._log)

    async def log_since_start(self) -> str:
        """Its output since the last start."""
        return (await self.log_text())[self._log_start :]

    async def failure(self, what: str) -> ChildError:
        """An error with the last log lines."""
        lines = (await self.log_since_start()).splitlines()[-LAST_LINES:]
        shown = "\n".join(f"  {line}" for line in lines) or "  (no output)"
        return ChildError(f"{self.name} {what}:\n{shown}")

    def _started(self) -> Process:
        if self._process is None:
            raise ChildError(f"{self.name} was not started")
        return self._process

    async def _end(self, how: signal.Signals) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.send_signal(how)
        try:
            async with asyncio.timeout(STOP_DEADLINE_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def _text_of(log: Path) -> str:
    return log.read_text(errors="replace") if log.exists() else ""
