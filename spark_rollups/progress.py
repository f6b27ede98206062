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
        self._write(title)

    def show(self, done: int, total: int, running: int) -> None:
        """The tasks of the stages that run now; without any, executors are not there yet."""
        now = time.monotonic()
        if not self._terminal and now - self._logged < _LINE_SECONDS:
            return
        self._logged = now
        if not total:
            self._write(f"{self._title}: planning")
        elif not running and not done:
            self._write(f"{self._title}: {total} tasks wait for executors")
        elif self._terminal:
            filled = round(done / total * _BAR)
            bar = f"[{'#' * filled}{'.' * (_BAR - filled)}]"
            self._write(f"{self._title} {bar} {done}/{total} tasks")
        else:
            self._write(f"{self._title}: {done} of {total} tasks")

    def end(self) -> None:
        if self._shown and self._terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
        self._shown = False

    def log(self, line: str) -> None:
        self.end()
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def _write(self, text: str) -> None:
        text = text[: WIDTH - 1]
        self._stream.write(f"\r{text}\x1b[K" if self._terminal else f"{text}\n")
        self._stream.flush()
        self._shown = True


class SilentProgress(Progress):
    """For tests and notebooks."""

    def log(self, line: str) -> None:
        pass

    def _write(self, text: str) -> None:
        pass
