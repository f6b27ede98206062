"""Keeps refused requests in a bounded folder for inspection; the oldest are deleted first."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from streamgauge.serving.logs import StateLog

logger = logging.getLogger(__name__)

BODY = ".snappy"
FACTS = ".json"


class Quarantine:
    """Each request is two files: the body as received, and JSON with the reason of the refusal."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        """Keeps at most `max_bytes` in total; 0 keeps nothing."""
        self.kept = 0
        """Requests written since the start."""
        self._folder = folder
        self._max_bytes = max_bytes
        self._number = 0
        self._lock = threading.Lock()
        self._states = StateLog(logger)

    def put(self, body: bytes, received: int, facts: Mapping[str, str | int]) -> bool:
        """Blocks. A disk error is only logged: no acknowledged sample is affected."""
        if len(body) > self._max_bytes:
            return False
        with self._lock:
            try:
                self._write(body, received, facts)
                self._delete_oldest()
            except OSError as error:
                self._states.report(
                    "disk", str(error), logging.ERROR, "cannot keep a refused request", error=error
                )
                return False
            self._states.forget("disk")
            self.kept += 1
            return True

    def _write(self, body: bytes, received: int, facts: Mapping[str, str | int]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        received_at = datetime.fromtimestamp(received / 1000, UTC)
        self._number += 1
        stem = f"{received_at:%Y%m%dT%H%M%S}.{received % 1000:03}Z-{self._number:06}"
        text = json.dumps({"received": received_at.isoformat(), **facts}, indent=2) + "\n"
        (self._folder / f"{stem}{BODY}").write_bytes(body)
        (self._folder / f"{stem}{FACTS}").write_text(text, encoding="utf-8")

    def _delete_oldest(self) -> None:
        files = sorted(
            path for path in self._folder.iterdir() if path.suffix in (BODY, FACTS)
        )  # names begin with the time
        sizes = {path: path.stat().st_size for path in files}
        over = sum(sizes.values()) - self._max_bytes
        for path in files:
            if over <= 0:
                return
            path.unlink(missing_ok=True)
            over -= sizes[path]
