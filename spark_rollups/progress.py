"""Progress on stderr: a bar on a terminal, else a line from time to time."""

from __future__ import annotations

import sys
import time
from typing import Final, TextIO

WIDTH: Final = 80
_BAR: Final = 24
_LINE_SECONDS: Final = 10.0


class Progress:
    """One stage at a time; `log` writes a line above the bar."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._title, self._total, self._done = "", 0.0, 0.0
        self._began = self._logged = time.monotonic()
        self._shown = False

    def begin(self, title: str, total: float) -> None:
        self._title, self._total, self._done = title, total, 0.0
        self._began = self._logged = time.monotonic()
        if self._terminal:
            self._show()

    def step(self, amount: float) -> None:
        self._done += amount
        now = time.monotonic()
        if self._terminal or now - self._logged >= _LINE_SECONDS:
            self._logged = now
            self._show()

    def end(self) -> None:
        if self._shown and self._terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
        self._shown = False

    def log(self, line: str) -> None:
        self.end()
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def _show(self) -> None:
        share = min(self._done / self._total, 1.0) if self._total else 0.0
        text = f"{self._title} {share:4.0%}"
        if self._terminal:
            filled = round(share * _BAR)
            text = f"{text} [{'#' * filled}{'.' * (_BAR - filled)}]"
        if 0 < share < 1:
            text = f"{text} {(time.monotonic() - self._began) * (1 - share) / share:.0f} s left"
        text = text[: WIDTH - 1]
        self._stream.write(f"\r{text}\x1b[K" if self._terminal else f"{text}\n")
        self._stream.flush()
        self._shown = True


class SilentProgress(Progress):
    """For tests and notebooks."""

    def begin(self, title: str, total: float) -> None:
        pass

    def step(self, amount: float) -> None:
        pass

    def log(self, line: str) -> None:
        pass
