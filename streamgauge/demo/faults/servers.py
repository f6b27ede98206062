"""Failures of servers: a wrong clock, a leader that moves, a server that is gone."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import ClassVar

from streamgauge.demo.actors.context import OWNER, Stage
from streamgauge.demo.faults.fault import Fault, Work
from streamgauge.demo.nats_server.server import NatsServerError


class Clock(Fault):
    name = "clock"
    what = "the clock of one server is seven seconds ahead (a proxy rewrites its answers)"
    place = "the first server"
    alerts = ("ServerClockOffset",)
    remedy = "sets the clock right"
    AHEAD_SECONDS: ClassVar[int] = 7

    async def harm(self, stage: Stage) -> None:
        # When something was created, or the server started, was written down by the right clock.
        stage.clock.since = datetime.now(UTC)
        stage.clock.ahead = self.AHEAD_SECONDS

    async def mend(self, stage: Stage) -> None:
        stage.clock.ahead = 0


class Leader(Fault):
    name = "leader"
    what = "the leader of a stream moves again and again"
    place = "TRADES"
    alerts = ("StreamLeaderFlapping",)
    remedy = "lets the leader be"
    needs_cluster = True

    async def prepare(self, stage: Stage) -> None:
        await stage.add_stream("TRADES", "trades.>")

    def actors(self, stage: Stage) -> Sequence[Work]:
        return stage.publish_for_ever("trades.new", per_second=2), self._move(stage)

    async def _move(self, stage: Stage) -> None:
        while stage.cluster is not None:
            await self.switch.fallen()
            # An election under way refuses; the next attempt comes soon.
            with suppress(NatsServerError, TimeoutError):
                await stage.cluster.step_down_stream(OWNER, "TRADES")
            await asyncio.sleep(2)


class ServerDown(Fault):
    name = "server-down"
    what = "one of three servers is gone; everything with three copies goes on"
    place = "the last server"
    alerts = ("ServerDown",)
    remedy = "starts it again"
    needs_cluster = True

    async def harm(self, stage: Stage) -> None:
        if stage.cluster is not None:
            await stage.cluster.nodes[-1].stop()

    async def mend(self, stage: Stage) -> None:
        if stage.cluster is not None:
            await stage.cluster.nodes[-1].restart()
