"""The interface of a source."""

from __future__ import annotations

from typing import Protocol

from exporter.model import Snapshot


class Source(Protocol):
    async def poll(self, deadline: float) -> Snapshot:
        """Polls until `deadline` (time.monotonic()); never raises for a fault of NATS."""
        ...

    async def close(self) -> None: ...
