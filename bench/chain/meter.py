"""What a part takes: CPU time and peak memory of a process and its descendants."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.process import peak_bytes, tree_cpu_seconds, tree_resident_bytes
from bench.table import megabytes
from streamgauge.demo.processes.child import ChildError

_LEAST_FREE = 1_000_000_000
_READ_SECONDS = 0.1


class Process(Protocol):
    """A Child or a NatsServer."""

    @property
    def pid(self) -> int: ...
    @property
    def running(self) -> bool: ...
    async def ended(self) -> int: ...
    async def failure(self, what: str) -> ChildError: ...


@dataclass(slots=True)
class Meter:
    """Measures from `start` to the last `read`."""

    name: str
    process: Process
    seconds: float = 0.0
    cpu: float = 0.0
    peak: int = 0
    _began: float = field(default_factory=time.monotonic)
    _before: float = 0.0

    @classmethod
    async def start(cls, name: str, process: Process) -> Meter:
        made = cls(name, process)
        made._before = await asyncio.to_thread(tree_cpu_seconds, process.pid)
        await made.read()
        return made

    async def read(self) -> None:
        await asyncio.to_thread(self._read)

    def _read(self) -> None:
        """Of a process that has ended the last values stay."""
        pid, now = self.process.pid, time.monotonic()
        if (resident := tree_resident_bytes(pid)) == 0:
            return
        self.cpu, self.seconds = tree_cpu_seconds(pid) - self._before, now - self._began
        self.peak = max(self.peak, resident, peak_bytes(pid))

    @property
    def a_minute(self) -> float:
        return self.cpu / self.seconds * 60 if self.seconds else 0.0

    async def check(self) -> None:
        """Raises an error that names the part when it has ended."""
        if not self.process.running:
            code = await self.process.ended()
            raise await self.process.failure(f"ended with exit code {code}")


async def read_all(meters: Sequence[Meter]) -> None:
    """Also watches that every part runs and that memory is left."""
    for meter in meters:
        await meter.check()
        await meter.read()
    if await asyncio.to_thread(free_bytes) < _LEAST_FREE:
        most = max(meters, key=lambda each: each.peak)
        raise ChildError(
            f"less than {megabytes(_LEAST_FREE)} of memory is free; "
            f"{most.name} has {megabytes(most.peak)}"
        )


async def read_to_end(meter: Meter) -> int:
    """Reads it until its process ends; the exit code."""
    ended = asyncio.ensure_future(meter.process.ended())
    while not ended.done():
        await meter.read()
        await asyncio.wait([ended], timeout=_READ_SECONDS)
    return await ended


async def first_ended(meters: Sequence[Meter]) -> None:
    """After a failed request: names the part that has ended, if one does within a second."""
    waiting = [asyncio.ensure_future(each.process.ended()) for each in meters]
    await asyncio.wait(waiting, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
    for each in waiting:
        each.cancel()
    for meter in meters:
        await meter.check()


def free_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) * 1024
    return _LEAST_FREE
