"""A server with a wrong clock, and one that is gone: beside the failures of the seeds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from support.lab.failure import Failure, Lab
from support.nats.clock_proxy import WrongClock


class ClockAhead(Failure):
    number, stream, alert, by_cli = 0, "", "ServerClockOffset", False
    AHEAD = 30

    def __init__(self, clock: WrongClock) -> None:
        self._clock = clock

    async def prepare(self, lab: Lab) -> None:
        """It is right at first."""

    async def provoke(self, lab: Lab) -> None:
        # What the other failures create now keeps its time.
        self._clock.since = datetime.now(UTC) + timedelta(seconds=5)
        self._clock.ahead = self.AHEAD

    async def true_numbers(self, lab: Lab) -> tuple[float, float] | None:
        return self.AHEAD - 1, self.AHEAD + 1

    async def remedy(self, lab: Lab) -> None:
        self._clock.ahead = 0


class Unreachable(Failure):
    """The only server crashes. Nothing else can go on meanwhile."""

    number, stream, alert, by_cli = 0, "", "SystemUnreachable", False
    # The page mutes both, but at this tempo one comes before it and one stays after it.
    of_servers = ("ExporterPartial", "ServerDown")

    async def prepare(self, lab: Lab) -> None:
        """It runs."""

    async def provoke(self, lab: Lab) -> None:
        await lab.close()
        await lab.server.kill()

    async def remedy(self, lab: Lab) -> None:
        await lab.server.restart()
