"""Progress of a long operation: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final, Protocol, TextIO

WIDTH: Final = 80
_BAR: Final = 24
_REDRAW_SECONDS: Final = 0.1
_LINE_SECONDS: Final = 10.0

Step = Callable[[int], None]


class Progress(Protocol):
    def work(self, title: str, total: int) -> contextlib.AbstractContextManager[Step]:
        """Call the step with the amount done since the last call."""


class NoProgress:
    """For the server, which has logs and metrics."""

    @contextlib.contextmanager
    def work(self, title: str, total: int) -> Iterator[Step]:
        yield lambda _: None


class ConsoleProgress:
    """Writes to stderr, so that stdout holds only the result."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()

    @contextlib.contextmanager
    def work(self, title: str, total: int) -> Iterator[Step]:
        line = _Line(self._stream, self._terminal, title, total)
        try:
            yield line.step
        finally:
            line.end()


class _Line:
    def __init__(self, stream: TextIO, terminal: bool, title: str, total: int) -> None:
        self._stream, self._terminal = stream, terminal
        self._title, self._total = title, total
        self._done = 0
        self._began = self._shown_at = time.monotonic()
        self._shown = False

    def step(self, amount: int) -> None:
        self._done += amount
        now = time.monotonic()
        if now - self._shown_at >= (_REDRAW_SECONDS if self._terminal else _LINE_SECONDS):
            self._shown_at = now
            self._show(now)

    def end(self) -> None:
        if self._terminal and self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _show(self, now: float) -> None:
        self._shown = True
        share = min(self._done / self._total, 1.0) if self._total else 0.0
        left = (now - self._began) * (1 - share) / share if share else 0.0
        text = f"{self._title} {share:4.0%}"
        if self._terminal:
            filled = round(share * _BAR)
            text = f"{text} [{'#' * filled}{'.' * (_BAR - filled)}]"
        text = f"{text} {left:.0f} s left"[: WIDTH - 1] if share else text[: WIDTH - 1]
        self._stream.write(f"\r{text}\x1b[K" if self._terminal else f"{text}\n")
        self._stream.flush()
