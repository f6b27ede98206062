"""The forecast file that the rollups write: read when it changes, checked line by line.

An invalid file shows in a metric and a log line; it never fails a scrape.
"""

from __future__ import annotations

import logging
import math
import re
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter import catalog
from exporter.exposition.text_format import Block, Column, render_block
from exporter.metric import Metric, Origin
from exporter.samples.self_metrics import SelfSample
from streamgauge.serving.logs import event

logger = logging.getLogger(__name__)

# A forecast is for the weeks ahead; after so many days without new data it is outdated.
STALE_SECONDS = 7 * 86_400.0
# About two hundred thousand streams. A larger file is not a forecast file, and would fill the memory.
MOST_BYTES = 512 * 1024 * 1024

_ROLLUP = {metric.name: metric for metric in catalog.ALL if metric.origin is Origin.ROLLUP}
_SUCCESS = catalog.ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS
_REPORT = catalog.REPORT_LAST_SUCCESS_TIMESTAMP_SECONDS
_AS_OF = catalog.FORECAST_AS_OF_TIMESTAMP_SECONDS
_END = "# EOF"
_VALUE = r'"(?:[^"\\\n]|\\[\\"n])*"'

Fingerprint = tuple[int, ...]


class ForecastFileError(ValueError):
    """Why the file cannot be served, with the line number."""


@dataclass(frozen=True, slots=True)
class Forecasts:
    """The contents of a file, ready to be served."""

    blocks: tuple[Block, ...] = ()
    known_until: float = 0.0  # the end of the newest day; else the time of the rollup's success

    def served(self, now: float) -> tuple[Block, ...]:
        """Of stale forecasts only their timestamps, so that an alert can fire on them."""
        if not self.is_stale(now):
            return self.blocks
        return tuple(block for block in self.blocks if block.metric in (_AS_OF, _SUCCESS, _REPORT))

    def is_stale(self, now: float) -> bool:
        return now - self.known_until > STALE_SECONDS


@dataclass(frozen=True, slots=True)
class ForecastFileState:
    """The file as it was last read."""

    path: Path | None = None
    fingerprint: Fingerprint | None = None  # None: read again, even if unchanged
    forecasts: Forecasts = Forecasts()
    fault: str = ""

    def blocks(self, now: float) -> tuple[Block, ...]:
        return self.forecasts.served(now)

    def self_samples(self, now: float) -> Iterator[SelfSample]:
        if self.path is not None:
            yield SelfSample(catalog.FORECAST_FILE_SUCCESS, (), float(not self.problem(now)))

    def problem(self, now: float) -> str:
        if self.fault or self.path is None:
            return self.fault
        days = (now - self.forecasts.known_until) / 86_400
        return f"its forecasts are {days:.0f} days old" if self.forecasts.is_stale(now) else ""


class ForecastFile:
    """Refreshed by each scrape, from any thread; read again only when the file changed."""

    def __init__(self) -> None:
        self._last = ForecastFileState()
        self._logged = ""
        self._lock = threading.Lock()

    def refresh(self, path: Path | None, now: float | None = None) -> ForecastFileState:
        """Blocks on the disk. While one scrape reads a new file, others get the old forecasts."""
        if path is None:
            self._last = ForecastFileState()
            return self._last
        if self._lock.acquire(blocking=self._last.path != path):
            try:
                self._last = self._read(path)
                self._log_change(self._last, time.time() if now is None else now)
            finally:
                self._lock.release()
        return self._last

    def _read(self, path: Path) -> ForecastFileState:
        try:
            fingerprint = _fingerprint(path)
            if self._last.path == path and self._last.fingerprint == fingerprint:
                return self._last
            text = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError, ForecastFileError) as error:
            return ForecastFileState(path, fault=_reason(error))
        try:
            return ForecastFileState(
                path, fingerprint, read_forecasts(text, made=fingerprint[0] / 1e9)
            )
        except ForecastFileError as error:
            return ForecastFileState(path, fingerprint, fault=str(error))

    def _log_change(self, state: ForecastFileState, now: float) -> None:
        """Logs each problem once, and once when it is over."""
        problem = state.problem(now)
        if problem and problem != self._logged:
            event(logger, logging.WARNING, "forecast file not served, fix or remove it", file=state.path,
                  reason=problem)  # fmt: skip
        elif self._logged and not problem:
            event(logger, logging.INFO, "forecast file served again", file=state.path)
        self._logged = problem


def read_forecasts(text: str, made: float) -> Forecasts:
    """`made` is when the file was written; used when it has no timestamp of its rollup."""
    lines = text.split("\n")
    if lines[-2:] != [_END, ""]:
        raise ForecastFileError(f"is cut off: the last line is not {_END}")
    found: dict[str, dict[str, float]] = {}
    for number, line in enumerate(lines[:-2], 1):
        if not line.startswith("#"):
            name, head, value = _sample(line, number)
            heads = found.setdefault(name, {})
            if head in heads:
                raise ForecastFileError(f"line {number}: {name} appears twice with these labels")
            heads[head] = value
    success = found.get(_SUCCESS.name, {}).get("", made)
    known_until = found.get(_AS_OF.name, {}).get("", success)
    blocks = (_block(_ROLLUP[name], heads) for name, heads in found.items())
    return Forecasts(tuple(filter(None, blocks)), min(success, known_until))


def _block(metric: Metric, heads: dict[str, float]) -> Block | None:
    return render_block(Column(metric, heads.keys(), heads.values()))


def _sample(line: str, number: int) -> tuple[str, str, float]:
    """The metric, the labels without the closing brace, and the value."""
    name = re.split(r"[{ ]", line, maxsplit=1)[0]
    if name not in _ROLLUP:
        raise ForecastFileError(f"line {number}: {name[:80]!r} is not a metric of the rollups")
    found = _PATTERNS[name].fullmatch(line)
    value = _number(found[2]) if found else None
    if found is None or value is None:
        labels = ", ".join(_ROLLUP[name].labels) or "none"
        raise ForecastFileError(f"line {number}: is not a sample of {name} (labels: {labels})")
    return name, found[1], value


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _pattern(labels: Sequence[str]) -> re.Pattern[str]:
    pairs = ",".join(f"{name}={_VALUE}" for name in labels)
    head = rf"(\{{{pairs})\}}" if labels else "()"
    return re.compile(rf"[a-z_]+{head} (\S+)")


_PATTERNS = {name: _pattern(metric.labels) for name, metric in _ROLLUP.items()}


def _fingerprint(path: Path) -> Fingerprint:
    """Changes with the file. Only regular files: reading a pipe could block a scrape for ever."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ForecastFileError("is not a regular file")
    if found.st_size > MOST_BYTES:
        raise ForecastFileError(f"is larger than {MOST_BYTES // 1024**2} MiB")
    return found.st_mtime_ns, found.st_size, found.st_ino


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
