"""The choices of one demo run, and their defaults. Imports the standard library only."""

import asyncio
from dataclasses import dataclass
from typing import Final

from streamgauge.demo.processes.ports import free_ports, is_free

PORTS: Final = {
    "start page": 7770,
    "exporter": 7778,
    "archive": 7779,
    "prometheus": 9090,
    "alertmanager": 9093,
    "grafana": 3000,
}
DEFAULT_SPEED: Final = 30.0
# So that there is something to see from the start.
BROKEN_AT_START: Final = ("poison", "slow-ack", "oversized")


@dataclass(frozen=True)
class Plan:
    nodes: int = 1
    fixed_ports: bool = True
    seconds: float | None = None
    prometheus: bool = True
    history: bool = True
    grafana: bool = False  # also by a container engine
    broken: tuple[str, ...] = BROKEN_AT_START
    speed: float = DEFAULT_SPEED

    async def port(self, name: str) -> int:
        wanted = PORTS[name]
        if self.fixed_ports and await asyncio.to_thread(is_free, wanted):
            return wanted
        return (await asyncio.to_thread(free_ports, 1))[0]
