"""Faults of servers: a wrong clock, a moving leader, a server that is down."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import ClassVar

from streamgauge.demo.actors.context import OWNER, ActorContext
from streamgauge.demo.faults.fault import Fault, Work
from streamgauge.demo.nats_server.server import NatsServerError


class Clock(Fault):
    name = "clock"
    what = "the clock of one server is seven seconds ahead (a proxy rewrites its responses)"
    place = "the first server"
    alerts = ("ServerClockOffset",)
    remedy = "corrects the clock"
    AHEAD_SECONDS: ClassVar[int] = 7

    async def break_(self, context: ActorContext) -> None:
        # Earlier timestamps (created, server start) come from the right clock.
        context.clock.since = datetime.now(UTC)
        context.clock.ahead = self.AHEAD_SECONDS

    async def fix(self, context: ActorContext) -> None:
        context.clock.ahead = 0


class Leader(Fault):
    name = "leader"
    what = "the leader of a stream moves again and again"
    place = "TRADES"
    alerts = ("StreamLeaderFlapping",)
    remedy = "stops moving the leader"
    needs_cluster = True

    async def prepare(self, context: ActorContext) -> None:
        await context.add_stream("TRADES", "trades.>")

    def actors(self, context: ActorContext) -> Sequence[Work]:
        return context.publish_for_ever("trades.new", per_second=2), self._move(context)

    async def _move(self, context: ActorContext) -> None:
        while context.cluster is not None:
            await self.switch.wait_until_broken()
            # Refused during an election; the next attempt comes soon.
            with suppress(NatsServerError, TimeoutError):
                await context.cluster.step_down_stream(OWNER, "TRADES")
            await asyncio.sleep(2)


class ServerDown(Fault):
    name = "server-down"
    what = "one of three servers is down; replicated streams keep working"
    place = "the last server"
    alerts = ("ServerDown",)
    remedy = "starts it again"
    needs_cluster = True

    async def break_(self, context: ActorContext) -> None:
        if context.cluster is not None:
            await context.cluster.nodes[-1].stop()

    async def fix(self, context: ActorContext) -> None:
        if context.cluster is not None:
            await context.cluster.nodes[-1].restart()
