"""Keeps refused requests in a bounded folder for inspection; the oldest are deleted first.

A refused request costs its sender no disk access: a thread writes it after the response.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from archive.settings.quarantine import QuarantineSettings
from streamgauge.serving.logs import StateLog
from streamgauge.serving.rate_limit import MinuteBudget

logger = logging.getLogger(__name__)

BODY: Final = ".snappy"
FACTS: Final = ".json"
_FILES: Final = 2  # of each request
_MAX_KINDS: Final = 1_000
_MAX_QUEUED: Final = 32 << 20  # bytes of bodies that wait for the disk

Facts = Mapping[str, str | int]


class QuarantineDrop(StrEnum):
    """Why a refused request is not in the folder."""

    RATE = "rate"
    SIZE = "size"
    QUEUE = "queue"
    DISK = "disk"
    OLDEST = "oldest"


class Quarantine:
    """Each request is two files: the body as received, and JSON with the reason of the refusal."""

    def __init__(
        self,
        folder: Path,
        settings: QuarantineSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.kept = 0
        """Requests written since the start."""
        self.dropped: Counter[QuarantineDrop] = Counter()
        self._folder = QuarantineFolder(folder, settings.size, settings.files)
        self._max_bytes = settings.size if settings.files >= _FILES else 0
        self._budget = MinuteBudget(settings.per_minute, clock, _MAX_KINDS)
        self._queued = 0
        self._lock = threading.Lock()
        self._writer = ThreadPoolExecutor(1, "quarantine")
        self._states = StateLog(logger)

    def put(
        self, sender: str, rules: Iterable[str], body: bytes, received: int, facts: Facts
    ) -> None:
        """Returns at once; call it on one thread. Every request is counted as kept or dropped."""
        if len(body) > self._max_bytes:
            self.dropped[QuarantineDrop.SIZE] += 1
        elif not self._budget.spend(*((sender, rule) for rule in rules)):
            self.dropped[QuarantineDrop.RATE] += 1
        elif not self._queue(len(body)):
            self.dropped[QuarantineDrop.QUEUE] += 1
        else:
            self._writer.submit(self._write, body, received, facts)

    def close(self) -> None:
        """Blocks until all requests are written."""
        self._writer.shutdown()

    def _queue(self, size: int) -> bool:
        with self._lock:
            if self._queued + size > _MAX_QUEUED:
                return False
            self._queued += size
            return True

    def _write(self, body: bytes, received: int, facts: Facts) -> None:
        """A disk error is only logged: no acknowledged sample is affected."""
        try:
            deleted = self._folder.add(body, received, facts)
        except OSError as error:
            self.dropped[QuarantineDrop.DISK] += 1
            self._states.report(
                "disk", str(error), logging.ERROR, "cannot keep a refused request", error=error
            )
        else:
            self._states.forget("disk")
            self.dropped[QuarantineDrop.OLDEST] += deleted
            self.kept += 1
        finally:
            with self._lock:
                self._queued -= len(body)


class QuarantineFolder:
    """The files, with running totals: the folder is listed once, at the first request."""

    def __init__(self, folder: Path, max_bytes: int, max_files: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_requests = max_files // _FILES
        self._requests: deque[tuple[str, int]] | None = None  # oldest first: stem and bytes
        self._bytes = 0
        self._number = 0

    def add(self, body: bytes, received: int, facts: Facts) -> int:
        """Blocks. Returns how many old requests were deleted for it. Raises OSError."""
        requests = self._listed()
        received_at = datetime.fromtimestamp(received / 1000, UTC)
        self._number += 1
        stem = f"{received_at:%Y%m%dT%H%M%S}.{received % 1000:03}Z-{self._number:06}"
        text = json.dumps({"received": received_at.isoformat(), **facts}, indent=2).encode() + b"\n"
        try:
            (self._folder / f"{stem}{BODY}").write_bytes(body)
            (self._folder / f"{stem}{FACTS}").write_bytes(text)
        except OSError:
            with contextlib.suppress(OSError):  # the first error is raised
                self._delete(stem)
            raise
        requests.append((stem, len(body) + len(text)))
        self._bytes += len(body) + len(text)
        return self._delete_oldest(requests)

    def _listed(self) -> deque[tuple[str, int]]:
        if self._requests is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            sizes: Counter[str] = Counter()
            for path in self._folder.iterdir():
                if path.suffix in (BODY, FACTS):
                    sizes[path.stem] += path.stat().st_size
            self._requests = deque(sorted(sizes.items()))  # names begin with the time
            self._bytes = sizes.total()
        return self._requests

    def _delete_oldest(self, requests: deque[tuple[str, int]]) -> int:
        deleted = 0
        while requests and (self._bytes > self._max_bytes or len(requests) > self._max_requests):
            stem, size = requests[0]
            self._delete(stem)
            requests.popleft()
            self._bytes -= size
            deleted += 1
        return deleted

    def _delete(self, stem: str) -> None:
        for suffix in (BODY, FACTS):
            (self._folder / f"{stem}{suffix}").unlink(missing_ok=True)
