"""Progress on stderr: a bar on a terminal, else a line from time to time."""

from __future__ import annotations

import sys
import time
from typing import Final, TextIO

WIDTH: Final = 80
_BAR: Final = 24
_LINE_SECONDS: Final = 10.0


class Progress:
    """One job at a time; `log` writes a line above the bar."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._title = ""
        self._logged = time.monotonic()
        self._shown = False

    def begin(self, title: str) -> None:
        self._title, self._logged = title, time.monotonic()
        self._write("")

    def show(self, done: int, total: int, running: int) -> None:
        """The tasks of the stages that run now; without any, executors are not there yet."""
        now = time.monotonic()
        if not self._terminal and now - self._logged < _LINE_SECONDS:
            return
        self._logged = now
        if not total:
            self._write(": planning")
        elif not running and not done:
            self._write(f": {total} tasks wait for executors")
        elif self._terminal:
            filled = round(done / total * _BAR)
            bar = f"[{'#' * filled}{'.' * (_BAR - filled)}]"
            self._write(f" {bar} {done}/{total} tasks")
        else:
            self._write(f": {done} of {total} tasks")

    def end(self) -> None:
        if self._shown and self._terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
        self._shown = False

    def log(self, line: str) -> None:
        self.end()
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def _write(self, state: str) -> None:
        """On a terminal a long title is cut, never the state behind it."""
        if self._terminal:
            title = self._title[: WIDTH - 1 - len(state)]
            self._stream.write(f"\r{title}{state}\x1b[K")
        else:
            self._stream.write(f"{self._title}{state}\n")
        self._stream.flush()
        self._shown = True


class SilentProgress(Progress):
    """For tests and notebooks."""

    def log(self, line: str) -> None:
        pass

    def _write(self, state: str) -> None:
        pass
