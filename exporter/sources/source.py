"""What the poll loop needs of a source."""

from __future__ import annotations

from typing import Protocol

from exporter.model import Snapshot


class Source(Protocol):
    async def poll(self, deadline: float) -> Snapshot:
        """Everything that can be known until `deadline` (time.monotonic()); never raises for NATS."""
        ...

    async def close(self) -> None: ...
